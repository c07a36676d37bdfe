"""An answer says what it changed, and each change can be put back, and that as well.

Source: issue 31, "Chronicle", "Receipts".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aouo.emulator import ChatMessage
from aouo.guard.paths import KEPT_BYTES
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


async def test_what_was_changed_since_stays_and_that_is_said(world: World, desk: Path) -> None:
    async with world.running() as bot:
        shown = await turn(world, bot, write("a.txt", "new"))
        (desk / "a.txt").write_text("of another hand")
        told = await pressed(bot, shown, "Undo")

    assert told.text == (
        "It cannot be put back any more: it was put back before, or changed again since."
    )
    assert files_in(desk) == {"a.txt": "of another hand"}


@pytest.mark.usefixtures("old_files")
async def test_a_folder_that_is_too_large_is_not_copied_and_nobody_offers_it(
    world: World, desk: Path
) -> None:
    (desk / "big.bin").write_bytes(bytes(KEPT_BYTES))
    async with world.running() as bot:
        shown = await turn(world, bot, CallPart("desk__tidy", {}))
        listed = await bot.ask("/undo list")

    assert (shown.text, labels(shown)) == ("There.\n\n✓ tidy", [])
    assert listed.text.endswith("tidy (cannot be put back)")
    assert labels(listed) == []


async def test_undo_goes_back_step_by_step_and_the_list_names_each(
    world: World, desk: Path
) -> None:
    async with world.running() as bot:
        await turn(world, bot, write("a.txt", "one"))
        await turn(world, bot, write("a.txt", "two"), says="Again.")
        listed = await bot.ask("/undo list")
        back = [(await bot.ask("/undo")).text for _ in range(3)]

    numbers = [
        line.split()[0] + " " + " ".join(line.split()[3:]) for line in listed.text.split("\n")[1:]
    ]
    assert numbers == ["1. wrote a.txt", "2. wrote a.txt (cannot be put back)"]
    assert labels(listed) == ["Undo 1"]
    assert back[:2] == ["Put back as it was. It had been: wrote a.txt"] * 2
    assert back[2] == "There is nothing here that I could put back."
    assert files_in(desk) == {}


@pytest.mark.usefixtures("old_files")
async def test_a_large_file_is_only_replaced_after_a_yes_which_says_so(
    world: World, desk: Path
) -> None:
    (desk / "big.bin").write_bytes(bytes(KEPT_BYTES + 1))
    world.model.calls(write("big.bin", "small"))
    world.model.say("Written.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "make it small")
        card = await bot.people.next_message(ADA, contains="Is that all right?")
        await tap(bot, card, "Allow once")
        shown = await said(world, "Written.")

    assert "This cannot be put back." in card.text
    assert "too large for me to keep a copy" in card.text
    assert labels(shown) == []
    assert files_in(desk)["big.bin"] == "small"


DONE = [
    "Done.",
    "Done, I've added milk to your list!",
    "Saved ✓",
    "Okay, I have sent the mail to Ann.",
    "I've just scheduled it for tomorrow.",
    "It's been deleted.",
    "Erledigt.",
    "Ich habe die Milch auf deine Liste eingetragen.",
    "Gut, das wurde gelöscht.",
    "All good!\n\n✓ saved 1 in words",
]
PLAIN = [
    "Noted: what would you like to do?",
    "I have no list of that name. Shall I make one?",
    "You saved three words yesterday.",
    "The meeting was moved to Friday, says the mail.",
    "Saved words: sol, mar.",
    "Ich habe das nicht gespeichert.",
]


@pytest.mark.parametrize("answer", DONE)
async def test_done_without_an_effect_goes_back_once_and_is_corrected(
    world: World, answer: str
) -> None:
    world.model.say(answer)
    world.model.say(answer)
    async with world.running() as bot:
        shown = await bot.ask("add milk")
        nudge = world.model.requests[1]["messages"][-1]["content"]

    assert shown.text == f"{answer}\n\n(Nothing was changed or sent in this answer.)"
    assert nudge.startswith("[You said that something was done, but no call of this turn")


async def test_a_model_that_is_sent_back_does_it(world: World) -> None:
    world.model.say("Done.")
    world.model.calls(persist("save", table="words", word="sol"))
    world.model.say("Done.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "keep sol")
        shown = await said(world, "Done.")

    assert shown.text == "Done.\n\n✓ saved 1 in words"


@pytest.mark.parametrize("answer", PLAIN)
async def test_what_claims_nothing_is_shown_as_it_is(world: World, answer: str) -> None:
    world.model.say(answer)
    async with world.running() as bot:
        assert (await bot.ask("add milk")).text == answer


async def test_what_was_done_before_may_be_said(world: World) -> None:
    world.model.say("Done, yesterday.")
    async with world.running() as bot:
        assert (await bot.ask("Have you watered the plants?")).text == "Done, yesterday."
