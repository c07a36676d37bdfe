"""Killed anywhere, nothing is lost and nothing happens twice. Source: design §3.5, issue 2.

A real process is killed at the n-th commit or request, n rising until a run ends by itself; the
next process on the same home has to finish what was begun. Telegram, the model service and the
person go on meanwhile, as they do.
"""

from __future__ import annotations

import asyncio
import base64
import random
import signal
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aouo.emulator import ADA
from aouo.store import schedules
from aouo.store.database import Tx, connect
from tests.fakes.model_server import Body, CallPart, Reply, Says, words_of
from tests.path.killing import START_UP, Run, Scenario, judge, killed
from tests.path.lives import WAIT_S, Place, place
from tests.path.looking import PHOTO_LINE
from tests.path.schedules.scheduled import reminder
from tests.sampling import step

AT_ONCE = 8
PAIRS = 4  # of kills, for each scenario
KILLS_AT_LEAST = 20  # fewer, and a place that counts has been lost
KILLS_AT_MOST = 200

REMINDER = "Remind me to water the plants"
TOLD = (
    "[a schedule runs this by itself; nobody is there to answer questions. Your answer goes to the "
    "person. If there is nothing to tell them, answer [SILENT] and nothing else]\n" + REMINDER
)
PICKER = (
    "Which pack shall answer here? Your message waits and is answered as soon as you choose.\n"
    "Notes – Keeps your notes and finds them again\n"
    "Vocab – Learns words with you, each at the right time"
)
CHOSEN = "“notes” answers here. Tap another one to change it."
BOUND = "“notes” answers here now."
QUESTION = "Which colour?"
_PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


class Streamed(Scenario):
    """The answer grows in a live message, which is edited before the final edit."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        await here.until_shown(self.answers[0][:20])
        here.model.release.set()
        here.model.release.clear()
        await here.until_shown(self.answers[0][: len(self.answers[0]) // 2])
        here.model.release.set()

    def model(self, body: Body) -> Reply | str:
        return Says(self.answers[0], chunks=4, stall_after=(1, 2))


class Effectful(Scenario):
    """The model writes a row; its answer waits until a status line is there."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        await here.until_shown("")
        here.model.release.set()

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return Says(self.answers[0], chunks=2, stall_after=0)
        note = {"action": "save", "data": {"text": "buy milk"}}
        return Says(calls=(CallPart("persist", note),))


class TwoCalls(Scenario):
    """The model writes a row and shows a message in one answer, then writes another row."""

    def model(self, body: Body) -> Reply | str:
        results = sum(message["role"] == "tool" for message in body["messages"])
        milk = {"action": "save", "data": {"text": "buy milk"}}
        bread = {"action": "save", "data": {"text": "buy bread"}}
        match results:
            case 0:
                show = {"type": "text", "text": self.shown[0]}
                return Says(calls=(CallPart("persist", milk), CallPart("msg", show)))
            case 2:
                return Says("One more.", calls=(CallPart("persist", bread),))
            case _:
                return self.answers[0]


class Showing(Scenario):
    """The model shows a message of its own before it answers."""

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return self.answers[0]
        return Says(calls=(CallPart("msg", {"type": "text", "text": self.shown[0]}),))


class Parked(Scenario):
    """Two packs and none chosen: the message waits until one is tapped."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        picker = await here.until_said(PICKER)
        await here.tap(picker, "pack:notes")


class Asked(Scenario):
    """The model asks; the turn waits until a button is tapped."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        question = await here.until_said(QUESTION)
        await here.tap(question, question.buttons[0].data)

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return f"{words_of(body['messages'][-1])} it is."
        question = {"message": QUESTION, "options": ["Red", "Blue"]}
        return Says(calls=(CallPart("clarify", question),))


class Queued(Scenario):
    """A second message comes while the first one is being answered."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        await here.until_stalled()
        await here.emulator.client.say(ADA, ADA, self.said[1])
        here.model.release.set()

    def model(self, body: Body) -> Reply | str:
        asked = [words_of(m) for m in body["messages"] if m["role"] == "user"][-1]
        number = 1 if self.said[1] in asked else 0
        return Says(self.answers[number], stall_after=None if number else 0)


class Pictures(Scenario):
    """Two pictures in one album: fetched, then shown to a model that sees."""

    async def person(self, here: Place) -> None:
        for caption in ("first", "second"):
            await here.emulator.client.send_file(
                ADA, ADA, "photo", _PNG + caption.encode(), caption=caption, album="a"
            )

    def model(self, body: Body) -> Reply | str:
        parts = body["messages"][-1]["content"]
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        seen = [base64.b64decode(url.partition(",")[2]).removeprefix(_PNG) for url in urls]
        return self.answers[0] if seen == [b"first", b"second"] else f"I see {seen}."


class Stopped(Scenario):
    """The owner stops the bot while it answers."""

    def model(self, body: Body) -> Reply | str:
        return Says(self.answers[0], stall_after=0)

    async def live(self, here: Place) -> None:
        if len(here.lives) > 1:
            await super().live(here)
            return

        async def stopping() -> bool:
            return "stopping" in here.stderr or here.is_dead

        await here.until_stalled()
        here.life.stop()
        await here.until(stopping)
        here.model.release.set()
        async with asyncio.timeout(WAIT_S):
            await here.life.gone.wait()


class Due(Scenario):
    """A reminder is due when the bot starts; nobody says anything."""

    def prepare(self, here: Place) -> None:
        row = reminder(datetime.now(UTC), 0)  # noqa: TID251 - as the processes do
        with closing(connect(here.home.database)) as connection:
            schedules.add(Tx(connection), row, row.since)

    async def person(self, here: Place) -> None:
        """Says nothing."""

    def history(self) -> list[tuple[str, str]]:
        ran = [("user", TOLD), ("assistant", self.answers[-1])]
        about = f"[by itself, not from the person: 'plants' was due: {REMINDER}]"
        return [*ran, ("user", about), ("assistant", self.answers[-1])]


class DueAndShowing(Due):
    """The reminder shows a message before its answer: both come together."""

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return self.answers[0]
        return Says(calls=(CallPart("msg", {"type": "text", "text": self.shown[0]}),))


class DueMeanwhile(Due):
    """The reminder's result is there while a message is answered, and waits for that turn."""

    def model(self, body: Body) -> Reply | str:
        if "Remind me" in str(body["messages"][-1]["content"]):
            return self.answers[1]
        return Says(self.answers[0], stall_after=0)

    async def person(self, here: Place) -> None:
        await Scenario.person(self, here)
        await here.until_stalled()
        await here.until(lambda: self._waits(here))
        here.model.release.set()

    async def _waits(self, here: Place) -> bool:
        """Whether the result waits, or the first life is over."""
        ended = here.rows("SELECT 1 FROM schedule_runs WHERE state = 'done'")
        return bool(ended) or here.is_dead or len(here.lives) > 1

    def answer(self, number: int) -> str:
        return self.answers[number] + (self.badge if number else "")

    def history(self) -> list[tuple[str, str]]:
        said = [("user", self.said[0]), ("assistant", self.answers[0])]
        return sorted([*said, *Due.history(self)])


PLAIN = Scenario()
"""Goes through the very first start too."""
SCENARIOS = {
    "a plain answer": PLAIN,
    "a streamed answer": Streamed(
        answers=(
            "Paris is the capital of France, and has been for most of the last thousand years; "
            "the court left for Versailles in 1682 and came back to the city in 1789, when the "
            "people fetched it. Today more than two million people live there.",
        ),
        edits=2,
    ),
    "a turn with an effectful tool": Effectful(
        said=("note: buy milk",), answers=("Saved.",), notes=1, edits=1
    ),
    "a turn with calls beside and behind each other": TwoCalls(
        shown=("Milk is noted.",),
        answers=("Both are saved.",),
        # Words that stood live, in a message whose id died with the process, cannot be taken away.
        aside=("One more.",),
        notes=2,
    ),
    "a turn that shows a message": Showing(shown=("Look at this.",), answers=("Done.",)),
    "a parked picker": Parked(
        packs=("notes", "vocab"), shown=(BOUND,), aside=(PICKER, CHOSEN), badge="\n\n— notes"
    ),
    "a question of the model": Asked(
        answers=("Red it is.",), aside=(QUESTION, f"{QUESTION}\n→ Red")
    ),
    "a queued second message": Queued(
        said=(
            "First, and at such a length that nothing which follows can be taken for a part of it",
            "Second, and at such a length that it is not taken for a beginning of something else",
        ),
        answers=("One.", "Two."),
    ),
    "an album": Pictures(
        said=(f"[album: 2 items]\n{PHOTO_LINE}\nfirst\n{PHOTO_LINE}\nsecond",),
        answers=("Two pictures.",),
    ),
    "a graceful stop": Stopped(),
    "a fired schedule": Due(
        said=(), answers=("Water the plants!",), badge="\n\n— ⏰ plants", runs=("done",)
    ),
    "a fired schedule that shows a message": DueAndShowing(
        said=(),
        shown=("Look at this.",),
        answers=("Water the plants!",),
        badge="\n\n— ⏰ plants",
        runs=("done",),
    ),
    "a result that waits for a turn": DueMeanwhile(
        answers=("Paris.", "Water the plants!"),
        badge="\n\n— ⏰ plants",
        runs=("done",),
        ordered=False,
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_process_killed_anywhere_loses_nothing_and_repeats_nothing(
    name: str, tmp_path: Path, runner_port: int
) -> None:
    scenario = SCENARIOS[name]
    runs: list[Run] = []
    first, apart = 1 if scenario is PLAIN else 1 + START_UP, step()
    while all(run.kills for run in runs) and len(runs) * apart < KILLS_AT_MOST:
        begin = first + len(runs) * apart
        numbers = range(begin, begin + AT_ONCE * apart, apart)
        runs += await _all([(scenario, (n,)) for n in numbers], tmp_path, runner_port)

    judge(runs)
    assert KILLS_AT_LEAST <= sum(bool(run.kills) for run in runs) * apart < KILLS_AT_MOST


async def test_a_process_killed_again_while_it_recovers_loses_nothing_and_repeats_nothing(
    tmp_path: Path, runner_port: int
) -> None:
    dice = random.Random(2)
    wanted = [
        (scenario, (dice.randint(8, 30), dice.randint(3, 25)))
        for scenario in SCENARIOS.values()
        for _ in range(PAIRS // step(PAIRS))
    ]
    runs = await _all(wanted, tmp_path, runner_port)

    judge(runs)
    assert sum(len(run.kills) == 2 for run in runs) > len(runs) / 2


async def test_what_waits_is_not_in_doubt_while_telegram_does_not_answer_a_starting_bot(
    tmp_path: Path, runner_port: int
) -> None:
    async with place(tmp_path, PLAIN.packs, PLAIN.model, runner_port=runner_port) as here:
        people = here.emulator.client
        await people.fault("status", method="sendMessage", status=429, retry_after=60)
        await people.fault("status", method="getMe", nth=2, times=2, status=502)
        await PLAIN.person(here)
        await _kill_after(here, "sendMessage", 429)
        await _kill_after(here, "getMe", 502, times=2)
        async with here.alive() as last:
            await PLAIN.live(here)
        shown = [one.text for one in await here.said()]

    assert last.ended, here.stderr
    assert shown == ["Paris."]


async def _kill_after(here: Place, method: str, status: int, *, times: int = 1) -> None:
    """One life, killed once Telegram has answered so and it is written down that nothing left."""

    async def look() -> bool:
        waiting = here.rows("SELECT id FROM deliveries WHERE state = 'queued'")
        return here.calls(method, status) == times and bool(waiting)

    async with here.alive() as life:
        await here.until(look)
        life.stop(signal.SIGKILL)


async def _all(
    wanted: Sequence[tuple[Scenario, tuple[int, ...]]], folder: Path, runner_port: int
) -> list[Run]:
    """Runs beside each other: each waits more than it works."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, scenario: Scenario, kills: tuple[int, ...]) -> Run:
        name = "-".join(map(str, (number, *kills)))
        async with free:
            return await killed(
                scenario, folder / name, runner_port, *kills, has_tables=scenario is not PLAIN
            )

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(one(number, scenario, kills))
            for number, (scenario, kills) in enumerate(wanted)
        ]
    return [task.result() for task in tasks]
