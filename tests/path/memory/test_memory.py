"""Memory files: where a line came from, and the way back. Source: issue 5, "Memory files"."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from aouo.emulator import ChatMessage
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, words_of
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, Running, World

US = "@aouo_try_bot"


def pack(
    world: World,
    name: str,
    scope: str,
    more: str = "",
    tools: str = "files, documents, msg, clarify, memory",
) -> Path:
    """A pack with memory and every file tool, or other ones; returns its data folder."""
    folder = world.home.packs / name
    folder.mkdir()
    (folder / "pack.yml").write_text(
        f"name: {name}\nversion: 0.1.0\ndisplay_name: {name.title()}\ndescription: Remembers\n"
        f"schema: {{scope: {scope}}}\n{more}"
        f"permissions:\n  tools: [{tools}]\n"
    )
    return world.home.pack_folder(name)


def remembers(world: World, content: str, target: str = "memory", action: str = "append") -> None:
    world.model.call("memory", {"target": target, "action": action, "content": content})
    world.model.say(f"Kept {content}")


async def card(bot: Running, command: str = "/memory", user: int = ADA) -> ChatMessage:
    shown = await bot.ask(command, user=user)
    await settled(bot)
    return shown


async def tap(world: World, bot: Running, shown: ChatMessage, label: str) -> None:
    (data,) = [button.data for button in shown.buttons if button.text == label]
    await bot.people.tap(ADA, shown.chat_id, shown.id, data)


def memory_file(world: World, name: str = "MEMORY.md", owner: str = f"tg_{ADA}") -> Path:
    return world.home.pack_folder("diary", owner) / name


async def test_a_change_is_shown_with_the_message_it_came_from(world: World) -> None:
    pack(world, "diary", "person")
    world.clock = FastClock(speed=1.0)
    remembers(world, "- likes tea", "user")
    async with world.running() as bot:
        await bot.ask("I like tea")
        asked = (await world.people.messages(ADA))[0]
        shown = await card(bot)

    when = world.clock.now().astimezone().strftime("%d %b").lstrip("0")
    first, *lines = shown.text.splitlines()
    assert first == "What “diary” remembers here:"
    assert lines[:3] == ["", "USER.md, 12 bytes", "- likes tea"]
    assert lines[3:5] == ["", "MEMORY.md, empty"]
    assert lines[-1].startswith(f"· USER.md, added {when} ")
    assert lines[-1].endswith(", from your message “I like tea”: + likes tea")
    assert shown.reply_to == asked.id
    assert [b.text for b in shown.buttons] == ["Show USER.md", "Undo last change"]


async def test_what_is_written_now_is_in_the_next_turns_prompt(world: World) -> None:
    """Kernel and pipelines, C7, invariant 20."""
    pack(world, "diary", "person")
    remembers(world, "- likes tea", "user")
    remembers(world, "- the boiler is new")
    async with world.running() as bot:
        for words in ("I like tea", "The boiler is new", "Hello"):
            await bot.ask(words)
        first, *_, last = map(str, world.model.requests)

    for line in ("- likes tea", "- the boiler is new"):
        assert (line in first, line in last) == (False, True)


async def test_the_newest_changes_are_shown_first_and_older_ones_not_at_all(world: World) -> None:
    pack(world, "diary", "person")
    words = [f"thing {number}" for number in range(8)]
    async with world.running() as bot:
        for word in words:
            remembers(world, f"- likes {word}")
            await bot.ask(f"I like {word}")
        shown = await card(bot)

    changes = [line.rpartition("+ likes ")[2] for line in shown.text.splitlines() if "+ " in line]
    assert 1 < len(changes) < len(words)
    assert changes == words[: -len(changes) - 1 : -1]


async def test_undo_takes_changes_back_one_after_another_and_is_a_version_itself(
    world: World,
) -> None:
    pack(world, "diary", "person")
    remembers(world, "- one")
    remembers(world, "- two")
    async with world.running() as bot:
        await bot.ask("first")
        await bot.ask("second")
        shown = await card(bot)
        await tap(world, bot, shown, "Undo last change")

        async def undone() -> bool:
            return memory_file(world).read_text(encoding="utf-8") == "- one\n"

        await eventually(undone)
        await settled(bot)
        again = (await world.people.messages(ADA))[-1]
        origins = await bot.rows("SELECT origin, state FROM memory_versions ORDER BY id")
        last = await card(bot, "/memory undo")
        nothing = await card(bot, "/memory undo")
        world.model.say("hello")
        await bot.ask("what do you know?")

    assert again.id == shown.id
    assert again.text.startswith("Undone: MEMORY.md is as it was before that change.")
    assert [tuple(row.values()) for row in origins] == [
        ("tool", "done"),
        ("tool", "undone"),
        ("undo", "done"),
    ]
    assert last.text.startswith("Undone: MEMORY.md")
    assert nothing.text.startswith("There is no change to undo.")
    assert "- one" not in str(world.model.requests[-1]["messages"][-1])


async def test_what_the_owner_edits_by_hand_is_never_overwritten_silently(world: World) -> None:
    pack(world, "diary", "person")
    remembers(world, "- one")
    async with world.running() as bot:
        await bot.ask("first")
        memory_file(world).write_text("- one\n- by hand\n", encoding="utf-8")
        seen = await card(bot)
        refused = await card(bot, "/memory undo")
        remembers(world, "- two")
        await bot.ask("second")
        versions = await bot.rows("SELECT origin, after FROM memory_versions ORDER BY id")
        for _ in range(2):
            await card(bot, "/memory undo")

    assert "Edited by hand since: MEMORY.md." in seen.text
    assert refused.text.startswith(
        "Nothing undone: MEMORY.md was edited by hand. Undo again takes that back."
    )
    assert [tuple(row.values()) for row in versions] == [
        ("tool", "- one\n"),
        ("hand", "- one\n- by hand\n"),
        ("tool", "- one\n- by hand\n- two\n"),
    ]
    assert memory_file(world).read_text() == "- one\n"


async def test_a_button_of_an_older_card_undoes_nothing_newer(world: World) -> None:
    pack(world, "diary", "person")
    remembers(world, "- one")
    remembers(world, "- two")
    async with world.running() as bot:
        await bot.ask("first")
        old = await card(bot)
        await bot.ask("second")
        await tap(world, bot, old, "Undo last change")

        async def told() -> bool:
            found = await answers(world)
            return found[-1].startswith("Nothing undone: there is a newer change by now")

        await eventually(told)

    assert memory_file(world).read_text() == "- one\n- two\n"


async def test_a_whole_file_is_shown_however_long_it_is(world: World) -> None:
    pack(world, "diary", "person")
    long = "\n".join(f"- line {number} of what matters" for number in range(400))
    remembers(world, "- short", "user")
    world.model.call("memory", {"target": "memory", "action": "replace", "content": long})
    world.model.say("Kept all.")
    async with world.running() as bot:
        await bot.ask("first")
        await bot.ask("second")
        shown = await card(bot)
        await tap(world, bot, shown, "Show USER.md")
        await said(world, "USER.md:\n\n- short")
        await tap(world, bot, shown, "Show MEMORY.md")
        file = await bot.people.next_message(ADA, after=shown.id + 1)

    assert len(shown.text) < 4096
    assert (file.text, "document" in file.raw) == ("MEMORY.md, 10,690 bytes", True)


async def test_a_model_empties_a_file_only_when_it_says_so_and_undo_brings_it_back(
    world: World,
) -> None:
    pack(world, "diary", "person")
    remembers(world, "- likes tea", "user")
    world.model.call("memory", {"target": "user", "action": "replace"})
    world.model.call("memory", {"target": "user", "action": "replace", "content": ""})
    world.model.say("Forgotten.")
    async with world.running() as bot:
        await bot.ask("I like tea")
        await bot.ask("forget all of me")
        told = [words_of(m) for m in world.model.requests[-1]["messages"] if m["role"] == "tool"]
        emptied = memory_file(world, "USER.md").read_text()
        shown = await card(bot)
        undone = await card(bot, "/memory undo")

    assert told[1:] == [
        'memory replace needs content ("" empties the file).',
        "USER.md is empty now. Say so; the person brings it back with /memory undo.",
    ]
    assert emptied == ""
    assert "USER.md, empty" in shown.text
    assert "from your message “forget all of me”: − likes tea" in shown.text
    assert undone.text.startswith("Undone: USER.md")
    assert memory_file(world, "USER.md").read_text() == "- likes tea\n"


@pytest.mark.parametrize("by", ["/memory empty user", "/memory empty USER.md", "button"])
async def test_a_person_empties_a_file_and_takes_that_back(world: World, by: str) -> None:
    pack(world, "diary", "person")
    remembers(world, "- likes tea", "user")
    async with world.running() as bot:
        await bot.ask("I like tea")
        if by == "button":
            await tap(world, bot, await card(bot), "Show USER.md")
            whole = await said(world, "USER.md:\n\n- likes tea")
            await tap(world, bot, whole, "Empty it")
            emptied = await bot.people.next_message(ADA, after=whole.id, contains="Emptied:")
        else:
            emptied = await card(bot, by)
        empty = memory_file(world, "USER.md").read_text()
        again = await card(bot, "/memory empty user")
        undone = await card(bot, "/memory undo")

    assert emptied.text.startswith("Emptied: USER.md. “Undo last change” brings it back.")
    assert "· USER.md, emptied by you " in emptied.text
    assert "Undo last change" in [button.text for button in emptied.buttons]
    assert empty == ""
    assert not again.text.startswith("Emptied")
    assert "· USER.md, emptied by you " in again.text
    assert "by hand" not in again.text
    assert undone.text.startswith("Undone: USER.md")
    assert memory_file(world, "USER.md").read_text() == "- likes tea\n"


async def test_only_the_newest_fifty_versions_of_a_file_are_kept(world: World) -> None:
    pack(world, "diary", "person")
    calls = [
        CallPart("memory", {"target": "memory", "action": "append", "content": f"- {number}"})
        for number in range(55)
    ]
    world.model.calls(*calls)
    world.model.say("done")
    async with world.running() as bot:
        await bot.ask("go")
        rows = await bot.rows("SELECT before FROM memory_versions ORDER BY id")

    assert len(rows) == 50
    assert rows[0]["before"] == "".join(f"- {number}\n" for number in range(5))


async def test_versions_are_forgotten_with_what_was_said(world: World) -> None:
    pack(world, "diary", "person")
    world.clock = clock = FastClock(speed=1.0)
    world.config["retention"] = {"messages_days": 3}
    remembers(world, "- one")
    async with world.running() as bot:
        await bot.ask("first")
        clock.jump(4 * 24 * 3600)
        await bot.app.tidying.prune()

        assert await bot.rows("SELECT * FROM memory_versions") == []


@pytest.mark.parametrize("rest", ["undo", "empty memory"])
async def test_off_the_record_nothing_is_undone_or_emptied(world: World, rest: str) -> None:
    pack(world, "diary", "person")
    remembers(world, "- one")
    async with world.running() as bot:
        await bot.ask("first")
        await bot.ask("/otr")
        refused = await card(bot, f"/memory {rest}")

    assert refused.text.startswith("Off the record memory stays as it is")
    assert memory_file(world).read_text() == "- one\n"


async def test_each_file_that_holds_something_has_one_button(world: World) -> None:
    pack(world, "diary", "person", "memory: {soul: true, state: true}\n")
    names = ["MEMORY.md", "SOUL.md", "STATE.md", "USER.md"]
    for name in names:
        memory_file(world, name).parent.mkdir(parents=True, exist_ok=True)
        memory_file(world, name).write_text(f"- {name}\n")
    async with world.running() as bot:
        shown = await card(bot)

    assert sorted(button.text for button in shown.buttons) == [f"Show {name}" for name in names]
    assert [len(row) for row in shown.raw["reply_markup"]["inline_keyboard"]] == [2, 2]


@pytest.mark.parametrize("rest", ["undo three", "clear", "--all", "empty", "empty all"])
async def test_a_misspelt_memory_command_says_how_to_write_it(world: World, rest: str) -> None:
    pack(world, "diary", "person")
    async with world.running() as bot:
        answer = await card(bot, f"/memory {rest}")

    assert answer.text == "Write it like this: /memory, /memory undo, or /memory empty USER.md"


@pytest.mark.parametrize("rest", ["", " undo", " empty memory"])
async def test_with_several_packs_and_none_chosen_memory_asks_which(
    world: World, rest: str
) -> None:
    pack(world, "diary", "person")
    pack(world, "letters", "person")
    async with world.running() as bot:
        answer = await card(bot, f"/memory{rest}")

    assert answer.text == "Which pack shall answer here?"


async def test_a_button_of_a_memory_file_asks_which_pack_once_its_own_is_gone(
    world: World,
) -> None:
    pack(world, "diary", "person")
    remembers(world, "- likes tea")
    async with world.running() as bot:
        await bot.ask("/use diary")
        await bot.ask("I like tea")
        shown = await card(bot)
    shutil.rmtree(world.home.packs / "diary")
    pack(world, "letters", "person")
    pack(world, "notes", "person")
    async with world.running() as bot:
        await tap(world, bot, shown, "Show MEMORY.md")
        tapped = await bot.people.next_message(ADA, after=shown.id)
        asked = [(await card(bot, command)).text for command in ("/memory", "/use")]

    gone = "The pack “diary” is not installed any more. Which one shall answer here?"
    assert [tapped.text, *asked] == [gone] * 3
    assert [button.text for button in tapped.buttons] == ["Letters", "Notes"]


async def test_a_button_of_a_file_that_memory_does_not_have_is_an_old_one(world: World) -> None:
    pack(world, "diary", "person")
    async with world.running() as bot:
        shown = await card(bot)
        await bot.people.tap(ADA, ADA, shown.id, "nav:memory_show_NOSUCH.md")
        told = await bot.people.next_message(ADA, after=shown.id)

    assert told.text == "This button is from an earlier time and does nothing any more."


async def test_a_pack_that_keeps_a_state_can_name_it_and_another_cannot(world: World) -> None:
    pack(world, "diary", "person", "memory: {soul: true, state: true}\n")
    remembers(world, "- be brief", "soul")
    remembers(world, "- lesson 3", "state")
    async with world.running() as bot:
        await bot.ask("be brief")
        await bot.ask("lesson 3 is done")
        world.model.say("hi")
        await bot.ask("hello")
        shown = await card(bot)

    targets = _targets(world, 0)
    system, *_, newest = world.model.requests[-1]["messages"]
    assert targets == ["user", "memory", "soul", "state"]
    assert "# Persona notes" in system["content"]
    assert "- be brief" in system["content"]
    assert "# State" in newest["content"]
    assert "- lesson 3" in newest["content"]
    assert "# State" not in system["content"]
    assert [b.text for b in shown.buttons][:2] == ["Show SOUL.md", "Show STATE.md"]


async def test_a_pack_without_a_state_is_told_what_it_has(world: World) -> None:
    pack(world, "diary", "person")
    remembers(world, "- lesson 3", "state")
    async with world.running() as bot:
        await bot.ask("lesson 3 is done")

    assert _targets(world, 0) == ["user", "memory"]
    told = words_of(world.model.requests[-1]["messages"][-1])
    assert told == "There is no memory 'state': use user or memory."


def _targets(world: World, number: int) -> list[str]:
    (spec,) = [
        tool["function"]
        for tool in world.model.requests[number]["tools"]
        if tool["function"]["name"] == "memory"
    ]
    return spec["parameters"]["properties"]["target"]["enum"]


async def test_a_templates_empty_mark_is_no_line_that_was_lost_and_empty_files_have_no_button(
    world: World,
) -> None:
    world.install("notes")
    remembers(world, "- Likes tea", "user")
    async with world.running() as bot:
        await bot.ask("I like tea")
        shown = await card(bot)

    assert shown.text.endswith("from your message “I like tea”: + Likes tea")
    assert "USER.md, added" in shown.text
    assert [button.text for button in shown.buttons] == ["Show USER.md", "Undo last change"]
