"""A bot that is killed on its way through a scenario, and what has to be so afterwards."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from aouo.emulator import ADA
from tests.fakes.model_server import Body, Reply
from tests.path.lives import Place, place

T = TypeVar("T")

AT_ONCE = 6
START_UP = 8  # places before a message can come in: gone through with the plain answer only
IN_DOUBT = "The connection broke while I was sending: "
RESUMED = "I was restarted while answering; continuing."
STATUS = ("Thinking…", "Working: persist …", "Working: msg …", "Working: clarify …")


@dataclass(frozen=True)
class Scenario:
    """What a person and a model do; here the plainest of them."""

    packs: tuple[str, ...] = ("notes",)
    said: tuple[str, ...] = ("What is the capital of France?",)
    answers: tuple[str, ...] = ("Paris.",)
    shown: tuple[str, ...] = ()
    """What is shown once besides the answers."""
    aside: tuple[str, ...] = ()
    """What may be shown once."""
    badge: str = ""
    parts: tuple[str, ...] = ()
    """Who else is in Telegram."""
    notes: int = 0
    """Rows in the pack's database when all is done."""
    edits: int = 0
    """How often at least a message is edited in a run that nobody kills."""
    runs: tuple[str, ...] = ()
    """How the runs of its schedules end."""
    ordered: bool = True
    """Whether the answers come in this order, wherever it is killed."""

    def prepare(self, here: Place) -> None:
        """Put into the home what is there before its first start."""

    def model(self, body: Body) -> Reply | str:
        del body
        return self.answers[0]

    async def person(self, here: Place) -> None:
        """Everything Ada does but tapping *Show again*."""
        await here.emulator.client.say(ADA, ADA, self.said[0])

    async def live(self, here: Place) -> None:
        """One life up to its end, whoever brings it about."""
        await here.settle([self.answer(n) for n in range(len(self.answers))])
        await here.end()

    def answer(self, number: int) -> str:
        return self.answers[number] + self.badge

    async def problems(self, here: Place) -> list[str]:
        """Everything that should not be as it is, read from the outside after the last life."""
        return await problems_of(self, here)

    def history(self) -> list[tuple[str, str]]:
        """Who said what, when all is done."""
        pairs = zip(self.said, self.answers, strict=True)
        return [line for said, answer in pairs for line in (("user", said), ("assistant", answer))]


@dataclass(frozen=True)
class Row:
    """A scenario of the kill table, or how it is made in a folder, and where it is killed."""

    scenario: Scenario | Callable[[Path], Scenario]
    at: Sequence[int] = ()
    """() = everywhere, until a run ends by itself."""
    among: str = ""
    """Count only the places whose name holds this; each of them is reached."""

    def made(self, folder: Path) -> Scenario:
        return self.scenario if isinstance(self.scenario, Scenario) else self.scenario(folder)


@dataclass(frozen=True)
class Run:
    """One way through a scenario: where it was killed, and what was wrong afterwards."""

    wanted: tuple[int, ...]
    kills: tuple[str, ...]
    problems: tuple[str, ...]

    def __str__(self) -> str:
        killed = " then ".join(
            f"{n} ({place})" for n, place in zip(self.wanted, self.kills, strict=False)
        )
        return "\n  ".join((f"killed at {killed or 'nothing'}:", *self.problems))


async def killed(
    scenario: Scenario,
    folder: Path,
    runner_port: int,
    *wanted: int,
    among: str = "",
    has_tables: bool = True,
) -> Run:
    """One way through a scenario, in a home of its own; see `place` and `failpoint.arm`."""
    async with place(
        folder,
        scenario.packs,
        scenario.model,
        runner_port=runner_port,
        parts=scenario.parts,
        has_tables=has_tables,
    ) as here:
        scenario.prepare(here)
        try:
            await live_through(scenario, here, wanted, among)
            problems = await scenario.problems(here)
        except* (TimeoutError, AssertionError) as errors:
            shown = [one.text for one in await here.said()]
            problems = [f"{errors.exceptions!r}; the chat shows {shown}", here.stderr[-2000:]]
        return Run(wanted, tuple(here.kills), tuple(problems))


async def together(numbers: Sequence[T], run: Callable[[T], Awaitable[Run]]) -> list[Run]:
    """Runs beside each other: each waits more than it works."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(number: T) -> Run:
        async with free:
            return await run(number)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number)) for number in numbers]
    return [task.result() for task in tasks]


async def killed_at(numbers: Sequence[int], killed: Callable[[int], Awaitable[Run]]) -> list[Run]:
    """One run for each place to be killed at; most have to reach theirs, and none may go wrong."""
    runs = await together(numbers, killed)

    judge(runs)
    assert sum(bool(run.kills) for run in runs) > len(runs) / 2
    return runs


def judge(runs: Sequence[Run]) -> None:
    """Every run that went wrong, with what went wrong."""
    if wrong := [str(run) for run in runs if run.problems]:
        pytest.fail("\n".join(wrong), pytrace=False)


async def live_through(
    scenario: Scenario, here: Place, wanted: Sequence[int], among: str = ""
) -> None:
    """Kill one process after the other; the last one is left alone."""
    async with asyncio.TaskGroup() as group:
        group.create_task(scenario.person(here))
        for kill_at in (*wanted, 0):
            async with here.alive(kill_at=kill_at, among=among) as life:
                await scenario.live(here)
            here.model.release.set()
            if life.ended:
                break
            assert kill_at, "the process ended by itself and not regularly"


async def problems_of(scenario: Scenario, here: Place) -> list[str]:
    """What a scenario without problems of its own looks at."""
    found = [*shown_wrongly(scenario, here, [one.text for one in await here.said()])]
    with here.reading() as rows:
        found += _stored_wrongly(scenario, rows)
    if here.unproposed:
        found.append(f"calls that the audit did not know: {here.unproposed}")
    notes = here.rows("SELECT text FROM entries", here.home.pack_database("notes", "tg_1001"))
    if len(notes) != scenario.notes:
        found.append(f"the pack's rows are {notes}")
    edits = await here.emulator.client.calls("editMessageText")
    if not here.kills and len(edits) < scenario.edits:
        found.append(f"edited only {len(edits)} times")
    if broken := await here.emulator.client.violations():
        found.append(f"Telegram's rules were broken: {broken}")
    return found


def _stored_wrongly(scenario: Scenario, rows: Callable[[str], list[dict[str, Any]]]) -> list[str]:
    """What the database should not hold."""
    found: list[str] = []
    if open_jobs := rows("SELECT id, state, outcome FROM jobs WHERE state <> 'done'"):
        found.append(f"open jobs: {open_jobs}")
    if open_turns := rows("SELECT status, reason FROM turns WHERE status <> 'ack'"):
        found.append(f"turns without an answer: {open_turns}")
    if calls := rows(
        "SELECT name, state FROM tool_calls AS c WHERE state <> 'done' AND NOT "
        "(state = 'unknown' AND EXISTS (SELECT 1 FROM deliveries AS d "
        "WHERE d.state = 'unknown' AND d.key LIKE c.id || ':%'))"
    ):
        found.append(f"calls without a result: {calls}")
    ends = "count(*) FILTER (WHERE stage IN ('EXECUTED', 'FAILED', 'BLOCKED')) AS ends"
    if odd := rows(f"SELECT call_id, {ends} FROM audit GROUP BY call_id HAVING ends <> 1"):
        found.append(f"calls with another number of ends than one: {odd}")
    if waiting := rows(
        "SELECT id, kind, state FROM deliveries WHERE state NOT IN ('sent', 'unknown', 'dropped')"
    ):
        found.append(f"deliveries that are not settled: {waiting}")
    history = rows(
        "SELECT role, text FROM messages WHERE visible AND role <> 'tool' AND calls = ''"
    )
    said = [(row["role"], row["text"]) for row in history]
    if said != scenario.history() and sorted(said) != scenario.history():
        found.append(f"the history is {history}")
    runs = rows("SELECT state, tries FROM schedule_runs")
    if [(row["state"], row["tries"]) for row in runs] != [(state, 1) for state in scenario.runs]:
        found.append(f"the runs of schedules are {runs}")
    if parts := rows("SELECT * FROM report_parts"):
        found.append(f"messages of a run were left: {parts}")
    return found


def shown_wrongly(scenario: Scenario, here: Place, shown: Sequence[str]) -> list[str]:
    """What a person would complain about."""
    found: list[str] = []
    times = Counter(shown)
    answers = [scenario.answer(n) for n in range(len(scenario.answers))]
    if missing := [text for text in (*answers, *scenario.shown) if not times[text]]:
        found.append(f"never shown: {missing}")
    unknown = here.rows("SELECT id, kind, chat_id FROM deliveries WHERE state = 'unknown'")
    if {row["id"] for row in unknown} != set(here.cut_off):
        found.append(f"in doubt are {unknown}, but cut off were {here.cut_off}")
    hers = [row for row in unknown if row["chat_id"] == str(ADA)]
    doubts = sum(row["kind"] in ("reply", "msg", "notice") for row in hers)
    told = sum(times.pop(text) for text in list(times) if text.startswith(IN_DOUBT))
    if not doubts <= told <= doubts + here.told_twice:
        found.append(f"the person was not told once of each doubt: {unknown}")
    resumed = (RESUMED,) if scenario.said else ()  # a run that nobody watches says nothing of it
    known, in_order = {*answers, *scenario.shown, *scenario.aside, *resumed}, list(shown)
    if any(row["kind"] == "live" for row in unknown):
        known |= {text for text in shown if answers[0].startswith(text) or text in STATUS}
        if times[answers[0]] > 1:  # on a slow machine all of it stood live, and nobody knew where
            times[answers[0]] -= 1
            in_order.remove(answers[0])
    if twice := [text for text, count in times.items() if count > 1]:
        found.append(f"shown more than once: {twice}")
    if strange := [text for text in times if text not in known]:
        found.append(f"nobody wanted to say: {strange}")
    if (
        scenario.ordered
        and not doubts
        and [text for text in in_order if text in answers] != answers
    ):
        found.append("the answers are not in order")
    return [*found, f"the chat shows {list(shown)}"] if found else []
