"""What people write as a time, an amount or a span is read exactly, or refused with why; what is
said back reads as itself. Source: issue 27."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.packs.actions import slots
from aouo.packs.actions.slots import Here, Misread, Money, read, say, stored

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 26, 13, 0, tzinfo=BERLIN)  # a Thursday
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
KINDS = st.sampled_from(["datetime", "date", "duration", "money", "int"])
ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Chatham"]
).map(ZoneInfo)
HERE = st.builds(
    Here,
    st.integers(0, 8_000_000).map(lambda minutes: BEGIN + timedelta(minutes=minutes)),
    ZONES,
    st.sampled_from(["en", "de", "de-AT", "fr"]),
)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("tomorrow at 8", "2026-11-27 08:00"),
        ("morgen um 8", "2026-11-27 08:00"),
        ("morgen um drei", "2026-11-27 15:00"),
        ("in 5 min", "2026-11-26 13:05"),
        ("in einer halben Stunde", "2026-11-26 13:30"),
        ("in an hour", "2026-11-26 14:00"),
        ("at 8", "2026-11-26 20:00"),
        ("at 8:30", "2026-11-27 08:30"),
        ("um halb acht", "2026-11-26 19:30"),
        ("quarter to 8", "2026-11-26 19:45"),
        ("next friday", "2026-11-27 09:00"),
        ("at 9 on monday", "2026-11-30 09:00"),
        ("am 3.12. um 9", "2026-12-03 09:00"),
        ("Dec 3 at 14:00", "2026-12-03 14:00"),
        ("3rd of march 2027 at 5 pm", "2027-03-03 17:00"),
        ("heute abend", "2026-11-26 19:00"),
        ("übermorgen um 7 Uhr 15", "2026-11-28 07:15"),
        ("2026-11-27T09:00", "2026-11-27 09:00"),
    ],
)
def test_a_moment_is_read(text: str, at: str) -> None:
    found = read("datetime", text, Here(NOW, BERLIN))

    assert isinstance(found, datetime)
    assert f"{found.astimezone(BERLIN):%Y-%m-%d %H:%M}" == at


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("datetime", "yesterday", "slots.past"),
        ("datetime", "30 February", "slots.no-such-day"),
        ("datetime", "03/04 at 9", "slots.slashed"),
        ("datetime", "28 March 2027 at 2:30", "slots.skipped"),
        ("datetime", "some day", "slots.no-time"),
        ("date", "31.4.", "slots.no-such-day"),
        ("duration", "long", "slots.no-span"),
        ("money", "lunch", "slots.no-money"),
        ("int", "1.5", "slots.no-int"),
        ("recurrence", "tomorrow", "slots.no-recurrence"),
    ],
)
def test_what_is_none_is_refused_with_why(kind: str, text: str, why: str) -> None:
    with pytest.raises(Misread) as caught:
        read(kind, text, Here(NOW, BERLIN))

    assert caught.value.why == why


@pytest.mark.parametrize(
    ("text", "language", "amount"),
    [
        ("1.234,50 €", "en", "1234.50"),
        ("1,234.50", "de", "1234.50"),
        ("1,234", "en", "1234"),
        ("1.234", "de", "1234"),
        ("$5", "de", "5"),
        ("12,5 euro", "en", "12.5"),
        ("1 234,00", "de", "1234.00"),
    ],
)
def test_an_amount_is_read_with_either_separator(text: str, language: str, amount: str) -> None:
    found = read("money", text, Here(NOW, BERLIN, language))

    assert isinstance(found, Money)
    assert found.amount == Decimal(amount)


@given(HERE, st.integers(1, 2_000_000))
def test_a_moment_that_is_said_back_reads_as_itself(here: Here, minutes: int) -> None:
    at = (here.now + timedelta(minutes=minutes)).replace(second=0, microsecond=0)
    wall = at.astimezone(here.zone)
    if wall.replace(fold=1).utcoffset() != wall.replace(fold=0).utcoffset():
        return  # the hour that comes twice is said once
    if at > here.now:
        assert read("datetime", say("datetime", at, here), here) == at


@given(HERE, st.integers(-3_000, 3_000))
def test_a_day_that_is_said_back_reads_as_itself(here: Here, days: int) -> None:
    day: date = here.now.astimezone(here.zone).date() + timedelta(days=days)

    assert read("date", say("date", day, here), here) == day


@given(HERE, st.integers(1, 500_000))
def test_a_span_that_is_said_back_reads_as_itself(here: Here, minutes: int) -> None:
    span = timedelta(minutes=minutes)

    assert read("duration", say("duration", span, here), here) == span
    assert read("duration", str(stored("duration", span)), here) == span


@given(HERE, st.integers(0, 10**9), st.sampled_from(["", "€", "$", "£", "CHF"]))
def test_an_amount_that_is_said_back_reads_as_itself(here: Here, cents: int, sign: str) -> None:
    money = Money(Decimal(cents) / 100, sign)

    assert read("money", say("money", money, here), here) == money


@given(
    HERE, st.text(max_size=60), st.sampled_from(["datetime", "date", "duration", "money", "int"])
)
def test_no_text_breaks_the_reader(here: Here, text: str, kind: str) -> None:
    try:
        value = read(kind, text, here)
    except Misread:
        return
    stored(kind, value)
    say(kind, value, here)


@pytest.mark.parametrize(
    ("language", "cell", "shown"),
    [
        ("en", "2026-12-01 18:00", "Tue 1 Dec, 18:00"),
        ("de", "2026-11-28", "heute, Sa 28. November"),
        ("es", "2026-12-01", "martes 1 de diciembre"),
        ("fr", "2026-11-27", "vendredi 27 novembre 2026"),
        ("en", "2026-13-01", "2026-13-01"),
        ("en", "2026-12-01 dentist", "2026-12-01 dentist"),
    ],
)
def test_a_cell_that_is_a_day_is_shown_in_the_words_of_its_reader(
    language: str, cell: str, shown: str
) -> None:
    here = Here(datetime(2026, 11, 28, 10, tzinfo=UTC), UTC, language)

    assert slots.localised(cell, here) == shown
