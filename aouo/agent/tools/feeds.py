"""Feeds and calendars for packs: addresses that people add, read here into the pack's tables."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from io import BytesIO

from aouo.agent.documents.entries import ENTRIES_MAX, NotAFeed, Sent
from aouo.agent.documents.feeds import linked
from aouo.agent.documents.reading import AT_ONCE, read_feed
from aouo.agent.tools.registry import ToolContext
from aouo.facts.errors import ToolFailed
from aouo.facts.ports import Clock, stamp
from aouo.packs.data.rows import Cell
from aouo.packs.data.storage import PackStore
from aouo.packs.format.folder import NotInside, read_inside
from aouo.packs.load import Pack
from aouo.plumbing.logs import log
from aouo.plumbing.web.addresses import Permits
from aouo.plumbing.web.client import Web
from aouo.words.catalogue import text

_BYTES_MAX, _SOURCES_MAX = 5_000_000, 50
_OWN = "pack:"
"""Begins the address of a file in the pack itself."""
_FRESH = timedelta(minutes=5)
"""How long what was read of an address counts, for all who follow it by one pack."""
_FOLLOWED = (
    "INSERT INTO sources (url, title, kind, problem) VALUES (:url, :title, :kind, :problem) ON "
    "CONFLICT (url) DO UPDATE SET title = excluded.title, kind = excluded.kind, "
    "problem = excluded.problem WHERE title <> excluded.title OR kind <> excluded.kind "
    "OR problem <> excluded.problem"
)
_FAILED = "UPDATE sources SET problem = :problem WHERE url = :url"
_OVER = (
    "DELETE FROM entries WHERE source = :url AND :kind = 'calendar' "
    "AND uid || ' ' || starts NOT IN (SELECT value FROM json_each(:there))"
)
_READ = (
    "INSERT INTO entries (source, uid, title, link, starts, ends, place, seen) VALUES "
    "(:url, :uid, :title, :link, :starts, :ends, :place, :now) ON CONFLICT (source, uid, starts) "
    "DO UPDATE SET title = excluded.title, link = excluded.link, ends = excluded.ends, "
    "place = excluded.place"
)


@dataclass(slots=True, eq=False)
class Feeds:
    """Reads addresses into the tables `sources` and `entries` of packs that say `schema.feeds`."""

    web: Web
    clock: Clock
    zone: Callable[[str], tzinfo]
    open_store: Callable[[str, str], PackStore]
    _read: dict[tuple[str, str, str], tuple[datetime, Sent]] = field(
        init=False, default_factory=dict[tuple[str, str, str], tuple[datetime, Sent]]
    )
    _room: asyncio.Semaphore = field(init=False, default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def run(
        self, pack: Pack, wanted: Mapping[str, str], context: ToolContext, call_id: str
    ) -> str:
        """Do what an action wants: `follow` an `url`, or `refresh` all.

        Raises:
            ToolFailed: there is nothing to read at the address; says why.
        """
        if not pack.manifest.schema.feeds:
            raise ToolFailed("The pack follows no feeds: schema.feeds is not set.")
        store = await asyncio.to_thread(self.open_store, pack.name, context.facts.tenant)
        person = context.facts.person.id
        if wanted.get("do") == "follow":
            return await self._follow(pack, store, wanted.get("url", ""), person, call_id)
        sql = f"SELECT url FROM sources ORDER BY url LIMIT {_SOURCES_MAX}"
        rows = await asyncio.to_thread(store.read, sql, limit=_SOURCES_MAX)
        for url in (str(row["url"]) for row in rows):
            await self._refreshed(pack, store, url, person)
        return ""

    async def _follow(
        self, pack: Pack, store: PackStore, said: str, person: str, call_id: str
    ) -> str:
        url = _address(said)
        try:
            sent = await self._sent(pack, url, person)
        except ToolFailed:  # a page may name the feed of its site
            url = linked(await self._body(pack, url), url)
            if not url:
                raise
            sent = await self._sent(pack, url, person)
        (found,) = await asyncio.to_thread(store.read, "SELECT count(*) AS n FROM sources")
        if int(str(found["n"])) >= _SOURCES_MAX:
            raise ToolFailed(text("feeds.too-many", most=_SOURCES_MAX))
        now = stamp(self.clock)
        source = _source(url, sent)
        await asyncio.to_thread(store.act, [_FOLLOWED], source, call_id=f"{call_id}.1", now=now)
        await asyncio.to_thread(store.put, _entries(url, sent, now))
        return str(source["title"])

    async def _refreshed(self, pack: Pack, store: PackStore, url: str, person: str) -> None:
        now = stamp(self.clock)
        try:
            sent = await self._sent(pack, url, person)
        except ToolFailed as error:
            values = {"url": url, "problem": str(error)[:300]}
            await asyncio.to_thread(store.put, [(_FAILED, values)])
            return
        statements = [(_FOLLOWED, _source(url, sent)), *_entries(url, sent, now)]
        await asyncio.to_thread(store.put, statements)

    async def _sent(self, pack: Pack, url: str, person: str) -> Sent:
        """Return what an address sends now, or sent a moment ago to anybody in this zone by this
        pack: another one may not reach its host."""
        zone, now = self.zone(person), self.clock.now()
        at, kept = self._read.get((pack.name, url, str(zone)), (None, None))
        if at and kept and timedelta() <= now - at < _FRESH:
            return kept
        body = await self._body(pack, url)
        try:
            sent = await read_feed(body, now, zone, url, self._room)
        except NotAFeed as error:
            raise ToolFailed(text(f"feeds.sent-{error}", url=url)) from error
        self._read = {key: one for key, one in self._read.items() if now - one[0] < _FRESH}
        self._read[pack.name, url, str(zone)] = now, sent
        return sent

    async def _body(self, pack: Pack, url: str) -> bytes:
        if url.startswith(_OWN):
            try:
                own = await asyncio.to_thread(read_inside, pack.folder, url.removeprefix(_OWN))
            except (OSError, NotInside) as error:
                raise ToolFailed(text("feeds.no-address", said=url[:80])) from error
            return own.encode()
        body = BytesIO()
        permits = Permits(pack.name, pack.manifest.permissions.network)
        try:
            await self.web.download(url, permits, body, max_bytes=_BYTES_MAX, https=False)
        except ToolFailed as error:  # worded for models
            log.info("feed_unread", pack=pack.name, why=str(error))
            raise ToolFailed(text("feeds.unread", url=url)) from error
        return body.getvalue()


def _address(said: str) -> str:
    url = said.strip().strip("<>")
    if url.startswith(_OWN):
        return url
    url = "https://" + url.partition("://")[2] if url.startswith(("webcal://", "feed://")) else url
    if "://" not in url and "." in url and " " not in url:
        url = f"https://{url}"
    if not url.startswith(("http://", "https://")) or " " in url or len(url) > 2_000:
        raise ToolFailed(text("feeds.no-address", said=said[:80]))
    return url


def _source(url: str, sent: Sent) -> dict[str, Cell]:
    """Return the row of an address; its problem says what of it is not here."""
    notes: list[str] = []
    if sent.left_out:
        notes.append(text("feeds.left-out", count=sent.left_out, most=ENTRIES_MAX))
    if sent.unread:
        notes.append(text("feeds.part-unread", count=sent.unread))
    title, problem = sent.title or url.partition("://")[2] or url, " ".join(notes)
    return {"url": url, "title": title, "kind": sent.kind, "problem": problem}


def _entries(url: str, sent: Sent, now: str) -> list[tuple[str, dict[str, Cell]]]:
    """Return the statements that let the table hold what was read; of a calendar no more."""
    there = json.dumps([f"{one.uid} {one.starts}" for one in sent.entries])
    over: dict[str, Cell] = {"url": url, "kind": sent.kind, "there": there}
    return [
        (_OVER, over),
        *(
            (
                _READ,
                {
                    "url": url, "uid": one.uid, "title": one.title, "link": one.link, "now": now,
                    "starts": one.starts if sent.kind == "calendar" else "",
                    "ends": one.ends if sent.kind == "calendar" else one.starts,
                    "place": one.place,
                },
            )
            for one in sent.entries
        ),
    ]  # fmt: skip
