"""Answers what the log says: its lines by level, pack and text, older ones, and new ones."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from aouo.dashboard.access import Shown
from aouo.dashboard.endpoints import Endpoint, NotShown, number, option, phrase
from aouo.facts.errors import Refused
from aouo.plumbing.control import Facts
from aouo.plumbing.log_reading import Line, Piece, Spot, newer, older

_LINES_MAX = 200
_LEVELS = ("debug", "info", "warning", "error", "critical")
_HEAD = ("event", "level", "timestamp", "exception")
_BEGUN = re.compile(r'"(event|level|timestamp|pack|turn_id)": "((?:[^"\\]|\\.){0,200})"')
_SPOT_CHARS = 60
_PARAMETERS = (
    phrase("pack", "Lines of this pack."),
    option("whose", ("and general", "only"), "Also lines that name no pack, or not."),
    option("level", _LEVELS, "Of this level and above."),
    phrase("text", "Lines that hold this text, in any case."),
    phrase("before", "The spot that the lines end at.", _SPOT_CHARS),
    phrase("after", "The spot that the lines begin at.", _SPOT_CHARS),
    number("lines", 1, _LINES_MAX, 100, "How many at most."),
)


def logs(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoint about the log."""

    async def read(
        pack: str, whose: str, level: str, text: str, before: str, after: str, lines: int
    ) -> Facts:
        """Lines of the log, the newest ones, or those before or after a spot that an answer named;
        each answer looks through so many bytes, and may hold fewer lines, or none."""
        if before and after:
            raise NotShown("Say before or after, not both.")
        written = json.dumps(text, ensure_ascii=False)[1:-1]  # as it stands in a line
        texts = (text.casefold(), written.casefold())
        wanted = partial(_is_wanted, pack, whose == "only", level, texts)
        spot = _spot(before or after)
        file = shown.home.log_file

        def found() -> Facts:
            on = spot if after else None
            piece = newer(file, on, wanted, lines) if on else older(file, spot, wanted, lines)
            return _facts(piece)

        try:
            return await asyncio.to_thread(found)
        except OSError as error:
            raise Refused(f"The log cannot be read: {error.strerror}.") from error

    return (Endpoint("GET", "/api/logs", read, _PARAMETERS),)


def _is_wanted(pack: str, only: bool, level: str, texts: tuple[str, str], line: Line) -> bool:
    """Whether a line is of a pack, "" = of any, of a level, and has one of `texts`, folded."""
    folded = line.text.casefold() if texts[0] else ""
    if not any(text in folded for text in texts):
        return False
    if level == _LEVELS[0] and not pack:
        return True
    levels = _LEVELS[_LEVELS.index(level) :]
    if levels != _LEVELS and not any(f'"{each}"' in line.text for each in levels):
        return False  # without reading it: most lines are not
    said = _told(line)
    if levels != _LEVELS and said["level"] not in levels:
        return False
    return not pack or said["pack"] == pack or not (said["pack"] or only)


def _spot(written: str) -> Spot | None:
    if not written:
        return None
    if spot := Spot.read(written):
        return spot
    raise NotShown("before and after have to be what an answer named.")


def _told(line: Line) -> Facts:
    """Return what a line says, "" for what it does not. What is no JSON stays a `text`; of a cut
    one the beginning is read."""
    try:
        parsed: object = json.loads(line.text)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        fields = cast("dict[str, Any]", parsed)
        return _event(fields, line)
    begun = dict(reversed(_BEGUN.findall(line.text))) if line.is_cut else {}
    return {**_event(begun, line), "fields": {}, "text": line.text}


def _event(fields: dict[str, Any], line: Line) -> Facts:
    named = {name: _text(value) for name, value in fields.items()}
    return {
        "event": named.get("event", ""),
        "level": named.get("level", ""),
        "timestamp": named.get("timestamp", ""),
        "pack": named.get("pack", ""),
        "turn": named.get("turn_id", ""),
        "fields": {name: value for name, value in named.items() if name not in _HEAD},
        "exception": named.get("exception", ""),
        "text": "",
        "size": line.size,
        "is_cut": line.is_cut,
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _facts(piece: Piece) -> Facts:
    return {
        "lines": [_told(line) for line in piece.lines],
        "before": str(piece.before or ""),
        "after": str(piece.after or ""),
        "more": not piece.is_all,
        "lost": piece.lost,
    }
