"""What an address of a feed or a calendar sends, and what is read of it. Sources: RSS 2.0, RFC
4287, RFC 5545; the calendars are written as Google's, Apple's and Outlook's are."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from aouo.agent.documents.feeds import ENTRIES_MAX, NotAFeed, read

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
OUTLOOK = """BEGIN:VTIMEZONE
TZID:W. Europe Standard Time
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE
"""


def calendar(*events: str, before: str = "") -> bytes:
    body = "".join(f"BEGIN:VEVENT\n{event.strip()}\nEND:VEVENT\n" for event in events)
    text = f"BEGIN:VCALENDAR\nX-WR-CALNAME:Team\n{before}{body}END:VCALENDAR\n"
    return text.replace("\n", "\r\n").encode()


def starts(body: bytes, zone: ZoneInfo = BERLIN) -> list[str]:
    return [one.starts for one in read(body, NOW, zone).entries]


def test_rss_is_read_with_its_words_plain() -> None:
    sent = read(
        b"<rss version='2.0'><channel><title>News &amp; more</title><item><guid>1</guid>"
        b"<title>A &lt;b&gt;bridge&lt;/b&gt; opens</title><link>https://n.example/1</link>"
        b"<pubDate>Mon, 02 Mar 2026 07:00:00 GMT</pubDate></item></channel></rss>",
        NOW,
        BERLIN,
    )

    (entry,) = sent.entries
    assert (sent.kind, sent.title) == ("feed", "News & more")
    assert (entry.uid, entry.title, entry.link) == ("1", "A bridge opens", "https://n.example/1")
    assert entry.starts == "2026-03-02 08:00"


def test_atom_is_read_and_a_link_that_is_none_is_left_out() -> None:
    sent = read(
        b"<feed xmlns='http://www.w3.org/2005/Atom'><title>Log</title><entry><id>a</id>"
        b"<title>One</title><link href='javascript:alert(1)'/></entry></feed>",
        NOW,
        BERLIN,
    )

    assert [(one.uid, one.title, one.link) for one in sent.entries] == [("a", "One", "")]


@pytest.mark.parametrize("body", [b"", b"<html><p>Hello</p></html>", b"\x89PNG", b"{}"])
def test_what_is_neither_is_said(body: bytes) -> None:
    with pytest.raises(NotAFeed, match="not-a-feed"):
        read(body, NOW, BERLIN)


def test_an_event_is_at_the_time_of_whoever_looks() -> None:
    body = calendar(
        "UID:1\nSUMMARY:Call\\, with Ben\nLOCATION:Room\n 12\n"
        "DTSTART;TZID=America/New_York:20260302T090000\nDTEND;TZID=America/New_York:20260302T100000"
    )

    (entry,) = read(body, NOW, BERLIN).entries
    assert (entry.title, entry.place) == ("Call, with Ben", "Room12")
    assert (entry.starts, entry.ends) == ("2026-03-02 15:00", "2026-03-02 16:00")


def test_a_zone_that_only_the_calendar_knows_is_the_one_it_describes() -> None:
    body = calendar("UID:1\nDTSTART;TZID=W. Europe Standard Time:20260330T090000", before=OUTLOOK)

    assert starts(body, ZoneInfo("UTC")) == ["2026-03-30 07:00"]


def test_recurrences_keep_to_the_wall_clock_and_to_what_was_moved_or_left_out() -> None:
    """Clocks go forward on 29 March 2026."""
    body = calendar(
        "UID:1\nDTSTART;TZID=Europe/Berlin:20260309T180000\nRRULE:FREQ=WEEKLY;UNTIL=20260406T160000Z\n"
        "EXDATE;TZID=Europe/Berlin:20260316T180000",
        "UID:1\nRECURRENCE-ID;TZID=Europe/Berlin:20260323T180000\n"
        "DTSTART;TZID=Europe/Berlin:20260324T190000",
    )

    assert starts(body) == [
        *("2026-03-09 18:00", "2026-03-24 19:00", "2026-03-30 18:00", "2026-04-06 18:00"),
    ]


def test_a_whole_day_is_one_in_every_zone_and_a_cancelled_event_is_none() -> None:
    body = calendar(
        "UID:1\nDTSTART;VALUE=DATE:20260303\nDTEND;VALUE=DATE:20260305",
        "UID:2\nSTATUS:CANCELLED\nDTSTART:20260303T090000Z",
    )

    (entry,) = read(body, NOW, ZoneInfo("Pacific/Auckland")).entries
    assert (entry.starts, entry.ends) == ("2026-03-03", "2026-03-05")


@pytest.mark.parametrize(
    "rule", ["FREQ=SECONDLY", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=NEVER", "COUNT=x"]
)
def test_a_rule_that_is_none_or_without_end_is_its_first_time_or_nothing(rule: str) -> None:
    body = calendar(f"UID:1\nDTSTART:20260303T090000Z\nRRULE:{rule}")

    assert starts(body) in (["2026-03-03 10:00"], [])


def test_a_thousand_recurrences_are_read_up_to_what_is_kept() -> None:
    body = calendar(*(f"UID:{n}\nDTSTART:20200101T090000Z\nRRULE:FREQ=DAILY" for n in range(30)))

    assert len(starts(body)) == ENTRIES_MAX
