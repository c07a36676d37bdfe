"""When schedules come due, held to the laws of the clock in zones that change theirs."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.schedule import (
    Cron,
    Every,
    NotASchedule,
    Once,
    Schedule,
    check,
    moved_due,
    next_after,
    parse,
)
from aouo.words.schedules import _in_words, text_in_words

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

DAILY_ZONES = st.sampled_from(
    [
        ZoneInfo(name)
        for name in (
            "UTC",
            "Europe/Berlin",
            "America/New_York",
            "Australia/Lord_Howe",  # half an hour of summer time
            "Asia/Kathmandu",
            "America/Sao_Paulo",
        )
    ]
)
ZONES = DAILY_ZONES | st.just(ZoneInfo("Pacific/Apia"))  # left out a whole day in 2011
SECONDS = st.integers(int(NOW.timestamp()) - 10**9 // 2, int(NOW.timestamp()) + 10**9 // 3)
MOMENTS = st.builds(datetime.fromtimestamp, SECONDS, st.just(UTC))
MINUTES = st.integers(0, 59).map(str)
HOURS = st.integers(0, 23).map(str)
STAR = st.just("*")


def patterns(
    minute: st.SearchStrategy[str],
    hour: st.SearchStrategy[str],
    day: st.SearchStrategy[str] = STAR,
    weekday: st.SearchStrategy[str] = STAR,
) -> st.SearchStrategy[Cron]:
    return st.tuples(minute, hour, day, STAR, weekday).map(" ".join).map(Cron)


CRONS = st.one_of(
    patterns(MINUTES, HOURS),
    patterns(MINUTES, HOURS, weekday=st.integers(0, 7).map(str)),
    patterns(MINUTES, HOURS, day=st.integers(1, 31).map(str)),
    patterns(MINUTES, STAR),
    patterns(st.integers(1, 59).map("*/{}".format), HOURS),
    patterns(st.tuples(MINUTES, MINUTES).map(",".join), st.just("1,2,3")),
)
SCHEDULES = st.one_of(CRONS, st.builds(Every, st.integers(1, 40_000), MOMENTS))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("every 5m", Every(5, NOW)),
        ("Every 5 minutes", Every(5, NOW)),
        ("every 2hrs", Every(120, NOW)),
        ("every 1 day", Every(1440, NOW)),
        ("0 21 * * *", Cron("0 21 * * *")),
        ("  0  21 * *  sun ", Cron("0 21 * * SUN")),
        ("0 9 ? * 1-5", Cron("0 9 * * 1-5")),
        ("0 0 8 * * *", Cron("0 8 * * *")),
        ("00 30 8 ? * mon", Cron("30 8 * * MON")),
        ("0 9 L * *", Cron("0 9 L * *")),
        ("0 9 * * 1#2", Cron("0 9 * * 1#2")),
        ("@daily", Cron("0 0 * * *")),
        ("@Weekly", Cron("0 0 * * 0")),
        ("2026-06-01T09:00", Once(datetime(2026, 6, 1, 7, tzinfo=UTC))),
        ("2026-06-01 09:00", Once(datetime(2026, 6, 1, 7, tzinfo=UTC))),
        ("2026-06-01", Once(datetime(2026, 5, 31, 22, tzinfo=UTC))),
        ("2026-06-01T09:00Z", Once(datetime(2026, 6, 1, 9, tzinfo=UTC))),
        ("2026-06-01T09:00:00-05:00", Once(datetime(2026, 6, 1, 14, tzinfo=UTC))),
        ("2026-03-29T02:30", Once(datetime(2026, 3, 29, 1, tzinfo=UTC))),  # no such time there
        ("90m", Once(NOW + timedelta(minutes=90))),
        ("2 days", Once(NOW + timedelta(days=2))),
        ("in 5 minutes", Once(NOW + timedelta(minutes=5))),
        ("In one minute.", Once(NOW + timedelta(minutes=1))),
        ("in an hour", Once(NOW + timedelta(hours=1))),
        ("in half an hour", Once(NOW + timedelta(minutes=30))),
        ("two weeks from now", Once(NOW + timedelta(days=14))),
        ("tomorrow at 9:00", Once(datetime(2026, 3, 2, 8, tzinfo=UTC))),
        ("tomorrow 9am", Once(datetime(2026, 3, 2, 8, tzinfo=UTC))),
        ("today at 6:30 pm", Once(datetime(2026, 3, 1, 17, 30, tzinfo=UTC))),
        ("2026-06-01 at 9", Once(datetime(2026, 6, 1, 7, tzinfo=UTC))),
        ("every hour", Every(60, NOW)),
        ("every two hours", Every(120, NOW)),
        ("every day at 9", Cron("0 9 * * *")),
        ("daily at 12am", Cron("0 0 * * *")),
        ("every day at noon", Cron("0 12 * * *")),
        ("at 9:30 every weekday", Cron("30 9 * * 1-5")),
        ("on weekends at 10", Cron("0 10 * * 0,6")),
        ("every Monday at 8:05", Cron("5 8 * * 1")),
        ("Every mon, wed and Friday at 7pm", Cron("0 19 * * 1,3,5")),
        ("Monday to Friday at 09:00", Cron("0 9 * * 1-5")),
        ("on Tuesdays at 7", Cron("0 7 * * 2")),
        ("every month on the 1st at 9", Cron("0 9 1 * *")),
        ("on day 15 of every month at 21:00", Cron("0 21 15 * *")),
    ],
)
def test_a_schedule_is_written_as_people_and_as_cron_write_it(
    text: str, expected: Schedule
) -> None:
    assert parse(text, NOW, BERLIN) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("please remind me every day", 'write "every 30m"'),
        ("remind me of this now", 'write "every 30m"'),
        ("A B C D E", 'write "every 30m"'),
        ("", 'write "every 30m"'),
        ("tomorrow", 'write "tomorrow at 9:00"'),
        ("every now and then", 'write "every 30m"'),
        ("every day", 'write "every day at 9:00"'),
        ("5 parsecs", 'write "every 30m"'),
        ("@reboot", 'write "every 30m"'),
        ("every week", 'write "every 30m"'),
        ("every morning", 'write "every 30m"'),
        ("at 9", 'write "every 30m"'),
        ("monday at 9", 'write "every 30m"'),
        ("tomorrow at 25", 'write "every 30m"'),
        ("every day at 13pm", 'write "every 30m"'),
        ("every Monday and Blursday at 9", 'write "every 30m"'),
        ("on the 1st at 9", 'write "every 30m"'),
        ("water the plants every day", 'write "every 30m"'),
        ("5 minutes from now please", 'write "every 30m"'),
        ("on the 31st of every month at 25", 'write "every 30m"'),
        ("on the 32nd of every month at 9", "its day-of-month is wrong"),
        ("every 0m", "between 1 minute and 366 days"),
        ("every 367d", "between 1 minute and 366 days"),
        ("999999999d", "between 1 minute and 3,660 days"),
        ("30 0 9 * * *", "write 0 as the first one"),
        ("* 0 9 * * *", "write 0 as the first one"),
        ("0 0 25 * * *", "its hour is wrong"),
        ("61 9 * * *", "its minute is wrong"),
        ("0 25 * * *", "its hour is wrong"),
        ("0 9 * * FUNDAY", "its day-of-week is wrong"),
        ("0 9 15W * *", "its day-of-month is wrong"),
        ("0 9 30 2 *", "its day-of-month is wrong"),
        ("0 9 30 2 */8", "its day-of-month is wrong"),
        ("2026-13-01T09:00", "is not a time"),
        ("2026-02-30", "is not a time"),
        ("2026-01-01T09:00 and then", "is not a time"),
        ("9999-12-31T23:59-12:00", "is not a time"),
    ],
)
def test_what_is_no_schedule_is_refused_with_what_to_write(text: str, said: str) -> None:
    """Any five words were once a schedule that ran hourly."""
    with pytest.raises(NotASchedule) as refused:
        check(text)

    assert said in str(refused.value)


PHRASE_WORDS = """
every each on in at daily today tomorrow from now of the day weekday mondays Tuesday and , month
1st 31 9 9:00 25:99 12am noon 0 * */5 a half an hour one 99999999999999999999 weeks 2026-03-01
9999-12-31 T09:00 - # L
"""
PHRASES = st.lists(st.sampled_from(PHRASE_WORDS.split()), max_size=8).map(" ".join)


@given(st.text(max_size=40) | PHRASES)
def test_any_text_is_a_schedule_or_refused(text: str) -> None:
    with suppress(NotASchedule):
        assert _in_words(parse(text, NOW, BERLIN), BERLIN)


@given(SCHEDULES, MOMENTS, ZONES)
def test_due_times_only_ever_grow(schedule: Schedule, moment: datetime, zone: ZoneInfo) -> None:
    for _ in range(6):
        due = next_after(schedule, moment, zone)
        assert due is not None
        assert due > moment
        moment = due


@given(CRONS, MOMENTS, ZONES, st.integers(1, 86_400))
def test_no_due_time_is_left_out_between_two(
    schedule: Cron, moment: datetime, zone: ZoneInfo, earlier_s: int
) -> None:
    """Asked from an earlier moment, the answer comes no later, unless it came before."""
    due = next_after(schedule, moment, zone)
    sooner = next_after(schedule, moment - timedelta(seconds=earlier_s), zone)

    assert due is not None
    assert sooner is not None
    assert sooner <= due
    assert sooner == due or sooner <= moment


@given(MINUTES, HOURS, MOMENTS, DAILY_ZONES)
def test_a_time_of_day_is_kept_whatever_the_clock_does(
    minute: str, hour: str, moment: datetime, zone: ZoneInfo
) -> None:
    """Once a day on the wall; where the clock jumps over it, at the first minute there is."""
    schedule = Cron(f"{minute} {hour} * * *")
    for _ in range(5):
        due = next_after(schedule, moment, zone)
        assert due is not None
        wall = due.astimezone(zone).replace(tzinfo=None)
        asked = wall.replace(hour=int(hour), minute=int(minute), second=0)
        exists = asked.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)
        assert wall == asked or exists.replace(tzinfo=None) != asked
        assert due.astimezone(zone).fold == 0
        moment = due


@given(st.integers(1, 30), MOMENTS, st.integers(1, 400), DAILY_ZONES)
def test_whole_days_keep_the_time_on_the_wall(
    days: int, since: datetime, later: int, zone: ZoneInfo
) -> None:
    since = since.replace(second=0, microsecond=0)
    schedule = Every(days * 1440, since)
    due = next_after(schedule, since + timedelta(days=later), zone)
    assert due is not None
    began, wall = since.astimezone(zone), due.astimezone(zone)
    there = began.replace(tzinfo=None) + timedelta(
        days=round((wall.replace(tzinfo=None) - began.replace(tzinfo=None)) / timedelta(days=1))
    )
    exists = there.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None)

    assert wall.replace(tzinfo=None) == there or exists != there


def test_a_late_run_delays_no_later_one() -> None:
    schedule = parse("every 30m", NOW, UTC)

    assert next_after(schedule, NOW, UTC) == NOW + timedelta(minutes=30)
    assert next_after(schedule, NOW + timedelta(minutes=47), UTC) == NOW + timedelta(minutes=60)
    assert next_after(schedule, NOW - timedelta(days=9), UTC) == NOW + timedelta(minutes=30)


def test_around_the_changes_of_the_clock_in_berlin() -> None:
    """2026: forward on 29 March at 02:00, back on 25 October at 03:00."""
    night = Cron("30 2 * * *")
    gap = next_after(night, datetime(2026, 3, 28, 12, tzinfo=UTC), BERLIN)
    first = next_after(night, datetime(2026, 10, 24, 12, tzinfo=UTC), BERLIN)
    assert first is not None
    second = next_after(night, first, BERLIN)
    within = next_after(Cron("45 2 * * *"), datetime(2026, 10, 25, 1, 30, tzinfo=UTC), BERLIN)

    assert gap == datetime(2026, 3, 29, 1, tzinfo=UTC)  # 03:00, the first minute there is
    assert first == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # the first 02:30 of two
    assert second == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)
    assert within == datetime(2026, 10, 26, 1, 45, tzinfo=UTC)


def test_once_is_over_when_it_was() -> None:
    at = Once(NOW)

    assert next_after(at, NOW - timedelta(seconds=1), UTC) == NOW
    assert next_after(at, NOW, UTC) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 21 * * *", "every day at 21:00"),
        ("30 8 * * 1-5", "Monday to Friday at 08:30"),
        ("0 10 * * SUN", "every Sunday at 10:00"),
        ("0 10 * * 1,3,5", "every Monday, Wednesday and Friday at 10:00"),
        ("0 8,20 * * *", "every day at 08:00 and 20:00"),
        ("0 9 1 * *", "on day 1 of every month at 09:00"),
        ("0 9 L * *", "on the last day of every month at 09:00"),
        ("@hourly", "every hour"),
        ("*/15 * * * *", "every 15 minutes"),
        ("*/15 * * * 1", "whenever cron says */15 * * * 1"),
        ("0 9 13 * 5", "whenever cron says 0 9 13 * 5"),
        ("0 9 * * 1#1", "on the first Monday of every month at 09:00"),
        (
            "on the first and last Friday of every month at 17:00",
            "on the first Friday and last Friday of every month at 17:00",
        ),
        ("every other Friday at 17:00", "every 2 weeks, on Friday at 17:00"),
        ("every other day at 7:30", "every 2 days at 07:30"),
        (
            "every last working day of the month at 9",
            "on the last working day of every month at 09:00",
        ),
        ("every year on 3 May at 9:00", "every year on 3 May at 09:00"),
        ("every 90m", "every 90 minutes"),
        ("every 60m", "every hour"),
        ("every 2d", "every 2 days"),
        ("2026-06-01T09:00", "once, Monday 1 June 2026 at 09:00"),
    ],
)
def test_a_schedule_is_told_in_words(text: str, words: str) -> None:
    assert _in_words(parse(text, NOW, BERLIN), BERLIN) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 21 * * *", "every day at 21:00"),
        ("45m", "once, 45 minutes after it is switched on"),
        ("1440m", "once, 1 day after it is switched on"),
        ("1 day", "once, 1 day after it is switched on"),
        ("2026-06-01T09:00", "once, Monday 1 June 2026 at 09:00"),
    ],
)
def test_what_is_not_made_yet_is_told_too(text: str, words: str) -> None:
    assert text_in_words(text, BERLIN) == words


@pytest.mark.parametrize(
    ("text", "first", "then"),
    [
        ("every first Monday of the month at 9:00", "2026-04-06T09:00", "2026-05-04T09:00"),
        ("at 9:00 every first Monday", "2026-04-06T09:00", "2026-05-04T09:00"),
        ("the last Friday of each month at 5pm", "2026-03-27T17:00", "2026-04-24T17:00"),
        ("every other Friday at 17:00", "2026-03-06T17:00", "2026-03-20T17:00"),
        ("every 2 weeks on Friday at 17:00", "2026-03-06T17:00", "2026-03-20T17:00"),
        ("every second Saturday of the month at 10", "2026-03-14T10:00", "2026-04-11T10:00"),
        ("on the last day of every month at 18:00", "2026-03-31T18:00", "2026-04-30T18:00"),
        ("at the end of every month at 18:00", "2026-03-31T18:00", "2026-04-30T18:00"),
        ("every year on 3 May at 9:00", "2026-05-03T09:00", "2027-05-03T09:00"),
        ("every year on May 3rd at 9am", "2026-05-03T09:00", "2027-05-03T09:00"),
        ("on the 1st and 15th of every month at 9", "2026-03-15T09:00", "2026-04-01T09:00"),
        ("every quarter on the 1st at 9", "2026-04-01T09:00", "2026-07-01T09:00"),
        ("every 3 days at 8:00", None, None),
    ],
)
def test_how_people_say_that_something_comes_again(
    text: str, first: str | None, then: str | None
) -> None:
    made = datetime(2026, 3, 2, 12, tzinfo=UTC)
    schedule = parse(text, made, BERLIN)
    due = next_after(schedule, made, BERLIN)
    assert due
    later = next_after(schedule, due, BERLIN)
    assert later
    if first and then:
        told = [one.astimezone(BERLIN).strftime("%Y-%m-%dT%H:%M") for one in (due, later)]
        assert told == [first, then]
    assert parse(text, made, BERLIN) == schedule


@pytest.mark.parametrize(
    ("text", "helps"),
    [
        ("every first Monday", 'write "every first Monday at 9:00"'),
        ("every other Friday", 'write "every other Friday at 9:00"'),
        ("every third Friday at 9", '"on the first Monday of every month at 9:00"'),
        ("every 5 months on the 1st at 9", '"on the last day of every month at 18:00"'),
    ],
)
def test_what_may_mean_two_things_is_refused_with_what_works(text: str, helps: str) -> None:
    with pytest.raises(NotASchedule) as refused:
        parse(text, NOW, BERLIN)
    assert helps in str(refused.value)


@given(MOMENTS, st.integers(0, 72 * 60), DAILY_ZONES, DAILY_ZONES, HOURS, MINUTES)
def test_what_is_due_each_day_comes_once_each_day_when_the_zone_changes(
    start: datetime, later: int, former: ZoneInfo, zone: ZoneInfo, hour: str, minute: str
) -> None:
    """No day twice, and none left out; a day that is over there comes late. Source: issue 43."""
    daily = Cron(f"{minute} {hour} * * *")
    change, days, due = (
        start + timedelta(minutes=later),
        list[int](),
        next_after(daily, start, former),
    )
    while due and due <= change:
        days.append(due.astimezone(former).toordinal())
        due = next_after(daily, due, former)
    assert due
    moved: datetime | None = moved_due(daily, daily, due, former, zone, change)
    for _ in range(3):
        assert moved
        days.append(moved.astimezone(zone).toordinal())
        moved = next_after(daily, moved, zone)

    assert days == list(range(days[0], days[0] + len(days)))


@pytest.mark.parametrize("text", ["every 90m", "every 1d", "*/20 * * * *", "30 * * * *"])
def test_what_follows_elapsed_time_goes_on_when_the_zone_changes(text: str) -> None:
    new_york = ZoneInfo("America/New_York")
    schedule = parse(text, NOW, BERLIN)
    due = next_after(schedule, NOW, BERLIN)

    assert due
    assert moved_due(schedule, schedule, due, BERLIN, new_york, NOW) == due
