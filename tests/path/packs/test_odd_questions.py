"""Values of a tool that no answer can use are named to the tool. Source: issue 44, 13."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Mapping

import pytest

from aouo.guard.sandbox.asking import answering
from tests.path.world import World

TOOLS = '''\
from aouo_pack import _ask, chart, db, fetch, send, settings

DEEP = 1
for _ in range({deep}):
    DEEP = [DEEP]
ODD = {{
    "huge": lambda: db("SELECT ?", [10**400]),
    "wide": lambda: db("INSERT INTO things (name) VALUES (?)", [2**63]),
    "half": lambda: db("INSERT INTO things (name) VALUES (?)", ["a\\ud800"]),
    "key": lambda: db("SELECT :a", {{"a\\ud800": 1}}),
    "nan": lambda: db("INSERT INTO things (name) VALUES (?)", ["x", float("nan")]),
    "list": lambda: db("INSERT INTO things (name) VALUES (?)", [["x", ["y"]]]),
    "deep": lambda: db("SELECT ?", DEEP),
    "sql": lambda: _ask("db", sql="SELECT '\\ud800'", params=[]),
    "zero": lambda: db("SELECT '\\0' FROM", []),
    "fewer": lambda: db("SELECT ?, ?", [1]),
    "object": lambda: _ask("db", sql="SELECT ?", params="x"),
    "words": lambda: send("psst \\udfff"),
    "number": lambda: _ask("send", text=10**30),
    "page": lambda: fetch("https://example.org/\\ud800"),
    "scheme": lambda: fetch("https://[::1"),
    "port": lambda: fetch("https://example.org:99999999999/"),
    "head": lambda: fetch("https://example.org/", headers={{"a": "b\\ud800"}}),
    "drawn": lambda: chart("bars", [["a", float("inf")]]),
    "wrong": lambda: _ask("chart", chart={{"kind": [], "rows": {{"a": 1}}, "columns": 5}}),
    "rows": lambda: _ask("chart", chart={{"kind": "bars", "rows": [["a", 1]], "columns": 5}}),
    "none": lambda: _ask("\\ud800"),
    "which": lambda: _ask("secret", name=[1]),
}}


def odd() -> str:
    """Ask oddly."""
    lines = []
    for name, ask in ODD.items():
        try:
            lines.append(f"{{name}}: DID {{ask()!r}}")
        except Exception as error:
            lines.append(f"{{name}}: {{type(error).__name__}}: {{error}}")
    return "\\n".join(lines)
'''
ACTIONS = """
actions:
  strange: {title: Odd, tool: odd, answer: "{result}"}
phrases:
  - {action: strange, en: ["be odd"]}
"""
MANIFEST = """\
name: desk
version: 1.0.0
display_name: Desk
icon: 🗂
tagline: Keeps things in order
schema: {file: schema.sql, scope: person, owned_tables: [things]}
permissions: {tools: [msg, pack], network: [example.org]}
settings:
  share: {kind: number, default: 3, title: How much}
"""


@pytest.fixture(autouse=True)
def desk(world: World) -> None:
    folder = world.home.packs / "desk"
    (folder / "tools").mkdir(parents=True)
    (folder / "pack.yml").write_text(MANIFEST)
    (folder / "schema.sql").write_text("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT);")
    (folder / "tools" / "things.py").write_text(TOOLS.format(deep=200))
    (folder / "actions.yml").write_text(ACTIONS)
    world.config = {"provider": {"backend": "none"}}


async def test_each_odd_question_of_a_tool_is_refused_with_what_is_wrong(world: World) -> None:
    async with world.running() as bot:
        told = (await bot.ask("be odd")).text

    lines = dict(line.split(": ", 1) for line in told.splitlines() if ": " in line)
    assert "outcome unknown" not in told
    assert "broke" not in told
    assert {name: line for name, line in lines.items() if not line.startswith("Refused")} == {}
    assert "db.params.0" in lines["huge"]
    assert "db.params.0" in lines["half"]
    assert "db.params.1" in lines["nan"]
    assert "deep" in lines["deep"]
    assert "text" in lines["words"]


async def test_a_setting_of_four_hundred_digits_is_no_number(world: World) -> None:
    async with world.running() as bot:
        wrong = await bot.ask(f"/settings desk share {'9' * 400}")

    assert "is no number" in wrong.text


async def test_an_answer_that_breaks_is_an_error_of_its_question() -> None:
    """The edge holds whatever an answer trips over."""

    async def answer(what: str, given: Mapping[str, object]) -> object:
        raise OverflowError(given)

    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    async with answering(ours, answer):
        reader, writer = await asyncio.open_unix_connection(sock=theirs)
        for wish in (b'{"ask": "db", "given": {}}', b"[" * 500_000):
            writer.write(len(wish).to_bytes(4, "big") + wish)
        sizes = [int.from_bytes(await reader.readexactly(4), "big")]
        told = [json.loads(await reader.readexactly(sizes[0]))]
        sizes.append(int.from_bytes(await reader.readexactly(4), "big"))
        told.append(json.loads(await reader.readexactly(sizes[1])))
        writer.transport.abort()

    assert [one.keys() for one in told] == [{"error"}, {"error"}]
    assert "OverflowError" in told[0]["error"]
    assert "deep" in told[1]["error"]
