"""Answers what packs keep in their databases; reads only, and each person's apart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from aouo.dashboard.access import Shown, checked, described
from aouo.dashboard.endpoints import Download, Endpoint, NotFound, number, option, phrase
from aouo.dashboard.tables import FORMATS, Format, head, lines, shown_cell, tail, whole_cell
from aouo.facts.errors import TooMuchToRead
from aouo.packs.data.browsing import COUNTED_MAX, Browsing, How, NotThere, Page, Wanted, browsing
from aouo.packs.data.rows import KEY_CHARS, Table
from aouo.packs.databases import databases_of, tenant_in
from aouo.plumbing.control import Facts
from aouo.plumbing.waiting import finish

_T = TypeVar("_T")
_LOOKS = 2
"""At the same time; others wait, so that reading for the page takes no thread from the bot."""
_NAME_CHARS = 1_000
_READ_CHARS = 4_000
_EXPORT_ROWS = 500

_WHOSE = phrase("tenant", "Whose database: a tenant; without one that of everybody together.")
_TABLE = phrase("table", "The name of the table.", _NAME_CHARS)
_KEPT = (
    _WHOSE,
    _TABLE,
    phrase("column", "The column that is filtered by.", _NAME_CHARS),
    option("how", ("contains", "equals"), "Whether the text is looked for inside, or is all."),
    phrase("text", "The text; without it all rows are there."),
)
"""Which rows of a table."""
_PAGE = (
    *_KEPT,
    phrase("sort", "The column to sort by; without one, as stored.", _NAME_CHARS),
    option("order", ("falling", "rising"), "The order."),
    phrase("after", "The key of the row after which the page begins.", KEY_CHARS),
    number("limit", 1, 200, 50, "How many rows."),
)
_CELL = (
    _WHOSE,
    _TABLE,
    phrase("column", "The column.", _NAME_CHARS),
    phrase("key", "The key of the row.", KEY_CHARS),
)


def storage(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about packs' databases."""
    room = _Room(shown)
    address = "/api/packs/{pack}/storage"
    return (
        Endpoint("GET", address, room.databases),
        Endpoint("GET", f"{address}/tables", room.tables, (_WHOSE,)),
        Endpoint("GET", f"{address}/rows", room.rows, _PAGE),
        Endpoint("GET", f"{address}/cell", room.cell, _CELL),
        Endpoint(
            "GET",
            f"{address}/export",
            room.export,
            (*_KEPT, option("kind", tuple(FORMATS), "The format.")),
            gives="file",
        ),
    )


@dataclass(eq=False)
class _Room:
    """Looks into packs' databases in threads, few at the same time."""

    shown: Shown

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(_LOOKS)

    async def databases(self, pack: str) -> Facts:
        """The databases of a pack: one, or one of each person."""
        manifest = self.shown.pack(pack).manifest
        files = await asyncio.to_thread(_sizes, self.shown, pack)
        people = await described(self.shown, files)
        seen = manifest.schema.scope == "person"
        return {
            "scope": manifest.schema.scope,
            "databases": [
                {**one, "bytes": files[one["tenant"]], "used": bool(one["tenant"]) == seen}
                for one in people
            ],
        }

    async def tables(self, pack: str, tenant: str) -> Facts:
        """The tables, with columns and counts."""
        made = await self._look(pack, tenant, lambda look: look.tables())
        return {"tables": [_table(*one) for one in made]}

    async def rows(
        self,
        pack: str,
        tenant: str,
        table: str,
        column: str,
        how: How,
        text: str,
        sort: str,
        order: str,
        after: str,
        limit: int,
    ) -> Facts:
        """A page of rows; long cells are cut, with their size said."""
        falling = order == "falling"
        wanted = Wanted(table, column, how, text, sort, falling, after, limit, _READ_CHARS)
        clean = self.shown.redactor().text

        def read(look: Browsing) -> Facts:
            page = look.page(wanted)
            return {**_page(page, clean), "matching": look.count(wanted)}

        return await self._look(pack, tenant, read)

    async def cell(self, pack: str, tenant: str, table: str, column: str, key: str) -> Facts:
        """A whole cell, up to a million characters."""
        clean = self.shown.redactor().text
        return await self._look(
            pack, tenant, lambda look: whole_cell(look.cell(table, column, key), clean)
        )

    async def export(
        self, pack: str, tenant: str, table: str, column: str, how: How, text: str, kind: Format
    ) -> Download:
        """All rows, or those that are filtered, as a file: up to a million, as they are stored."""
        wanted = Wanted(table, column, how, text, limit=_EXPORT_ROWS)
        number = await self._look(pack, tenant, lambda look: look.count(wanted))
        if number is None:
            raise TooMuchToRead(
                f"more than {COUNTED_MAX:,} rows, or they cannot be counted in time"
            )
        first = await self._look(pack, tenant, lambda look: look.page(wanted))
        content = self._pieces(pack, tenant, wanted, first, kind)
        return Download(f"{pack}-{table}.{kind}", FORMATS[kind], content)

    async def _pieces(
        self, pack: str, tenant: str, wanted: Wanted, page: Page, kind: Format
    ) -> AsyncGenerator[bytes]:
        """Yield all rows in order, from the first `page` on; each part is one state of the
        database, which is free between the parts, however slowly they are fetched."""
        clean = self.shown.redactor().text
        yield head(kind, wanted.table, page.columns)
        begun = False
        while True:
            yield await asyncio.to_thread(lines, kind, page, clean, begun)
            begun = begun or bool(page.rows)
            if not page.more or not page.rows or not page.rows[-1].key:
                break
            wanted = replace(wanted, after=page.rows[-1].key)
            page = await self._look(pack, tenant, partial(Browsing.page, wanted=wanted))
        yield tail(kind, cut=page.more)

    async def _look(self, pack: str, tenant: str, read: Callable[[Browsing], _T]) -> _T:
        """Return what `read` finds in one state of the database, in a thread.

        Raises:
            NotFound: there is no such pack, database, table, column or row.
            PackError, TooMuchToRead: as `browsing`.
        """
        self.shown.pack(pack)
        file = self.shown.home.pack_database(pack, checked(tenant) if tenant else "")
        async with self._free:
            try:
                return await finish(asyncio.to_thread(_read, file, read))
            except NotThere as error:
                raise NotFound(str(error)) from error


def _read(file: Path, read: Callable[[Browsing], _T]) -> _T:
    if not file.is_file():
        raise NotThere("Nothing is kept there (any more).")
    with browsing(file) as look:
        return read(look)


def _sizes(shown: Shown, pack: str) -> dict[str, int]:
    """Return the size of each database in bytes, with what is not in its file yet, by tenant."""
    return {
        tenant_in(pack, file): sum(
            part.stat().st_size for part in (file, Path(f"{file}-wal")) if part.is_file()
        )
        for file in databases_of(shown.home, pack)
    }


def _table(table: Table, computed: Sequence[str], rows: int | None) -> Facts:
    return {
        "name": table.name,
        "rows": rows,
        "columns": [
            {"name": one.name, "type": one.type, "required": one.required, "key": one.key}
            for one in table.columns
        ],
        "computed": list(computed),
    }


def _page(page: Page, clean: Callable[[str], str]) -> Facts:
    return {
        "columns": [{"name": one.name, "type": one.type} for one in page.columns],
        "rows": [
            {
                "key": row.key if clean(row.key) == row.key else "",
                "cells": [
                    shown_cell(value, row.sizes.get(index), clean)
                    for index, value in enumerate(row.cells)
                ],
            }
            for row in page.rows
        ],
        "more": page.more,
    }
