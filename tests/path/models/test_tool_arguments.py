"""Whatever a model puts into a call: one answer it can read, one end in the audit, nothing outside.

Source: issue 11. The calls are drawn from the schemas of all built-in tools, and from what schemas
say nothing of: depth, length, Unicode, types. They go through the real door, in real turns.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from aouo.backup.writing import write
from aouo.facts.taps import encode
from aouo.facts.transcript import ToolSpec
from aouo.plumbing.home import Home
from aouo.plumbing.trees import walk
from tests.fakes.clock import SkippingClock
from tests.fakes.model_server import CallPart, ModelServer, Says, words_of
from tests.fakes.telegram import LocalTelegram
from tests.path.looking import eventually, said, settled
from tests.path.scripted import Lines
from tests.path.world import ADA, Running, World
from tests.sampling import count

EXAMPLES = 400
A_TURN = 25
ELSEWHERE = ("onboarding_done", "load_skills", "journal_search", "journal_add", "memory_edits")
"""There for turns of another kind: here they are names that a model made up."""
GROUPS = ["files", "documents", "voice", "web", "sessions", "schedule"]
MANIFEST = (
    "name: scribe\nversion: 0.1.0\ndisplay_name: Scribe\ndescription: Does everything\n"
    "schema: {owned_tables: [items]}\n"
    "permissions:\n  tools: [core, msg, persist, db, memory, clarify, skill_view, files, documents,"
    " voice, web, sessions, schedule]\n  cron: true\n"
)
SCHEMA = "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
NASTY = [
    "",
    " ",
    "a.txt",
    "items",
    "d/" * 1_500 + "a.txt",
    "d/" * 10_000,
    "../" * 60 + "etc/passwd",
    "/etc/passwd",
    "/proc/self/environ",
    "~/.ssh/id_rsa",
    "file:///etc/passwd",
    "sent/../../config.json",
    "n" * 300,
    "w" * 20_000,
    "🙂" * 5_000,
    "half \ud800 of a sign",
    "a\0b",
    "\u202eback\u2066wards\u200b",
    "e\u0301",
    "é",
    "\x1b[31mred",
    "https://127.0.0.1:1/x",
    "SELECT * FROM items",
    "[" * 500,
    '{"a": ' * 200,
    "\n".join(["a.txt"] * 2_000),
]
TEXTS = st.one_of(st.sampled_from(NASTY), st.text(max_size=40))
NUMBERS = st.one_of(
    st.integers(),
    st.sampled_from([0, -1, 2**31, 2**63, -(2**64), 10**400]),
    st.floats(),
)
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=12,
)
DEEP = st.sampled_from([10, 60, 63, 64, 65, 70]).map(lambda depth: _in_lists(depth))
BROKEN = st.one_of(
    TEXTS.map(lambda text: text.encode("utf-8", "replace").decode()),
    st.sampled_from(["[" * 50_000, '{"a":' * 10_000, "null", "[]", "{", '{"path": ', "1" * 5_000]),
)


def _in_lists(depth: int) -> object:
    value: object = "x"
    for _ in range(depth):
        value = [value]
    return value


def arguments(spec: ToolSpec) -> st.SearchStrategy[str]:
    """Such as the schema wants, such as it does not, and what is no JSON."""
    known: Mapping[str, Mapping[str, Any]] = spec.parameters.get("properties", {})
    fields = {
        name: st.one_of(_fitting(schema), _fitting(schema), TEXTS, ANYTHING, DEEP)
        for name, schema in known.items()
    }
    objects = st.fixed_dictionaries({}, optional=fields)
    extra = st.dictionaries(st.text(max_size=10), ANYTHING, max_size=2)
    whole = st.tuples(objects, st.one_of(st.just({}), st.just({}), extra)).map(
        lambda both: json.dumps({**both[0], **both[1]})
    )
    return st.one_of(whole, whole, whole, BROKEN)


def _fitting(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    match schema:
        case {"enum": [*options]}:
            return st.sampled_from(options)
        case {"type": "integer" | "number"}:
            return NUMBERS
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "array"}:
            return st.lists(st.one_of(TEXTS, ANYTHING), max_size=5)
        case {"type": "object"}:
            return st.dictionaries(TEXTS, ANYTHING, max_size=4)
        case _:
            return TEXTS


def drawn(specs: Sequence[ToolSpec]) -> list[CallPart]:
    return examples(
        st.one_of(
            [
                arguments(spec).map(lambda text, name=spec.name: CallPart(name, text))
                for spec in specs
            ]
        ),
        EXAMPLES,
    )


def examples(calls: st.SearchStrategy[CallPart], most: int) -> list[CallPart]:
    found: list[CallPart] = []

    @settings(
        max_examples=most,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(calls)
    def draw(call: CallPart) -> None:
        found.append(call)

    draw()
    return found


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
async def world(tmp_path: Path, lines: Lines) -> AsyncGenerator[World]:
    """A pack that may use everything, and files outside for nothing."""
    home = Home(tmp_path / "home")
    home.create()
    scaffold(home.packs / "scribe")
    async with LocalTelegram() as emulator, ModelServer(lines) as model:
        config = {"security": {"fence_mode": "deny"}, "advanced": {"context_window": 10_000_000}}
        yield World(home, emulator, model, config=config, clock=SkippingClock())
        assert await emulator.client.violations() == []


def scaffold(pack: Path) -> None:
    pack.mkdir()
    (pack / "pack.yml").write_text(MANIFEST)
    (pack / "schema.sql").write_text(SCHEMA)


def outside(world: World) -> dict[str, int]:
    """What lies beside what a pack keeps, and how large it is; our own files grow."""
    ours = ("data", "logs", "run", "media")
    return {
        found.path: found.facts.st_size
        for found in walk(world.home.path.parent)
        if not found.path.startswith(tuple(f"home/{name}" for name in ours))
    }


async def made(
    world: World, bot: Running, lines: Lines, calls: Sequence[CallPart], number: int
) -> list[str]:
    """What the model reads as the results of these calls, in one turn."""
    end = f"end of turn {number}"
    load = CallPart("load_tools", {"names": GROUPS})
    lines.extend((Says(calls=(load,)), Says(calls=tuple(calls)), Says(end)))
    await bot.people.say(ADA, ADA, "/new")  # else each request holds all that went before
    await bot.people.say(ADA, ADA, f"turn {number}")
    await said(world, end)
    await settled(bot)
    asked = [body for body in world.model.requests if body.get("tools")][-1]
    results = [m for m in asked["messages"] if m["role"] == "tool"]
    return [words_of(m) for m in results[-len(calls) :]]


def batches(calls: Sequence[CallPart]) -> Iterator[list[CallPart]]:
    left = iter(calls)
    while batch := list(islice(left, A_TURN)):
        yield batch


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_every_call_of_every_built_in_tool_ends_in_words_and_in_the_audit(
    world: World, lines: Lines
) -> None:
    async with world.running() as bot:
        tools = bot.app.generations.now.registry.allowed(
            ["core", *(item.group for item in bot.app.generations.now.registry._tools.values())], []
        )
        specs = [item.spec() for item in tools if item.name != "clarify"]
        before = outside(world)
        calls = drawn(specs)
        for number, batch in enumerate(batches(calls)):
            results = await made(world, bot, lines, batch, number)
            assert len(results) == len(batch)
            for call, result in zip(batch, results, strict=True):
                assert result, call
                assert result.encode(), call
                assert "broke (" not in result, (call, result)
                assert "could not be checked" not in result, (call, result)
                assert "There is no tool" not in result or call.tool in ELSEWHERE, (call, result)
        rows = await bot.rows("SELECT call_id, stage FROM audit")
        statuses = await bot.rows("SELECT DISTINCT status FROM turns")
        answer = await bot.ask("are you there?")
    ends = Counter(row["call_id"] for row in rows if row["stage"] in TERMINAL)

    assert set(ends.values()) == {1}
    assert len(ends) == len(calls) + (len(calls) + A_TURN - 1) // A_TURN
    assert (statuses, answer.text) == ([{"status": "ack"}], "ok")
    assert outside(world) == before
    assert {call.tool for call in calls} == {spec.name for spec in specs}
    write(world.home, world.home.path.parent / "backup", {}, datetime(2026, 1, 1, tzinfo=UTC))
    async with world.running() as bot:
        await bot.app.packs.remove("scribe", "owner", purge=True)


ASKED = count(40, 20)
KEPT, KEPT_CHARS = "result_read", 1_000
"""How a long result is told, and what is shorter than any."""
QUESTIONS = st.fixed_dictionaries(
    {"message": st.one_of(st.just("Which?"), TEXTS), "options": st.lists(TEXTS, max_size=3)}
).map(json.dumps)


async def answered(world: World, bot: Running, end: str) -> str | None:
    """Answer what the turn asks, by the first button or in words; None = it asked nothing.

    Comes back when the turn is over.
    """
    answer: str | None = None

    async def asks() -> list[dict[str, Any]]:
        shown = await bot.people.messages(ADA)
        if any(m.text == end for m in shown):
            return [{}]
        return await bot.rows(
            "SELECT g.id, g.options, d.message_id FROM gates AS g JOIN deliveries AS d "
            "ON d.id = g.delivery_id WHERE g.state = 'open' AND d.state = 'sent'"
        )

    [gate] = await eventually(asks)
    if gate and (options := json.loads(gate["options"])):
        answer = str(options[0])
        await bot.people.tap(ADA, ADA, int(gate["message_id"]), encode("choice", gate["id"], 0))
    elif gate:
        answer = "in my own words"
        await bot.people.say(ADA, ADA, answer)
    await said(world, end)
    await settled(bot)
    return answer


async def test_every_clarify_is_refused_in_words_or_waits_for_its_answer(
    world: World, lines: Lines
) -> None:
    world.clock = SkippingClock()
    asked = refused = 0
    async with world.running() as bot:
        [tool] = bot.app.generations.now.registry.allowed(["clarify"], [])
        odd = arguments(tool.spec())
        kinds = [one.map(lambda text: CallPart("clarify", text)) for one in (odd, QUESTIONS)]
        calls = [call for kind in kinds for call in examples(kind, ASKED // 2)]
        for number, call in enumerate(calls):
            end = f"end of turn {number}"
            lines.extend((Says(calls=(call,)), Says(end)))
            await bot.people.say(ADA, ADA, "/new")
            await bot.people.say(ADA, ADA, f"turn {number}")
            answer = await answered(world, bot, end)
            last = [body for body in world.model.requests if body.get("tools")][-1]
            result = words_of(last["messages"][-1])
            assert last["messages"][-1]["role"] == "tool", call
            assert "broke (" not in result, (call, result)
            if answer is None:
                refused += 1
            else:
                asked += 1
                assert result == answer or (len(answer) > KEPT_CHARS and KEPT in result), call
        open_gates = await bot.rows("SELECT 1 FROM gates WHERE state = 'open'")
        statuses = await bot.rows("SELECT DISTINCT status FROM turns")

    assert (open_gates, statuses) == ([], [{"status": "ack"}])
    assert min(asked, refused) > ASKED // 10


TERMINAL = {"EXECUTED", "FAILED", "BLOCKED"}
