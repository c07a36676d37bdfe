"""Answers what packs keep in their databases; reads only, and each person's apart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from aouo.dashboard.endpoints import (
    Choice,
    Download,
    Endpoint,
    NotFound,
    Number,
    Words,
)
from aouo.dashboard.rooms.packs import found
from aouo.dashboard.shown import Shown
from aouo.dashboard.tables import FORMATS, Format, head, lines, shown_cell, tail, whole_cell
from aouo.dashboard.whose import checked, described
from aouo.facts.errors import TooMuchToRead
from aouo.packs.data.browsing import (
    COUNTED_MAX,
    Browsing,
    Filter,
    How,
    NotThere,
    Page,
    TableFacts,
    Wanted,
    browsing,
)
from aouo.packs.data.row_keys import KEY_CHARS
from aouo.packs.databases import databases_of, tenant_in
from aouo.plumbing.shield import finish
from aouo.plumbing.verbs import Facts

T = TypeVar("T")
LOOKS = 2
"""At the same time; others wait, so that reading for the page takes no thread from the bot."""
NAME_CHARS = 1_000
_READ_CHARS = 4_000
_EXPORT_ROWS = 500

_WHOSE = Words("tenant", "Whose database: a tenant; without one that of everybody together.")
_TABLE = Words("table", "The name of the table.", NAME_CHARS)
_FILTER = (
    Words("column", "The column that is filtered by.", NAME_CHARS),
    Choice("how", ("contains", "equals"), "Whether the text is looked for inside, or is all."),
    Words("text", "The text; without it all rows are there."),
)


def storage(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about packs' databases."""
    looks = Looks(shown)

    async def databases(pack: str) -> Facts:
        manifest = found(shown, pack).manifest
        files = await asyncio.to_thread(_sizes, shown, pack)
        people = await described(shown, files)
        seen = manifest.schema.scope == "person"
        return {
            "scope": manifest.schema.scope,
            "databases": [
                {**one, "bytes": files[one["tenant"]], "used": bool(one["tenant"]) == seen}
                for one in people
            ],
        }

    async def tables(pack: str, tenant: str) -> Facts:
        made = await looks.at(pack, tenant, lambda look: look.tables())
        return {"tables": [_table(one) for one in made]}

    async def rows(
        pack: str,
        tenant: str,
        table: str,
        column: str,
        how: str,
        text: str,
        sort: str,
        order: str,
        after: str,
        limit: int,
    ) -> Facts:
        kept = Filter(column, cast("How", how), text)
        wanted = Wanted(table, kept, sort, order == "falling", after, limit, _READ_CHARS)
        clean = shown.redactor().text

        def read(look: Browsing) -> Facts:
            page = look.page(wanted)
            return {**_page(page, clean), "matching": look.count(table, kept)}

        return await looks.at(pack, tenant, read)

    async def cell(pack: str, tenant: str, table: str, column: str, key: str) -> Facts:
        clean = shown.redactor().text
        return await looks.at(
            pack, tenant, lambda look: whole_cell(look.cell(table, column, key), clean)
        )

    async def export(
        pack: str, tenant: str, table: str, column: str, how: str, text: str, kind: str
    ) -> Download:
        kept = Filter(column, cast("How", how), text)
        number = await looks.at(pack, tenant, lambda look: look.count(table, kept))
        if number is None:
            raise TooMuchToRead(
                f"more than {COUNTED_MAX:,} rows, or they cannot be counted in time"
            )
        wanted = Wanted(table, kept, limit=_EXPORT_ROWS)
        first = await looks.at(pack, tenant, lambda look: look.page(wanted))
        as_kind = cast("Format", kind)
        content = looks.export(pack, tenant, wanted, first, as_kind)
        return Download(f"{pack}-{table}.{kind}", FORMATS[as_kind], content)

    address = "/api/packs/{pack}/storage"
    return (
        Endpoint("GET", address, "The databases of a pack: one, or one of each person.", databases),
        Endpoint(
            "GET", f"{address}/tables", "The tables, with columns and counts.", tables, (_WHOSE,)
        ),
        Endpoint(
            "GET",
            f"{address}/rows",
            "A page of rows; long cells are cut, with their size said.",
            rows,
            (
                _WHOSE,
                _TABLE,
                *_FILTER,
                Words("sort", "The column to sort by; without one, as stored.", NAME_CHARS),
                Choice("order", ("falling", "rising"), "The order."),
                Words("after", "The key of the row after which the page begins.", KEY_CHARS),
                Number("limit", 1, 200, 50, "How many rows."),
            ),
        ),
        Endpoint(
            "GET",
            f"{address}/cell",
            "A whole cell, up to a million characters.",
            cell,
            (
                _WHOSE,
                _TABLE,
                Words("column", "The column.", NAME_CHARS),
                Words("key", "The key of the row.", KEY_CHARS),
            ),
        ),
        Endpoint(
            "GET",
            f"{address}/export",
            "All rows, or those that are filtered, as a file: up to a million, as they are stored.",
            export,
            (_WHOSE, _TABLE, *_FILTER, Choice("kind", tuple(FORMATS), "The format.")),
            gives="file",
        ),
    )


class Looks:
    """Looks into packs' databases in threads, few at the same time; one that nobody waits for any
    more counts until its thread is free."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._room = asyncio.Semaphore(LOOKS)

    async def at(self, pack: str, tenant: str, read: Callable[[Browsing], T]) -> T:
        """Return what `read` finds in one state of the database, in a thread.

        Raises:
            NotFound: there is no such pack, database, table, column or row.
            PackError, TooMuchToRead: as `browsing`.
        """
        found(self._shown, pack)
        file = self._shown.home.pack_database(pack, checked(tenant) if tenant else "")
        async with self._room:
            try:
                return await finish(asyncio.to_thread(_read, file, read))
            except NotThere as error:
                raise NotFound(str(error)) from error

    async def export(
        self, pack: str, tenant: str, wanted: Wanted, first: Page, kind: Format
    ) -> AsyncGenerator[bytes]:
        """Yield all rows in order; each part is one state of the database, which is free between
        the parts, however slowly they are fetched."""
        clean = self._shown.redactor().text
        page = first
        yield head(kind, wanted.table, page.columns)
        begun = False
        while True:
            yield await asyncio.to_thread(lines, kind, page, clean, begun)
            begun = begun or bool(page.rows)
            if not page.more or not page.rows or not page.rows[-1].key:
                break
            step = partial(_next, wanted, page.rows[-1].key)
            page = await self.at(pack, tenant, step)
        yield tail(kind, cut=page.more)


def _next(wanted: Wanted, after: str, look: Browsing) -> Page:
    return look.page(Wanted(wanted.table, wanted.filter, after=after, limit=wanted.limit))


def _read(file: Path, read: Callable[[Browsing], T]) -> T:
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


def _table(table: TableFacts) -> Facts:
    return {
        "name": table.name,
        "rows": table.rows,
        "columns": [
            {"name": one.name, "type": one.type, "required": one.required, "key": one.key}
            for one in table.columns
        ],
        "computed": list(table.computed),
    }


def _page(page: Page, clean: Callable[[str], str]) -> Facts:
    return {
        "columns": [{"name": one.name, "type": one.type} for one in page.columns],
        "rows": [
            {
                "key": row.key,
                "cells": [
                    shown_cell(value, row.sizes.get(index), clean)
                    for index, value in enumerate(row.cells)
                ],
            }
            for row in page.rows
        ],
        "more": page.more,
    }
