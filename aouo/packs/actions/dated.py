"""Reads the day of what is over apart from the words around it: it may stand anywhere in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from aouo.facts import times
from aouo.packs.actions import slots
from aouo.packs.actions.matching import Match, lacking_day
from aouo.packs.actions.slots import Here, Misread

_HEAD_MAX = 7
DAYS = frozenset({"weekday", "shift", "day", "month", "nth", "easter", "edge"})
"""What a time has that says which day."""


def leaves_day_open(wishes: Sequence[str], here: Here) -> bool:
    """Whether it is open which of several wishes a day is for: one after it lacks a day ("coffee
    on Friday 3 and cake 4"), or it ends the last and no other has one."""
    days = [
        [span.end for span in times.find(text, here.language) if span.readings[0][0].keys() & DAYS]
        for text in wishes
    ]
    if not any(days[:-1]):
        return bool(days[-1]) and not wishes[-1][days[-1][-1] :].strip(" .,;!")
    return not all(days[list(map(bool, days)).index(True) :])


def heads(text: str, here: Here) -> Iterator[str]:
    """Yield the first words of a text that end in a day and hold no other number, the longest
    first."""
    words = text.split()
    for count in range(min(_HEAD_MAX, len(words)), 0, -1):
        head = " ".join(words[:count])
        for span in times.find(head, here.language)[-1:]:
            says = span.readings[0][0].keys() if span.end == len(head) else set[str]()
            numbered = any(map(str.isdigit, head[: span.start]))
            if says & {*DAYS, "every"} and "clock" not in says and not numbered:
                yield head


def parted(text: str, here: Here) -> Iterator[tuple[str, str]]:
    """Yield the text without each time in it, and that time; a number at its edge may be an amount
    ("on Friday 18 €")."""
    for span in times.find(text, here.language):
        words = text[span.start : span.end]
        first, _, later = words.partition(" ")
        earlier, _, last = words.rpartition(" ")
        days = [words, later if first[0].isdigit() else "", earlier if last[0].isdigit() else ""]
        for day in filter(None, days):
            start = span.start + words.index(day)
            before, after = text[:start].rstrip(" ,"), text[start + len(day) :].lstrip(" ,")
            if rest := f"{before} {after}".strip():
                yield rest, day


def dated(match: Match, day: str, text: str, here: Here) -> Match | None:
    """Return a match of a text's rest with its day, None = it takes none, or its words stood on
    both sides of the day."""
    name = lacking_day(match.phrase, match.texts)
    if not name or match.misread or not all(words in text for words in match.texts.values()):
        return None
    try:
        value = slots.read(match.phrase.kinds[name], day, here)
    except Misread as error:
        return replace(match, misread=error) if error.why in slots.DOUBTS else None
    texts, values = {**match.texts, name: day}, {**match.values, name: value}
    return replace(match, texts=texts, values=values)
