"""Writes the rows of usage as CSV or JSON, in pieces."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache

from aouo.dashboard.endpoints import Download
from aouo.dashboard.tables import FORMATS, Format, csv_lines, inert
from aouo.plumbing.verbs import Facts
from aouo.store import usage_days
from aouo.store.snapshots import Snapshot
from aouo.store.usage_days import Key, Range, Sum
from aouo.store.usage_report import sums

_ROWS_AT_ONCE = 1_000
_ROWS_MAX = 1_000_000
_FIELDS = (
    *("day", "pack", "provider", "model", "person", "scope"),
    *("calls", "input_tokens", "cached_tokens", "output_tokens", "cost_usd", "unpriced_calls"),
)


def exported(
    snapshot: Callable[[], AbstractAsyncContextManager[Snapshot]],
    days: Range,
    kind: Format,
    clean: Callable[[str], str],
) -> Download:
    """Return the file with the rows of these days, their names without secrets."""
    last = f"-to-{days[1]}" if days[1] != usage_days.LAST_DAY else ""
    name = f"usage-from-{days[0]}{last}.{kind}"
    pieces = _pieces(snapshot, days)
    written = _csv if kind == "csv" else _json
    return Download(name, FORMATS[kind], written(pieces, cache(clean)))


async def _pieces(
    snapshot: Callable[[], AbstractAsyncContextManager[Snapshot]], days: Range
) -> AsyncGenerator[Sequence[tuple[Key, Sum]]]:
    """Yield the rows in order, each piece of a moment of its own: a reader who is slow keeps no
    connection."""
    after: Key = ("", "", "", "", "", "")
    for _ in range(_ROWS_MAX // _ROWS_AT_ONCE):
        async with snapshot() as now:
            found = await now.ask(usage_days.rows(days, after, _ROWS_AT_ONCE))
        if found:
            yield found
        if len(found) < _ROWS_AT_ONCE:
            return
        after = found[-1][0]


async def _csv(
    pieces: AsyncGenerator[Sequence[tuple[Key, Sum]]], clean: Callable[[str], str]
) -> AsyncGenerator[bytes]:
    head = csv_lines([_FIELDS])
    async for rows in pieces:
        lines = csv_lines(_facts(row, lambda name: inert(clean(name))).values() for row in rows)
        yield head + lines
        head = b""
    if head:
        yield head


async def _json(
    pieces: AsyncGenerator[Sequence[tuple[Key, Sum]]], clean: Callable[[str], str]
) -> AsyncGenerator[bytes]:
    begun = False
    async for rows in pieces:
        for row in rows:
            written = json.dumps(_facts(row, clean), ensure_ascii=False)
            yield f"{',' if begun else '['}\n{written}".encode("utf-8", "replace")
            begun = True
    yield b"\n]\n" if begun else b"[]\n"


def _facts(row: tuple[Key, Sum], clean: Callable[[str], str]) -> Facts:
    names, used = row
    numbers = (*sums(used).values(), used.unpriced)
    return dict(zip(_FIELDS, (*map(clean, names), *numbers), strict=True))
