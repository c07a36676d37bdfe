"""The one door to a tool: it fails closed and writes down every exit. Source: design §3.7."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
import structlog
from pydantic import BaseModel, ConfigDict, model_validator
from structlog.testing import capture_logs

from aouo.agent.toolbox import Toolbox
from aouo.agent.tools.registry import Arguments, Registry, Tool, ToolContext, prepare
from aouo.facts.errors import OutcomeUnknown, ToolFailed
from aouo.facts.events import ActionCompleted, Event
from aouo.facts.transcript import ToolCall
from aouo.guard.chain import _RESULT_CHARS, CEILING_CHARS, Guard
from aouo.guard.prepared import (
    UNATTENDED,
    Allowed,
    Approve,
    Ask,
    Blocked,
    Lasting,
    Outcome,
    PreparedCall,
    Touched,
    Verdict,
    by_nobody,
    digest,
)
from aouo.store import audit, opening
from aouo.store.database import Database
from tests.fakes.clock import FastClock
from tests.fakes.turn_facts import facts_of

TERMINAL = {"EXECUTED", "FAILED", "BLOCKED"}


async def fine(payload: Mapping[str, Any]) -> str:
    return f"did {dict(payload)}"


class Anything(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")


class OneNumber(Arguments):
    a: int


class Numbers(Arguments):
    many: list[int]


class Breaks(Anything):
    """A schema from elsewhere may be anything."""

    @model_validator(mode="before")
    @classmethod
    def _break(cls, given: Any) -> Any:
        raise AttributeError("schema")


@dataclass
class Runner:
    """A tool, and what it was given."""

    work: Callable[[Mapping[str, Any]], Awaitable[str]] = fine
    timeout_s: float | None = 5.0
    takes: type[BaseModel] = Anything
    changes: bool = True
    ran: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    async def run(self, arguments: BaseModel, context: ToolContext, call_id: str) -> str:
        self.ran.append(arguments.model_dump())
        return await self.work(self.ran[-1])

    def tool(self, name: str) -> Tool:
        return Tool(
            name,
            "Does.",
            self.takes,
            self.run,
            mutates=self.changes,
            timeout_s=self.timeout_s,
        )


NOWHERE = cast("ToolContext", object())


def box_of(runner: Runner | None, name: str, permitted: str = "core") -> Toolbox:
    """What a turn may call: tools of the group, or the one, that it is `permitted`."""
    other = Runner().tool("other")
    tools = [other, runner.tool(name)] if runner else [other]
    return Toolbox(Registry(tools), permitted=[permitted])


class Shelf:
    """Keeps what is too long, and says how long it was."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    async def keep(self, action: PreparedCall, text: str) -> str:
        self.kept.append(text)
        return f"handle of {len(text)}"


@dataclass
class Owner:
    """Answers as told, and remembers what for."""

    answer: Allowed | Blocked
    asked: list[tuple[PreparedCall, Ask]] = field(default_factory=list[tuple[PreparedCall, Ask]])
    meanwhile: Callable[[], object] = lambda: None

    async def approve(
        self, asked: Sequence[tuple[PreparedCall, Ask]]
    ) -> Sequence[Allowed | Blocked]:
        self.asked += asked
        self.meanwhile()
        return [self.answer] * len(asked)


FAR = Lasting("folder", "/far")


async def propose(database: Database, guard: Guard, action: PreparedCall) -> None:
    """Write the first row of a call, as its journal does with its intent."""
    entry = guard.propose(action)
    await database.transact(lambda tx: audit.append(tx, entry, "now"))


def unbound(action: PreparedCall) -> PreparedCall:
    return action


@dataclass
class Door:
    """A guard with its database, and what it told."""

    database: Database
    bind: Callable[[PreparedCall], PreparedCall] = unbound
    shelf: Shelf = field(default_factory=Shelf)
    judges: list[Callable[[PreparedCall], Verdict]] = field(
        default_factory=list[Callable[[PreparedCall], Verdict]]
    )
    told: list[Event] = field(default_factory=list[Event])

    async def call(
        self,
        runner: Runner | None,
        arguments: str = '{"a": 1}',
        *,
        name: str = "tool",
        approve: Approve = by_nobody,
    ) -> Outcome:
        guard = Guard(
            database=self.database,
            clock=FastClock(),
            bind=self.bind,
            judges=self.judges,
            keep=self.shelf.keep,
            redact=lambda text: text.replace("hunter2", "***"),
            hidden=lambda action, text: text,
            publish=self.told.append,
        )
        box = box_of(runner, name)
        call = ToolCall("c", name, arguments)
        action = prepare(call, box.named(name), facts_of())
        await propose(self.database, guard, action)
        [judged] = await guard.judged([action], approve)
        return await guard.call(judged, box.runner(name, NOWHERE))

    async def stages(self) -> list[str]:
        rows = await self.database.read(lambda tx: tx.all("SELECT stage FROM audit ORDER BY id"))
        return [row["stage"] for row in rows]

    async def end_turn(self) -> None:
        await self.database.transact(lambda tx: audit.close_of_turn(tx, "t", "now"))

    @property
    def completed(self) -> list[bool]:
        return [event.success for event in self.told if isinstance(event, ActionCompleted)]


@pytest.fixture
async def door(tmp_path: Path) -> AsyncGenerator[Door]:
    database = Database(tmp_path / "a.db")
    await database.open()
    await database.transact(opening.make_tables)
    yield Door(database)
    await database.close()


async def broken(payload: Mapping[str, Any]) -> str:
    raise ZeroDivisionError("secret detail")


async def refuses(payload: Mapping[str, Any]) -> str:
    raise ToolFailed("not like this")


async def hangs(payload: Mapping[str, Any]) -> str:
    await asyncio.Event().wait()
    return "never"


def judge_that_raises(action: PreparedCall) -> Verdict:
    raise ZeroDivisionError


async def half_done(payload: Mapping[str, Any]) -> str:
    raise OutcomeUnknown("half of it.", "Ask.")


def judge_that_blocks(action: PreparedCall) -> Verdict:
    return Blocked("not today")


def judge_that_changes(action: PreparedCall) -> Verdict:
    action.payload["a"] = 2  # pyright: ignore[reportIndexIssue]
    return Allowed()


def judge_that_changes_arguments(action: PreparedCall) -> Verdict:
    assert isinstance(action.arguments, Numbers)
    action.arguments.many.append(2)
    return Allowed()


@pytest.mark.parametrize(
    ("effect", "unknown", "text"),
    [(True, True, "[outcome unknown: half of it. Ask.]"), (False, False, "half of it.")],
)
async def test_only_what_changes_something_has_an_unknown_outcome(
    door: Door, *, effect: bool, unknown: bool, text: str
) -> None:
    outcome = await door.call(Runner(half_done, changes=effect), "{}")

    assert outcome == Outcome(text, failed=True, effect=effect, unknown=unknown)


@pytest.mark.parametrize(
    ("runner", "arguments", "judges", "text", "last"),
    [
        (Runner(), '{"a": 1}', [], "did {'a': 1}", "EXECUTED"),
        (Runner(), "", [], "did {}", "EXECUTED"),
        (None, "{}", [], "There is no tool 'tool' here. Tools: other.", "BLOCKED"),
        (Runner(), '{"a": ', [], "The arguments are not complete JSON", "BLOCKED"),
        (Runner(), "[]", [], "The arguments have to be one JSON object.", "BLOCKED"),
        (Runner(takes=OneNumber), "{}", [], "a: Field required", "BLOCKED"),
        (Runner(), "{}", [judge_that_blocks], "not today", "BLOCKED"),
        (Runner(), "{}", [judge_that_raises], "could not be checked, so it is refused", "BLOCKED"),
        (Runner(), '{"a": 1}', [judge_that_changes], "changed after it was checked", "FAILED"),
        (
            Runner(takes=Numbers),
            '{"many": [1]}',
            [judge_that_changes_arguments],
            "changed after it was checked",
            "FAILED",
        ),
        (Runner(refuses), "{}", [], "not like this", "FAILED"),
        (
            Runner(broken),
            "{}",
            [],
            "[outcome unknown: tool broke (ZeroDivisionError). Do",
            "FAILED",
        ),
        (
            Runner(hangs, timeout_s=0.01),
            "{}",
            [],
            "[outcome unknown: tool took longer than 0.01 s. Do",
            "FAILED",
        ),
    ],
)
async def test_every_exit_writes_one_terminal_row_and_tells_it_once(
    door: Door,
    runner: Runner | None,
    arguments: str,
    judges: list[Callable[[PreparedCall], Verdict]],
    text: str,
    last: str,
) -> None:
    door.judges = judges
    structlog.reset_defaults()  # whatever another test made of it
    with capture_logs() as logs:
        outcome = await door.call(runner, arguments)

    assert text in outcome.text
    assert ("tool_error" in [one["event"] for one in logs]) == outcome.failed
    assert await door.stages() == ["PROPOSED", "EVALUATED", last]
    assert (door.completed, outcome.failed) == ([last == "EXECUTED"], last != "EXECUTED")
    if runner and (last == "BLOCKED" or judges):
        assert runner.ran == []


async def test_what_is_proposed_is_written_before_it_is_judged_and_judged_before_its_effect(
    door: Door, tmp_path: Path
) -> None:
    """And that it began is told first of all."""
    seen: list[tuple[str, list[str], list[str]]] = []

    def note(who: str) -> None:
        with closing(sqlite3.connect(tmp_path / "a.db")) as reader:
            stages = [stage for (stage,) in reader.execute("SELECT stage FROM audit ORDER BY id")]
        seen.append((who, stages, [type(event).__name__ for event in door.told]))

    def judge(action: PreparedCall) -> Verdict:
        note("judge")
        return Allowed()

    async def work(payload: Mapping[str, Any]) -> str:
        note("effect")
        return "done"

    door.judges = [judge]
    await door.call(Runner(work))

    assert seen == [
        ("judge", ["PROPOSED"], ["ActionStarted"]),
        ("effect", ["PROPOSED", "EVALUATED"], ["ActionStarted", "ShieldVerdict"]),
    ]


async def test_a_call_that_is_stopped_while_it_runs_is_written_down_too(door: Door) -> None:
    running = asyncio.Event()

    async def work(payload: Mapping[str, Any]) -> str:
        running.set()
        return await hangs(payload)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(door.call(Runner(work)))
        await running.wait()
        task.cancel()
    await door.end_turn()

    assert task.cancelled()
    assert (await door.stages(), door.completed) == (["PROPOSED", "EVALUATED", "FAILED"], [False])


async def test_a_call_that_is_taken_up_after_a_crash_is_written_down_once(door: Door) -> None:
    """Cut off by the end of the process, it passes all stages again; its end comes once."""
    running = asyncio.Event()

    async def work(payload: Mapping[str, Any]) -> str:
        running.set()
        return await hangs(payload)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(door.call(Runner(work)))
        await running.wait()
        task.cancel()
    outcome = await door.call(Runner())
    await door.call(Runner(refuses))
    await door.end_turn()

    assert not outcome.failed
    assert await door.stages() == ["PROPOSED", "EVALUATED", "EXECUTED"]


def judge_that_asks(action: PreparedCall) -> Verdict:
    return Ask("far away", "/far/hunter2", writes_bytes=3, always=(FAR,))


@pytest.mark.parametrize(
    ("judges", "answer", "text", "last"),
    [
        ([judge_that_asks], Allowed("said yes"), "did {'a': 1}", "EXECUTED"),
        ([judge_that_asks], Blocked("said no"), "said no", "BLOCKED"),
        ([judge_that_asks, judge_that_blocks], Allowed(), "not today", "BLOCKED"),
        ([judge_that_asks, judge_that_raises], Allowed(), "could not be checked", "BLOCKED"),
    ],
)
async def test_where_a_judge_asks_the_owner_decides_and_nobody_overrules_a_no(
    door: Door,
    judges: list[Callable[[PreparedCall], Verdict]],
    answer: Allowed | Blocked,
    text: str,
    last: str,
) -> None:
    door.judges = judges
    owner, runner = Owner(answer), Runner()
    outcome = await door.call(runner, approve=owner.approve)

    assert text in outcome.text
    assert await door.stages() == ["PROPOSED", "EVALUATED", last]
    assert len(owner.asked) == (1 if len(judges) == 1 else 0)
    assert len(runner.ran) == (last == "EXECUTED")


async def test_the_owner_sees_no_secret_and_is_asked_before_the_call_is_evaluated_for_good(
    door: Door,
) -> None:
    door.judges = [judge_that_asks]
    owner = Owner(Allowed("said yes"))
    await door.call(Runner(), approve=owner.approve)
    rows = await door.database.read(lambda tx: tx.all("SELECT reason FROM audit ORDER BY id"))

    assert [ask.subject for _, ask in owner.asked] == ["/far/***"]
    assert [row["reason"] for row in rows] == ["", "the owner is asked: far away", "said yes"]


async def test_a_question_that_nobody_can_answer_is_a_no(door: Door) -> None:
    door.judges = [judge_that_asks]
    runner = Runner()
    outcome = await door.call(runner)

    assert (outcome.text, runner.ran) == (UNATTENDED, [])


async def test_the_tools_time_does_not_run_while_the_owner_is_asked(door: Door) -> None:
    """The original's 30 s tool limit ended a dialog of five minutes (reference, A5)."""
    door.judges = [judge_that_asks]
    answered = asyncio.Event()

    class Slow(Owner):
        async def approve(
            self, asked: Sequence[tuple[PreparedCall, Ask]]
        ) -> Sequence[Allowed | Blocked]:
            await answered.wait()
            return [self.answer] * len(asked)

    async with asyncio.TaskGroup() as group:
        call = group.create_task(
            door.call(Runner(timeout_s=0.01), approve=Slow(Allowed("said yes")).approve)
        )
        loop = asyncio.get_running_loop()
        loop.call_later(0.05, answered.set)

    assert not call.result().failed


async def test_a_path_that_leads_elsewhere_when_the_call_begins_is_refused(door: Door) -> None:
    """Time of check, time of use: the link was turned while the owner was asked."""
    leads_to = ["/fine"]
    door.judges = [judge_that_asks]
    door.bind = lambda action: replace(action, paths=(Touched("path", Path(leads_to[-1])),))
    runner = Runner()
    owner = Owner(Allowed(), meanwhile=lambda: leads_to.append("/secret"))
    outcome = await door.call(runner, approve=owner.approve)

    assert "changed after it was checked" in outcome.text
    assert (runner.ran, await door.stages()) == ([], ["PROPOSED", "EVALUATED", "FAILED"])


async def test_where_paths_lead_is_looked_up_when_judged_and_again_when_the_call_begins(
    door: Door,
) -> None:
    """Twice on purpose, and what is approved in between is what is executed."""
    looked_up: list[str] = []

    def bind(action: PreparedCall) -> PreparedCall:
        looked_up.append(action.digest)
        return replace(action, paths=(Touched("path", Path("/judged")),))

    door.bind, door.judges = bind, [judge_that_asks]
    owner, runner = Owner(Allowed()), Runner()
    await door.call(runner, '{"path": "a"}', approve=owner.approve)

    [(approved, _)] = owner.asked
    assert looked_up == [approved.digest] * 2 == [digest("tool", {"path": "a"})] * 2
    assert approved.arguments is not None
    assert runner.ran == [approved.bound(approved.arguments).model_dump()] == [{"path": "/judged"}]


async def test_a_tool_is_given_the_very_path_that_was_judged(door: Door) -> None:
    door.bind = lambda action: replace(action, paths=(Touched("path", Path("/judged")),))
    runner = Runner()
    await door.call(runner, '{"path": "a/../b", "a": 1}')

    assert runner.ran == [{"path": "/judged", "a": 1}]


async def test_half_a_character_in_an_argument_is_sent_back(door: Door) -> None:
    """No file and no database holds it."""
    runner = Runner()

    outcome = await door.call(runner, '{"a": ["\\ud800"]}')

    assert "half of a character" in outcome.text
    assert runner.ran == []


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a":' * 200 + "1" + "}" * 200,
        '{"a":' + "[" * 100_000,
        '{"a": [[' + "[" * 70 + "]" * 72 + "}",
    ],
)
async def test_arguments_without_a_bottom_are_sent_back(door: Door, arguments: str) -> None:
    runner = Runner()

    outcome = await door.call(runner, arguments)

    assert "nested more than 64 deep" in outcome.text
    assert runner.ran == []


async def test_a_result_that_no_database_could_hold_is_written_out(door: Door) -> None:
    """The name of a file may be no UTF-8 at all."""

    async def lists(payload: Mapping[str, Any]) -> str:
        return b"caf\xe9".decode("utf-8", "surrogateescape")

    assert (await door.call(Runner(lists))).text == "caf\\udce9"


async def test_what_breaks_while_arguments_are_checked_is_a_no(door: Door) -> None:
    def lost(action: PreparedCall) -> PreparedCall:
        raise RuntimeError("no way")

    runner = Runner(takes=Breaks)
    unchecked = await door.call(runner)
    door.bind = lost
    unbound_ = await door.call(other := Runner())

    assert unchecked.text == unbound_.text == "This could not be checked, so it is refused."
    assert (runner.ran, other.ran) == ([], [])


async def test_the_name_of_a_tool_that_does_not_exist_is_kept_short(door: Door) -> None:
    outcome = await door.call(None, name="x" * 5000)
    rows = await door.database.read(lambda tx: tx.all("SELECT tool, reason FROM audit"))

    assert len(outcome.text) < 500
    assert {row["tool"] for row in rows} == {"x" * 64}
    assert all(len(row["reason"]) < 100 for row in rows)


async def test_a_tool_that_may_be_called_no_more_than_the_pack_allows(door: Door) -> None:
    guard = Guard(
        database=door.database,
        clock=FastClock(),
        bind=unbound,
        judges=[],
        keep=Shelf().keep,
        redact=str,
        hidden=lambda action, text: text,
        publish=door.told.append,
    )
    runner = Runner()
    box = box_of(runner, "shell", permitted="other")
    call = ToolCall("c", "shell", "{}")
    action = prepare(call, box.named("shell"), facts_of())
    await propose(door.database, guard, action)
    [judged] = await guard.judged([action])
    outcome = await guard.call(judged, lambda arguments, id_: runner.run(arguments, NOWHERE, id_))

    assert (box.runner("shell", NOWHERE), outcome.failed, runner.ran) == (None, True, [])
    assert "There is no tool 'shell' here. Tools: other." in outcome.text


@pytest.mark.parametrize(
    ("name", "length", "kept"),
    [
        ("tool", _RESULT_CHARS, []),
        ("tool", _RESULT_CHARS + 1, [_RESULT_CHARS + 1]),
        ("skill_view", 4 * _RESULT_CHARS, []),
        ("skill_view", 4 * _RESULT_CHARS + 1, [4 * _RESULT_CHARS + 1]),
        ("tool", CEILING_CHARS + 1, [CEILING_CHARS + 35]),
    ],
)
async def test_a_long_result_is_kept_elsewhere_and_the_model_reads_its_handle(
    door: Door, name: str, length: int, kept: list[int]
) -> None:
    """A skill comes whole, since it is there to be followed; nothing is kept above the ceiling."""

    async def talks(payload: Mapping[str, Any]) -> str:
        return "x" * length

    outcome = await door.call(Runner(talks), name=name)

    assert [len(text) for text in door.shelf.kept] == kept
    assert outcome.kept == bool(kept)
    assert outcome.text == (f"handle of {kept[0]}" if kept else "x" * length)


async def test_what_is_kept_and_what_is_read_holds_no_secret(door: Door) -> None:
    async def talks(payload: Mapping[str, Any]) -> str:
        return "hunter2 " + "x" * payload["a"]

    short = await door.call(Runner(talks), '{"a": 1}')
    await door.call(Runner(talks), '{"a": 9000}')

    assert short.text == "*** x"
    assert door.shelf.kept[0].startswith("*** xxx")


async def test_the_audit_holds_digests_and_never_what_the_arguments_say(door: Door) -> None:
    await door.call(Runner(), '{"a": "my diary"}')
    rows = await door.database.read(lambda tx: tx.all("SELECT * FROM audit"))

    assert "diary" not in str([tuple(row) for row in rows])
    assert {row["digest"] for row in rows} == {digest("tool", {"a": "my diary"})}


def test_a_digest_is_the_same_however_the_payload_was_spelled() -> None:
    assert digest("t", {"a": 1, "b": [2]}) == digest("t", {"b": [2], "a": 1})
    assert digest("t", {"a": 1}) != digest("t", {"a": "1"})
    assert digest("t", {"a": 1}) != digest("u", {"a": 1})
