"""A saved config.json counts at once, whole or not at all. Source: issue 14, "Reload"."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from aouo.agent.tools.registry import ToolContext, tool
from aouo.config.file import _LAST_GOOD
from aouo.facts.languages import names
from aouo.plumbing.logs import Level
from aouo.plumbing.redact import Redactor
from aouo.words.conversations import refused
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, CallPart, Says
from tests.path.going_out.test_streaming import ALSO_SLOW, Slow, waiting_tool
from tests.path.looking import answers, eventually, said, settled
from tests.path.models.test_generations import answer
from tests.path.packs.test_installing_by_terminal import aouo, served
from tests.path.reloading.following import ask_for, reload, save, swap, tree
from tests.path.schedules.scheduled import made
from tests.path.world import ADA, BEN, WAIT_S, World

OLD, NEW = "the-key-of-yesterday-2718", "the-key-of-tomorrow-3141"


def providers(world: World, key: str) -> dict[str, Any]:
    return {"fake": {"base_url": world.model.base_url, "api_key": key}}


async def told(world: World, start: str) -> list[str]:
    """The owner's messages that begin so, once there is one."""

    async def look() -> list[str]:
        return [text for text in await answers(world) if text.startswith(start)]

    return await eventually(look)


async def test_a_save_counts_for_who_is_let_in_what_answers_and_what_it_may_cost(
    world: World,
) -> None:
    world.config = {"telegram": {"allowed_user_ids": [ADA]}}
    world.model.script = answer
    async with world.running() as bot:
        stranger = await bot.ask("hello", user=BEN)
        async with swap(bot):
            save(world, telegram={"allowed_user_ids": [ADA, BEN]}, provider={"model": "newer"})
        let_in = await bot.ask("hello", user=BEN)
        async with swap(bot):
            save(world, advanced={"daily_tokens_max": 1})
        capped = await bot.ask("hello again", user=BEN)
        good = (world.home.path / _LAST_GOOD).read_text()

    assert stranger.text == refused(str(BEN), asks_id=False, asked=True).text
    assert let_in.text.startswith("newer heard: hello")
    assert capped.text.startswith("The daily limit is reached")
    assert good == world.home.config.read_text()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"telegram": {"bot_tok', "line 1 column 15: not JSON"),
        ("", "it is empty"),
        ('{"provder": {}}', "provder: unknown key"),
        ('{"telegram": {"bot_token": ""}}', "There is no bot token."),
        (
            '{"telegram": {"bot_token": "TOKEN"}, "provider": {"backend": "openai"}}',
            "There is no key",
        ),
    ],
)
async def test_a_bad_file_changes_nothing_and_the_owner_is_told_once(
    world: World, text: str, why: str
) -> None:
    async with world.running() as bot:
        before, good = bot.app.generations.now, world.home.config.read_text()
        things = len(bot.app.shared.things)
        world.home.config.write_text(text.replace("TOKEN", world.emulator.token))
        (note,) = await told(world, "config.json has a problem")
        again = await reload(world)
        state = (await ask_for(world, "status"))["config"]
        after = bot.app.generations.now
        heard = await bot.ask("hello")
        world.home.config.write_text(good)
        (mended,) = await told(world, "config.json is in order")
        repaired = (await ask_for(world, "status"))["config"]
        notes = [one for one in await answers(world) if one.startswith("config.json has")]
        assert len(bot.app.shared.things) == things

    assert why in note
    assert (after is before, heard.text) == (True, "hello")
    assert again["config"]["problems"] == state["problems"]
    assert why in state["problems"][0]
    assert notes == [note]
    assert (mended, repaired["problems"]) == ("config.json is in order again, and in force.", [])


async def test_a_file_that_is_gone_changes_nothing_until_it_is_back(world: World) -> None:
    async with world.running() as bot:
        before, text = bot.app.generations.now, world.home.config.read_text()
        world.home.config.unlink()
        (note,) = await told(world, "config.json has a problem")
        world.home.config.write_text(text)
        await told(world, "config.json is in order")

        assert bot.app.generations.now is before
    assert "it is gone" in note


async def test_only_other_white_space_swaps_nothing(world: World) -> None:
    async with world.running() as bot:
        before = bot.app.generations.now
        world.home.config.write_text(json.dumps(tree(world), indent=7))
        facts = await bot.runtime.reloading.reload()

        assert (bot.app.generations.now is before, facts.anything) == (True, False)


async def test_telegram_is_told_of_the_commands_again_only_when_they_change(world: World) -> None:
    async def menus() -> int:
        return len(await world.people.calls("setMyCommands"))

    async with world.running() as bot:
        await bot.ask("hello")
        await eventually(menus)
        for parts in range(2, 5):
            save(world, telegram={"max_parts": parts})
            await bot.runtime.reloading.reload()
        world.install("vocab")
        await bot.app.packs.refresh()

        async def again() -> bool:
            return await menus() == 2 * len(names())

        await eventually(again)
        await settled(bot)
        assert await menus() == 2 * len(names())


async def test_keys_that_need_a_restart_are_named_and_the_rest_counts(world: World) -> None:
    async with world.running() as bot:
        save(
            world,
            telegram={"api_base_url": "http://127.0.0.1:9", "max_parts": 3},
            log={"format": "json"},
            security={"judge": {"daily": 5}},
        )
        found = (await reload(world))["config"]
        (note,) = await told(world, "In config.json, this takes effect after a restart")
        heard = await bot.ask("hello")
        state = (await ask_for(world, "status"))["config"]
        parts = bot.app.generations.now.telegram.max_parts
        save(world, telegram={"api_base_url": world.emulator.base_url}, log={"format": "auto"})
        await bot.runtime.reloading.reload()
        left = (await ask_for(world, "status"))["config"]["after_restart"]
        notes = [one for one in await answers(world) if "after a restart" in one]

    later = ["telegram.api_base_url", "log.format"]
    assert found == {
        "changed": ["telegram.max_parts", "security.judge.daily"],
        "after_restart": later,
        "problems": [],
    }
    assert (left, notes) == ([], [note])
    assert all(key in note for key in later)
    assert (heard.text, parts, state["after_restart"]) == ("hello", 3, later)


async def test_who_asks_while_a_reload_runs_gets_what_the_file_said_then(world: World) -> None:
    async with world.running() as bot, asyncio.TaskGroup() as group:
        with capture_logs() as logs:
            save(world, telegram={"max_parts": 3})
            first = group.create_task(bot.runtime.reloading.reload())
            await asyncio.sleep(0)
            save(world, telegram={"max_parts": 4})
            more = [group.create_task(bot.runtime.reloading.reload()) for _ in range(20)]
            await asyncio.wait([first, *more])
        parts = bot.app.generations.now.telegram.max_parts

    results = {id(one.result()) for one in more}
    assert (parts, len(results)) == (4, 1)
    assert len([one for one in logs if one["event"] == "generation_swapped"]) <= 2


async def test_a_model_that_did_not_change_stays_with_what_is_known_of_its_health(
    world: World,
) -> None:
    async with world.running() as bot:
        before = bot.app.generations.now
        async with swap(bot):
            save(world, telegram={"max_parts": 3})
        same = bot.app.generations.now
        async with swap(bot):
            save(world, providers=providers(world, NEW))
        other = bot.app.generations.now

    assert (same.model is before.model, other.model is before.model) == (True, False)


async def test_secrets_of_both_generations_are_hidden_until_the_old_ones_last_turn_has_ended(
    world: World,
) -> None:
    begun, release = asyncio.Event(), asyncio.Event()
    world.tools = [waiting_tool(begun, release)]
    world.config = ALSO_SLOW | {"providers": providers(world, OLD)}
    world.model.script = answer
    text = f"{OLD} {NEW}"
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "take your time")
        async with asyncio.timeout(WAIT_S):
            await begun.wait()
        alone = bot.app.generations.redactor.text(text)
        async with swap(bot):
            save(world, providers=providers(world, NEW))
        both = bot.app.generations.redactor.text(text)
        release.set()
        await said(world, "scripted heard: slow result")

        async def ended() -> bool:
            return bot.app.generations.redactor.text(text) == f"{OLD} [redacted]"

        await eventually(ended)

    assert (alone, both) == (f"[redacted] {NEW}", "[redacted] [redacted]")


async def test_the_log_follows_the_level_and_the_secrets(world: World) -> None:
    seen: list[tuple[Level, str]] = []

    def adopt(level: Level, redactor: Redactor | None) -> None:
        assert redactor
        seen.append((level, redactor.text(f"{OLD} {NEW}")))

    world.adopt = adopt
    world.config = {"providers": providers(world, OLD)}
    async with world.running() as bot:
        async with swap(bot):
            save(world, providers=providers(world, NEW), log={"level": "debug"})

        async def last() -> bool:
            return len(seen) == 3

        await eventually(last)

    assert seen == [
        ("info", f"[redacted] {NEW}"),
        ("debug", "[redacted] [redacted]"),
        ("debug", f"{OLD} [redacted]"),
    ]


async def test_all_generations_spend_of_the_same_day(world: World) -> None:
    """What is reserved is of one day; a generation of another zone would make it another."""
    world.config = {"cron": {"timezone": "Pacific/Kiritimati"}}
    async with world.running() as bot:
        old = bot.app.generations.now.quota
        before = old.day()
        async with swap(bot):
            save(world, cron={"timezone": "Pacific/Pago_Pago"})
        new = bot.app.generations.now.quota
        days = old.day(), new.day()

    assert days[0] == days[1] != before


async def test_a_turn_may_start_another_one_while_a_reload_waits_for_it(world: World) -> None:
    """C7: flushing memory runs a turn inside of a turn. No lock is taken, so nobody waits."""
    async with world.running() as bot:
        generations = bot.app.generations
        async with asyncio.timeout(WAIT_S), generations.turn("", 901) as outer:
            async with swap(bot):
                save(world, telegram={"max_parts": 3})
            async with generations.turn("", 901) as inner:
                assert inner is not outer
        await settled(bot)


async def test_a_pack_that_somebody_is_changing_stays_as_it_is_until_that_is_over(
    world: World,
) -> None:
    """Its folder may be away for a moment; whoever changes it reads it anew in the end."""
    world.install("notes", "vocab")
    async with world.running() as bot:
        async with bot.app.generations.change("notes"):
            (world.home.packs / "notes").rename(world.home.path / "away")
            save(world, telegram={"max_parts": 3})
            await reload(world)
            meanwhile = bot.app.generations.library
            (world.home.path / "away").rename(world.home.packs / "notes")
        after = bot.app.generations.now

    assert (meanwhile.names, dict(meanwhile.broken)) == (("notes", "vocab"), {})
    assert after.telegram.max_parts == 3


async def test_two_hundred_reloads_lose_no_turn(world: World) -> None:
    """Some turns outlive many of them: the tool is let go every tenth reload."""
    slow = [(asyncio.Event(), asyncio.Event())]

    async def wait(wish: Slow, context: ToolContext, call_id: str) -> str:
        begun, release = slow[-1]
        begun.set()
        await release.wait()
        return "slow result"

    world.tools = [tool("skill_slow", "Takes its time.", Slow, wait, group="memory")]
    world.config = ALSO_SLOW

    def script(body: Body) -> Says:
        last = body["messages"][-1]
        return Says("done") if last["role"] == "tool" else Says(calls=(CallPart("skill_slow", {}),))

    world.model.script = script
    async with world.running() as bot:
        for user in (ADA, BEN):
            for number in range(12):
                await bot.people.say(user, user, f"{user} says {number}")
        for number in range(200):
            save(world, telegram={"max_parts": 1 + number % 9}, mcp={"servers": {}})
            await bot.runtime.reloading.reload()
            if number % 10 == 9:
                slow[-1][1].set()
                slow.append((asyncio.Event(), asyncio.Event()))
        slow[-1][1].set()
        await settled(bot)
        jobs = await bot.rows("SELECT state, count(*) AS n FROM jobs GROUP BY state")
        turns = await bot.rows("SELECT status, count(*) AS n FROM turns GROUP BY status")
        sent = await bot.rows("SELECT kind, state, count(*) AS n FROM deliveries GROUP BY 1, 2")

        async def alone() -> bool:
            return len(bot.app.generations._users) == 1

        await eventually(alone)

    assert jobs == [{"state": "done", "n": 24}]
    assert turns == [{"status": "ack", "n": 24}]
    assert {"kind": "reply", "state": "sent", "n": 24} in sent


async def test_a_terminal_reads_which_keys_changed_and_no_value(world: World) -> None:
    async with served(world) as bot:
        (watching,) = [one for one in bot.runtime._background if one.get_name() == "config"]
        watching.cancel()  # a program takes longer to start than the watch to look
        save(world, providers=providers(world, NEW), telegram={"proxy": f"http://me:{OLD}@h:1"})
        done = await aouo(world, "reload")
        status = await aouo(world, "status")
        again = await aouo(world, "reload")
        world.home.config.write_text("{")
        bad = await aouo(world, "reload")

    assert done[:2] == (
        0,
        "In force now: providers.fake.api_key.\n"
        "Takes effect after a restart (aouo restart): telegram.proxy.\n"
        "No pack has changed.\n",
    )
    assert "good; after a restart: telegram.proxy" in status[1]
    assert again[1].splitlines()[:2] == [
        "config.json was in force already.",
        "Takes effect after a restart (aouo restart): telegram.proxy.",
    ]
    assert bad[:2] == (1, "Nothing has changed, because config.json has a problem.\n")
    assert bad[2].startswith("config.json: line 1 column 2: not JSON")
    assert OLD not in str((done, status, bad))


async def test_what_begins_by_itself_wakes_when_a_save_switches_it_on(world: World) -> None:
    """It sleeps for as long as `cron.tick_seconds`, which no save waits for."""
    world.clock = FastClock(speed=1)
    world.config = {"cron": {"enabled": False, "tick_seconds": 86_400}}
    world.model.say("Water them!")
    async with world.running() as bot:
        await made(bot, 0)
        await bot.ask("hello")
        before = await bot.rows(
            "SELECT 1 FROM schedule_runs UNION ALL SELECT 1 FROM ticks WHERE name = 'heartbeat'"
        )
        async with swap(bot):
            save(world, cron={"enabled": True}, heartbeat={"enabled": True})
        await eventually(lambda: bot.rows("SELECT 1 FROM schedule_runs WHERE state = 'done'"))
        await eventually(lambda: bot.rows("SELECT 1 FROM ticks WHERE name = 'heartbeat'"))

    assert before == []
