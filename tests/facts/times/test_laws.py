"""What holds of every time that is read. Source: issue 43."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts import languages, times
from aouo.facts.times.finding import Steps

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 26, 13, tzinfo=BERLIN)
LANGUAGES = [code for code in languages.names() if languages.table(code, "times")]
SPOKEN = st.sampled_from(LANGUAGES)
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 8_000_000).map(lambda minutes: BEGIN + timedelta(minutes=minutes))
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Pacific/Chatham"]).map(
    ZoneInfo
)
PIECES = """
tomorrow morgen at um 8 20 17:30 friday freitag in 3 hours stunden every jeden day tag month the of
and , - to past nach vor half quarter 3rd 13. march märz 25/12/2027 2027 am pm uhr EST last next
halb nächste end ende 2026-12-24 99 31.4. week 29 february noon night a first
"""
WORDS = st.lists(st.sampled_from(PIECES.split()), max_size=14).map(" ".join)


@given(MOMENTS, ZONES, st.integers(1, 2_000_000), SPOKEN)
def test_a_moment_that_is_said_is_read_as_itself(
    now: datetime, zone: ZoneInfo, minutes: int, language: str
) -> None:
    at = (now + timedelta(minutes=minutes)).replace(second=0, microsecond=0).astimezone(zone)
    if at.replace(fold=1).utcoffset() != at.replace(fold=0).utcoffset() or at <= now:
        return  # the hour that comes twice is said once
    text = times.say_moment(at, now.astimezone(zone).date(), language)

    assert times.read(text, now, zone, language) == at


@given(MOMENTS, ZONES, st.integers(-3_000, 3_000), SPOKEN)
def test_a_day_that_is_said_is_read_as_itself(
    now: datetime, zone: ZoneInfo, days: int, language: str
) -> None:
    today = now.astimezone(zone).date()
    day = today + timedelta(days=days)
    text = times.say_day(day, today, language)

    assert times.read(text, now, zone, language, kind="date") == day


@given(
    st.sampled_from(["tomorrow at 8", "on friday at 17:30", "in 3 hours", "every day at 9"]),
    st.sampled_from(["to call", "zebra", "buy milk", "xq", "with Ann"]),
)
def test_a_word_that_is_no_time_never_moves_the_moment(text: str, word: str) -> None:
    (alone,) = times.find(text, "en")
    (beside,) = times.find(f"{text} {word}", "en")
    after = times.find(f"{word} {text}", "en")[-1]

    for span in (beside, after):
        assert times.value_of(span, text, NOW, BERLIN, kind="when") == times.value_of(
            alone, text, NOW, BERLIN, kind="when"
        )


@given(
    st.text(max_size=60) | WORDS,
    SPOKEN,
    st.sampled_from(["datetime", "date", "duration", "recurrence", "when"]),
    st.sampled_from(["future", "past"]),
    MOMENTS,
)
def test_any_text_is_a_time_or_refused(
    text: str, language: str, kind: times.Kind, prefer: times.Prefer, now: datetime
) -> None:
    with suppress(times.TimeRefused):
        times.read(text, now, BERLIN, language, kind=kind, prefer=prefer)
    times.is_timelike(text, language)


@pytest.mark.parametrize("length", [1_000, 4_000])
def test_a_long_text_takes_bounded_steps(length: int) -> None:
    """A line of nothing but times is read in runs, and no further than its first 400 tokens."""
    line = "tomorrow at 8 and friday the 3rd of march at 20 past 7 "
    steps = Steps()
    times.find((line * 100)[:length], "en", steps=steps)
    assert steps.count <= 250 * 400

    few = Steps()
    times.find("remind me tomorrow at 8 to call the dentist about the bill", "en", steps=few)
    assert few.count <= 60


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("on Friday", "2026-11-20"),
        ("27.11.", "2025-11-27"),
        ("last Wednesday", "2026-11-25"),
        ("the day before yesterday", "2026-11-24"),
        ("on November 25", "2026-11-25"),
        ("am Montag", "2026-11-23"),
        ("am 15.", "2026-11-15"),
        ("vorgestern", "2026-11-24"),
        ("letzten Samstag", "2026-11-21"),
        ("two days ago", "2026-11-24"),
        ("vor 3 Tagen", "2026-11-23"),
        ("today", "2026-11-26"),
        ("yesterday", "2026-11-25"),
    ],
)
def test_where_the_past_is_preferred_a_day_is_the_last_such(text: str, day: str) -> None:
    language = "de" if text.startswith(("am", "vor", "letzten")) else "en"

    assert str(times.read(text, NOW, BERLIN, language, kind="date", prefer="past")) == day


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("at 6", False), ("read chapter 3", True), ("EST", False), ("call Tom friday", True),
        ("past 7 to leave", False), ("the plants in", True),
    ],
)  # fmt: skip
def test_what_begins_or_ends_like_a_time_is_told(text: str, ends: bool) -> None:
    assert times.is_timelike(text, "en", begins=not ends, ends=ends)
    assert not times.is_timelike("buy three red apples", "en")
