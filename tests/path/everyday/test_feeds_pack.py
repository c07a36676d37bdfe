"""What becomes of addresses that are moved, too large, broken or no feed. Source: issue 28."""

from __future__ import annotations

import shutil

import pytest

from tests.fakes.clock import FastClock
from tests.fakes.web_server import Answer
from tests.path.everyday.test_first_days import FEED, six_packs
from tests.path.world import ROOT, World

PAGE = b"""<html><head><title>News</title>
<link rel="alternate" type="application/rss+xml" title="All" href="/news.xml?a=1&amp;b=2">
</head><body>Hello</body></html>"""
SECOND = FEED.replace(b"Bridge opens", b"Bridge closes").replace(b"<guid>1", b"<guid>2")
TOKYO = b"""BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VEVENT
UID:1
DTSTART;TZID=Asia/Tokyo:20260303T060000
DTEND;TZID=Asia/Tokyo:20260303T070000
RRULE:FREQ=DAILY;COUNT=1000
SUMMARY:Call with Kyoto
END:VEVENT
END:VCALENDAR
"""


async def test_addresses_are_what_they_are(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.clock = clock = FastClock(speed=1)
    async with six_packs(world, monkeypatch) as (bot, put, site):
        pages: dict[str, Answer] = site.pages
        pages["/page"] = Answer(PAGE)
        said = await bot.ask(put("follow https://feeds.example/page"))
        assert "I follow “Daily news” now: 1 entry." in said.text
        assert "/news.xml?a=1" in (await bot.ask("my feeds")).text

        pages["/large.xml"] = Answer(FEED + b" " * 50_000_000, "application/rss+xml")
        said = await bot.ask(put("follow https://feeds.example/large.xml"))
        assert "Not done" in said.text
        pages["/bare"] = Answer(b"<html>Nothing here</html>")
        said = await bot.ask(put("follow https://feeds.example/bare"))
        assert "neither a feed nor a calendar" in said.text
        there = {"Location": put("https://cal.example/new.ics")}
        pages["/old.ics"] = Answer(status=301, headers=there)
        pages["/new.ics"] = Answer(TOKYO, "text/calendar")
        said = await bot.ask(put("follow https://cal.example/old.ics"))
        assert "now: 60 entries." in said.text
        assert "21:00 Call with Kyoto" in (await bot.ask("what's on today?")).text
        listed = (await bot.ask("my feeds")).text
        assert len(listed.splitlines()) == 6

        assert "Bridge opens" in (await bot.ask("what's new?")).text
        pages["/news.xml"] = Answer(status=500)
        clock.jump(600)
        assert "Nothing is new" in (await bot.ask("what's new?")).text
        assert "⚠️" in (await bot.ask("my feeds")).text
        pages["/news.xml"] = Answer(SECOND, "application/rss+xml")
        clock.jump(600)
        assert "Bridge closes" in (await bot.ask("what's new?")).text
        assert "⚠️" not in (await bot.ask("my feeds")).text


async def test_a_pack_reads_no_more_than_its_own_hosts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another pack read a moment ago is not given to it."""
    narrow = world.home.packs / "narrow"
    shutil.copytree(ROOT / "packs" / "feeds", narrow)
    manifest = (narrow / "pack.yml").read_text("utf-8")
    manifest = manifest.replace("name: feeds", "name: narrow").replace('["*"]', '["b.example"]')
    (narrow / "pack.yml").write_text(manifest, "utf-8")
    async with six_packs(world, monkeypatch) as (bot, put, _):
        assert "narrow" in bot.app.generations.now.library.names
        await bot.ask("/use feeds")
        assert "I follow" in (await bot.ask(put("follow https://feeds.example/news.xml"))).text
        await bot.ask("/use narrow")
        said = await bot.ask(put("follow https://feeds.example/news.xml"))
        assert "Not done" in said.text
        assert "this app may not go there" in said.text


def calendar(*events: str) -> Answer:
    body = "".join(f"BEGIN:VEVENT\n{event}\nEND:VEVENT\n" for event in events)
    text = f"BEGIN:VCALENDAR\nX-WR-CALNAME:Team\n{body}END:VCALENDAR\n"
    return Answer(text.encode(), "text/calendar")


async def test_what_comes_next_is_told_and_what_is_left_out_is_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is 2 March 2026, noon in UTC. Source: issue 43."""
    async with six_packs(world, monkeypatch) as (bot, put, site):
        pages: dict[str, Answer] = site.pages
        old = [f"UID:o{n}\nDTSTART:2025{n % 12 + 1:02}01T090000Z\nSUMMARY:O" for n in range(2_100)]
        tokyo = "UID:1\nDTSTART;TZID=Tokyo Standard Time:20260303T180000\nSUMMARY:Call with Kyoto"
        pages["/old.ics"] = calendar(*old, tokyo, "UID:2\nDTSTART:soon\nSUMMARY:Odd")
        answer = await bot.ask(put("follow https://cal.example/old.ics"))
        assert "“Team” now: 1 entry. ⚠️ 1 entry could not be read" in answer.text
        answer = await bot.ask("what's on tomorrow?")
        assert "09:00 Call with Kyoto" in answer.text
        assert "⚠️ Team: 1 entry could not be read, or not to its end." in answer.text
        assert "1 entry could not be read" in (await bot.ask("my feeds")).text
        await bot.ask("unfollow team")

        hourly = "DTSTART:20260302T000000Z\nRRULE:FREQ=HOURLY\nSUMMARY:Look at the oven"
        pages["/much.ics"] = calendar(f"UID:1\n{hourly}", "UID:2\nDTSTART:20260303T053000Z")
        answer = await bot.ask(put("follow https://cal.example/much.ics"))
        assert "“Team” now: 500 entries. ⚠️ 9" in answer.text
        assert "more entries are left out: 500 of an address are kept." in answer.text
        answer = await bot.ask("what's on tomorrow?")
        assert answer.text.splitlines()[18:20] == ["• 16:00 Look at the oven", "• … +7"]
