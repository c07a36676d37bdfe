"""Memory belongs to one person or one group, in every pack and whatever a path says.

Source: issue 5, "Isolation".
"""

from __future__ import annotations

import json

import pytest

from aouo.emulator import FAMILY
from tests.fakes.model_server import CallPart
from tests.path.looking import settled
from tests.path.test_memory import US, pack, remembers
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


async def test_the_files_of_a_shared_pack_are_shared_and_memory_in_them_is_not(
    world: World,
) -> None:
    """Whatever a model writes for a path, another owner's folder stays closed."""
    own = pack(world, "diary", "shared")
    remembers(world, "ada-7731", "user")
    (own / f"tg_{ADA}").mkdir(parents=True)
    (own / "USER.md").write_text("the owner's, from before: old-1200\n", encoding="utf-8")
    (own / "list.txt").write_text("for everybody", encoding="utf-8")
    (own / "door").symlink_to(own / f"tg_{ADA}")
    (own / "window.txt").symlink_to(own / f"tg_{ADA}" / "USER.md")
    theirs = [
        f"tg_{ADA}/USER.md",
        f"./tg_{BEN}/../tg_{ADA}/USER.md",
        f"{own}/tg_{ADA}/USER.md",
        f"file:{own}/tg_{ADA}/USER.md",
        f"TG_{ADA}/USER.md",
        "door/USER.md",
        "window.txt",
        "USER.md",
        "user.md",
    ]
    reads = [
        CallPart(tool, {"path": path}) for path in theirs for tool in ("read_file", "read_document")
    ]
    writes = [CallPart("write_file", {"path": path, "content": "x"}) for path in theirs]
    shows = [CallPart("msg", {"type": "document", "url": path}) for path in theirs]
    lists = [CallPart("list_dir", {"path": path}) for path in (f"tg_{ADA}", "door", "")]
    async with world.running() as bot:
        await bot.ask("mine")
        before = len(world.model.requests)
        for calls in (reads, writes, shows, [*lists, CallPart("read_file", {"path": "list.txt"})]):
            world.model.calls(*calls)
            world.model.say("done")
            await bot.ask("go", user=BEN)
        heard = world.model.requests[before:]
        blocked = await bot.rows(
            "SELECT count(*) AS n FROM audit WHERE stage = 'BLOCKED' AND reason LIKE '%memory of%'"
        )
        world.model.say("hello")
        await bot.ask("hello")
    results = [str(m["content"]) for m in heard[-1]["messages"] if m["role"] == "tool"]

    assert "ada-7731" not in json.dumps(heard)
    assert "old-1200" not in json.dumps(heard)
    assert [row["n"] for row in blocked] == [38]
    assert results[-1] == "for everybody"
    assert f"tg_{ADA}" not in results[-2]
    assert "[file] list.txt" in results[-2]
    assert (own / f"tg_{ADA}" / "USER.md").read_text().endswith("ada-7731\n")
    assert "old-1200" in json.dumps(world.model.requests[-1])


async def test_older_files_of_a_shared_pack_are_what_the_owner_begins_with_and_nobody_else(
    world: World,
) -> None:
    own = pack(world, "diary", "shared")
    own.mkdir(parents=True)
    (own / "MEMORY.md").write_text("old-1200\n", encoding="utf-8")
    async with world.running() as bot:
        await bot.ask("hello")
        await bot.ask("hello", user=BEN)
        await bot.ask(f"{US} hello", chat=FAMILY)
        remembers(world, "- new")
        await bot.ask("remember this")

    owner, ben, group, *_ = [json.dumps(body) for body in world.model.requests]
    assert "old-1200" in owner
    assert "old-1200" not in ben + group
    assert (own / f"tg_{ADA}" / "MEMORY.md").read_text() == "old-1200\n- new\n"
    assert (own / "MEMORY.md").read_text() == "old-1200\n"


async def test_a_group_that_becomes_a_supergroup_keeps_its_memory(world: World) -> None:
    pack(world, "diary", "person")
    remembers(world, "group-5500")
    async with world.running() as bot:
        await bot.ask(f"{US} ours", chat=FAMILY)
        new = await world.people.upgrade(ADA, FAMILY)
        await settled(bot)
        world.model.say("yes")
        await bot.ask(f"{US} do you remember?", chat=new)

    assert "group-5500" in json.dumps(world.model.requests[-1])
