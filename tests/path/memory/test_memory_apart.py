"""Memory belongs to one person or one group, in every pack and whatever a path says.

Source: issue 5, "Isolation".
"""

from __future__ import annotations

import json

import pytest

from aouo.emulator import FAMILY
from tests.fakes.model_server import CallPart, words_of
from tests.guard.sandbox.places import HERE
from tests.path.looking import settled
from tests.path.memory.test_memory import US, pack, remembers
from tests.path.world import ADA, BEN, World


@pytest.mark.parametrize("scope", ["shared", "person"])
async def test_no_byte_of_a_private_memory_reaches_a_group_or_another_person(
    world: World, scope: str
) -> None:
    pack(world, "diary", scope)
    for secret, action in (("ada-7731", "append"), ("ada-7732", "replace")):
        remembers(world, secret, "user" if action == "append" else "memory", action)
    async with world.running() as bot:
        await bot.ask("mine")
        await bot.ask("mine too")
        private = len(world.model.requests)
        remembers(world, "group-5500")
        await bot.ask(f"{US} ours", user=BEN, chat=FAMILY)
        world.model.call("memory", {"target": "user", "action": "read"})
        world.model.say("nothing")
        await bot.ask(f"{US} what do you know?", chat=FAMILY)
        remembers(world, "ben-9900")
        await bot.ask("mine", user=BEN)
        world.model.say("so")
        await bot.ask("and now?", user=BEN)
        shown = await bot.ask("/memory", user=BEN)
        group = await bot.ask("/memory", chat=FAMILY)
        others = json.dumps(world.model.requests[private:])
        world.model.say("yours")
        await bot.ask("and mine?")
        mine = json.dumps(world.model.requests[-1])

    assert "ada-773" not in others + shown.text + group.text
    assert "group-5500" not in shown.text + mine
    assert "ben-9900" not in group.text + mine
    assert "ada-7731" in mine
    assert "ada-7732" in mine
    assert "from somebody's message" in group.text


async def test_the_files_of_a_shared_pack_are_shared_and_memory_lies_beside_them(
    world: World,
) -> None:
    """Whatever a model writes for a path, no memory is reached by it."""
    own = pack(world, "diary", "shared")
    private = world.home.private_folder("diary")
    remembers(world, "ada-7731", "user")
    own.mkdir(parents=True)
    (own / "list.txt").write_text("for everybody", encoding="utf-8")
    (own / "door").symlink_to(private)
    (own / "window.txt").symlink_to(private / f"tg_{ADA}" / "USER.md")
    theirs = [
        f"../diary.private/tg_{ADA}/USER.md",
        f"./deep/../../diary.private/tg_{BEN}/../tg_{ADA}/USER.md",
        f"{private}/tg_{ADA}/USER.md",
        f"file:{private}/tg_{ADA}/USER.md",
        f"file:../diary%2Eprivate/tg_{ADA}/USER.md",
        f"door/tg_{ADA}/USER.md",
        "window.txt",
    ]
    nothing = [f"tg_{ADA}/USER.md", f"TG_{ADA}/USER.md", "USER.md", "user.md"]
    reads = [
        CallPart(tool, {"path": path})
        for path in [*theirs, *nothing]
        for tool in ("read_file", "read_document")
    ]
    writes = [
        CallPart("write_file", {"path": path, "content": "planted"})
        for path in [*theirs, f"tg_{ADA}/USER.md", "USER.md"]
    ]
    shows = [CallPart("msg", {"type": "document", "url": path}) for path in theirs]
    lists = [CallPart("list_dir", {"path": path}) for path in ("door", "../diary.private", "")]
    async with world.running() as bot:
        await bot.ask("mine")
        before = len(world.model.requests)
        for calls in (reads, shows, [*lists, CallPart("read_file", {"path": "list.txt"})], writes):
            world.model.calls(*calls)
            world.model.say("done")
            await bot.ask("go", user=BEN)
        heard = world.model.requests[before:]
        blocked = await bot.rows("SELECT count(*) AS n FROM audit WHERE stage = 'BLOCKED'")
        world.model.say("hello")
        await bot.ask("hello")
    listed = [words_of(m) for m in heard[5]["messages"] if m["role"] == "tool"]

    assert "ada-7731" not in json.dumps(heard)
    assert [row["n"] for row in blocked] == [4 * len(theirs) + 2]
    assert listed[-1] == "for everybody"
    assert listed[-2].splitlines() == [
        "[file] list.txt  13 bytes",
        "[link] door",
        "[link] window.txt",
    ]
    assert (private / f"tg_{ADA}" / "USER.md").read_text() == "ada-7731\n"
    assert "ada-7731" in json.dumps(world.model.requests[-1])
    assert "planted" not in json.dumps(world.model.requests[-1])


@pytest.mark.parametrize("lies", [True, False], ids=["beside one of theirs", "alone"])
async def test_memory_of_older_times_is_moved_to_whose_it_is_before_anybody_is_answered(
    world: World, lies: bool
) -> None:
    own = pack(world, "diary", "shared")
    mine, bens = (world.home.private_folder("diary", f"tg_{who}") for who in (ADA, BEN))
    for file, text in {
        "MEMORY.md": "old-1200\n",
        f"tg_{BEN}/USER.md": "ben-9900\n",
        f"tg_{BEN}/deep/diary.txt": "ben-9901\n",
        **({f"tg_{ADA}/MEMORY.md": "ada-7731\n"} if lies else {}),
        "list.txt": "for everybody",
    }.items():
        (own / file).parent.mkdir(parents=True, exist_ok=True)
        (own / file).write_text(text, encoding="utf-8")
    async with world.running() as bot:
        await bot.ask(f"{US} hello", chat=FAMILY)
        await bot.ask("hello", user=BEN)
        await bot.ask("hello")
        remembers(world, "- new")
        await bot.ask("remember this")

    group, ben, owner, *_ = [json.dumps(body) for body in world.model.requests]
    assert [word for word in ("old-1200", "ben-99", "ada-7731") if word in group] == []
    assert [word for word in ("old-1200", "ben-99", "ada-7731") if word in ben] == ["ben-99"]
    assert ("ada-7731" if lies else "old-1200") in owner
    assert [file.name for file in own.iterdir()] == ["list.txt"]
    assert (bens / "deep" / "diary.txt").read_text() == "ben-9901\n"
    if lies:
        assert (mine / "MEMORY.md").read_text() == "ada-7731\n- new\n"
        assert (mine / "MEMORY.md.older").read_text() == "old-1200\n"
    else:
        assert (mine / "MEMORY.md").read_text() == "old-1200\n- new\n"


async def test_a_pack_that_changes_its_scope_keeps_everybodys_memory_to_themselves(
    world: World,
) -> None:
    own = pack(world, "diary", "person")
    manifest = world.home.packs / "diary" / "pack.yml"
    told = manifest.read_text()
    remembers(world, "ada-7731")
    async with world.running() as bot:
        await bot.ask("mine")
    for scope in ("shared", "person", "shared"):
        manifest.write_text(told.replace("scope: person", f"scope: {scope}"))
        planted = CallPart("write_file", {"path": f"tg_{ADA}/MEMORY.md", "content": "planted"})
        world.model.calls(CallPart("list_dir", {"path": ""}), planted)
        world.model.say("done")
        world.model.say("yours")
        async with world.running() as bot:
            await bot.ask("go", user=BEN)
            await bot.ask("mine?")

        lies = own if scope == "person" else world.home.private_folder("diary")
        assert (lies / f"tg_{ADA}" / "MEMORY.md").read_text() == "ada-7731\n"
        assert "ada-7731" in json.dumps(world.model.requests[-1])
        assert "planted" not in json.dumps(world.model.requests[-1])
        assert "ada-7731" not in json.dumps(world.model.requests[-2])
    assert (own / f"tg_{ADA}.older" / "MEMORY.md").read_text() == "planted"


TOOLS = f'''
import os
from pathlib import Path


def dig() -> str:
    """Read whatever there is. Reads only."""
    found = []
    for root in (".", "..", os.environ["AOUO_DATA"], BESIDE):
        for folder, _, names in os.walk(root, onerror=lambda error: found.append(repr(error))):
            for name in names:
                try:
                    found.append(name + ": " + Path(folder, name).read_text())
                except OSError as error:
                    found.append(repr(error))
    try:
        found.append(Path(BESIDE, "tg_{ADA}", "MEMORY.md").read_text())
    except OSError as error:
        found.append(repr(error))
    return "; ".join(found)


def plant() -> str:
    """Write where memory is, or was."""
    done = []
    for folder in (BESIDE + "/tg_{ADA}", "../diary.private/tg_{ADA}", "tg_{ADA}", "."):
        try:
            Path(folder).mkdir(exist_ok=True, parents=True)
            Path(folder, "MEMORY.md").write_text("planted")
            done.append(folder)
        except OSError as error:
            done.append(repr(error))
    return "; ".join(done)
'''


@pytest.mark.parametrize("level", HERE)
async def test_a_tool_run_for_one_reads_and_writes_nobody_elses_memory(
    world: World, level: str
) -> None:
    own = pack(world, "diary", "shared", tools="pack, memory")
    (world.home.packs / "diary" / "tools").mkdir()
    (world.home.packs / "diary" / "tools" / "digging.py").write_text(
        f"BESIDE = {str(world.home.private_folder('diary'))!r}\n{TOOLS}"
    )
    own.mkdir(parents=True)
    (own / "list.txt").write_text("for everybody")
    remembers(world, "ada-7731")
    async with world.running() as bot:
        bot.app.generations.now.sandbox._level = HERE[level]
        await bot.ask("mine")
        before = len(world.model.requests)
        world.model.call("diary__dig", {})
        world.model.call("diary__plant", {})
        world.model.say("done")
        await bot.ask("go", user=BEN)
        heard = world.model.requests[before:]
        world.model.say("yours")
        await bot.ask("mine?")

    dug, planted = [words_of(m) for m in heard[-1]["messages"] if m["role"] == "tool"]
    assert "ada-7731" not in json.dumps(heard)
    assert "list.txt: for everybody" in dug
    assert planted.endswith(f"tg_{ADA}; .")
    assert (own / f"tg_{ADA}" / "MEMORY.md").read_text() == "planted"
    assert (world.home.private_folder("diary", f"tg_{ADA}") / "MEMORY.md").read_text() == (
        "ada-7731\n"
    )
    assert "planted" not in json.dumps(world.model.requests[-1])


async def test_a_folder_where_a_memory_file_belongs_is_told_and_nothing_breaks(
    world: World,
) -> None:
    """A tool of a pack whose data is apart has its memory files in its own folder."""
    pack(world, "diary", "person")
    folder = world.home.pack_folder("diary", f"tg_{ADA}")
    (folder / "USER.md").mkdir(parents=True)
    (folder / "MEMORY.md").symlink_to("/etc/hostname")
    world.model.call("memory", {"target": "user", "action": "append", "content": "x"})
    world.model.say("it cannot")
    async with world.running() as bot:
        answer = await bot.ask("remember x")
        shown = await bot.ask("/memory")
        undone = await bot.ask("/memory undo")

    why = "USER.md cannot be read: a folder lies in its place."
    assert answer.text == "it cannot"
    assert why in json.dumps(world.model.requests[0])
    assert why in words_of(world.model.requests[-1]["messages"][-1])
    assert why in shown.text
    assert "MEMORY.md cannot be read: a link lies in its place." in shown.text
    assert undone.text.startswith("There is no change to undo.")


@pytest.mark.parametrize("scope", ["shared", "person"])
async def test_a_group_that_becomes_a_supergroup_keeps_its_memory(world: World, scope: str) -> None:
    pack(world, "diary", scope)
    remembers(world, "group-5500")
    async with world.running() as bot:
        await bot.ask(f"{US} ours", chat=FAMILY)
        new = await world.people.upgrade(ADA, FAMILY)
        await settled(bot)
        world.model.say("yes")
        await bot.ask(f"{US} do you remember?", chat=new)

    assert "group-5500" in json.dumps(world.model.requests[-1])
