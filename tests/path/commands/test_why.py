"""`/why`: how the last turn here went, to its person and the owner. Source: issue 15, contract."""

from __future__ import annotations

import json

import pytest

from aouo.emulator import FAMILY
from tests.fakes.clock import FastClock
from tests.path.dashboard.looking import dashboard
from tests.path.going_out.test_trace import trace
from tests.path.looking import settled
from tests.path.world import BEN, World


async def test_the_owner_reads_what_was_called_who_judged_and_where_to_read_on(
    world: World,
) -> None:
    world.install("notes")
    world.model.call("memory", {"target": "memory", "action": "append", "content": "- tea"})
    world.model.call("nonsense", {})
    world.model.say("Noted.")
    async with dashboard(world) as shown:
        await shown.bot.ask("remember tea")
        await settled(shown.bot)
        (turn,) = await shown.bot.rows("SELECT id FROM turns")
        told = await shown.bot.ask("/why")
    lines = told.text.split("\n")

    assert lines[0].startswith("My last answer here took ")
    assert lines[2].startswith("fake/scripted: 3 calls, ")
    assert "memory – allowed: nothing spoke against it." in lines
    assert "nonsense – refused: it is not for this turn (no such tool)." in lines
    assert "Cost: 3 calls without a known price." in lines
    assert any(line.startswith("It began with about ") for line in lines)
    address = str(shown.link.with_query({})).rstrip("/")
    assert lines[-1] == f"Step by step: {address}/#/turns/{turn['id']}"
    assert shown.token not in told.text


async def test_without_a_page_the_owner_is_told_the_terminals_command(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)
        (turn,) = await bot.rows("SELECT id FROM turns")
        told = await bot.ask("/why")

    assert told.text.endswith(f"Step by step: aouo trace {turn['id']}")
    assert "No tool was called." in told.text


async def test_when_all_models_failed_each_is_told_with_why(world: World) -> None:
    fallback = [{"backend": "fake", "model": "second"}]
    world.config = {"provider": {"backend": "fake", "model": "first", "fallback": fallback}}
    world.model.fail(503)
    world.model.fail(401)
    async with dashboard(world) as shown:
        await shown.bot.ask("hello")
        await settled(shown.bot)
        told = (await shown.bot.ask("/why")).text.split("\n")
        (turn,) = await shown.bot.rows("SELECT id FROM turns")
        _, page = await shown.get(f"/api/turns/{turn['id']}")
        _, days = await shown.get("/api/usage/turns")
        terminal = (await trace(world, turn["id"])).output.split("\n")

    busy, refused = "is busy or cannot be reached", "refuses our key"
    assert f"No answer from fake/first, which {busy}: fake/second was asked instead." in told
    assert f"No answer from fake/second, which {refused}." in told
    for tries in (page["tries"], days["tries"]):
        assert [(one["failed"], one["why"], one["asked"]) for one in tries] == [
            ("fake/first", busy, "fake/second"),
            ("fake/second", refused, ""),
        ]
    assert f"  fake/first {busy}, then fake/second" in terminal
    assert f"  fake/second {refused}" in terminal


@pytest.mark.parametrize("retries", [0, 2])
async def test_the_last_try_of_a_model_is_told_with_those_before_it(
    world: World, retries: int
) -> None:
    world.clock = FastClock()
    world.config = {"provider": {"backend": "fake", "model": "only", "max_retries": retries}}
    for _ in range(retries + 1):
        world.model.fail(503)
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)
        told = (await bot.ask("/why")).text.split("\n")

    no_answer = "No answer from fake/only, which is busy or cannot be reached"
    before = [f"{no_answer} (2 times): it was asked again."] if retries else []
    assert [line for line in told if line.startswith("No answer")] == [*before, f"{no_answer}."]


async def test_of_a_secret_at_the_cut_of_a_reason_nothing_is_left(world: World) -> None:
    secret = "hippopotamus"
    world.config = {"openai": {"api_key": secret}}
    world.model.call("nonsense", {})
    world.model.say("That was nothing.")
    reason = f"{'x ' * 96}{secret} and more"
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)
        await bot.app.shared.database.transact(
            lambda tx: tx.run("UPDATE audit SET reason = ? WHERE stage = 'BLOCKED'", reason)
        )
        told = await bot.ask("/why")

    assert "x x x" in told.text
    assert secret[:5] not in told.text


async def test_others_are_told_of_their_own_turns_only_and_of_no_reasons(world: World) -> None:
    world.model.call("nonsense", {})
    world.model.say("For Ben.")
    async with world.running() as bot:
        nothing = await bot.ask("/why", user=BEN)
        await bot.ask("hello", user=BEN)
        await settled(bot)
        told = await bot.ask("/why", user=BEN)

    assert nothing.text == "I have answered nothing here yet that I could tell about."
    assert "nonsense – refused: it is not for this turn." in told.text
    assert "Step by step" not in told.text


async def test_in_a_group_each_is_told_of_their_own_and_the_owner_of_the_last(
    world: World,
) -> None:
    world.model.say("Hello Ada.")
    world.model.call("nonsense", {})
    world.model.say("Hello Ben.")
    async with world.running() as bot:
        await bot.ask("@aouo_try_bot hi", chat=FAMILY)
        await bot.ask("@aouo_try_bot hi", user=BEN, chat=FAMILY)
        await settled(bot)
        ben = await bot.ask("/why@aouo_try_bot", user=BEN, chat=FAMILY)
        owner = await bot.ask("/why@aouo_try_bot", chat=FAMILY)

    assert "nonsense" in ben.text
    assert "nonsense" in owner.text
    assert "Step by step" not in owner.text


async def test_a_new_session_does_not_hide_the_last_answer(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        await settled(bot)
        await bot.ask("/new")
        told = await bot.ask("/why")

    assert told.text.startswith("My last answer here took ")


async def test_off_the_record_there_was_something_and_no_more(world: World) -> None:
    world.model.call("nonsense", {})
    world.model.say("Secretly.")
    async with world.running() as bot:
        await bot.ask("/otr tell me")
        await settled(bot)
        told = await bot.ask("/why")
        (turn,) = await bot.rows("SELECT recorded FROM turns")
        prompts = await bot.rows("SELECT * FROM prompts")

    first, *rest = told.text.split("\n")
    assert first.startswith("My last answer here took ")
    assert rest == ["It was off the record: nothing else is kept of it."]
    assert "prompts" not in json.loads(turn["recorded"])
    assert prompts == []
