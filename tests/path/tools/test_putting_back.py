"""An answer says what it changed, and each change can be put back, and that as well.

Source: issue 31, "Chronicle", "Receipts".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aouo.emulator import ChatMessage
from tests.fakes.model_server import CallPart
from tests.path.buttons.test_menus import tap
from tests.path.looking import said, settled
from tests.path.scripted import persist
from tests.path.world import ADA, Running, World

MANIFEST = """\
name: desk
version: 0.1.0
display_name: Desk
description: Keeps things
schema: {file: schema.sql, scope: person, owned_tables: [words]}
permissions:
  tools: [files, memory, schedule, persist, pack]
  cron: true
"""
TOOLS = '''\
"""Things done in the folder."""

from pathlib import Path


def tidy() -> str:
    """Change, make and remove files."""
    Path("a.txt").write_text("tidied")
    Path("new").mkdir(exist_ok=True)
    Path("new/b.txt").write_text("new")
    if Path("c.txt").exists():
        Path("c.txt").unlink()
    return "tidied up"
'''


@pytest.fixture(autouse=True)
def desk(world: World) -> Path:
    pack = world.home.packs / "desk"
    (pack / "tools").mkdir(parents=True)
    (pack / "pack.yml").write_text(MANIFEST)
    (pack / "schema.sql").write_text("CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT);")
    (pack / "tools" / "desk.py").write_text(TOOLS)
    return world.home.pack_folder("desk", f"tg_{ADA}")


def write(path: str, content: str) -> CallPart:
    return CallPart("write_file", {"path": path, "content": content})


async def turn(world: World, bot: Running, *calls: CallPart, says: str = "There.") -> ChatMessage:
    """One turn with these calls, and its answer."""
    world.model.calls(*calls)
    world.model.say(says)
    await bot.people.say(ADA, ADA, "please see to it")
    shown = await said(world, says)
    await settled(bot)
    return shown


async def pressed(bot: Running, shown: ChatMessage, label: str) -> ChatMessage:
    """Tap a button, and return what the bot says next."""
    await tap(bot, shown, label)
    await settled(bot)
    return (await bot.people.messages(ADA))[-1]


def labels(shown: ChatMessage) -> list[str]:
    return [one.text for one in shown.buttons]


async def test_an_answer_ends_with_what_it_changed_and_how_to_put_that_back(world: World) -> None:
    rows = [persist("save", table="words", word=word) for word in ("sol", "mar", "luz")]
    async with world.running() as bot:
        shown = await turn(
            world,
            bot,
            *rows,
            CallPart("memory", {"target": "memory", "action": "append", "content": "Likes figs."}),
            CallPart("db", {"sql": "SELECT count(*) FROM words"}),
        )
        looked = await turn(world, bot, CallPart("list_dir", {}), says="Nothing there.")

    assert shown.text == "There.\n\n✓ saved 3 in words · ✓ noted: Likes figs."
    assert labels(shown) == ["Undo …"]
    assert (looked.text, labels(looked)) == ("Nothing there.", [])


CHANGES: dict[str, tuple[CallPart, str]] = {
    "a new file": (write("a.txt", "new"), "✓ wrote a.txt"),
    "a file": (write("old.txt", "new"), "✓ wrote old.txt"),
    "rows": (persist("save", table="words", word="sol"), "✓ saved 1 in words"),
    "memory": (
        CallPart("memory", {"target": "user", "action": "append", "content": "Called Ada."}),
        "✓ noted: Called Ada.",
    ),
    "a schedule": (
        CallPart("cron", {"action": "create", "say": "Stretch", "schedule": "every day at 9:00"}),
        "✓ scheduled: Stretch",
    ),
    "a tool's files": (CallPart("desk__tidy", {}), "✓ tidy"),
}


async def state(world: World, bot: Running, desk: Path) -> dict[str, Any]:
    """All that the calls above change."""
    store = bot.app.shared.stores.open("desk", f"tg_{ADA}")
    return {
        "rows": store.read("SELECT word FROM words"),
        "schedules": await bot.rows("SELECT name, say, text, enabled FROM schedules"),
        "files": files_in(desk),
    }


def files_in(folder: Path) -> dict[str, str]:
    """What the files of a folder hold, but for empty ones."""
    found = (file for file in folder.rglob("*") if file.is_file())
    words = {str(file.relative_to(folder)): file.read_text() for file in found}
    return {name: text for name, text in words.items() if text.strip()}


@pytest.fixture
def old_files(desk: Path) -> None:
    desk.mkdir(parents=True)
    for name in ("old.txt", "c.txt"):
        (desk / name).write_text("old")


@pytest.mark.usefixtures("old_files")
@pytest.mark.parametrize("what", CHANGES)
async def test_each_change_is_put_back_and_that_is_put_back_as_well(
    world: World, desk: Path, what: str
) -> None:
    call, told = CHANGES[what]
    async with world.running() as bot:
        await turn(world, bot, CallPart("list_dir", {}), says="Hello.")
        before = await state(world, bot, desk)
        shown = await turn(world, bot, call)
        after = await state(world, bot, desk)

        undone = await pressed(bot, shown, "Undo")
        back = await state(world, bot, desk)
        redone = await pressed(bot, undone, "Redo")
        again = await state(world, bot, desk)
        await pressed(bot, redone, "Undo")
        back_again = await state(world, bot, desk)
        stages = await bot.rows("SELECT stage FROM audit WHERE tool = 'undo' ORDER BY id")

    assert shown.text == f"There.\n\n{told}"
    assert before != after
    assert (back, again, back_again) == (before, after, before)
    assert undone.text == "Put back as it was."
    assert redone.text == "It stands again."
    assert [one["stage"] for one in stages] == ["PROPOSED", "EVALUATED", "EXECUTED"] * 3
