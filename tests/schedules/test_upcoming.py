"""When a schedule comes next, for who looks ahead."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from aouo.facts.schedule import upcoming
from aouo.plumbing.zones import zone_of
from tests.path.schedules.scheduled import reminder


@pytest.mark.parametrize(
    ("text", "times"),
    [("0 9 * * *", 0), ("every 2h", 7), ("every day at 9:00", 0), ("0 9 29 2 *", 0)],
)
def test_there_is_nothing_after_the_last_day_of_the_calendar(text: str, times: int) -> None:
    now = datetime(9999, 12, 31, tzinfo=UTC)
    row = reminder(datetime(2026, 1, 1, tzinfo=UTC), text=text, zone="Asia/Tokyo")

    assert len(upcoming(row.text, row.since, now, zone_of(row.zone), 50)) == times
