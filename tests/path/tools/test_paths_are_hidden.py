"""No error shows a model where the home lies on this machine. Source: issue 11, 25."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aouo.agent.tools.registry import Arguments, ToolContext, tool
from aouo.facts.errors import ToolFailed
from tests.fakes.model_server import CallPart, words_of
from tests.path.looking import said, settled
from tests.path.world import ADA, World

MANIFEST = """\
name: scribe
version: 0.1.0
display_name: Scribe
description: Writes files
schema: {tables: [items]}
permissions:
  tools: [core, memory, files, documents, web, voice, sessions, pack]
"""
WRONG = "nowhere/at all\0"


class Nothing(Arguments):
    pass


@pytest.fixture
def scribe(world: World) -> Path:
    """A pack that may use every tool; its own folder."""
    pack = world.home.packs / "scribe"
    (pack / "tools").mkdir(parents=True)
    (pack / "pack.yml").write_text(MANIFEST)
    (pack / "schema.sql").write_text("CREATE TABLE items (id INTEGER PRIMARY KEY, text TEXT);")
    (pack / "tools" / "broken.py").write_text(
        "def broken(path: str) -> str:\n"
        '    """Breaks.\n\n    Args:\n        path: a file\n    """\n'
        "    return open(path).read()\n"
    )
    own = world.home.pack_folder("scribe")
    (own / "folder").mkdir(parents=True)
    (own / "picture.bin").write_bytes(b"\x89PNG\0")
    (own / "loop").symlink_to(own / "loop")
    (own / "out").symlink_to(world.home.path / "config.json")
    return own


async def heard(world: World, *calls: CallPart) -> list[str]:
    """What the model reads as the results of these calls, made in one turn."""
    world.model.calls(*calls)
    world.model.say("done")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await said(world, "done")
        await settled(bot)
    messages: list[dict[str, Any]] = world.model.requests[-1]["messages"]
    return [words_of(m) for m in messages if m["role"] == "tool"]


def paths(world: World, own: Path) -> list[str]:
    """Whatever a path may be that leads nowhere good, relative and as it lies on the disk."""
    named = ["missing.txt", "folder", "picture.bin", "loop", "out", "picture.bin/below", "a" * 300]
    return [
        *named,
        *(str(own / name) for name in named),
        str(own),
        str(world.home.path / "config.json"),
        str(world.home.path),
        str(world.home.media / "tg_1001" / "x.txt"),
        "../../../config.json",
        WRONG,
        "sent/missing.txt",
        "/nowhere",
    ]


def hides(world: World, results: list[str]) -> None:
    shown = [text for text in results if str(world.home.path) in text.replace("\\/", "/")]
    assert shown == []


@pytest.mark.parametrize(
    ("name", "argument", "more"),
    [
        ("read_file", "path", {}),
        ("read_document", "path", {}),
        ("list_dir", "path", {}),
        ("write_file", "path", {"content": "x"}),
        ("msg", "url", {"type": "photo", "text": "x"}),
        ("msg", "url", {"type": "document"}),
        ("msg", "url", {"type": "album"}),
        ("skill_view", "file", {"name": "x"}),
        ("scribe__broken", "path", {}),
    ],
    ids=["read", "document", "list", "write", "photo", "file", "album", "skill", "own"],
)
async def test_a_path_that_cannot_be_used_is_named_without_the_home(
    world: World, scribe: Path, name: str, argument: str, more: dict[str, str]
) -> None:
    calls = (CallPart(name, {argument: path, **more}) for path in paths(world, scribe))

    hides(world, await heard(world, *calls))


async def test_every_other_tool_that_fails_names_it_neither(world: World, scribe: Path) -> None:
    del scribe
    results = await heard(
        world,
        CallPart("persist", {"action": "save", "table": "items", "data": {"text": "x"}}),
        CallPart("persist", {"action": "query", "sql": "SELECT * FROM nowhere"}),
        CallPart("db", {"sql": "ATTACH 'x' AS y"}),
        CallPart("memory", {"target": "memory", "action": "read"}),
        CallPart("memory", {"target": "nobody", "action": "read"}),
        CallPart("fetch", {"url": f"file://{world.home.path}/config.json"}),
        CallPart("web_search", {"query": "x"}),
        CallPart("tts", {"text": "x"}),
        CallPart("sessions", {"query": '"'}),
        CallPart("load_tools", {"names": [str(world.home.path)]}),
        CallPart("result_read", {"handle": str(world.home.path)}),
        CallPart(str(world.home.path), {}),
    )

    hides(world, results)


async def test_what_a_tool_quotes_of_the_system_is_named_as_the_model_names_it(
    world: World, scribe: Path
) -> None:
    """Whatever tool it is, and whatever it puts into its words."""
    sent = world.home.media / f"tg_{ADA}" / "1_0_a.txt"

    async def fail(_: Nothing, context: ToolContext, call_id: str) -> str:
        del context, call_id
        raise ToolFailed(
            f"{FileNotFoundError(2, 'No such file', str(scribe / 'a b.txt'))} {scribe} {sent} "
            f"{world.home.database} {world.home.path} {world.home.path}s"
        )

    world.config = {"tools": {"enabled": ["core", "memory"]}}
    world.tools = [tool("skill_broken", "Breaks.", Nothing, fail, group="memory", read_only=True)]
    (result,) = await heard(world, CallPart("skill_broken"))

    assert result == (
        "[Errno 2] No such file: 'a b.txt' the pack's own folder sent/1_0_a.txt "
        f"[home]/data/aouo.db [home] {world.home.path}s"
    )
