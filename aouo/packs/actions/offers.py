"""What a text could mean that is nearly a phrase: finished readings of it, to be asked about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from aouo.facts import times
from aouo.packs.actions import slots
from aouo.packs.actions.matching import TIMES, Match
from aouo.packs.actions.patterns import is_open
from aouo.packs.actions.slots import Here, Misread


def finished(match: Match, here: Here) -> Iterator[Match]:
    """Yield what a reading with more of a time in its words could mean: that its times are one, or
    that what stands in its words says no time; never a reading whose words begin or end with half
    of a time."""
    kinds = match.phrase.kinds
    when = next((name for name in match.texts if kinds.get(name) in TIMES), "")
    words = next((name for name in match.texts if is_open(kinds, name)), "")
    if not when or not words:
        return
    said, rest = match.texts[when], match.texts[words]
    for span in times.find(rest, here.language):
        left = f"{rest[: span.start].rstrip()} {rest[span.end :].lstrip()}".strip(" ,;")
        inner = rest[span.start : span.end]
        for joined in (f"{said} {inner}", f"{inner} {said}"):
            if left and not times.is_timelike(left, here.language):
                yield from _with(match, {when: joined, words: left}, here)
    if not times.is_timelike(rest, here.language):
        yield match


def _with(match: Match, texts: dict[str, str], here: Here) -> Iterator[Match]:
    try:
        values = {
            name: slots.read(match.phrase.kinds.get(name, "text"), text, here)
            for name, text in texts.items()
        }
    except Misread:
        return
    yield replace(
        match, texts={**match.texts, **texts}, values={**match.values, **values}, misread=None
    )
