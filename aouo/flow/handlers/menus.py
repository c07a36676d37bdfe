"""Shows the pages of a pack's menu without a model, from the pack's own database."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aouo.agent.tools.actions import whose_data
from aouo.agent.tools.named_rows import by_keys, seal
from aouo.agent.tools.reminders import Reminders
from aouo.facts.errors import AouoError
from aouo.facts.events import Button, Inbound, Person
from aouo.facts.ports import ButtonSpec, Rendered, stamp
from aouo.facts.taps import number_in
from aouo.facts.work import Delivery, Job
from aouo.flow.commands.builtin import pack_here, pick
from aouo.flow.commands.registry import CommandCall
from aouo.flow.handlers.places import Places
from aouo.flow.replies import Replies
from aouo.packs.actions.slots import Here, localised
from aouo.packs.data.storage import PackStore
from aouo.packs.format.menu import Page
from aouo.packs.load import Pack
from aouo.plumbing.logs import log
from aouo.store import deliveries, turns
from aouo.store.chats import tenant_of
from aouo.store.database import Tx
from aouo.words import sentences
from aouo.words.catalogue import say, text

_COLUMN = re.compile(r"\{([^{}]*)\}")
_BLANKS = re.compile(r"\s+")
_CELL_CHARS = 200


@dataclass(slots=True, eq=False, kw_only=True)
class Menus:
    """Shows pages in the person's language; starts no session and asks no model."""

    replies: Replies
    open_store: Callable[[str, str], PackStore]
    reminders: Reminders
    places: Places

    async def open(self, job: Job, page_id: str = "") -> None:
        """Show the page, "" = the pack's first one.

        A tap turns the message it was on into the page, unless that is an answer of the model's.
        """
        content = job.inbound.content
        if job.lane.bypasses:
            await self.replies.begin_tap(job)
        library = self.replies.library()
        here, tenant, tapped, edits = await self._place(job)
        if tapped and here is not None and tapped != here:
            said = say("menus.of-other-pack", pack=tapped, current=here)
            await self.replies.answer(job, said)
            return
        if here is None:
            await self.replies.command(job, lambda tx, call: pick(tx, call, library))
            return
        pack = library.get(here)
        if pack is None or not pack.menu:
            gone = isinstance(content, Button)
            said = say("turns.unknown-button") if gone else sentences.no_menu(here)
            await self.replies.answer(job, said)
            return
        said = await self.drawn(pack, page_id, tenant, job.inbound.person)
        await self.replies.settle(
            job,
            lambda tx, now: [said],
            in_place=lambda message: edits,
            key=deliveries.menu_key(here),
        )

    async def _place(self, job: Job) -> tuple[str | None, str, str, int]:
        """Return the pack that answers (None = none is chosen), whose data it shows, the pack of
        the tapped message ("" = unknown), and the message that a page takes the place of."""
        inbound = job.inbound
        now, told = stamp(self.replies.clock), list[Delivery | None]()
        shared = inbound.chat_kind != "private"

        def look(tx: Tx) -> tuple[str | None, str, str, int]:
            call = CommandCall(inbound, "", now, job.id)
            library = self.replies.library()
            answers = pack_here(tx, call, library, self.replies.default())
            if shared:
                told.append(self.places.settled(tx, inbound, library.get(answers or ""), now))
            here = answers, tenant_of(tx, inbound, answers or "")
            if not isinstance(inbound.content, Button) or not inbound.message_id:
                return *here, "", 0
            pack = deliveries.menu_pack(tx, inbound.address, inbound.message_id)
            row = deliveries.of_message(tx, inbound.address, inbound.message_id)
            if pack or row is None:
                return *here, pack, inbound.message_id if pack else 0
            carried = {one.data for line in row.message.buttons for one in line}
            is_shown = row.kind == "msg" and row.message.media is None
            edits = is_shown and inbound.content.data in carried
            by = turns.pack_of(tx, row.turn_id)
            return *here, by, inbound.message_id if edits else 0

        place = self.replies.database.transact if shared else self.replies.database.read
        found = await place(look)
        self.replies.outbox.put(*filter(None, told))
        return found

    async def tenant(self, inbound: Inbound, pack: str) -> str:
        """Return whose data a person's words to a pack in this conversation are about."""
        return await self.replies.database.read(lambda tx: tenant_of(tx, inbound, pack))

    async def drawn(
        self, pack: Pack, page_id: str, tenant: str, person: Person, *, above: str = ""
    ) -> Rendered:
        """Return a page in a person's language, "" = the first; one that is gone is the first,
        too, and says so. `above` stands over it."""
        page_id, _, which = page_id.partition("~")
        found = next((one for one in pack.menu if not page_id or one.id == page_id), None)
        page = found or pack.menu[0]

        def said(text: str) -> str:
            return pack.said(person.language, text) if text else ""

        await self.reminders.fill(pack, tenant, person)
        at, rows, count = await self._rows(pack, page, tenant, number_in(which) or 0)
        here = Here(self.replies.clock.now(), self.reminders.zone(person.id), person.language)
        seals = await asyncio.to_thread(self._seals, pack, page, rows or (), tenant)
        cells = [
            {name: localised(_cell(value), here) for name, value in row.items()}
            for row in rows or ()
        ]
        lines = None if rows is None else [_filled(said(page.row), row) for row in cells]
        if page.sql and lines == []:
            lines = [said(page.empty)]
        buttons = [
            [
                ButtonSpec(_filled(said(one.label), row), _sealed(_filled(one.data, row), seals))
                for one in page.each
            ]
            for row in (cells if page.each else ())
        ]
        title, parts = said(page.title), -(-count // page.rows_at_once)
        turns = sentences.page_turns(page.id, at, more=at + 1 < parts)
        buttons += [list(turns), *([_said(one, said) for one in row] for row in page.rows)]
        return sentences.menu_page(
            said(pack.manifest.display_name),
            title if parts < 2 else text("menus.part", title=title, number=at + 1, of=parts),
            said(page.text),
            None if lines is None else list(filter(None, lines)),
            [row for row in buttons if row],
            above=text("menus.page-gone") if found is None else above,
        )

    async def _rows(
        self, pack: Pack, page: Page, tenant: str, at: int
    ) -> tuple[int, list[dict[str, object]] | None, int]:
        """Return which part of a page's rows is shown, the rows (None = they cannot be read), and
        how many there are in all parts."""
        if not page.sql:
            return 0, [], 0
        try:
            # Opening it the first time runs the pack's schema.
            store = await asyncio.to_thread(self.open_store, pack.name, tenant)
            return await asyncio.to_thread(store.part, page.sql, at, page.rows_at_once)
        except AouoError as error:
            log.warning("menu_page_failed", pack=pack.name, page=page.id, error=str(error))
            return 0, None, 0

    def _seals(
        self, pack: Pack, page: Page, rows: Sequence[Mapping[str, object]], tenant: str
    ) -> Mapping[tuple[str, str], str]:
        """Return for each action and key in the buttons of these rows whose row it is, and what it
        is called."""
        seals: dict[tuple[str, str], str] = {}
        whose = whose_data(pack, tenant)
        for button in page.each:
            name, key = _act(button.data)
            action = pack.declared.actions.get(name)
            takes = next(iter(action.rows.values()), None) if action else None
            if takes is None or not rows:
                continue
            keys = [_filled(key, {one: _cell(value) for one, value in row.items()}) for row in rows]
            try:
                named = by_keys(self.open_store(pack.name, tenant), takes, keys)
            except AouoError as error:
                log.warning("menu_rows_unnamed", pack=pack.name, page=page.id, error=str(error))
                continue
            seals |= {(name, one): seal(whose, named[one][1]) for one in keys if one in named}
        return seals


def _act(data: str) -> tuple[str, str]:
    """Return the action that a button does, "" = none, and the row that it names."""
    kind, _, rest = data.partition(":")
    name, _, key = rest.partition(":")
    return (name, key) if kind == "do" else ("", "")


def _sealed(data: str, seals: Mapping[tuple[str, str], str]) -> str:
    name, key = _act(data)
    whose = seals.get((name, key))
    return data.replace(f"do:{name}", f"do:{name}@{whose}", 1) if whose else data


def _said(button: ButtonSpec, said: Callable[[str], str]) -> ButtonSpec:
    return ButtonSpec(said(button.label), button.data)


def _filled(template: str, row: Mapping[str, object]) -> str:
    """The template with the columns of a row; a name that is no column stays as it is written."""
    return _COLUMN.sub(lambda found: str(row[found[1]]) if found[1] in row else found[0], template)


def _cell(value: object) -> str:
    """A value in one line; a blank at its beginning parts it from what stands before."""
    if value is None:
        return ""
    text = f"{value:g}" if isinstance(value, float) else _BLANKS.sub(" ", str(value))
    return text if len(text) <= _CELL_CHARS else f"{text[: _CELL_CHARS - 1].rstrip()}…"
