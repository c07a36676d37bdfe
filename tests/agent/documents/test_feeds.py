"""What an address of a feed or a calendar sends, and what is read of it. Sources: RSS 2.0, RFC
4287, RFC 5545; the calendars are written as Google's, Apple's and Outlook's are."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from aouo.agent.documents.entries import ENTRIES_MAX, NotAFeed
from aouo.agent.documents.feeds import read

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
    ("rule", "unread"),
    [
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", 0),
        ("FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30", 1),  # looks for its next time for ever
        ("FREQ=NEVER", 1),
        ("COUNT=x", 1),
        ("FREQ=DAILY;INTERVAL=99999999999", 1),
        ("RSCALE=CHINESE;FREQ=YEARLY", 1),
    ],
)
def test_a_rule_that_cannot_be_followed_is_its_first_time_and_is_counted(
    rule: str, unread: int
) -> None:
    body = calendar(
        f"UID:1\nDTSTART:20260303T090000Z\nRRULE:{rule}", "UID:2\nDTSTART:20260304T090000Z"
    )

    sent = read(body, NOW, BERLIN)
    assert [entry.starts for entry in sent.entries] == ["2026-03-03 10:00", "2026-03-04 10:00"]
    assert sent.unread == unread


def test_a_rule_of_every_second_is_read_so_far_and_counted() -> None:
    """As many times as a series may have, 5,000 seconds: 84 minutes."""
    sent = read(calendar("UID:1\nDTSTART:20260303T090000Z\nRRULE:FREQ=SECONDLY"), NOW, BERLIN)

    assert (len(sent.entries), sent.entries[-1].starts) == (84, "2026-03-03 11:23")
    assert sent.unread == 1


def test_a_thousand_recurrences_are_read_up_to_what_is_kept() -> None:
    body = calendar(*(f"UID:{n}\nDTSTART:20200101T090000Z\nRRULE:FREQ=DAILY" for n in range(30)))

    sent = read(body, NOW, BERLIN)
    assert len(sent.entries) == ENTRIES_MAX
    assert sent.left_out == 30 * 61 - ENTRIES_MAX


WEEKLY = "UID:1\nDTSTART;TZID=Europe/Berlin:20260302T180000\nRRULE:FREQ=WEEKLY;UNTIL=20260317"
WEEKS = ["2026-03-02 18:00", "2026-03-09 18:00", "2026-03-16 18:00"]
CASES = {
    "COUNT=-1 says nothing": (
        ["UID:1\nDTSTART:20260302T170000Z\nRRULE:FREQ=WEEKLY;UNTIL=20260317T000000Z;COUNT=-1"],
        WEEKS,
    ),
    "a rule with blanks, small letters and an empty part": (
        ["UID:1\nDTSTART:20260302T170000Z\nRRULE:freq=weekly;byday=MO, TU;count=3;"],
        ["2026-03-02 18:00", "2026-03-03 18:00", "2026-03-09 18:00"],
    ),
    "COUNT counts what is left out": (
        ["UID:1\nDTSTART:20260302T170000Z\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260303T170000Z"],
        ["2026-03-02 18:00", "2026-03-04 18:00"],
    ),
    "a day alone leaves out what is on it": (
        [f"{WEEKLY}\nEXDATE;VALUE=DATE:20260309"],
        [WEEKS[0], WEEKS[2]],
    ),
    "a time that another zone tells is the same time": (
        [f"{WEEKLY}\nEXDATE:20260309T170000Z"],
        [WEEKS[0], WEEKS[2]],
    ),
    "a time in UTC does not leave out the same wall clock": (
        [f"{WEEKLY}\nEXDATE:20260309T180000Z"],
        WEEKS,
    ),
    "the rule of what never is": ([f"{WEEKLY}\nEXRULE:FREQ=WEEKLY;INTERVAL=2"], [WEEKS[1]]),
    "the first time counts though the rule has it not": (
        ["UID:1\nDTSTART:20260303T170000Z\nRRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=1"],
        ["2026-03-03 18:00", "2026-03-09 18:00"],
    ),
    "the last workday of each month": (
        ["UID:1\nDTSTART:20260227T170000Z\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1"],
        ["2026-03-31 19:00", "2026-04-30 19:00"],
    ),
    "every second week begins on its own day": (
        [
            "UID:1\nDTSTART:20260301T090000Z\n"
            "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=SU;COUNT=4"
        ],
        ["2026-03-01 10:00", "2026-03-02 10:00", "2026-03-15 10:00", "2026-03-16 10:00"],
    ),
    "of two versions the newer": (
        [
            "UID:1\nSEQUENCE:2\nDTSTART:20260303T090000Z",
            "UID:1\nSEQUENCE:1\nDTSTART:20260304T090000Z",
        ],
        ["2026-03-03 10:00"],
    ),
    "of two versions of one time the newer": (
        [
            WEEKLY,
            "UID:1\nSEQUENCE:2\nRECURRENCE-ID:20260309T170000Z\nDTSTART:20260310T090000Z",
            "UID:1\nSEQUENCE:1\nRECURRENCE-ID:20260309T170000Z\nDTSTART:20260311T090000Z",
        ],
        [WEEKS[0], "2026-03-10 10:00", WEEKS[2]],
    ),
    "two events of one name are both": (
        ["UID:1\nDTSTART:20260303T090000Z", "UID:1\nDTSTART:20260304T090000Z"],
        ["2026-03-03 10:00", "2026-03-04 10:00"],
    ),
    "this and all that follow": (
        [
            WEEKLY,
            "UID:1\nRECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20260309T180000\n"
            "DTSTART;TZID=Europe/Berlin:20260310T193000",
        ],
        [WEEKS[0], "2026-03-10 19:30", "2026-03-17 19:30"],
    ),
    "this and all that follow are cancelled": (
        [
            WEEKLY,
            "UID:1\nRECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20260309T180000\n"
            "DTSTART;TZID=Europe/Berlin:20260309T180000\nSTATUS:CANCELLED",
        ],
        [WEEKS[0]],
    ),
    "an hour that the clock skips is the one after it": (
        ["UID:1\nDTSTART;TZID=Europe/Berlin:20260329T023000"],
        ["2026-03-29 03:30"],
    ),
    "a zone of Windows": (
        ["UID:1\nDTSTART;TZID=Tokyo Standard Time:20260303T180000"],
        ["2026-03-03 10:00"],
    ),
    "a zone at the end of a path, in quotes": (
        ['UID:1\nDTSTART;X-A="b;c:d";TZID="/vendor.example/20260101_1/Asia/Tokyo":20260303T180000'],
        ["2026-03-03 10:00"],
    ),
    "ends that are swapped": (
        ["UID:1\nDTSTART:20260303T100000Z\nDTEND:20260303T090000Z"],
        ["2026-03-03 10:00"],
    ),
    "a duration that goes back": (
        ["UID:1\nDTSTART:20260303T100000Z\nDURATION:-PT1H"],
        ["2026-03-03 10:00"],
    ),
    "a time with dashes, or without seconds": (
        ["UID:1\nDTSTART:2026-03-03T09:00:00Z", "UID:2\nDTSTART:20260303T1000Z"],
        ["2026-03-03 10:00", "2026-03-03 11:00"],
    ),
    "events without a name that begin together": (
        ["SUMMARY:A\nDTSTART:20260303T090000Z", "SUMMARY:B\nDTSTART:20260303T090000Z"],
        ["2026-03-03 10:00", "2026-03-03 10:00"],
    ),
    "a part that lacks its end": (
        ["UID:1\nBEGIN:VALARM\nTRIGGER:-PT5M", "UID:2\nDTSTART:20260303T090000Z"],
        ["2026-03-03 10:00"],
    ),
}


@pytest.mark.parametrize(("events", "expected"), CASES.values(), ids=CASES)
def test_events_are_at_their_times(events: list[str], expected: list[str]) -> None:
    assert starts(calendar(*events)) == expected


@pytest.mark.parametrize(
    ("event", "starts_", "ends"),
    [
        ("DTSTART;VALUE=DATE:20260303\nDURATION:P3D", "2026-03-03", "2026-03-06"),
        ("DTSTART;VALUE=DATE:20260303", "2026-03-03", "2026-03-04"),
        ("DTSTART;VALUE=DATE:20260303T000000", "2026-03-03", "2026-03-04"),
        ("DTSTART:20260303T090000Z\nDURATION:P1DT2H", "2026-03-03 10:00", "2026-03-04 12:00"),
        ("DTSTART:20260303T090000Z", "2026-03-03 10:00", "2026-03-03 10:00"),
        (
            "DTSTART:20240303T090000Z\nRDATE;VALUE=PERIOD:20260303T090000Z/PT3H",
            *("2026-03-03 10:00", "2026-03-03 13:00"),
        ),
        (
            "DTSTART:20240303T090000Z\nRDATE;VALUE=PERIOD:20260303T090000Z/20260303T100000Z",
            *("2026-03-03 10:00", "2026-03-03 11:00"),
        ),
    ],
)
def test_an_event_is_as_long_as_it_says(event: str, starts_: str, ends: str) -> None:
    (entry,) = read(calendar(f"UID:1\n{event}"), NOW, BERLIN).entries

    assert (entry.starts, entry.ends) == (starts_, ends)


def test_the_zone_of_the_calendar_is_that_of_times_without_one() -> None:
    body = calendar("UID:1\nDTSTART:20260303T180000", before="X-WR-TIMEZONE:Asia/Tokyo\n")

    assert starts(body) == ["2026-03-03 10:00"]


def test_a_described_zone_may_hold_what_is_of_no_use_here() -> None:
    zone = OUTLOOK.replace("TZID:W. Europe", "X-LIC-LOCATION:Europe/Berlin\nTZID:Our own")
    zone = zone.replace("BEGIN:STANDARD", "BEGIN:STANDARD\nTZNAME;LANGUAGE=de:MEZ\nX-A:b")
    body = calendar("UID:1\nDTSTART;TZID=Our own Standard Time:20260330T090000", before=zone)

    assert starts(body, ZoneInfo("UTC")) == ["2026-03-30 07:00"]


def test_of_many_events_those_that_come_next_are_read_wherever_they_stand() -> None:
    old = [f"UID:o{n}\nDTSTART:2025{n % 12 + 1:02}01T090000Z" for n in range(2_100)]
    series = [f"UID:s{n}\nDTSTART:20200101T090000Z\nRRULE:FREQ=DAILY;COUNT=9" for n in range(2_100)]
    sent = read(calendar(*old, *series, "UID:1\nDTSTART:20260303T090000Z"), NOW, BERLIN)

    assert [entry.starts for entry in sent.entries] == ["2026-03-03 10:00"]
    assert (sent.left_out, sent.unread) == (0, 0)


def test_an_event_whose_day_is_none_is_counted_and_the_others_are_read() -> None:
    body = calendar("UID:1\nDTSTART:20261399T000000Z", "UID:2\nDTSTART:20260303T090000Z", "UID:3")

    sent = read(body, NOW, BERLIN)
    assert ([entry.uid for entry in sent.entries], sent.unread) == (["2"], 2)


LETTERS = calendar("UID:1\nSUMMARY:Gäste für Zoë\u2028und mehr\nDTSTART:20260303T090000Z")


@pytest.mark.parametrize(
    "body",
    [
        LETTERS,
        b"\xef\xbb\xbf" + LETTERS,
        LETTERS.replace(b"\r\n", b"\n"),
        LETTERS.replace(b"\r\n", b"\r"),
        LETTERS.replace(b"\r\n", b"\n", 3),
        LETTERS.replace(b"\xc3\xa4", b"\xc3\r\n \xa4"),  # folded within a letter
        LETTERS.decode().encode("utf-16"),
        LETTERS.decode().encode("utf-16-le"),
        LETTERS.decode().encode("utf-16-be"),
        LETTERS.replace(b"\xe2\x80\xa8", b" ").decode().encode("iso-8859-1"),
    ],
)
def test_letters_and_line_ends_are_read_as_they_come(body: bytes) -> None:
    (entry,) = read(body, NOW, BERLIN).entries

    assert (entry.title, entry.starts) == ("Gäste für Zoë und mehr", "2026-03-03 10:00")


ATOM = "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>a</id>{}</entry></feed>"
RSS = (
    "<rss version='2.0' xmlns:media='http://search.yahoo.com/mrss/'><channel><title>News</title>"
    "<item>{}</item></channel></rss>"
)
XHTML = "<div xmlns='http://www.w3.org/1999/xhtml'>A <b>new</b> &lt;div&gt;</div>"
URL = "https://n.example/blog/feed.xml"


@pytest.mark.parametrize(
    ("feed", "title"),
    [
        (
            ATOM.format("<title type='text'>How &lt;table&gt; and &lt;div&gt; differ</title>"),
            "How <table> and <div> differ",
        ),
        (ATOM.format("<title>When a &lt; b and c &gt; d</title>"), "When a < b and c > d"),
        (
            ATOM.format("<title type='html'>A &lt;b&gt;new&lt;/b&gt; x &amp;lt; y</title>"),
            "A new x < y",
        ),
        (ATOM.format(f"<title type='xhtml'>{XHTML}</title>"), "A new <div>"),
        (RSS.format("<title>When a &lt; b and c &gt; d</title>"), "When a < b and c > d"),
        (RSS.format("<title><![CDATA[<b>AT&amp;T</b> wins]]></title>"), "AT&T wins"),
        (RSS.format("<description>&lt;p&gt;No title&lt;/p&gt;</description>"), "No title"),
    ],
)
def test_a_title_is_words_by_its_kind(feed: str, title: str) -> None:
    bodies = [feed.encode(), feed.encode("utf-16"), feed.encode("utf-16-le")]

    assert [read(body, NOW, BERLIN, URL).entries[0].title for body in bodies] == [title] * 3


@pytest.mark.parametrize(
    ("item", "link"),
    [
        ("<link>https://n.example/1</link>", "https://n.example/1"),
        ("<link>/1</link>", "https://n.example/1"),
        ("<enclosure url='https://n.example/1.mp3' type='audio/mpeg'/>", "https://n.example/1.mp3"),
        ("<link>https://n.example/1</link><enclosure url='/1.mp3'/>", "https://n.example/1"),
        ("<media:content url='https://n.example/1.mp4'/>", "https://n.example/1.mp4"),
        ("<guid isPermaLink='false'>https://n.example/1</guid>", ""),
        ("<link>javascript:alert(1)</link>", ""),
        ("<link>https://[broken</link>", ""),
    ],
)
def test_an_item_is_at_its_page_else_at_its_recording(item: str, link: str) -> None:
    (entry,) = read(RSS.format(f"<title>T</title>{item}").encode(), NOW, BERLIN, URL).entries

    assert entry.link == link
    assert entry.uid


@pytest.mark.parametrize(
    "date",
    [
        *("", "soon", "0000-00-00", "Mon, 45 Foo 2026 99:99", "Fri, 31 Dec 0000 23:59:60 GMT"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"),
    ],
)
def test_an_odd_date_is_none_and_its_item_is_read(date: str) -> None:
    bodies = [
        RSS.format(f"<title>T</title><pubDate>{date}</pubDate>"),
        ATOM.format(f"<title>T</title><updated>{date}</updated>"),
        '{"version": "https://jsonfeed.org/version/1", "items": [{"title": "T", "date_published": "'
        f'{date}"}}]}}',
    ]

    for body in bodies:
        (entry,) = read(body.encode(), NOW, ZoneInfo("Pacific/Auckland"), URL).entries
        assert entry.title == "T"
        assert entry.starts[:4] in ("", "9999")


def test_a_json_feed_is_read() -> None:
    body = b"""{"version": "https://jsonfeed.org/version/1.1", "title": "Log", "items": [
      {"id": 1, "title": "a < b", "url": "/1", "date_published": "2026-03-02T07:00:00Z"},
      {"id": "2", "content_html": "<p>Words</p>", "attachments": [{"url": "https://n.example/2.mp3"}]},
      "none"]}"""

    sent = read(body, NOW, BERLIN, URL)
    assert sent.title == "Log"
    assert [(entry.uid, entry.title, entry.link, entry.starts) for entry in sent.entries] == [
        ("1", "a < b", "https://n.example/1", "2026-03-02 08:00"),
        ("2", "Words", "https://n.example/2.mp3", ""),
    ]


def test_of_many_items_the_newest_are_read_in_whatever_order_they_come() -> None:
    items = "</item><item>".join(
        f"<guid>{n}</guid><pubDate>2026-01-{n // 24 + 1:02}T{n % 24:02}:00:00Z</pubDate>"
        for n in range(600)
    )
    sent = read(RSS.format(items).encode(), NOW, BERLIN)

    assert (len(sent.entries), sent.left_out) == (ENTRIES_MAX, 100)
    assert sent.entries[0].uid == "599"
