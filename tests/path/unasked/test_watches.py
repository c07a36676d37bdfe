"""Watches of packs: nothing changed costs no token, and a change is told once. Source: issue 14."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from aouo.emulator import FAMILY
from aouo.facts.address import ConversationAddress
from aouo.store import gone
from tests.fakes.clock import FastClock
from tests.fakes.web_server import Answer, Names, WebServer, web_of
from tests.path.looking import eventually, settled
from tests.path.reloading.following import ask_for, save
from tests.path.world import ADA, BEN, WAIT_S, Running, World, texts

MANIFEST = """\
name: lab
version: 1.0.0
display_name: Lab
schema: {{owned_tables: [words], scope: {scope}}}
permissions: {{tools: [core, db], cron: {cron}, files: [{folder}], network: ['{hosts}']}}
watches:
  - {{id: look-here, every: 5m, prompt: Say what is new, {source}{more}}}
"""
SCHEMA = "CREATE TABLE IF NOT EXISTS words (word TEXT PRIMARY KEY, meaning TEXT NOT NULL);\n"
ROWS = "sql: SELECT word FROM words ORDER BY word"
ENDLESS = "sql: 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT max(i) FROM n'"
EVERY_S = 5 * 60 + 1


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.config = {"cron": {"timezone": "UTC"}}
    world.clock = clock = FastClock(speed=1)
    return clock


def lab(
    world: World,
    source: str = ROWS,
    *,
    scope: str = "shared",
    cron: str = "true",
    hosts: str = "example.com",
    files: str = "",
    more: str = "",
) -> None:
    folder, watched = world.home.packs / "lab", world.home.path.parent / "in"
    folder.mkdir(parents=True, exist_ok=True)
    watched.mkdir(exist_ok=True)
    world.config["security"] = {"allowed_paths": [str(watched)]}
    asked = {"scope": scope, "cron": cron, "folder": files or watched, "hosts": hosts}
    text = MANIFEST.format(source=source, more=more, **asked)
    (folder / "pack.yml").write_text(text)
    (folder / "schema.sql").write_text(SCHEMA)


async def keep(world: World, word: str, *, user: int = ADA, chat: int = 0) -> None:
    """Have a person save a row."""
    assert world.bot
    world.model.call("persist", {"action": "save", "data": {"word": word, "meaning": "x"}})
    world.model.say("Saved.")
    await world.bot.ask(f"Keep {word}", user=user, chat=chat)


async def looked(
    bot: Running, clock: FastClock, seconds: float = EVERY_S, *, tenants: int = 1
) -> list[dict[str, Any]]:
    """Let each watch look once more at so many tenants' data; return what they know then."""

    async def states() -> list[dict[str, Any]]:
        return await bot.rows("SELECT * FROM watches ORDER BY tenant")

    before = {row["tenant"]: row["next_look"] for row in await states()}
    clock.jump(seconds)

    async def look() -> bool:
        now = {row["tenant"]: row["next_look"] for row in await states()}
        return len(now) == tenants and all(now[key] != before.get(key) for key in now)

    await eventually(look)
    await settled(bot)
    return await states()


async def one_more_word(bot: Running, world: World, clock: FastClock) -> None:
    """Have Ada save a row that is looked at, and then another one: Haus."""
    await keep(world, "Baum")
    await looked(bot, clock)
    await keep(world, "Haus")


async def test_rows_that_change_begin_a_turn_and_rows_that_do_not_cost_nothing(
    world: World, clock: FastClock
) -> None:
    lab(world)
    async with world.running() as bot:
        await keep(world, "Baum")
        await looked(bot, clock)
        asked = len(world.model.requests)
        await looked(bot, clock)
        await looked(bot, clock)
        assert len(world.model.requests) == asked

        await keep(world, "Haus")
        world.model.say("There is a new word: Haus.")
        await looked(bot, clock)
        told = texts(await bot.people.messages(ADA))[-1]

    assert told == "There is a new word: Haus.\n\n— ⏰ look here"
    said = world.model.requests[-1]["messages"][-1]["content"]
    assert '+ {"word": "Haus"}' in said
    assert "Baum" not in said
    assert 'untrusted source="rows of the pack' in said
    assert said.endswith("Say what is new")


async def test_a_change_is_told_only_to_whose_rows_changed(world: World, clock: FastClock) -> None:
    lab(world, scope="person")
    async with world.running() as bot:
        await keep(world, "Baum")
        await keep(world, "Baum", user=BEN)
        await looked(bot, clock, tenants=2)
        await keep(world, "Haus", user=BEN)
        world.model.say("New: Haus.")
        await looked(bot, clock, tenants=2)

        assert "Haus" not in str(texts(await bot.people.messages(ADA)))
        assert texts(await bot.people.messages(BEN))[-1].startswith("New: Haus.")


async def test_an_answer_that_is_silent_is_told_to_nobody(world: World, clock: FastClock) -> None:
    lab(world)
    async with world.running() as bot:
        await one_more_word(bot, world, clock)
        world.model.say("[SILENT]")
        await looked(bot, clock)

        assert texts(await bot.people.messages(ADA)) == ["Saved.", "Saved."]


async def test_a_query_without_an_end_is_cut_and_off_after_five_looks_and_the_owner_knows(
    world: World, clock: FastClock
) -> None:
    lab(world, ENDLESS)
    async with world.running() as bot:
        await keep(world, "Baum")
        asked = len(world.model.requests)
        for failures in range(1, 5):
            (state,) = await looked(bot, clock, 24 * 3600)
            assert state["failures"] == failures
            assert "too long" in state["why"]
            pause = datetime.fromisoformat(state["next_look"]) - clock.now()
            assert timedelta(minutes=4) < pause - timedelta(minutes=5) * (2**failures - 1)
        assert not [text for text in texts(await bot.people.messages(ADA)) if "watch" in text]
        (state,) = await looked(bot, clock, 24 * 3600)
        told = await bot.people.next_message(ADA, contains="watch")
        clock.jump(48 * 3600)
        await bot.ask("Still there?")

        assert (await bot.rows("SELECT failures FROM watches")) == [{"failures": 5}]
        assert len(world.model.requests) == asked + 1
    assert told.text.startswith("The watch “look-here” of the pack lab failed 5 times in a row")


async def test_a_file_that_changes_begins_a_turn(world: World, clock: FastClock) -> None:
    file = world.home.path.parent / "in" / "box.txt"
    lab(world, f"file: {file}")
    async with world.running() as bot:
        await bot.ask("Hello")
        await looked(bot, clock)
        await looked(bot, clock)
        asked = len(world.model.requests)
        file.write_text("new")
        world.model.say("There is something in the box.")
        await looked(bot, clock)

        assert len(world.model.requests) == asked + 1
        assert "something in the box" in texts(await bot.people.messages(ADA))[-1]
    assert "Before: no such file. Now: 3 bytes" in str(world.model.requests[-1])


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("behind a link", "permissions.files"),
        ("not opened", "allowed_paths"),
        ("ours", "the bot's own"),
    ],
)
async def test_a_file_outside_of_what_is_open_is_not_looked_at(
    world: World, clock: FastClock, where: str, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "in" / "link"
    if where == "ours":
        lab(world, f"file: {world.home.config}", files=str(world.home.path))
        world.config["security"] = {"fence_mode": "allow"}
    else:
        lab(world, f"file: {file}")
    if where == "behind a link":
        file.symlink_to(world.home.config)
    elif where == "not opened":
        world.config["security"] = {"allowed_paths": []}
    async with world.running() as bot:
        await bot.ask("Hello")
        (state,) = await looked(bot, clock)

    assert state["digest"] == ""
    assert why in state["why"]


async def test_a_watch_that_fails_is_in_the_status_and_looks_again_once_it_is_mended(
    world: World, clock: FastClock
) -> None:
    """Found by hand: nobody was told before the fifth failure, and mending took a restart."""
    lab(world, f"file: {world.home.path.parent / 'in' / 'box.txt'}")
    opened = world.config["security"]
    world.config["security"] = {"allowed_paths": []}
    async with world.running() as bot:
        await bot.ask("Hello")
        await looked(bot, clock)
        told = await bot.ask("/status")
        status = await ask_for(world, "status")
        for _ in range(4):
            await looked(bot, clock, 24 * 3600)
        off = await bot.people.next_message(ADA, contains="5 times in a row")
        save(world, security=opened)
        await ask_for(world, "reload")
        clock.jump(60)
        await eventually(lambda: bot.rows("SELECT 1 FROM watches WHERE digest <> ''"))
        well = await ask_for(world, "status")

    fails = "The watch “look-here” of the pack lab failed"
    assert f"⚠️ {fails} the last time, so it looks less often: " in told.text
    assert [line.partition(" the last")[0] for line in status["failing_watches"]] == [fails]
    assert off.text.startswith(f"{fails} 5 times in a row, so it is off until ")
    assert "aouo reload" in off.text
    assert "security.allowed_paths" in off.text
    assert well["failing_watches"] == []


async def test_a_pack_that_may_not_begin_by_itself_looks_at_nothing(
    world: World, clock: FastClock
) -> None:
    lab(world, cron="false")
    async with world.running() as bot:
        await keep(world, "Baum")
        clock.jump(EVERY_S)
        await bot.ask("Hello")

        assert await bot.rows("SELECT * FROM watches") == []


async def test_a_group_is_told_in_the_name_of_the_owner(world: World, clock: FastClock) -> None:
    lab(world, scope="person")
    world.config["telegram"] = {"groups": "all"}
    async with world.running() as bot:
        await keep(world, "Baum", user=BEN, chat=FAMILY)
        await looked(bot, clock)
        await keep(world, "Haus", user=BEN, chat=FAMILY)
        world.model.say("New: Haus.")
        await looked(bot, clock)

        assert texts(await bot.people.messages(FAMILY))[-1].startswith("New: Haus.")
        (job,) = await bot.rows("SELECT person FROM jobs WHERE lane LIKE 'watch:%'")
        assert job == {"person": str(ADA)}


async def test_an_address_that_changes_begins_a_turn_in_each_conversation_of_the_pack(
    world: World, clock: FastClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with WebServer() as site:
        web = web_of(Names(example_com=["127.0.0.1"]))
        monkeypatch.setattr("aouo.app.tools.Web", lambda: web)
        lab(world, f"url: 'http://example.com:{site.port}/feed'", hosts=f"example.com:{site.port}")
        site.pages["/feed"] = Answer(b"one", headers={"ETag": "1"})
        async with world.running() as bot:
            await bot.ask("Hello")
            await bot.ask("Hello", user=BEN)
            await looked(bot, clock)
            asked = len(world.model.requests)
            site.pages["/feed"] = Answer(status=304)
            await looked(bot, clock)
            assert len(world.model.requests) == asked

            site.pages["/feed"] = Answer(b"two", headers={"ETag": "2"})
            world.model.say("The feed is new.")
            world.model.say("The feed is new.")
            await looked(bot, clock)

            for person in (ADA, BEN):
                assert texts(await bot.people.messages(person))[-1].startswith("The feed is new.")
    assert [headers.get("If-None-Match") for _, _, headers in site.requests] == [None, "1", "1"]


async def test_while_the_turn_of_a_change_is_at_work_it_does_not_look_and_misses_nothing(
    world: World, clock: FastClock
) -> None:
    lab(world)
    async with world.running() as bot:
        await one_more_word(bot, world, clock)
        world.model.stall()
        clock.jump(EVERY_S)
        async with asyncio.timeout(WAIT_S):
            await world.model.stalled.wait()
        await keep(world, "Hof")
        before = await bot.rows("SELECT next_look FROM watches")
        clock.jump(EVERY_S)

        async def passed() -> bool:
            return await bot.rows("SELECT next_look FROM watches") != before

        await eventually(passed)
        assert len(await bot.rows("SELECT id FROM jobs WHERE lane LIKE 'watch:%'")) == 1
        world.model.release.set()
        await settled(bot)
        world.model.say("New: Hof.")
        await looked(bot, clock)

        assert texts(await bot.people.messages(ADA))[-1].startswith("New: Hof.")
    assert '+ {"word": "Hof"}' in world.model.requests[-1]["messages"][-1]["content"]


async def test_a_watch_that_looks_at_something_else_begins_anew(
    world: World, clock: FastClock
) -> None:
    lab(world)
    async with world.running() as bot:
        await keep(world, "Baum")
        await looked(bot, clock)
    lab(world, "sql: SELECT meaning FROM words")
    async with world.running() as bot:
        asked = len(world.model.requests)
        (state,) = await looked(bot, clock)

        assert "x" in state["seen"]
        assert len(world.model.requests) == asked


async def test_what_comes_of_a_quiet_watch_waits_for_the_digest(
    world: World, clock: FastClock
) -> None:
    lab(world, more=", quiet: true")
    async with world.running() as bot:
        await one_more_word(bot, world, clock)
        world.model.say("New: Haus.")
        await looked(bot, clock)

        assert texts(await bot.people.messages(ADA)) == ["Saved.", "Saved."]
        (kept,) = await bot.rows("SELECT text, due_at FROM kept_reports")
    assert (kept["text"], kept["due_at"][:16]) == ("New: Haus.", "2026-03-03T08:00")


async def test_nothing_begins_where_nobody_can_be_reached(world: World, clock: FastClock) -> None:
    lab(world)
    async with world.running() as bot:
        await one_more_word(bot, world, clock)
        asked = len(world.model.requests)
        await bot.app.shared.database.transact(
            lambda tx: gone.close(tx, ConversationAddress("tg", str(ADA)), "blocked", "")
        )
        await looked(bot, clock)

        assert len(world.model.requests) == asked


async def test_what_a_pack_saw_is_forgotten_with_it(world: World, clock: FastClock) -> None:
    lab(world)
    async with world.running() as bot:
        await keep(world, "Baum")
        await looked(bot, clock)
    (world.home.packs / "lab" / "pack.yml").unlink()
    async with world.running() as bot:

        async def forgotten() -> bool:
            return not await bot.rows("SELECT id FROM watches")

        await eventually(forgotten)


async def test_what_its_own_turn_changes_begins_no_further_turn(
    world: World, clock: FastClock
) -> None:
    """Else a turn that writes down what it saw would begin the next one, and so on."""
    lab(world)
    async with world.running() as bot:
        await one_more_word(bot, world, clock)
        world.model.call("persist", {"action": "save", "data": {"word": "seen", "meaning": "x"}})
        world.model.say("Noted.")
        await looked(bot, clock)
        asked = len(world.model.requests)
        await looked(bot, clock)
        await looked(bot, clock)
        assert len(world.model.requests) == asked

        await keep(world, "Garten")
        await looked(bot, clock)
        told = texts(await bot.people.messages(ADA))[-1]

    assert '{"word": "Garten"}' in told
    assert told.endswith("— ⏰ look here")
