"""The tool `cron`: a model makes and changes schedules, in its own conversation only.

Source: contract "Tools"; issue 14: "A schedule's turn makes none, unless its pack may."
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from aouo.agent.tools.cron import id_of
from aouo.emulator import HOUSEHOLD
from aouo.facts.address import ConversationAddress
from aouo.schedules.proposals import Place
from aouo.schedules.service import Wish
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, CallPart, Reply, Says, words_of
from tests.path.looking import eventually, said, settled
from tests.path.schedules.scheduled import after_tool, answering, calls_once
from tests.path.world import ADA, BEN, World
from tests.schedules.ticks import Rules

DRILL = """\
name: drill
version: 1.0.0
display_name: Drill
provided_skills: [go]
permissions: {}
"""


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """Monday 2 March 2026, 13:16 in Berlin; it jumps when a test says so."""
    world.clock = clock = FastClock(speed=1)
    world.config = {"cron": {"timezone": "Europe/Berlin"}}
    return clock


def install(world: World, permissions: str) -> None:
    folder = world.home.packs / "drill"
    (folder / "skills" / "go").mkdir(parents=True)
    (folder / "skills" / "go" / "SKILL.md").write_text("---\nname: go\ndescription: d\n---\nGo.")
    (folder / "pack.yml").write_text(DRILL.replace("{}", permissions))


def last(body: Body) -> str:
    return words_of(body["messages"][-1])


def results(world: World) -> list[str]:
    """What the model read of its calls, in order."""
    found: list[str] = []
    for body in world.model.requests:
        found += [words_of(m) for m in body["messages"] if m["role"] == "tool"]
    return list(dict.fromkeys(found))


def calling(**arguments: Any) -> Says:
    return Says(calls=(CallPart("cron", arguments),))


async def test_remind_me_in_one_minute(world: World, clock: FastClock) -> None:
    tea = {"action": "create", "prompt": "Say that the tea is ready", "schedule": "in 1 minute"}
    person = calls_once("cron", then="At a quarter past, I will.", **tea)
    world.model.script = answering(lambda body: "The tea is ready!", person)
    async with world.running() as bot:
        answer = await bot.ask("The tea, in one minute, please")
        clock.jump(60)
        await said(world, "The tea is ready!\n\n— ⏰ Say that the tea is ready")
        await settled(bot)
        rows = await bot.rows("SELECT origin, person, enabled, paused FROM schedules")

    assert answer.text == "At a quarter past, I will."
    (made,) = results(world)
    assert "once, Monday 2 March 2026 at 13:1" in made
    assert "(Europe/Berlin). Tell the person these times." in made
    assert rows == [{"origin": "model", "person": str(ADA), "enabled": 0, "paused": "over"}]


async def test_all_that_a_model_may_do_with_one(world: World) -> None:
    ids: list[str] = []

    def script(body: Body) -> Reply | str:
        if after_tool(body):
            return "Done."
        words = last(body)
        wanted = json.loads(words[words.index("{") : words.rindex("}") + 1])
        if ids:
            wanted["id"] = ids[0]
        return calling(**wanted)

    world.model.script = script
    async with world.running() as bot:

        async def do(**arguments: str) -> str:
            await bot.ask(json.dumps(arguments))
            return results(world)[-1]

        made = await do(action="create", name="Tea", prompt="Drink", schedule="every day at 16:00")
        ids.append((await bot.rows("SELECT id FROM schedules"))[0]["id"])
        moved = await do(action="update", schedule="every Friday at 17:00", timezone="Asia/Tokyo")
        listed = await do(action="list")
        off = await do(action="pause")
        on = await do(action="resume")
        none = await do(action="update")
        past = await do(action="update", schedule="2020-01-01T09:00")
        gone = await do(action="remove")
        again = await do(action="remove", name="x")

    assert made.startswith(f"Made. id {ids[0]}: “Tea”, every day at 16:00: on, next Monday 2 March")
    assert "Tuesday 3 March 2026 at 16:00; Wednesday 4 March 2026 at 16:00 (Europe/Be" in made
    assert moved.startswith("Changed.")
    assert "(Asia/Tokyo)" in moved
    assert listed == (
        f"id {ids[0]}: “Tea”, every Friday at 17:00 (Asia/Tokyo): on, next Friday 6 March 2026 at "
        "17:00; prompt: Drink"
    )
    assert off.endswith("every Friday at 17:00 (Asia/Tokyo): off")
    assert on.startswith("On.")
    assert "Say what to change" in none
    assert "is over: it is Monday 2 March 2026 at 21:1" in past
    assert gone == "Removed: “Tea”."
    assert "There is no schedule" in again


async def test_it_sees_and_touches_those_of_its_person_and_conversation_only(
    world: World,
) -> None:
    world.config["telegram"] = {"groups": "all"}

    def script(body: Body) -> Reply | str:
        if after_tool(body):
            return "Done."
        words = last(body)
        return calling(**json.loads(words[words.index("{") : words.rindex("}") + 1]))

    world.model.script = script
    async with world.running() as bot:
        await bot.ask("/cron add --name Adas every day at 9 Rise")
        await bot.ask("/cron add --name Group every day at 9 Rise", chat=HOUSEHOLD)
        (private, group) = await bot.rows("SELECT id FROM schedules ORDER BY name")
        await bot.ask('{"action": "list"}', user=BEN)
        await bot.ask(json.dumps({"action": "remove", "id": private["id"]}), user=BEN)
        await bot.ask(json.dumps({"action": "remove", "id": group["id"]}), user=BEN, chat=HOUSEHOLD)
        await bot.ask(json.dumps({"action": "pause", "id": group["id"]}))
        rows = await bot.rows("SELECT id FROM schedules WHERE enabled = 1")

    assert results(world)[0] == "There are no schedules here."
    assert all("There is no schedule" in one for one in results(world)[1:])
    assert len(rows) == 2


async def test_a_run_makes_no_schedule(world: World, clock: FastClock) -> None:
    """A reminder once triggered itself. Source: peers §2 G 36."""
    once_more = {"action": "create", "prompt": "Once more", "schedule": "every 1m"}
    world.model.script = calls_once("cron", then="I could not.", **once_more)
    async with world.running() as bot:
        await bot.ask("/cron add --name Loop 1m Schedule yourself")
        clock.jump(61)
        await said(world, "I could not.\n\n— ⏰ Loop")
        await settled(bot)
        rows = await bot.rows("SELECT name FROM schedules")

    assert "This turn began by itself, and such a turn makes and changes no" in results(world)[0]
    assert rows == [{"name": "Loop"}]


@pytest.mark.parametrize(
    ("permissions", "made"),
    [
        ("{cron: true}", 1),  # the default list of tools names cron, but the pack does not
        ("{cron: true, tools: [msg, cron]}", 2),
        ("{cron: true, tools: [schedule]}", 2),
    ],
)
async def test_a_run_of_a_pack_that_names_the_tool_may(
    world: World, clock: FastClock, permissions: str, made: int
) -> None:
    install(world, permissions)
    once_more = {"action": "create", "prompt": "Once more", "schedule": "every 1h"}
    world.model.script = calls_once("cron", then="Tried.", **once_more)
    async with world.running() as bot:
        await bot.ask("/cron add --name Loop 1m Schedule yourself")
        clock.jump(61)
        await said(world, "Tried.\n\n— ⏰ Loop")
        await settled(bot)
        rows = await bot.rows("SELECT id FROM schedules")

    assert len(rows) == made


async def test_a_pack_without_the_permission_is_told_so(world: World) -> None:
    install(world, "{}")
    world.model.call("cron", {"action": "create", "prompt": "Rise", "schedule": "every day at 9"})
    world.model.say("I may not.")
    async with world.running() as bot:
        await bot.ask("Wake me at nine every day")
        typed = await bot.ask("/cron add every day at 9 Rise")
        rows = await bot.rows("SELECT id FROM schedules")

    why = "“Drill” may not have schedules: its pack.yml does not set permissions.cron."
    assert results(world) == [why]
    assert typed.text == why
    assert rows == []


async def test_off_the_record_it_may_only_look(world: World) -> None:
    world.model.call("cron", {"action": "create", "prompt": "Rise", "schedule": "every day at 9"})
    world.model.say("I may not.")
    async with world.running() as bot:
        await bot.ask("/otr")
        await bot.ask("Wake me at nine every day")
        rows = await bot.rows("SELECT id FROM schedules")

    assert rows == []


async def test_no_more_than_two_hundred_are_made_in_a_conversation(world: World) -> None:
    world.model.call("cron", {"action": "create", "prompt": "Rise", "schedule": "every day at 9"})
    world.model.say("Full.")
    async with world.running() as bot:
        await bot.ask("/cron add --name N1 every day at 9 Rise")
        await eventually(lambda: bot.rows("SELECT id FROM schedules"))
        await bot.app.shared.database.transact(
            lambda tx: tx.run(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 199) "
                "INSERT INTO schedules (id, pack, key, origin, platform, chat_id, thread_id, "
                "chat_kind, person, skill, prompt, text, zone, since, enabled, created_at, "
                "updated_at) SELECT 'copy' || i, pack, key, origin, platform, chat_id, thread_id, "
                "chat_kind, person, skill, prompt, text, zone, since, enabled, created_at, "
                "updated_at FROM schedules, n"
            )
        )
        await bot.ask("Wake me")
        rows = await bot.rows("SELECT count(*) AS n FROM schedules")

    assert "There are 200 schedules here, and no more can be made" in results(world)[0]
    assert rows == [{"n": 200}]


async def test_a_call_that_runs_twice_makes_one_schedule(world: World) -> None:
    """A kill between the schedule and the record of its result lets the call run again."""
    world.model.call("cron", {"action": "create", "prompt": "Rise", "schedule": "every day at 9"})
    world.model.say("Made.")
    async with world.running() as bot:
        await bot.ask("Wake me at nine every day")
        (row,) = await bot.rows("SELECT id FROM schedules")
        (call,) = await bot.rows("SELECT turn_id, id FROM tool_calls")
        place = Place(ConversationAddress("tg", str(ADA)), "private", str(ADA))
        again = await bot.app.shared.database.transact(
            lambda tx: Rules().create(
                tx,
                Wish("every day at 9", "Rise"),
                place,
                bot.app.shared.clock.now(),
                pack="",
                origin="model",
                schedule_id=id_of(call["turn_id"], call["id"]),
            )
        )
        rows = await bot.rows("SELECT id, since FROM schedules")

    assert again.id == row["id"]
    assert rows == [{"id": again.id, "since": again.since}]
