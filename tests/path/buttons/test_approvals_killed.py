"""An approval outlives a process that is killed anywhere: asked for once, carried out once.

Source: issue 3 "Done when"; the rest of the matrix is in `test_kill_matrix`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from aouo.emulator import ADA, BEN, ChatMessage
from tests.fakes.model_server import Body, CallPart, Reply, Says, words_of
from tests.path.killing import START_UP, Run, Scenario, killed, killed_at
from tests.path.lives import Place
from tests.sampling import places

KILLED_AT = range(1 + START_UP, 60, 6)
ALLOWED = {"state": "answered", "answer": "allow", "used": 1}


@dataclass(frozen=True)
class Approved(Scenario):
    """The model writes a file where only the owner can allow it; the owner taps."""

    file: Path = Path()

    @property
    def card(self) -> str:
        return f"“scribe” wants to write 5 bytes to\n{self.file}\nwith write_file."

    def prepare(self, here: Place) -> None:
        """A pack that asks for the folder, and an owner who wants to be asked."""
        self.file.parent.mkdir()
        pack = here.home.packs / "scribe" / "pack.yml"
        pack.parent.mkdir()
        pack.write_text(
            "name: scribe\nversion: 0.1.0\ndisplay_name: Scribe\n"
            f"permissions: {{tools: [files], files: [{json.dumps(str(self.file.parent))}]}}\n"
        )
        config = json.loads(here.home.config.read_text())
        here.home.config.write_text(json.dumps(config | {"security": {"fence_mode": "ask"}}))

    async def person(self, here: Place) -> None:
        await super().person(here)
        shown = await here.until_said(self.card)
        await here.tap(shown, shown.buttons[0].data)

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return f"{words_of(body['messages'][-1])}."
        write = {"path": str(self.file), "content": "hello"}
        return Says(calls=(CallPart("write_file", write),))

    async def problems(self, here: Place) -> list[str]:
        """The audit, the gate and the file are looked at as well."""
        stages = [row["stage"] for row in here.rows("SELECT stage FROM audit ORDER BY id")]
        return [
            *await super().problems(here),
            *_unlike("files", [entry.name for entry in self.file.parent.iterdir()], ["a.txt"]),
            *_unlike("audit", stages, ["PROPOSED", "EVALUATED", "EXECUTED"]),
            *_unlike("gates", here.rows("SELECT state, answer, used FROM gates"), [ALLOWED]),
        ]


def _unlike(what: str, found: object, wanted: object) -> list[str]:
    return [] if found == wanted else [f"{what}: {found}"]


async def test_a_process_killed_anywhere_around_an_approval_asks_once_and_writes_once(
    tmp_path: Path, runner_port: int
) -> None:
    async def one(number: int) -> Run:
        file = tmp_path / str(number) / "docs" / "a.txt"
        card = f"“scribe” wants to write 5 bytes to\n{file}\nwith write_file. Is that all right?"
        scenario = Approved(
            packs=(),
            answers=("wrote 5 bytes.",),
            aside=(card, f"{card}\n→ allowed once"),
            file=file,
        )
        return await killed(scenario, tmp_path / str(number) / "home", runner_port, number)

    await killed_at(places(KILLED_AT), one)


@dataclass(frozen=True)
class ApprovedElsewhere(Approved):
    """Ada asks, and Ben is the owner: he taps in his own chat, and has a card that may not have
    arrived, and did not, shown again."""

    def prepare(self, here: Place) -> None:
        super().prepare(here)
        config = json.loads(here.home.config.read_text())
        config["telegram"] |= {"owner_id": BEN, "allowed_user_ids": [ADA, BEN]}
        here.home.config.write_text(json.dumps(config))

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

    async def problems(self, here: Place) -> list[str]:
        shown = [m for m in await here.emulator.client.messages(BEN) if m.from_bot]
        cards = [m for m in shown if m.text.startswith(self.card)]
        return [
            *await super().problems(here),
            *_unlike("cards", len(cards), 1),
            *_unlike("buttons", [m.buttons for m in cards], [()]),
        ]


async def _tap(here: Place, message: ChatMessage, data: str) -> None:
    await here.emulator.client.act("tap", user=BEN, chat=BEN, message_id=message.id, data=data)


async def test_a_process_killed_while_the_owner_is_asked_elsewhere_asks_and_writes_once(
    tmp_path: Path, runner_port: int
) -> None:
    waits = "This waits for the yes of this bot's owner. I have asked them."

    async def one(number: int) -> Run:
        scenario = ApprovedElsewhere(
            packs=(),
            parts=("ben",),
            answers=("wrote 5 bytes.",),
            aside=(waits, f"{waits}\n→ allowed once"),
            file=tmp_path / str(number) / "docs" / "a.txt",
        )
        return await killed(scenario, tmp_path / str(number) / "home", runner_port, number)

    await killed_at(places(KILLED_AT), one)
