"""Which zone counts where none is named."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.plumbing import zones
from aouo.plumbing.zones import known_zone, zone_of


def test_the_name_counts_then_the_owner_s_then_the_machine_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", ":Asia/Tokyo")
    zones._of_this_machine.cache_clear()
    machine = zone_of("")
    zones._of_this_machine.cache_clear()

    assert zone_of("Europe/Berlin", "Asia/Tokyo") == ZoneInfo("Europe/Berlin")
    assert zone_of("", "America/New_York") == ZoneInfo("America/New_York")
    assert zone_of("Mars/Olympus", "America/New_York") == ZoneInfo("America/New_York")
    assert machine == ZoneInfo("Asia/Tokyo")


def test_a_machine_always_has_a_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TZ", raising=False)
    zones._of_this_machine.cache_clear()

    assert datetime(2026, 3, 2, tzinfo=zone_of("")).utcoffset() is not None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("utc", "UTC"),
        ("Etc/GMT+2", "Etc/GMT+2"),
    ],
)
def test_a_zone_is_found_as_people_write_it(written: str, meant: str) -> None:
    assert known_zone(written) == meant


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("Europe/Brelin", "Did you mean Europe/Berlin"),
        ("Berln", "Did you mean Europe/Berlin?"),
        ("Louisville", "Did you mean America/Kentucky/Louisville or America/Louisville?"),
        ("", "Write one like Europe/Berlin."),
        ("GMT+2", "There is no time zone"),  # Etc/GMT+2 is two hours the other way
        ("../../etc/passwd", "Write one like Europe/Berlin."),
    ],
)
def test_a_zone_that_is_none_is_refused_with_near_ones(written: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        known_zone(written)


@given(st.text(max_size=30))
def test_any_text_is_a_zone_or_refused(written: str) -> None:
    with suppress(ValueError):
        assert str(zone_of(known_zone(written))) == known_zone(written)
