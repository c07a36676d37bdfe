"""What nobody asked for has a daily allowance and quiet hours, and waits for a digest.

Source: issue 14 "Attention".
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from aouo.emulator import ChatMessage
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Origin, Person, Report
from aouo.facts.ports import iso
from aouo.facts.work import Scheduled
from aouo.store import schedules
from tests.fakes.clock import FastClock
from tests.path.looking import eventually, settled
from tests.path.reloading.following import save
from tests.path.world import ADA, BEN, Running, World, texts

DAY_S = 24 * 3600


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """It is Monday, 12:16 UTC."""
    world.config = {"cron": {"timezone": "UTC"}, "attention": {"daily_max": 2}}
    world.clock = clock = FastClock(speed=1)
    return clock


async def report(
    bot: Running,
    text: str,
    *,
    name: str = "pump",
    user: int = ADA,
    trigger: str = "",
    pack: str = "",
    origin: Origin = "heartbeat",
) -> None:
    """Bring in a result as a triggered turn files it."""
    content = Report("t" * 26, name, "", text, pack, trigger)
    chat = ConversationAddress("tg", str(user))
    inbound = Inbound(chat, Person(str(user)), content, origin="cron" if trigger else origin)
    await bot.app.inbox.trigger(lambda tx, now: [inbound])
    await settled(bot)


async def told(bot: Running, user: int = ADA) -> list[str]:
    return [text.partition("\n\n— ")[0] for text in texts(await bot.people.messages(user))]


async def next_digest(bot: Running, clock: FastClock, seconds: float) -> ChatMessage:
    seen = await bot.people.messages(ADA)
    clock.jump(seconds)
    return await bot.people.next_message(ADA, after=seen[-1].id if seen else 0)


async def test_what_is_over_the_allowance_comes_in_one_digest_the_next_morning(
    world: World, clock: FastClock
) -> None:
    async with world.running() as bot:
        for number in range(5):
            await report(bot, f"Message **{number}**", name=f"pump {number}")
        assert await told(bot) == ["Message 0", "Message 1"]
        digest = await next_digest(bot, clock, DAY_S - 4 * 3600)

        assert digest.text == (
            "3 messages waited for you:\n\n• pump 2\nMessage 2\n\n• pump 3\nMessage 3\n\n"
            "• pump 4\nMessage 4"
        )
        assert not digest.buttons
        await report(bot, "A new day")
        await report(bot, "One too many: the digest counts as one")
        assert (await told(bot))[-1] == "A new day"


async def test_quiet_hours_end_with_a_digest(world: World, clock: FastClock) -> None:
    world.config["attention"] = {"quiet_hours": "12:00-13:00"}
    async with world.running() as bot:
        await report(bot, "One")
        await report(bot, "Two")
        assert await told(bot) == []
        digest = await next_digest(bot, clock, 3600)

    assert "• pump\nOne\n\n• pump\nTwo" in digest.text


async def test_jobs_tells_what_waits_for_the_digest(world: World, clock: FastClock) -> None:
    world.config["attention"] = {"quiet_hours": "12:00-13:00"}
    async with world.running() as bot:
        await report(bot, "One")
        one = await bot.ask("/jobs")
        await report(bot, "Two")
        two = await bot.ask("/jobs")
        elsewhere = await bot.ask("/jobs", user=BEN)
        await next_digest(bot, clock, 3600)
        after = await bot.ask("/jobs")

    until = "until Monday 2 March 2026 at 13:00."
    assert one.text.splitlines() == ["Nothing is at work here.", f"1 result waits {until}"]
    assert two.text.splitlines() == ["Nothing is at work here.", f"2 results wait {until}"]
    assert elsewhere.text == after.text == "Nothing is at work here."


async def test_one_that_waited_alone_comes_as_it_is(world: World, clock: FastClock) -> None:
    world.config["attention"] = {"quiet_hours": "12:00-13:00"}
    async with world.running() as bot:
        await report(bot, "One")
        alone = await next_digest(bot, clock, 3600)

        assert alone.text == "One\n\n— ⏰ pump"
        assert await bot.rows("SELECT id FROM kept_reports") == []


async def test_the_allowance_is_each_persons_own(world: World, clock: FastClock) -> None:
    async with world.running() as bot:
        for _ in range(3):
            await report(bot, "Ada's")
        await report(bot, "Ben's", user=BEN)

        assert len(await told(bot)) == 2
        assert await told(bot, BEN) == ["Ben's"]


async def test_what_a_command_brings_is_an_answer_and_never_held_back(world: World) -> None:
    world.config["attention"] = {"quiet_hours": "12:00-13:00"}
    async with world.running() as bot:
        await report(bot, "All quiet.", origin="command")

        assert await told(bot) == ["All quiet."]
        assert await bot.rows("SELECT person FROM attention") == []


@pytest.mark.parametrize(
    ("origin", "comes"), [("person", True), ("model", True), ("default", False)]
)
async def test_a_reminder_that_was_made_for_a_person_is_asked_for(
    world: World, clock: FastClock, origin: Any, comes: bool
) -> None:
    world.config["attention"] = {"quiet_hours": "12:00-13:00"}
    row = Scheduled(
        id="a",
        pack="",
        key="",
        origin=origin,
        address=ConversationAddress("tg", str(ADA)),
        chat_kind="private",
        person=str(ADA),
        skill="",
        prompt="x",
        text="every 1d",
        zone="",
        since=iso(clock.now()),
        enabled=False,
        paused="person",
        next_due="",
    )
    async with world.running() as bot:
        now = iso(clock.now() - timedelta(days=1))
        await bot.app.shared.database.transact(lambda tx: schedules.add(tx, row, now))
        await report(bot, "Water the plants", trigger="a")

        assert (await told(bot) == ["Water the plants"]) is comes


async def test_what_a_person_has_run_now_is_never_held_back(world: World, clock: FastClock) -> None:
    """Though it is a pack's own schedule, which is held at its due time."""
    world.install("notes")
    world.config["attention"] = {"quiet_hours": "12:00-22:00"}
    world.model.say("Write about today.")
    world.model.say("Write about tomorrow.")
    async with world.running() as bot:
        await bot.ask("/cron")
        await bot.ask("/cron run evening note")
        await bot.people.next_message(ADA, contains="Write about today.\n\n— ⏰ evening note")
        await bot.ask("/cron on evening note")
        clock.jump(9 * 3600 - 16 * 60)
        await eventually(lambda: bot.rows("SELECT 1 FROM kept_reports"))
        assert not any("tomorrow" in text for text in await told(bot))
        assert await bot.rows("SELECT person FROM attention") == []


async def test_a_digest_that_cuts_shows_all_of_it_by_a_button_once(
    world: World, clock: FastClock
) -> None:
    world.config["attention"] = {"quiet_hours": "12:00-13:00"}
    long = "All about the pump. " * 300
    async with world.running() as bot:
        await report(bot, long)
        await report(bot, "Short")
        digest = await next_digest(bot, clock, 3600)
        (button,) = digest.buttons
        await bot.people.tap(ADA, ADA, digest.id, button.data)
        await bot.people.next_message(ADA, contains="Short\n\n— ⏰ pump")
        again = await bot.people.tap(ADA, ADA, digest.id, button.data)
        await settled(bot)
        assert again["text"] == "I have shown it again already."

        parts = await told(bot)
        assert "".join(parts[1:3]).count("pump.") == 300
    assert len(digest.text) < 4096
    assert "…" in digest.text


async def test_what_is_kept_is_history_at_once_and_survives_a_restart(
    world: World, clock: FastClock
) -> None:
    world.config["attention"] = {"quiet_hours": "12:00-13:00"}
    async with world.running() as bot:
        await report(bot, "The pump is late")
        world.model.say("It is late.")
        await bot.ask("What about the pump?")
        assert "The pump is late" in str(world.model.requests[-1]["messages"])
    clock.jump(3600)
    async with world.running() as bot:
        await bot.people.next_message(ADA, contains="The pump is late")


async def test_a_digest_for_somebody_off_the_list_is_dropped(
    world: World, clock: FastClock
) -> None:
    world.config["attention"] = {"quiet_hours": "12:00-13:00"}
    async with world.running() as bot:
        await report(bot, "Ben's", user=BEN)
    world.config["telegram"] = {"allowed_user_ids": [ADA]}
    clock.jump(3600)
    async with world.running() as bot:

        async def gone() -> bool:
            return not await bot.rows("SELECT id FROM kept_reports")

        await eventually(gone)
        await settled(bot)
        assert await told(bot, BEN) == []


async def test_one_that_cannot_be_read_any_more_holds_up_no_digest(
    world: World, clock: FastClock
) -> None:
    """Of a damaged row, or one of another version, the words are told."""
    world.config["attention"] = {"quiet_hours": "12:00-13:00"}
    async with world.running() as bot:
        await report(bot, "One")
        await report(bot, "Ben's", user=BEN)
        await bot.app.shared.database.transact(
            lambda tx: tx.run("UPDATE kept_reports SET messages = '[\"{}\"]' WHERE text = 'One'")
        )
        alone = await next_digest(bot, clock, 3600)
        bens = await bot.people.next_message(BEN, contains="Ben's")

    assert alone.text == "One"
    assert bens.text == "Ben's\n\n— ⏰ pump"


async def test_a_digest_waits_for_quiet_hours_that_are_new(world: World, clock: FastClock) -> None:
    world.config["attention"] = {"quiet_hours": "12:00-13:00"}
    async with world.running() as bot:
        await report(bot, "One")
    world.config["attention"] = {"quiet_hours": "12:00-15:00"}
    clock.jump(3600)
    async with world.running() as bot:

        async def postponed() -> bool:
            (row,) = await bot.rows("SELECT due_at FROM kept_reports")
            return row["due_at"][11:16] == "15:00"

        await eventually(postponed)
        assert await told(bot) == []
        assert (await next_digest(bot, clock, 2 * 3600)).text.startswith("One")


async def test_what_waits_comes_by_the_rules_of_now(world: World, clock: FastClock) -> None:
    """What waits for the end of quiet hours comes at once without them; of the rest, when else."""
    world.config["attention"] = {"quiet_hours": "12:00-13:00", "daily_max": 1}
    async with world.running() as bot:
        await report(bot, "One")
        save(world, attention={"quiet_hours": ""})
        await bot.people.next_message(ADA, contains="One")
        await report(bot, "Two")
        await report(bot, "Three")
        save(world, attention={"digest_at": "18:00"})
        await eventually(lambda: bot.rows("SELECT 1 FROM kept_reports WHERE due_at LIKE '%T18:%'"))
        assert await told(bot) == ["One"]
    world.config["attention"] = {"daily_max": 0}
    async with world.running() as bot:
        digest = await bot.people.next_message(ADA, contains="waited for you")

    assert "Two" in digest.text
    assert "Three" in digest.text


async def test_a_digest_names_the_pack_where_there_are_several(
    world: World, clock: FastClock
) -> None:
    world.install("notes", "vocab")
    world.config["attention"] = {"quiet_hours": "12:00-13:00"}
    async with world.running() as bot:
        for text in ("One", "Two"):
            await report(bot, text, pack="notes")
        await report(bot, "Three")
        digest = await next_digest(bot, clock, 3600)

    assert digest.text.partition("\n\n")[2] == (
        "• notes · pump\nOne\n\n• notes · pump\nTwo\n\n• pump\nThree"
    )


async def test_very_many_that_waited_are_one_message(world: World, clock: FastClock) -> None:
    world.config["attention"] = {"quiet_hours": "12:00-13:00"}
    async with world.running() as bot:
        for number in range(33):
            await report(bot, f"**{number}** " + "a long story " * 20, name=f"pump {number}")
        digest = await next_digest(bot, clock, 3600)

        assert len(digest.text) <= 4096
        assert digest.text.startswith("33 messages waited for you:\n\n• pump 0\n0 a long story")
        assert digest.text.endswith("…\n\nand 3 more")
        assert [button.text for button in digest.buttons] == ["Show all of it"]
        assert len(await told(bot)) == 1
