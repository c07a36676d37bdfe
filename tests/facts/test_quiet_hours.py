"""When it is quiet, and when a message that nobody asked for comes, wherever clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.quiet_hours import AttentionRules, QuietHours, parse_time

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = QuietHours.parse("22:00-08:00")
_START = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())

ZONES = st.sampled_from(
    [ZoneInfo(name) for name in ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")]
)
CHANGES = st.sampled_from(  # of the clocks in Berlin, New York and on Lord Howe
    [
        datetime(2026, *day, tzinfo=UTC)
        for day in ((3, 29, 1), (10, 25, 1), (3, 8, 7), (11, 1, 6), (4, 4, 15), (10, 3, 15, 30))
    ]
)
NEAR_A_CHANGE = st.tuples(CHANGES, st.integers(-1500, 1500)).map(
    lambda near: near[0] + timedelta(minutes=near[1])
)
ANY_MOMENT = st.builds(
    datetime.fromtimestamp, st.integers(_START, _START + 365 * 86_400), st.just(UTC)
)
MOMENTS = st.one_of(NEAR_A_CHANGE, ANY_MOMENT)
TIMES = st.builds(time, st.integers(0, 23), st.integers(0, 59))
HOURS = st.builds(QuietHours, TIMES, TIMES)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("when", "quiet"),
    [
        ("2026-05-01T21:59:59", False),
        ("2026-05-01T22:00", True),
        ("2026-05-02T00:00", True),
        ("2026-05-02T07:59:59", True),
        ("2026-05-02T08:00", False),
    ],
)
def test_a_night_is_quiet_over_midnight_from_its_first_minute_until_before_its_last(
    when: str, quiet: bool
) -> None:
    assert NIGHT.is_quiet(at(when), BERLIN) is quiet


def test_a_noon_is_quiet_within_a_day() -> None:
    noon = QuietHours.parse("12:00-13:30")

    found = [noon.is_quiet(at(f"2026-05-01T{hour}"), BERLIN) for hour in ("11:59", "13:29", "23")]
    assert found == [False, True, False]


def test_no_hours_are_never_quiet() -> None:
    assert not QuietHours.parse("").is_quiet(at("2026-05-01T00:00"), BERLIN)


@pytest.mark.parametrize(
    "text", ["22-08", "24:00-08:00", "22:60-08:00", "22:00 - 08:00", "late", "08:00-08:00", " "]
)
def test_what_is_no_time_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match="write"):
        QuietHours.parse(text)


@pytest.mark.parametrize("text", ["", "8", "25:00", "08:00-09:00"])
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="08:00"):
        parse_time(text)


@given(HOURS, MOMENTS, ZONES)
def test_quiet_hours_end_at_the_first_minute_that_is_not_quiet(
    hours: QuietHours, moment: datetime, zone: ZoneInfo
) -> None:
    end = hours.end(moment, zone)

    assert not hours.is_quiet(end, zone)
    assert timedelta(0) <= end - moment <= timedelta(hours=27)
    passed = moment
    while passed < end:
        assert hours.is_quiet(passed, zone)
        passed += timedelta(minutes=1)


def test_a_night_in_which_the_clock_goes_forward_ends_at_the_same_time_of_day() -> None:
    end = NIGHT.end(at("2026-03-28T23:00"), BERLIN)

    assert end.astimezone(BERLIN) == at("2026-03-29T08:00")


def attention(daily_max: int = 0, quiet: str = "", digest_at: str = "08:00") -> AttentionRules:
    return AttentionRules(daily_max, QuietHours.parse(quiet), parse_time(digest_at))


@pytest.mark.parametrize(
    ("rules", "when", "sent", "always", "due"),
    [
        (attention(), "2026-05-01T23:00", 99, False, ""),  # no rule at all
        (attention(20), "2026-05-01T23:00", 19, False, ""),
        (attention(20), "2026-05-01T07:00", 20, False, "2026-05-02T08:00"),  # the next day's
        (attention(20), "2026-05-01T23:00", 20, False, "2026-05-02T08:00"),
        (attention(0, "22:00-07:00"), "2026-05-01T23:00", 0, False, "2026-05-02T07:00"),
        (attention(0, "22:00-07:00"), "2026-05-01T21:00", 0, False, ""),
        (attention(1, "22:00-09:30"), "2026-05-01T12:00", 1, False, "2026-05-02T09:30"),
        (attention(), "2026-05-01T07:00", 0, True, "2026-05-01T08:00"),
        (attention(), "2026-05-01T08:00", 0, True, "2026-05-02T08:00"),
    ],
)
def test_a_message_comes_now_or_with_the_digest(
    rules: AttentionRules, when: str, sent: int, always: bool, due: str
) -> None:
    found = rules.digest_due(at(when), BERLIN, sent=sent, always=always)

    assert found == (at(due) if due else None)


@given(
    st.builds(AttentionRules, st.integers(0, 2), HOURS, TIMES),
    MOMENTS,
    ZONES,
    st.integers(0, 3),
    st.booleans(),
)
def test_a_digest_comes_later_within_three_days_and_never_in_quiet_hours(
    rules: AttentionRules, moment: datetime, zone: ZoneInfo, sent: int, always: bool
) -> None:
    due = rules.digest_due(moment, zone, sent=sent, always=always)

    if due is None:
        assert not rules.quiet.is_quiet(moment, zone)
        assert not always
        assert not rules.daily_max or sent < rules.daily_max
    else:
        assert timedelta(0) < due - moment < timedelta(days=3)
        assert not rules.quiet.is_quiet(due, zone)
