"""Where no model is connected, packs act, and everything else is answered by one true sentence.
Source: issue 27, "No model is a state"."""

from __future__ import annotations

import pytest

from aouo.config.file import parse
from aouo.words.catalogue import text
from tests.fakes.clock import FastClock
from tests.path.buttons.test_menus import tap
from tests.path.looking import said, settled
from tests.path.reloading.following import save, swap
from tests.path.world import BEN, World

NONE = {"backend": "none"}
TOLD = "Sum my day up\n\n(This was for a model, and none is connected.)"
FAKE = {"backend": "fake", "model": "scripted"}


@pytest.fixture
async def clock(world: World) -> FastClock:
    world.clock = FastClock()
    return world.clock


@pytest.fixture(autouse=True)
def unconnected(world: World) -> None:
    world.install("notes")
    world.config = {"provider": NONE}


async def test_words_that_need_a_model_are_answered_with_what_they_could_mean(
    world: World,
) -> None:
    async with world.running() as bot:
        told = await bot.ask("call the plumber about the sink")
        others = await bot.ask("how deep is the sea?", user=BEN)
        await tap(bot, told, "Keep a note: call the plumber about the sink")
        await said(world, "Saved: “call the plumber about the sink”. 1 note now.")
        await settled(bot)
        rows = await bot.rows("SELECT status FROM turns ORDER BY rowid")

    assert told.text.split("\n")[:2] == [
        text("actions.no-model"),
        text("actions.apps", packs="📝 Notes"),
    ]
    assert [b.text for b in told.buttons] == [
        "Keep a note: call the plumber about the sink",
        text("actions.button-connect"),
    ]
    assert text("actions.button-connect") not in [b.text for b in others.buttons]
    assert {row["status"] for row in rows} == {"ack"}
    assert world.model.requests == []


async def test_what_was_said_is_answered_once_a_model_is_connected(world: World) -> None:
    world.model.say("A plumber is on the way.")
    async with world.running() as bot:
        await bot.ask("call the plumber about the sink")
        async with swap(bot):
            save(world, provider=FAKE)
        await bot.ask("/retry")
        await said(world, "A plumber is on the way.")

    assert "call the plumber" in str(world.model.requests[0]["messages"][-1])


async def test_a_schedule_for_a_model_sends_its_words_and_that_none_is_connected(
    world: World, clock: FastClock
) -> None:
    async with world.running() as bot:
        await bot.ask("/cron add in 5 minutes Sum my day up")
        clock.jump(301)
        await said(world, f"{TOLD}\n\n— ⏰ Sum my day up")
        await settled(bot)

    assert world.model.requests == []


def test_the_embedded_model_of_earlier_times_reads_as_none() -> None:
    loaded = parse('{"provider": {"backend": "local"}, "local": {"threads": 2}}', {})

    assert loaded.settings.provider.backend == "none"
    assert loaded.notes == (
        "keys without use here: local",
        "provider.backend: there is no embedded model any more; it reads as none",
    )


async def test_of_several_apps_none_is_asked_for_and_a_model_is_offered_once_a_day(
    world: World,
) -> None:
    world.install("remind", "expenses", "vocab")
    async with world.running() as bot:
        first = await bot.ask("zorble the frumious bandersnatch")
        second = await bot.ask("zorble the frumious bandersnatch")
        await tap(bot, first, text("actions.button-connect"))
        how = await said(world, text("models.choose-connect"))
        bens = await bot.ask("zorble", user=BEN)
        await settled(bot)
        waiting = await bot.rows("SELECT 1 FROM jobs WHERE state = 'parked'")
    async with world.running() as bot:
        third = await bot.ask("zorble the frumious bandersnatch")

    connect = text("actions.button-connect")
    for told in (first, second, third, bens):
        assert told.text.startswith(text("actions.no-model"))
        assert "Reminders" in told.text
        assert len(told.buttons) <= 4
    offers = [
        connect in [button.text for button in one.buttons] for one in (first, second, third, bens)
    ]
    assert offers == [True, False, False, False]
    assert how
    assert not waiting
