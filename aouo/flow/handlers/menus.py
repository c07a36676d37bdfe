"""Shows the pages of a pack's menu without a model, from the pack's own database."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from aouo.commands.builtin import pack_here, pick
from aouo.commands.registry import CommandCall
from aouo.facts import notices
from aouo.facts.errors import AouoError
from aouo.facts.events import Button
from aouo.facts.ports import Clock, stamp
from aouo.facts.work import Job
from aouo.flow.replies import Replies
from aouo.packs.data.storage import PackStore
from aouo.packs.format.menu import LINES_MAX, Page
from aouo.packs.load import Pack
from aouo.store import deliveries, turns
from aouo.store.database import Database, Tx
from aouo.store.tenants import tenant_of
from aouo.words import sentences

log = structlog.get_logger()
_COLUMN = re.compile(r"\{([^{}]*)\}")
_CELL_CHARS = 200


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a menu was asked for: the pack that answers (None = none is chosen), whose data it
    shows, the pack of the tapped message ("" = unknown), the message a page takes the place of."""

    pack: str | None
    tenant: str
    tapped: str = ""
    edits: int = 0


class Menus:
    """Shows pages in the person's language; starts no session and asks no model."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        replies: Replies,
        open_store: Callable[[str, str], PackStore],
    ) -> None:
        self._database = database
        self._clock = clock
        self._replies = replies
        self._open_store = open_store

    async def open(self, job: Job, page_id: str = "") -> None:
        """Show the page, "" = the pack's first one.

        A tap turns the message it was on into the page, unless that is an answer of the model's.
        """
        content = job.inbound.content
        if job.lane.bypasses:
            await self._replies.begin_tap(job)
        library = self._replies.library
        place = await self._place(job)
        if place.tapped and place.pack is not None and place.tapped != place.pack:
            await self._replies.answer(job, notices.MenuOfOtherPack(place.tapped, place.pack))
            return
        if place.pack is None:
            await self._replies.command(job, lambda tx, call: pick(tx, call, library))
            return
        pack = library.get(place.pack)
        if pack is None or pack.menu.first is None:
            gone = isinstance(content, Button)
            name = place.pack
            await self._replies.answer(
                job, notices.Plain.UNKNOWN_BUTTON if gone else notices.NoMenu(name)
            )
            return
        found = pack.menu.page(page_id) if page_id else pack.menu.first
        shown = await self._shown(pack, found or pack.menu.first, place.tenant, job)
        await self._say(job, place, _page(pack, shown, gone=found is None))

    async def _place(self, job: Job) -> _Place:
        inbound = job.inbound
        now = stamp(self._clock)

        def look(tx: Tx) -> _Place:
            call = CommandCall(inbound, "", now, job.id)
            here = pack_here(tx, call, self._replies.library), tenant_of(tx, inbound)
            if not isinstance(inbound.content, Button) or not inbound.message_id:
                return _Place(*here)
            pack = deliveries.menu_pack(tx, inbound.address, inbound.message_id)
            row = deliveries.of_message(tx, inbound.address, inbound.message_id)
            if pack or row is None:
                return _Place(*here, pack, inbound.message_id if pack else 0)
            edits = row.kind == "msg" and row.message.media is None
            by = turns.pack_of(tx, row.turn_id)
            return _Place(*here, by, inbound.message_id if edits else 0)

        return await self._database.read(look)

    async def _shown(self, pack: Pack, page: Page, tenant: str, job: Job) -> _Shown:
        language = job.inbound.person.language
        if not page.sql:
            return _Shown(page, language, ())
        try:
            # Opening it the first time runs the pack's schema.
            store = await asyncio.to_thread(self._open_store, pack.name, tenant)
            rows = await asyncio.to_thread(store.read, page.sql, limit=LINES_MAX)
        except AouoError as error:
            log.warning("menu_page_failed", pack=pack.name, page=page.id, error=str(error))
            return _Shown(page, language, None)
        template = pack.translations.text(language, page.row)
        return _Shown(page, language, tuple(_filled(template, row) for row in rows))

    async def _say(self, job: Job, place: _Place, page: notices.MenuPage) -> None:
        await self._replies.settle(
            job,
            lambda tx, now: [sentences.word(page)],
            in_place=lambda message: place.edits,
            key=deliveries.menu_key(place.pack or ""),
        )


@dataclass(frozen=True, slots=True)
class _Shown:
    """A page with its rows as lines; None = they could not be read."""

    page: Page
    language: str
    lines: tuple[str, ...] | None


def _page(pack: Pack, shown: _Shown, *, gone: bool) -> notices.MenuPage:
    def said(text: str) -> str:
        return pack.translations.text(shown.language, text) if text else ""

    page = shown.page
    lines = shown.lines or ()
    if shown.lines == () and page.sql:
        lines = (said(page.empty),)
    return notices.MenuPage(
        said(pack.manifest.display_name),
        said(page.title),
        said(page.text),
        tuple(filter(None, lines)),
        tuple(tuple((said(button.text), button.callback) for button in row) for row in page.rows),
        instead_of_gone=gone,
        unreadable=shown.lines is None,
    )


def _filled(template: str, row: Mapping[str, object]) -> str:
    """The template with the columns of a row; a name that is no column stays as it is written."""
    return _COLUMN.sub(
        lambda found: _cell(row[found[1]]) if found[1] in row else found[0], template
    )


def _cell(value: object) -> str:
    """A value in one line."""
    if value is None:
        return ""
    text = f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= _CELL_CHARS else f"{text[: _CELL_CHARS - 1].rstrip()}…"
