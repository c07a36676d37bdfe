"""Which zone counts where none is named."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from aouo.plumbing import zones
from aouo.plumbing.zones import zone_of


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
