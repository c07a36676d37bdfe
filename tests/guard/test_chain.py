"""The one door to a tool: it fails closed and writes down every exit. Source: design §3.7."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from aouo.errors import ToolFailed
from aouo.events import ActionCompleted, Event
from aouo.guard.action import Action, Allowed, Blocked, Verdict, digest
from aouo.guard.chain import MAX_RESULT_CHARS, Guard, Outcome, Proposal
from aouo.store import migrate
from aouo.store.database import Database
from aouo.transcript import ToolCall
from tests.fakes.clock import FastClock

TERMINAL = {"EXECUTED", "FAILED", "BLOCKED"}


async def fine(payload: Mapping[str, Any]) -> str:
    return f"did {dict(payload)}"


@dataclass
class Runner:
    """A tool as the guard sees it."""

    work: Callable[[Mapping[str, Any]], Awaitable[str]] = fine
    timeout_s: float | None = 5.0
    effect: bool = True
    problem: str = ""
    ran: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    def check(self, payload: Mapping[str, Any]) -> None:
        if self.problem:
            raise ToolFailed(self.problem)

    async def run(self, payload: Mapping[str, Any], call_id: str) -> str:
        self.ran.append(payload)
        return await self.work(payload)


@dataclass
class Door:
    """A guard with its database, and what it told."""

    database: Database
    judges: list[Callable[[Action], Verdict]] = field(
        default_factory=list[Callable[[Action], Verdict]]
    )
    told: list[Event] = field(default_factory=list[Event])

    async def call(self, runner: Runner | None, arguments: str = '{"a": 1}') -> Outcome:
        guard = Guard(
            database=self.database,
            clock=FastClock(),
            judges=self.judges,
            redact=lambda text: text.replace("hunter2", "***"),
            publish=self.told.append,
        )
        proposal = Proposal(ToolCall("c", "tool", arguments), "chat", "notes", "t")
        return await guard.call(proposal, runner, ["tool"])

    async def stages(self) -> list[str]:
        rows = await self.database.read(lambda tx: tx.all("SELECT stage FROM audit ORDER BY id"))
        return [row["stage"] for row in rows]

    @property
    def completed(self) -> list[bool]:
        return [event.success for event in self.told if isinstance(event, ActionCompleted)]


@pytest.fixture
async def door(tmp_path: Path) -> AsyncGenerator[Door]:
    database = Database(tmp_path / "a.db")
    await database.open()
    await database.transact(lambda tx: migrate.migrate(tx, ""))
    yield Door(database)
    await database.close()


async def broken(payload: Mapping[str, Any]) -> str:
    raise ZeroDivisionError("secret detail")


async def refuses(payload: Mapping[str, Any]) -> str:
    raise ToolFailed("not like this")


async def hangs(payload: Mapping[str, Any]) -> str:
    await asyncio.Event().wait()
    return "never"


def judge_that_raises(action: Action) -> Verdict:
    raise ZeroDivisionError


def judge_that_blocks(action: Action) -> Verdict:
    return Blocked("not today")


def judge_that_changes(action: Action) -> Verdict:
    action.payload["a"] = 2  # pyright: ignore[reportIndexIssue]
    return Allowed()


@pytest.mark.parametrize(
    ("runner", "arguments", "judges", "text", "last"),
    [
        (Runner(), '{"a": 1}', [], "did {'a': 1}", "EXECUTED"),
        (Runner(), "", [], "did {}", "EXECUTED"),
        (None, "{}", [], "There is no tool 'tool' here. Tools: tool.", "BLOCKED"),
        (Runner(), '{"a": ', [], "The arguments are not complete JSON", "BLOCKED"),
        (Runner(), "[]", [], "The arguments have to be one JSON object.", "BLOCKED"),
        (Runner(problem="a: wrong"), "{}", [], "a: wrong", "BLOCKED"),
        (Runner(), "{}", [judge_that_blocks], "not today", "BLOCKED"),
        (Runner(), "{}", [judge_that_raises], "could not be checked, so it is refused", "BLOCKED"),
        (Runner(), '{"a": 1}', [judge_that_changes], "The call changed after it was", "FAILED"),
        (Runner(refuses), "{}", [], "not like this", "FAILED"),
        (Runner(broken), "{}", [], "tool broke (ZeroDivisionError).", "FAILED"),
        (Runner(hangs, timeout_s=0.01), "{}", [], "tool took longer than 0.01 s.", "FAILED"),
    ],
)
async def test_every_exit_writes_one_terminal_row_and_tells_it_once(
    door: Door,
    runner: Runner | None,
    arguments: str,
    judges: list[Callable[[Action], Verdict]],
    text: str,
    last: str,
) -> None:
    door.judges = judges
    outcome = await door.call(runner, arguments)

    assert text in outcome.text
    assert await door.stages() == ["PROPOSED", "EVALUATED", last]
    assert (door.completed, outcome.failed) == ([last == "EXECUTED"], last != "EXECUTED")
    if runner and (last == "BLOCKED" or judges):
        assert runner.ran == []


async def test_a_call_that_is_stopped_while_it_runs_is_written_down_too(door: Door) -> None:
    running = asyncio.Event()

    async def work(payload: Mapping[str, Any]) -> str:
        running.set()
        return await hangs(payload)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(door.call(Runner(work)))
        await running.wait()
        task.cancel()

    assert task.cancelled()
    assert (await door.stages(), door.completed) == (["PROPOSED", "EVALUATED", "FAILED"], [False])


async def test_a_tool_that_may_be_called_no_more_than_the_pack_allows(door: Door) -> None:
    guard = Guard(
        database=door.database,
        clock=FastClock(),
        judges=[],
        redact=str,
        publish=door.told.append,
    )
    runner = Runner()
    proposal = Proposal(ToolCall("c", "shell", "{}"), "chat", "notes", "t")
    outcome = await guard.call(proposal, runner, ["msg"])

    assert (outcome.failed, runner.ran) == (True, [])
    assert "There is no tool 'shell' here. Tools: msg." in outcome.text


async def test_a_result_is_redacted_and_cut(door: Door) -> None:
    async def talks(payload: Mapping[str, Any]) -> str:
        return "hunter2 " + "x" * MAX_RESULT_CHARS

    outcome = await door.call(Runner(talks))

    assert outcome.text.startswith("*** xxx")
    assert outcome.text.endswith("[cut: 16,004 characters in all]")


async def test_the_audit_holds_digests_and_never_what_the_arguments_say(door: Door) -> None:
    await door.call(Runner(), '{"a": "my diary"}')
    rows = await door.database.read(lambda tx: tx.all("SELECT * FROM audit"))

    assert "diary" not in str([tuple(row) for row in rows])
    assert {row["digest"] for row in rows} == {digest("tool", {"a": "my diary"})}


def test_a_digest_is_the_same_however_the_payload_was_spelled() -> None:
    assert digest("t", {"a": 1, "b": [2]}) == digest("t", {"b": [2], "a": 1})
    assert digest("t", {"a": 1}) != digest("t", {"a": "1"})
    assert digest("t", {"a": 1}) != digest("u", {"a": 1})
