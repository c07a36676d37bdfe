"""An approval outlives a process that is killed anywhere: asked for once, carried out once.

Source: issue 3 "Done when"; the rest of the matrix is in `test_kill_matrix`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from aouo.emulator import ADA, BEN, ChatMessage
from tests.fakes.model_server import Body, CallPart, Reply, Says, words_of
from tests.path.lanes.test_kill_matrix import (
    START_UP,
    Run,
    Scenario,
    _live_through,
    _problems,
    killed_at,
)
from tests.path.lives import Place, place

KILLED_AT = range(1 + START_UP, 60, 6)


@dataclass(frozen=True)
class Approved(Scenario):
    """The model writes a file where only the owner can allow it; the owner taps."""

    file: Path = Path()

    @property
    def card(self) -> str:
        return f"“scribe” wants to write 5 bytes to\n{self.file}\nwith write_file."

    async def person(self, here: Place) -> None:
        await super().person(here)
        shown = await here.until_said(self.card)
        await here.tap(shown, shown.buttons[0].data)

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return f"{words_of(body['messages'][-1])}."
        write = {"path": str(self.file), "content": "hello"}
        return Says(calls=(CallPart("write_file", write),))


def approved(file: Path) -> Approved:
    card = f"“scribe” wants to write 5 bytes to\n{file}\nwith write_file. Is that all right?"
    return Approved(
        packs=(),
        answers=("wrote 5 bytes.",),
        aside=(card, f"{card}\n→ allowed once"),
        file=file,
    )


def _allow_asking(here: Place, folder: Path) -> None:
    """A pack that asks for the folder, and an owner who wants to be asked."""
    pack = here.home.packs / "scribe" / "pack.yml"
    pack.parent.mkdir()
    pack.write_text(
        "name: scribe\nversion: 0.1.0\ndisplay_name: Scribe\n"
        f"permissions: {{tools: [files], files: [{json.dumps(str(folder))}]}}\n"
    )
    config = json.loads(here.home.config.read_text())
    here.home.config.write_text(json.dumps(config | {"security": {"fence_mode": "ask"}}))


async def _killed(folder: Path, kill_at: int, port: int) -> Run:
    """One way through; the audit and the file are looked at as well."""
    file = folder / "docs" / "a.txt"
    file.parent.mkdir(parents=True)
    scenario = approved(file)
    async with place(folder / "home", (), scenario.model, runner_port=port) as here:
        _allow_asking(here, file.parent)
        try:
            await _live_through(scenario, here, (kill_at,))
            problems = await _problems(scenario, here)
        except* (TimeoutError, AssertionError) as errors:
            problems = [f"{errors.exceptions!r}", here.stderr[-2000:]]
        problems += _unlike("files", [entry.name for entry in file.parent.iterdir()], ["a.txt"])
        stages = [row["stage"] for row in here.rows("SELECT stage FROM audit ORDER BY id")]
        problems += _unlike("audit", stages, ["PROPOSED", "EVALUATED", "EXECUTED"])
        gates = here.rows("SELECT state, answer, used FROM gates")
        wanted = [{"state": "answered", "answer": "allow", "used": 1}]
        return Run((kill_at,), tuple(here.kills), (*problems, *_unlike("gates", gates, wanted)))


def _unlike(what: str, found: object, wanted: object) -> list[str]:
    return [] if found == wanted else [f"{what}: {found}"]


async def test_a_process_killed_anywhere_around_an_approval_asks_once_and_writes_once(
    tmp_path: Path, runner_port: int
) -> None:
    async def killed(number: int) -> Run:
        return await _killed(tmp_path / str(number), number, runner_port)

    await killed_at(KILLED_AT, killed)


@dataclass(frozen=True)
class ApprovedElsewhere(Approved):
    """Ada asks, and Ben is the owner: he taps in his own chat, and has a card that may not have
    arrived, and did not, shown again."""

    @property
    def card(self) -> str:
        return f"“scribe” wants to write 5 bytes to\n{self.file}\nwith write_file, for Ada in"

    async def person(self, here: Place) -> None:
        await Scenario.person(self, here)
        again: set[str] = set()

        async def look() -> ChatMessage | None:
            shown = [one for one in await here.emulator.client.messages(BEN) if one.from_bot]
            card = next((one for one in shown if one.text.startswith(self.card)), None)
            for message in () if card else shown:
                for button in message.buttons:
                    if button.data.startswith("nav:again_") and button.data not in again:
                        again.add(button.data)
                        await _tap(here, message, button.data)
            return card

        shown = await here.until(look)
        await _tap(here, shown, shown.buttons[0].data)


async def _tap(here: Place, message: ChatMessage, data: str) -> None:
    await here.emulator.client.act("tap", user=BEN, chat=BEN, message_id=message.id, data=data)


def _owned_by_ben(here: Place) -> None:
    config = json.loads(here.home.config.read_text())
    config["telegram"] |= {"owner_id": BEN, "allowed_user_ids": [ADA, BEN]}
    here.home.config.write_text(json.dumps(config))


async def _killed_elsewhere(folder: Path, kill_at: int, port: int) -> Run:
    file = folder / "docs" / "a.txt"
    file.parent.mkdir(parents=True)
    waits = "This waits for the yes of this bot's owner. I have asked them."
    scenario = ApprovedElsewhere(
        packs=(),
        answers=("wrote 5 bytes.",),
        aside=(waits, f"{waits}\n→ allowed once"),
        file=file,
    )
    async with place(folder / "home", (), scenario.model, runner_port=port, parts=("ben",)) as here:
        _allow_asking(here, file.parent)
        _owned_by_ben(here)
        try:
            await _live_through(scenario, here, (kill_at,))
            problems = await _problems(scenario, here)
        except* (TimeoutError, AssertionError) as errors:
            problems = [f"{errors.exceptions!r}", here.stderr[-2000:]]
        shown = [m for m in await here.emulator.client.messages(BEN) if m.from_bot]
        cards = [m for m in shown if m.text.startswith(scenario.card)]
        problems += _unlike("cards", len(cards), 1)
        problems += _unlike("buttons", [m.buttons for m in cards], [()])
        problems += _unlike("files", [entry.name for entry in file.parent.iterdir()], ["a.txt"])
        gates = here.rows("SELECT state, answer, used FROM gates")
        wanted = [{"state": "answered", "answer": "allow", "used": 1}]
        return Run((kill_at,), tuple(here.kills), (*problems, *_unlike("gates", gates, wanted)))


async def test_a_process_killed_while_the_owner_is_asked_elsewhere_asks_and_writes_once(
    tmp_path: Path, runner_port: int
) -> None:
    async def killed(number: int) -> Run:
        return await _killed_elsewhere(tmp_path / str(number), number, runner_port)

    await killed_at(KILLED_AT, killed)
