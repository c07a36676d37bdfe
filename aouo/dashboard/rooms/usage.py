"""Answers which turns there were, what was used and cost, and what limits leave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from typing import Any, get_args

from aouo.dashboard import endpoints, money
from aouo.dashboard.access import Shown
from aouo.dashboard.tables import FORMATS, MARGIN_CHARS, Format, beginning, csv_lines
from aouo.facts.events import Origin
from aouo.plumbing.control import Facts
from aouo.plumbing.printable import inert
from aouo.plumbing.redact import Redactor
from aouo.plumbing.zones import moments
from aouo.store import contents, traces, turn_reports, usage_report
from aouo.store.snapshots import Snapshot
from aouo.store.traces import ToolUse, Trace
from aouo.store.turn_reports import Kept
from aouo.store.usage_report import DAYS_MAX, Key, Range, Sum, sums
from aouo.words.models import no_answer_because

_ROWS_AT_ONCE = 1_000
_ROWS_MAX = 1_000_000
_FIELDS = (
    *("day", "pack", "provider", "model", "person", "scope"),
    *("calls", "input_tokens", "cached_tokens", "output_tokens", "cost_usd", "unpriced_calls"),
)


def _exported(
    snapshot: Callable[[], AbstractAsyncContextManager[Snapshot]],
    days: Range,
    kind: Format,
    clean: Callable[[str], str],
) -> endpoints.Download:
    """Return the file with the rows of these days, their names without secrets."""
    last = f"-to-{days[1]}" if days[1] != usage_report.LAST_DAY else ""
    name = f"usage-from-{days[0]}{last}.{kind}"
    pieces = _pieces(snapshot, days)
    written = _csv if kind == "csv" else _json
    return endpoints.Download(name, FORMATS[kind], written(pieces, cache(clean)))


async def _pieces(
    snapshot: Callable[[], AbstractAsyncContextManager[Snapshot]], days: Range
) -> AsyncGenerator[Sequence[tuple[Key, Sum]]]:
    """Yield the rows in order, each piece of a moment of its own: a reader who is slow keeps no
    connection."""
    after: Key = ("", "", "", "", "", "")
    for _ in range(_ROWS_MAX // _ROWS_AT_ONCE):
        async with snapshot() as now:
            found = await now.ask(usage_report.rows(days, after, _ROWS_AT_ONCE))
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


_TEXT_CHARS = 2_000
_PROMPT_CHARS = 50_000
_WHY_CHARS = 500
"""Of a reason, and of what a platform said."""
_PARAMETERS = (
    endpoints.phrase("pack", "The pack that answered."),
    endpoints.phrase("person", "Who asked, as the platform's id."),
    endpoints.option(
        "status", ("", "ack", "nack", "aborted", "open"), "How it ended; any without it."
    ),
    endpoints.option("origin", ("", *get_args(Origin)), "What started it; any without it."),
    endpoints.phrase("model", "A model that answered in it."),
    endpoints.phrase("reason", "A part of why it has no answer."),
    endpoints.phrase("session", "Its session."),
    endpoints.day("since", "The first day on which it may have begun."),
    endpoints.day("until", "The last day on which it may have begun."),
    endpoints.phrase("older", "The id of the turn before which to go on."),
    endpoints.number("limit", 1, 200, 50, "How many."),
)


def turns(shown: Shown) -> Sequence[endpoints.Endpoint]:
    """Return the endpoints about turns."""

    async def some(since: date | None, until: date | None, limit: int, **like: str) -> Facts:
        """Turns, newest first, with what each used; `older` is where the next ones begin."""
        begins, ends = moments(since, until, shown.zone())
        async with shown.snapshot() as snapshot:
            found = await snapshot.ask(
                turn_reports.newest(limit + 1, since=begins, until=ends, **like)
            )
        redactor = shown.redactor()
        told = [replace(one, wrote=redactor.text(one.wrote)) for one in found[:limit]]
        return {"turns": told, "older": found[limit - 1].id if len(found) > limit else ""}

    async def one(turn: str) -> Facts:
        """How one turn went, in time; texts only while it is kept, and long ones cut."""
        async with shown.snapshot() as snapshot:
            line = await snapshot.ask(turn_reports.one_line(turn))
            if line is None:
                raise endpoints.NotFound(
                    "There is no such turn, or it was forgotten with its session."
                )
            line = replace(line, wrote=shown.redactor().text(line.wrote))
            trace = await traces.ask(snapshot, line)
            if line.off_record:
                return _told(trace, (), {}, (), shown.redactor())
            read = _TEXT_CHARS + MARGIN_CHARS
            said = await snapshot.ask(turn_reports.words(line.id, read))
            calls = await snapshot.ask(turn_reports.calls(line.id, read))
            kept = trace.recorded.prompts if said else ()  # a newer turn may have had the same
            prompt = await snapshot.ask(contents.prompt_texts(kept, _PROMPT_CHARS + MARGIN_CHARS))
        return await asyncio.to_thread(_told, trace, said, calls, prompt, shown.redactor())

    return (
        endpoints.Endpoint("GET", "/api/turns", some, _PARAMETERS),
        endpoints.Endpoint("GET", "/api/turns/{turn}", one),
    )


def _told(
    trace: Trace,
    said: Sequence[Kept],
    calls: Mapping[str, Mapping[str, Kept]],
    prompt: Sequence[str],
    redactor: Redactor,
) -> Facts:
    """A trace with its texts."""
    told = traces.facts(trace)
    for entry, facts in zip(trace.timeline, told["timeline"], strict=True):
        for name in facts.keys() & {"reason", "error"}:
            facts[name] = beginning(redactor, facts[name], _WHY_CHARS)
        if isinstance(entry, ToolUse):
            facts |= {name: _cut(text, redactor) for name, text in calls.get(entry.id, {}).items()}
    for one in told["tries"]:
        one["why"] = no_answer_because(one["error"])
    told["prompt"] = [beginning(redactor, text, _PROMPT_CHARS) for text in prompt]
    told["said"] = [_cut(text, redactor) for text in said]
    return told


def _cut(kept: Kept, redactor: Redactor) -> Facts:
    text, chars = kept
    return {"text": beginning(redactor, text, _TEXT_CHARS), "chars": chars}


_DAYS = 30
_RANGE = (
    endpoints.number(
        "days", 1, DAYS_MAX, None, f"The last days, today included; {_DAYS} without a range."
    ),
    endpoints.day("from", "The first day, in place of `days`; with `to`."),
    endpoints.day("to", "The last day; with `from`."),
)
"""The days that an address may ask for."""
_SLOWEST = 10
_REASON_CHARS = 300


def usage(shown: Shown) -> Sequence[endpoints.Endpoint]:
    """Return the endpoints about usage."""
    room = _Room(shown)
    return (
        endpoints.Endpoint("GET", "/api/usage", room.sums, _RANGE),
        endpoints.Endpoint("GET", "/api/usage/left", room.left),
        endpoints.Endpoint("GET", "/api/usage/prices", room.prices, _RANGE),
        endpoints.Endpoint("GET", "/api/usage/turns", room.turns, _RANGE),
        endpoints.Endpoint(
            "GET",
            "/api/usage/export",
            room.export,
            (*_RANGE, endpoints.option("format", tuple(FORMATS), "How they are written.")),
            gives="file",
        ),
    )


@dataclass(slots=True, eq=False)
class _Room:
    shown: Shown

    async def sums(self, **asked: Any) -> Facts:
        """What was used: calls, tokens and USD.

        It is what `aouo usage --json` says.
        """
        facts, days = self._wanted(asked)
        async with self.shown.snapshot() as snapshot:
            for name, query in usage_report.queries(days).items():
                facts[name] = await snapshot.ask(query)
        return facts

    async def left(self) -> Facts:
        """What is left of each cap and budget today."""
        today = self.shown.today.isoformat()
        return {"limits": await asyncio.to_thread(money.left, self.shown, today)}

    async def prices(self, **asked: Any) -> Facts:
        """What everything that was asked, or may be, costs, and who says so."""
        named, days = self._wanted(asked)
        unpriced: Facts = {}
        async with self.shown.snapshot() as snapshot:
            found = await snapshot.ask(usage_report.asked(days))
            if any(one.unpriced for one in found):
                for name, query in usage_report.unpriced(days).items():
                    unpriced[name] = await snapshot.ask(query)
        told = await asyncio.to_thread(money.prices, self.shown, found)
        return {**named, **told, "unpriced": unpriced}

    async def turns(self, **asked: Any) -> Facts:
        """How turns fared: the slowest, failures of models, live edits, refused calls."""
        named, (first, last) = self._wanted(asked)
        zone = self.shown.zone()
        days = moments(date.fromisoformat(first), date.fromisoformat(last), zone)
        async with self.shown.snapshot() as snapshot:
            sums = await snapshot.ask(turn_reports.sums(*days))
            slowest = await snapshot.ask(turn_reports.slowest(*days, _SLOWEST))
            tries = await snapshot.ask(turn_reports.failed_tries(*days))
            refused = await snapshot.ask(turn_reports.refused_calls(*days))
        return {
            **named,
            **sums,
            "slowest": slowest,
            "tries": [one | {"why": no_answer_because(one["error"])} for one in tries],
            "refused": await asyncio.to_thread(_refused, refused, self.shown.redactor()),
        }

    async def export(
        self,
        format: Format,  # noqa: A002 - the address says so
        **asked: Any,
    ) -> endpoints.Download:
        """The rows: one per day, pack, model, person and use."""
        _, days = self._wanted(asked)
        return _exported(self.shown.snapshot, days, format, self.shown.redactor().text)

    def _wanted(self, asked: Facts) -> tuple[Facts, Range]:
        """Return the days that an address asks for, as facts and as a range. Raises: NotShown."""
        days, first, last = asked["days"], asked["from"], asked["to"]
        if days is not None and (first or last):
            raise endpoints.NotShown("Give either days, or from and to.")
        if not first and not last:
            days = days or _DAYS
            return {"days": days}, usage_report.last_days(self.shown.today.isoformat(), days)
        if not (first and last):
            raise endpoints.NotShown("Give both from and to.")
        if first > last:
            raise endpoints.NotShown("from has to be the same day as to, or one before it.")
        if (last - first).days >= DAYS_MAX:
            raise endpoints.NotShown(f"from and to may be {DAYS_MAX:,} days apart at most.")
        found = first.isoformat(), last.isoformat()
        return {"from": found[0], "to": found[1]}, found


def _refused(refused: Sequence[Facts], redactor: Redactor) -> list[Facts]:
    return [{**one, "reason": beginning(redactor, one["reason"], _REASON_CHARS)} for one in refused]
