"""What a feed or a calendar sends holds nobody up: reading is linear in its length, and what it is
read to can be stored. Source: issue 44, 11."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime

import pytest

from aouo.agent.documents import calendar_lines
from aouo.agent.documents.entries import Sent
from aouo.agent.documents.feeds import linked
from aouo.agent.documents.reading import read_feed

NOW = datetime(2026, 11, 30, tzinfo=UTC)
LATER = "BEGIN:VEVENT\r\nUID:l\r\nSUMMARY:Later\r\nDTSTART:20261201T090000Z\r\nEND:VEVENT"
LOG = "https://jsonfeed.org/version/1.1"


async def sent(body: bytes) -> Sent:
    return await read_feed(body, NOW, UTC, "https://n.example/feed", asyncio.Semaphore(1))


@pytest.mark.parametrize(
    "hostile",
    [
        "BEGIN:VTIMEZONE\r\n" * 12_000,
        "BEGIN:VTIMEZONE\r\nEND:VTIMEZONE\r\n" * 6_000,
        "TZID:xxxxxxxxx\r\n" * 8_000 + "END:VTIMEZONE\r\n" * 6_000,
        f"BEGIN:VEVENT\r\nDTSTART;TZID={'/a' * 100_000}:20261201T090000\r\nEND:VEVENT\r\n",
        f"BEGIN:VEVENT\r\nDTSTART:20261201T090000Z\r\nSUMMARY:{'<' * 200_000}\r\nEND:VEVENT\r\n",
    ],
)
async def test_what_is_after_200_kb_of_a_calendar_is_read(hostile: str) -> None:
    body = f"BEGIN:VCALENDAR\r\n{hostile}{LATER}\r\nEND:VCALENDAR\r\n"

    read = await sent(body.encode())

    assert "Later" in [entry.title for entry in read.entries]


def test_what_describes_a_zone_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted: each line is given to the reader of zones once, however many ends there are."""
    given: list[str] = []

    def described(text: str) -> dict[str, object]:
        given.append(text)
        return {}

    monkeypatch.setattr(calendar_lines, "_described", described)
    lines = [*calendar_lines.lines_of("TZID:x\n" * 1_000 + "END:VTIMEZONE\n" * 1_000)]
    calendar_lines.zones_of(lines, UTC)

    assert sum(text.count("\n") + 1 for text in given if text) == 2_000


@pytest.mark.parametrize("tag", ["a" * 990, "a " * 490, "a" + " " * 980, "<link " * 160])
def test_a_page_without_a_feed_costs_what_its_length_costs(tag: str) -> None:
    """Pages are looked at in the process of all."""

    def cpu_s(count: int) -> float:
        page = f"<link {tag}>".encode() * count
        begun = time.process_time()
        assert not linked(page, "https://n.example/")
        return time.process_time() - begun

    assert cpu_s(200) < 1.5


async def test_half_a_surrogate_pair_and_an_odd_item_leave_the_rest() -> None:
    """A text that UTF-8 cannot say is not stored; its refusal ended the refresh of all feeds."""
    items = [
        {"id": "\udc00", "title": "a\ud800", "url": "https://n.example/\ud800"},
        {"id": 2, "title": 5, "attachments": 5},
        {"id": 3, "title": "c", "attachments": [5, {"url": "https://n.example/c"}]},
    ]
    read = await sent(json.dumps({"version": LOG, "title": "\ud800", "items": items}).encode())

    assert [entry.title for entry in read.entries] == ["a?", "5", "c"]
    assert read.entries[2].link == "https://n.example/c"
    assert all(f"{entry}".isascii() for entry in read.entries)
