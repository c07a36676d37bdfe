"""`aouo usage` and `aouo session`, on a database that a bot wrote. Source: contract "Usage"."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Person, Text, Thought
from aouo.facts.records import Spent
from aouo.facts.transcript import AssistantSaid, ToolCall, ToolReturned, Usage
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home
from aouo.store import jobs, routes, sessions, turns, usage
from aouo.store.database import Database, Tx
from aouo.store.opening import make_tables

AT = "2026-03-02T12:00:00.000+00:00"
LATER = "2026-03-02T13:00:00.000+00:00"


def _days_ago(days: int) -> str:
    return (SystemClock().now() - timedelta(days=days)).date().isoformat()


def _spent(days_ago: int, scope: str, model: str, tokens: Usage, usd: float) -> Spent:
    return Spent(
        scope,
        _days_ago(days_ago),
        provider="fake" if model else "",
        model=model,
        pack="notes",
        session_id="s",
        person="1001",
        tokens=tokens,
        cost_usd=usd,
    )


def _spent_lately() -> tuple[Spent, ...]:
    """What was spent, by days before the one that it is as the test begins."""
    return (
        _spent(0, "llm", "dear", Usage(1000, 400, 50), 0.25),
        _spent(0, "llm", "cheap", Usage(10, 0, 5), 0.001),
        _spent(0, "tool:persist", "", Usage(), 0.0),
        _spent(3, "summary", "cheap", Usage(200, 0, 20), 0.002),
        _spent(40, "llm", "dear", Usage(9999, 0, 99), 9.0),
    )


def _talk(tx: Tx, chat: str, pack: str, said: str, now: str) -> str:
    """One answered turn with a tool call; returns its session."""
    address = ConversationAddress("tg", chat)
    inbound = Inbound(address, Person(chat), Text(said))
    job = jobs.add(tx, address.lane, inbound, now)
    route = routes.get_or_create(tx, address, "private", now)
    session = sessions.resolve(tx, route, address, pack, now).id
    turn = turns.open_turn(tx, job, session, pack, "", said, now)
    call = ToolCall(f"call-{chat}", "persist", '{"action": "recent"}')
    turns.record_calls(tx, turn, AssistantSaid("One moment.", (call,)), [True], now)
    turns.record_result(tx, turn, ToolReturned(call.id, "persist", "no rows"), "done", False, now)
    thought = Thought("tool_call", "persist -> no rows", {"tool_name": "persist", "success": True})
    turns.close_ack(tx, turn, AssistantSaid("There is nothing yet."), [thought], now)
    sessions.touch(tx, session, now)
    return session


async def _fill(home: Home) -> list[str]:
    database = Database(home.database)
    await database.open()
    try:

        def write(tx: Tx) -> list[str]:
            make_tables(tx)
            for row in _spent_lately():
                usage.record(tx, row, AT)
            ids = [
                _talk(tx, "1001", "notes", "what is there?", AT),
                _talk(tx, "1002", "vocab", "teach me", LATER),
            ]
            spent = Spent("llm", "2026-03-02", session_id=ids[0], tokens=Usage(7, 0, 3))
            usage.record(tx, spent, AT)
            return ids

        return await database.transact(write)
    finally:
        await database.close()


@pytest.fixture
def filled(home: Home, runner: CliRunner) -> list[str]:
    """A home with usage rows and two sessions, days counted in UTC; the sessions' ids."""
    home.create()
    home.config.write_text('{"cron": {"timezone": "UTC"}}')
    return asyncio.run(_fill(home))


def _json(runner: CliRunner, *arguments: str) -> dict[str, Any]:
    result = runner.invoke(aouo, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def _sum(calls: int, read: int, cached: int, wrote: int, usd: float) -> dict[str, Any]:
    return {
        "calls": calls,
        "input_tokens": read,
        "cached_tokens": cached,
        "output_tokens": wrote,
        "cost_usd": usd,
    }


def test_usage_adds_up_by_day_pack_model_person_and_scope(
    runner: CliRunner, filled: list[str]
) -> None:
    facts = _json(runner, "usage")

    whole = _sum(4, 1210, 400, 75, 0.253)
    assert facts == {
        "days": 30,
        "totals": whole,
        "by_day": [
            {"day": _days_ago(3), **_sum(1, 200, 0, 20, 0.002)},
            {"day": _days_ago(0), **_sum(3, 1010, 400, 55, 0.251)},
        ],
        "by_pack": [{"pack": "notes", **whole}],
        "by_model": [
            {"provider": "fake", "model": "dear", **_sum(1, 1000, 400, 50, 0.25)},
            {"provider": "fake", "model": "cheap", **_sum(2, 210, 0, 25, 0.003)},
        ],
        "by_person": [{"person": "1001", **whole}],
        "by_scope": [
            {"scope": "llm", **_sum(2, 1010, 400, 55, 0.251)},
            {"scope": "summary", **_sum(1, 200, 0, 20, 0.002)},
            {"scope": "tool:persist", **_sum(1, 0, 0, 0, 0.0)},
        ],
    }


def test_usage_of_fewer_days_leaves_the_others_out(runner: CliRunner, filled: list[str]) -> None:
    facts = _json(runner, "usage", "--days", "1")

    assert (facts["days"], facts["totals"]) == (1, _sum(3, 1010, 400, 55, 0.251))


def test_usage_for_people_has_a_line_for_each_sum(runner: CliRunner, filled: list[str]) -> None:
    lines = runner.invoke(aouo, ["usage"]).stdout.splitlines()

    assert lines[0].split() == [
        "30",
        "days",
        "4",
        "calls",
        "1,210",
        "in",
        "75",
        "out",
        "$0.2530",
        "(400",
        "cached)",
    ]
    assert all(len(line) <= 80 for line in lines if "cached" not in line)
    assert [line for line in lines if line.startswith("By ")] == [
        "By day",
        "By pack",
        "By model",
        "By person",
        "By scope",
    ]


def test_usage_of_a_home_where_nothing_ran_is_nothing(runner: CliRunner, home: Home) -> None:
    facts = _json(runner, "usage")

    assert facts["totals"] == _sum(0, 0, 0, 0, 0.0)
    assert [facts[name] for name in facts if name.startswith("by_")] == [[]] * 5
    assert not home.database.exists()


def test_sessions_are_listed_newest_first_and_by_pack(runner: CliRunner, filled: list[str]) -> None:
    every = _json(runner, "session", "list")["sessions"]
    notes = _json(runner, "session", "list", "--pack", "notes")["sessions"]
    newest = _json(runner, "session", "list", "--limit", "1")["sessions"]

    assert [each["id"] for each in every] == filled[::-1]
    assert newest == every[:1]
    assert notes == [
        {
            "id": filled[0],
            "title": "what is there?",
            "conversation": "tg:1001",
            "pack": "notes",
            "created_at": AT,
            "updated_at": AT,
            "messages": 4,
        }
    ]


def test_a_session_is_shown_with_roles_tools_thoughts_and_what_it_used(
    runner: CliRunner, filled: list[str]
) -> None:
    """The whole id or the token at its end."""
    shown = _json(runner, "session", "show", filled[0])
    same = _json(runner, "session", "show", filled[0].rpartition("/")[2])

    assert shown == same
    assert shown["usage"] == _sum(1, 7, 0, 3, 0.0)
    said = [{k: v for k, v in m.items() if k not in ("id", "turn_id")} for m in shown["messages"]]
    call = {"id": "call-1001", "name": "persist", "arguments": '{"action": "recent"}'}
    thought = {
        "stage": "tool_call",
        "summary": "persist -> no rows",
        "detail": {"tool_name": "persist", "success": True},
    }
    assert said == [
        {"role": "user", "text": "what is there?", "created_at": AT},
        {
            "role": "assistant",
            "text": "One moment.",
            "created_at": AT,
            "calls": [call],
            "thoughts": [],
        },
        {
            "role": "tool",
            "text": "no rows",
            "created_at": AT,
            "tool": "persist",
            "call_id": "call-1001",
            "failed": False,
        },
        {
            "role": "assistant",
            "text": "There is nothing yet.",
            "created_at": AT,
            "calls": [],
            "thoughts": [thought],
        },
    ]


def test_a_session_for_people_reads_as_a_talk(runner: CliRunner, filled: list[str]) -> None:
    text = runner.invoke(aouo, ["session", "show", filled[1]]).stdout

    assert text.startswith("teach me\n")
    for line in (
        "[2026-03-02 13:00] user",
        '→ persist {"action": "recent"}',
        "[2026-03-02 13:00] tool persist",
        "· tool_call: persist -> no rows",
    ):
        assert line in text.splitlines()


@pytest.mark.parametrize("there", [True, False])
def test_a_session_that_is_not_there_is_exit_1_and_one_line(
    runner: CliRunner, home: Home, there: bool, request: pytest.FixtureRequest
) -> None:
    if there:
        request.getfixturevalue("filled")
    result = runner.invoke(aouo, ["session", "show", "nothing"])

    assert result.exit_code == 1
    assert result.stderr == (
        "There is no session 'nothing'. `aouo session list` shows what is there.\n"
    )


def test_reading_goes_on_beside_a_bot_that_writes(
    runner: CliRunner, home: Home, filled: list[str]
) -> None:
    """The reader has the write-ahead log open read-only, and leaves the file as it is."""

    async def beside() -> tuple[int, int]:
        database = Database(home.database)
        await database.open()
        cheap = _spent_lately()[1]
        try:
            await database.transact(lambda tx: usage.record(tx, cheap, AT))
            found = await asyncio.to_thread(_json, runner, "usage", "--days", "1")
            await database.transact(lambda tx: usage.record(tx, cheap, AT))
            again = await asyncio.to_thread(_json, runner, "usage", "--days", "1")
        finally:
            await database.close()
        return found["totals"]["calls"], again["totals"]["calls"]

    assert asyncio.run(beside()) == (4, 5)


def test_a_file_that_is_no_database_is_exit_3_and_one_line(runner: CliRunner, home: Home) -> None:
    home.create()
    home.database.write_text("not a database, just words that are long enough to be read" * 20)
    result = runner.invoke(aouo, ["usage"])

    assert result.exit_code == 3
    assert len(result.stderr.splitlines()) == 1
