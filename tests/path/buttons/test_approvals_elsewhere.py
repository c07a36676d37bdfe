"""Whoever needs the owner's yes, the owner is asked in their private chat. Source: contract §3.3.

Ada is the owner; Ben asks for things.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from aouo.emulator import FAMILY, ChatMessage
from tests.fakes.clock import FastClock
from tests.path.buttons.test_approvals import (
    NO_ANSWER,
    WAIT_S,
    button,
    card,
    clock,
    docs,
    gate_states,
    heard,
    names,
    writes,
)
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, BEN, Running, World

__all__ = ["clock", "docs"]  # the fixtures
WAITS = "This waits for the yes of this bot's owner. I have asked them."
NOT_REACHED = (
    "This needs the yes of this bot's owner, and I cannot reach them: they have to write to me in "
    "private first."
)


async def ben_asks(world: World, bot: Running, chat: int = BEN) -> ChatMessage:
    """The card that the owner sees, once Ben has read that he waits."""
    await bot.people.say(BEN, chat, "write it down")
    shown = await card(bot)
    await said(world, WAITS, chat)
    await eventually(
        lambda: bot.rows("SELECT 1 FROM deliveries WHERE key LIKE '%:waits' AND message_id > 0")
    )
    return shown


@pytest.mark.parametrize(
    ("chat", "place"), [(FAMILY, "the group “Family”"), (BEN, "their private chat")]
)
async def test_the_owner_is_asked_in_private_by_a_card_that_names_who_and_where(
    world: World, docs: Path, chat: int, place: str
) -> None:
    world.config |= {"telegram": {"groups": "all"}}
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await ben_asks(world, bot, chat)
        tapped = await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))
        await said(world, "noted", chat)
        await said(world, f"{WAITS}\n→ allowed once", chat)
        await said(world, f"{shown.text}\n→ allowed once")
        await settled(bot)
        there, asked = await answers(world, chat), await answers(world)

    assert shown.text == (
        f"“scribe” wants to write 5 bytes to\n{docs}/a.txt\n"
        f"with write_file, for Ben in {place}. Is that all right?"
    )
    assert (tapped["text"], (docs / "a.txt").read_text()) == ("", "hello")
    assert there == [f"{WAITS}\n→ allowed once", "noted"]
    assert asked == [f"{shown.text}\n→ allowed once"]


async def test_an_owner_who_asks_in_a_group_is_asked_in_private_too(
    world: World, docs: Path
) -> None:
    world.config |= {"telegram": {"groups": "all"}}
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        await bot.people.say(ADA, FAMILY, "write it down")
        shown = await card(bot)
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))
        await said(world, "noted", FAMILY)
        there = await answers(world, FAMILY)

    assert "for Ada in the group “Family”. Is that" in shown.text
    assert not any(str(docs) in text for text in there)


async def test_only_the_owner_decides(world: World, docs: Path) -> None:
    """A client may send any data, from any chat."""
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await ben_asks(world, bot)
        line = (await bot.people.messages(BEN))[-1]
        refused = await bot.people.tap(BEN, BEN, line.id, button(shown, "allow"))
        states = await gate_states(bot)

    assert refused == {"text": "Only the owner can decide this.", "show_alert": True}
    assert (states, names(docs)) == ([("open", "")], [])


async def test_who_waits_reads_the_no(world: World, docs: Path) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await ben_asks(world, bot)
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "deny"))
        await said(world, "noted", BEN)
        await said(world, f"{WAITS}\n→ no", BEN)

    assert (heard(world)[:30], names(docs)) == ("The owner said no to this call", [])


async def test_when_the_owner_does_not_answer_both_read_it(
    world: World, docs: Path, clock: FastClock
) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await ben_asks(world, bot)
        clock.jump(WAIT_S)
        await said(world, "noted", BEN)
        await said(world, f"{WAITS}\n→ nobody answered in time, so no", BEN)
        await said(world, f"{shown.text}\n→ nobody answered in time, so no")

    assert (heard(world), names(docs)) == (NO_ANSWER, [])


async def test_a_stop_of_who_waits_closes_the_owners_card(world: World, docs: Path) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await ben_asks(world, bot)
        await bot.people.say(BEN, BEN, "/stop")
        await said(world, f"{shown.text}\n→ stopped")
        await said(world, f"{WAITS}\n→ stopped", BEN)
        late = await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))

    assert late["text"] == "This was stopped, so the question is closed."
    assert names(docs) == []


async def test_a_restart_asks_nobody_twice(world: World, docs: Path) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await ben_asks(world, bot)
    async with world.running() as bot:
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))
        await said(world, "noted", BEN)
        await settled(bot)

    assert await answers(world) == [f"{shown.text}\n→ allowed once"]
    assert (await answers(world, BEN)).count(f"{WAITS}\n→ allowed once") == 1
    assert (docs / "a.txt").read_text() == "hello"


async def test_an_owner_who_never_wrote_to_the_bot_is_not_waited_for(
    world: World, docs: Path
) -> None:
    """Telegram lets no bot begin: 403, "bot can't initiate conversation with a user"."""
    stranger = await world.people.create_user("Olga", started=False)
    world.config |= {"telegram": {"owner_id": stranger, "allowed_user_ids": [BEN, stranger]}}
    for name in ("a", "b"):
        writes(world, docs / name, then=f"no {name}")
    async with world.running() as bot:
        with capture_logs() as logs:
            for name in ("a", "b"):  # the second time we know
                await bot.people.say(BEN, BEN, "write it down")
                await said(world, f"no {name}", BEN)
        await settled(bot)
        states = await gate_states(bot)

    assert await answers(world, BEN) == [NOT_REACHED, "no a", NOT_REACHED, "no b"]
    assert heard(world).startswith("The owner could not be asked")
    assert (states, names(docs)) == ([("closed", "not reached")] * 2, [])
    assert [line["event"] for line in logs].count("owner_not_reached") == 2


async def test_a_card_that_was_not_sent_yet_is_not_sent_when_nobody_waits_any_more(
    world: World, docs: Path, clock: FastClock
) -> None:
    """The owner's chat is silenced by flood control while Ben waits, and stops."""
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        await bot.people.fault(
            "status", method="sendMessage", chat=ADA, status=429, retry_after=10_000
        )
        await bot.people.say(BEN, BEN, "write it down")
        await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE error LIKE '%lood%'"))
        await bot.people.say(BEN, BEN, "/stop")
        await said(world, "Stopped.", BEN)
        await eventually(lambda: bot.rows("SELECT 1 FROM gates WHERE state = 'closed'"))
        clock.jump(20_000)
        await settled(bot)

    assert await answers(world) == []
