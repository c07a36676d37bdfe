"""`/cron` and its buttons: made, listed, changed, run and removed in a chat, without a model.

Source: issue 14 "Cron", contract, kernel A6 and A11, peers §2 G.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from aouo.emulator import HOUSEHOLD, ChatMessage
from aouo.store import schedules
from aouo.store.database import Tx
from tests.fakes.clock import FastClock
from tests.path.looking import eventually, said, settled
from tests.path.world import ADA, BEN, Running, World


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """Monday 2 March 2026, 13:16 in Berlin; it jumps when a test says so."""
    world.clock = clock = FastClock(speed=1)
    world.config = {"cron": {"timezone": "Europe/Berlin"}}
    return clock


async def shown(bot: Running, message: ChatMessage, text: str) -> ChatMessage:
    """The message, once it holds the text."""

    async def look() -> ChatMessage | None:
        found = await bot.people.messages(message.chat_id)
        return next((m for m in found if m.id == message.id and text in m.text), None)

    found = await eventually(look)
    assert found is not None
    return found


async def tapped(bot: Running, message: ChatMessage, label: str, text: str) -> ChatMessage:
    """Ada taps a button; returns the message that stands there then, with the text.

    She takes her time: the same tap again at once would be a double one.
    """
    clock = bot.app.shared.clock
    assert isinstance(clock, FastClock)
    clock.jump(3)
    data = next(button.data for button in message.buttons if button.text == label)
    await bot.people.tap(ADA, message.chat_id, message.id, data)
    return await shown(bot, message, text)


async def copied(bot: Running, times: int) -> None:
    """Store the only schedule so often again, as N2, N3, …."""

    def copy(tx: Tx) -> None:
        (row,) = schedules.everything(tx)
        for number in range(2, times + 2):
            now = f"{row.since[:-6]}{number:03}+00:00"
            schedules.add(tx, replace(row, id=schedules.new_id(), name=f"N{number}"), now)

    await bot.app.shared.database.transact(copy)


def labels(message: ChatMessage) -> list[str]:
    return [button.text for button in message.buttons]


async def test_one_is_made_with_its_next_three_times_and_comes(
    world: World, clock: FastClock
) -> None:
    world.model.say("Water the plants!")
    async with world.running() as bot:
        made = await bot.ask('/cron add "every day at 14:00" Remind me to water the plants')
        clock.jump(44 * 60)
        await said(world, "Water the plants!\n\n— ⏰ Remind me to water the plants")
        await settled(bot)
        listed = await bot.ask("/cron")

    assert made.text.splitlines() == [
        "“Remind me to water the plants”, every day at 14:00: on, next Monday 2 March 2026 at "
        "14:00.",
        "The next times (Europe/Berlin):",
        "• Monday 2 March 2026 at 14:00",
        "• Tuesday 3 March 2026 at 14:00",
        "• Wednesday 4 March 2026 at 14:00",
    ]
    assert labels(made) == ["Switch off", "Run now", "History", "Remove"]
    assert listed.text.splitlines()[1] == (
        "1. Remind me to water the plants, every day at 14:00: on, next Tuesday 3 March 2026 at "
        "14:00; last Monday 2 March 2026 at 14:00, done"
    )


async def test_what_is_for_once_is_told_with_its_time_and_not_the_same_again(world: World) -> None:
    async with world.running() as bot:
        made = await bot.ask('/cron add --name Tea "today at 14:00" Make tea')

    at = "Monday 2 March 2026 at 14:00"
    assert made.text == f"“Tea”, once, {at}: on.\nIt comes {at} (Europe/Berlin)."


@pytest.mark.parametrize(
    "typed",
    [
        '--name="Tea time" "every day at 9:00" Boil water',
        "—name “Tea time” “every day at 9:00” Boil water",
    ],
)
async def test_flags_and_quotes_count_as_phones_write_them_too(world: World, typed: str) -> None:
    """Found by hand: phones make curly quotes and a dash of what is typed."""
    async with world.running() as bot:
        made = await bot.ask(f"/cron add {typed}")
        (row,) = await bot.rows("SELECT name, text, prompt FROM schedules")

    assert made.text.startswith("“Tea time”, every day at 09:00")
    assert row == {"name": "Tea time", "text": "every day at 9:00", "prompt": "Boil water"}


async def test_a_zone_of_its_own_a_name_and_words_without_quotes(world: World) -> None:
    async with world.running() as bot:
        made = await bot.ask(
            "/cron add --zone new_york --name Morning --misfire skip every weekday at 9 Say hello"
        )
        rows = await bot.rows("SELECT name, zone, prompt, text, misfire FROM schedules")

    assert "“Morning”, Monday to Friday at 09:00 (America/New_York)" in made.text
    assert "The next times (America/New_York):" in made.text
    assert rows == [
        {
            "name": "Morning",
            "zone": "America/New_York",
            "prompt": "Say hello",
            "text": "every weekday at 9",
            "misfire": "skip",
        }
    ]


REFUSED = [
    (
        'add "2026-03-02 13:00" Too late',
        "Monday 2 March 2026 at 13:00 is over: it is Monday 2 March 2026 at 13:1",
    ),
    ('add "today at 9:00" Too late', "now in Europe/Berlin."),
    ('add "water the plants every day" Now', "is not a schedule: write"),
    ('add "water the plants every day"', "is not a schedule: write"),
    ('add "water the plants every day"', 'follows: /cron add "every day at 9:00" Water'),
    ("add water the plants every day", "is not a schedule: write"),
    ('add --zone Berln "every day at 9" Rise', "Did you mean Europe/Berlin?"),
    ('add "every day at 9"', "a schedule needs a prompt"),
    ("add every day at 9 'Ben", "a quote is open"),
    ("add --often 3m Rise", "does not know --often"),
    ("add --misfire never 3m Rise", "--misfire is one of run_once, skip, coalesce."),
    (f'add "3m" {"x" * 4001}', "A prompt may have 4,000 characters"),
    (f'add --name {"x" * 61} "3m" Rise', "A name may have 60 characters"),
    ("add", "Write it like this: /cron, /cron add"),
    ("run nothing", "There is no schedule “nothing” here."),
    ("remove", "Write it like this: /cron, /cron add"),
    ("dance", "Write it like this: /cron, /cron add"),
]


async def test_what_cannot_be_done_is_refused_with_why(world: World, clock: FastClock) -> None:
    """A one-shot of the past was once taken and never came; five words were a schedule."""
    async with world.running() as bot:
        for words, why in REFUSED:
            clock.jump(3)  # nobody types that fast
            assert why in (await bot.ask(f"/cron {words}")).text, words
        rows = await bot.rows("SELECT id FROM schedules")

    assert rows == []


async def test_it_names_what_is_wrong_before_it_asks_for_a_pack_and_then_does_it(
    world: World,
) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        usage = await bot.ask("/cron add")
        wrong = await bot.ask('/cron add "water the plants every day"')
        asked = await bot.ask('/cron add "every day at 9:00" Water the plants')
        notes = next(button for button in asked.buttons if button.text == "📝 Notes")
        await bot.people.tap(ADA, ADA, asked.id, notes.data)
        made = await bot.people.next_message(ADA, contains="The next times")
        rows = await bot.rows("SELECT pack FROM schedules WHERE origin = 'person'")

    assert usage.text.startswith("Write it like this: /cron")
    assert "is not a schedule" in wrong.text
    assert asked.text.startswith("Which pack shall answer here? It waits")
    assert "“Water the plants”, every day at 09:00: on" in made.text
    assert rows == [{"pack": "notes"}]


async def test_the_buttons_switch_run_show_and_remove(world: World, clock: FastClock) -> None:
    world.model.say("It is late.")
    async with world.running() as bot:
        await bot.ask("/cron add --name Clock every day at 21:00 What time is it?")
        listed = await bot.ask("/cron")
        off = await tapped(bot, listed, "1: Switch off", ": off")
        running = await tapped(bot, off, "1: Run now", "“Clock” begins now")
        await said(world, "It is late.\n\n— ⏰ Clock")
        await settled(bot)
        on = await tapped(bot, running, "1: Switch on", ": on, next")
        past = await tapped(bot, on, "1: History", "“Clock”, every day at 21:00")
        back = await tapped(bot, past, "All schedules", "Schedules here:")
        asked = await tapped(bot, back, "1: Remove", "and its history?")
        kept = await tapped(bot, asked, "Keep it", "Schedules here:")
        asked = await tapped(bot, kept, "1: Remove", "and its history?")
        gone = await tapped(bot, asked, "Remove it", "is removed")
        rows = await bot.rows("SELECT id FROM schedules")
        runs = await bot.rows("SELECT schedule_id FROM schedule_runs")

    assert "on, next Monday 2 March 2026 at 21:00" in on.text  # running changed no due time
    assert past.text.splitlines()[1].startswith("Monday 2 March 2026 at 13:1")
    assert gone.text.splitlines()[0] == "“Clock” is removed."
    assert (rows, runs) == ([], [])


async def test_a_name_that_several_have_is_asked_about(world: World) -> None:
    async with world.running() as bot:
        for text in ("every day at 9", "every day at 10", "every day at 11"):
            await bot.ask(f"/cron add --name {'Rise' if text[-1] != '1' else 'Eat'} {text} Up")
        several = await bot.ask("/cron off rise")
        one = await bot.ask("/cron off eat")
        removed = await bot.ask("/cron remove 2")
        left = await bot.ask("/cron off Rise")

    which = "2 schedules here are called “rise”: say which one by its number in /cron: 1, 2."
    assert several.text == which
    assert "3. Eat, every day at 11:00: off" in one.text
    assert removed.text.startswith("“Rise” is removed.")
    assert "1. Rise, every day at 09:00: off" in left.text


async def test_each_name_of_the_command_does_the_same(world: World) -> None:
    """A menu of Telegram holds no dash; what is typed may."""
    async with world.running() as bot:
        made = await bot.ask("/cron-add every day at 9 Rise")
        listed = await bot.ask("/cron_list")
        removed = await bot.ask("/cron-remove 1")
        again = await bot.ask("/cron_add every 2h Drink")

    assert "The next times" in made.text
    assert "1. Rise, every day at 09:00" in listed.text
    assert removed.text.startswith("“Rise” is removed.")
    assert "“Drink”, every 2 hours: on" in again.text


async def test_in_a_group_only_its_person_and_the_owner_change_one(world: World) -> None:
    world.config["telegram"] = {"groups": "all"}
    async with world.running() as bot:
        await bot.ask("/cron add every day at 9 Adas", chat=HOUSEHOLD)
        await bot.ask("/cron add every day at 10 Bens", user=BEN, chat=HOUSEHOLD)
        for verb in ("off", "run", "remove"):
            refused = await bot.ask(f"/cron {verb} Adas", user=BEN, chat=HOUSEHOLD)
            assert refused.text == "Only the person it is for and the owner can change “Adas”."
        past = await bot.ask("/cron history Adas", user=BEN, chat=HOUSEHOLD)
        owners = await bot.ask("/cron off Bens", chat=HOUSEHOLD)

    assert "It has not run yet." in past.text
    assert "2. Bens, every day at 10:00: off" in owners.text


async def test_many_are_shown_page_by_page(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("/cron add --name N1 every day at 9 Rise")
        await copied(bot, 16)
        first = await bot.ask("/cron")
        second = await tapped(bot, first, "▶", "(2 of 3)")
        third = await tapped(bot, second, "▶", "(3 of 3)")
        off = await tapped(bot, third, "17: Switch off", "17. N17, every day at 09:00: off")
        typed = await bot.ask("/cron off 10")

    assert "(1 of 3)" in first.text
    assert "8. N8" in first.text
    assert "9. N9" not in first.text
    assert labels(off)[-1] == "◀"
    assert "10. N10, every day at 09:00: off" in typed.text
    assert len(first.buttons) <= 100


async def test_off_the_record_nothing_new_is_kept(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("/otr")
        refused = await bot.ask("/cron add every day at 9 Tell nobody")
        rows = await bot.rows("SELECT id FROM schedules")

    assert "off the record" in refused.text
    assert rows == []


async def test_it_is_said_when_the_owner_has_switched_schedules_off(world: World) -> None:
    world.config["cron"]["enabled"] = False
    async with world.running() as bot:
        made = await bot.ask("/cron add every day at 9 Rise")
        run = await bot.ask("/cron run 1")
        listed = await bot.ask("/cron")

    off = "Nothing begins by itself now: the owner has switched schedules off (cron.enabled)."
    assert made.text.splitlines()[-1] == off
    assert run.text == "The owner has switched schedules off, so nothing runs."
    assert listed.text.splitlines()[-1] == off


async def test_one_that_runs_already_is_not_run_again(world: World, clock: FastClock) -> None:
    async with world.running() as bot:
        await bot.ask("/cron add --name Clock every day at 21:00 What time is it?")
        first = await bot.ask("/cron run Clock")
        await eventually(lambda: bot.rows("SELECT 1 AS n FROM schedule_runs"))
        rows = await bot.rows("SELECT next_due FROM schedules")

    assert "begins now" in first.text
    assert rows[0]["next_due"].startswith("2026-03-02T20:00")


async def test_one_that_is_off_runs_when_a_person_says_so_and_stays_off(world: World) -> None:
    world.model.say("Half past one.")
    async with world.running() as bot:
        await bot.ask("/cron add --name Clock every day at 21:00 What time is it?")
        await bot.ask("/cron off Clock")
        told = await bot.ask("/cron run Clock")
        await eventually(
            lambda: bot.rows("SELECT 1 FROM schedule_runs WHERE state IN ('done', 'failed')")
        )
        await settled(bot)
        (run,) = await bot.rows("SELECT state, why FROM schedule_runs")
        (row,) = await bot.rows("SELECT enabled, paused, next_due FROM schedules")

    assert "begins now" in told.text
    assert dict(run) == {"state": "done", "why": ""}
    assert dict(row) == {"enabled": 0, "paused": "person", "next_due": None}
