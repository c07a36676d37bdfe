"""Reads a deed beside its time, such as "pick up the kids tomorrow at 3".

It is plainly a plan where the one time is to come and has day and clock, a span or how often, and
the few words beside it neither report nor ask something of the bot, nor hold a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import translate
from functools import cache, partial

from aouo.facts import languages, times
from aouo.facts.letters import expression, folded
from aouo.packs.actions import dated, patterns, several, slots, spending, spoken
from aouo.packs.actions.slots import Here, Misread
from aouo.packs.actions.tokens import tokens

_BARRING = ("telling", "bidding")
_CHARS_MAX, _WORDS_MAX, _SAID_MAX = 160, 10, 500
_AROUND, _MARKS = " ,;:-–!.", re.compile(r"\w{4}[.!?:;]\s|\n")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and when: a moment, or what comes again."""

    text: str
    when: datetime | str
    is_plain: bool


def plain(said: str, here: Here) -> list[Plan]:
    """Return the one deed that a text plainly plans, or several, of which all are to be reminded
    where it ends in that; none where it does not."""
    if len(said) > _SAID_MAX:
        return []
    bare = _words(languages.base_of(here.language), "reminding").sub("", said)
    bidden = bare != said
    deed = plan(bare, here, alone=not bidden, bidden=bidden)
    return [deed] if deed and deed.is_plain else listed(bare, here, bidden=bidden)


def listed(said: str, here: Here, *, bidden: bool = False) -> list[Plan]:
    """Return several deeds with their times, none unless all are plain; one without a day comes
    after that before it, if they are not on one day."""

    def read(part: str) -> tuple[str, Plan] | None:
        deed = plan(part, here, alone=False, bidden=bidden)
        return (part, deed) if deed and deed.is_plain else None

    deeds: list[Plan] = []
    for part, deed in several.split(said, read):
        says = times.find(part, here.language)[0].readings[0][0].keys()
        is_dated = says & {*dated.DAYS, "every", "span"}
        earlier = deeds[-1].when if deeds and not is_dated else deed.when
        moments = [at for at in (earlier, deed.when) if isinstance(at, datetime)]
        apart = len({at.astimezone(here.zone).date() for at in moments}) > 1
        there = replace(here, now=moments[0]) if apart else here
        deeds.append(plan(part, there, alone=False, bidden=bidden) or deed)
    return deeds


def plan(said: str, here: Here, *, alone: bool = True, bidden: bool = False) -> Plan | None:
    """Return what a text plans; None: it names not one time to come, asks, tells what is over, or
    names an amount. `alone`: a clock without a day makes it not plain. `bidden`: to be reminded of
    it was asked for, so that whatever is to be done is plain."""
    if len(said) > _CHARS_MAX or said.rstrip().endswith("?") or (spoken.asks(said) and not bidden):
        return None
    spans = times.find(said, here.language)
    spans = [span for span in spans if len(spans) == 1 or not _is_feast(span, said)]
    if len(spans) != 1:
        return None
    span, when = spans[0], said[spans[0].start : spans[0].end]
    words = partial(_words, languages.base_of(here.language))
    head = words("obliged").match(said)
    before, after = said[: span.start].strip(_AROUND), said[span.end :].strip(_AROUND)
    before = before[head.end() if head else 0 :].strip()
    text = f"{before} {after}".strip()
    split = [token.folded for token in tokens(text)]
    if (
        not 0 < len(split) <= _WORDS_MAX
        or _MARKS.search(text)
        or times.is_timelike(before, here.language, begins=False)
        or not _leaves(after, here.language)
        or spending.names_amount(text, here.language)
        or any(map(words("past").match, [*split, *text.casefold().split()]))
    ):
        return None
    try:
        moment = slots.read("when", when, here)
    except Misread:
        return None
    telling = any(words("telling").match(word) for word in split)
    if words("mine").match(split[0]) and len(split) > 2:  # "my sister moves house"
        telling = telling or words("relatives").match(split[1]) is not None
    bids = not head and words("bidding").match(split[0]) is not None
    number = any(word[0].isdecimal() for word in split)
    whole = _is_whole(
        span.readings[0][0], obliged=head is not None or not alone, wordy=len(split) > 1
    )
    is_plain = whole and (bidden or not (telling or bids or number))
    return Plan(text, moment, is_plain) if isinstance(moment, datetime | str) else None


def obliged(said: str, here: Here) -> str:
    """Return what somebody says to have to do, without a time or an amount, "" = it is none."""
    head = _words(languages.base_of(here.language), "obliged").match(said)
    deed = said[head.end() if head else 0 :].strip(_AROUND)
    few = 0 < len(tokens(deed)) <= _WORDS_MAX and not _MARKS.search(deed)
    plain = head and few and not said.rstrip().endswith("?") and not re.search(r"\d", deed)
    return deed if plain else ""


def _is_whole(time: Mapping[str, object], *, obliged: bool, wordy: bool) -> bool:
    """Whether a time says how often, how long from now, or day and clock; of what somebody says to
    have to do, a clock is enough; of several words, a part of a day."""
    clock = "clock" in time or time.get("part") == "noon" or (wordy and "part" in time)
    day = obliged or bool(time.keys() & dated.DAYS)
    return bool(time.keys() & {"every", "span"}) or (clock and day)


def _is_feast(span: times.Span, said: str) -> bool:
    """Whether a time is the name of a day, such as "Christmas": a deed may be for it."""
    days = span.readings[0][0].keys() <= {"month", "day", "easter"}
    return days and not re.search(r"\d", said[span.start : span.end])


def _leaves(after: str, language: str) -> bool:
    """Whether the words after a time are no more of it; "at the station" is a place."""
    rest = after.partition(" ")[2]
    return not times.is_timelike(after, language, ends=False) or (
        bool(rest) and not times.is_timelike(rest, language, ends=False)
    )


@languages.derived
@cache
def _words(language: str, key: str) -> re.Pattern[str]:
    """Return what matches the words that a language lists; `*` and `?` stand for letters, and then
    an accent counts. Where it does not list what bars a plan, everything does."""
    listed = languages.table(language, "phrases").get(key, "*" if key in _BARRING else "")
    if key in ("obliged", "reminding"):
        heads = (way for pattern in listed for way in patterns.expansions(pattern))
        ways = "|".join(expression(way.strip()) for way in heads)
        end = r"[\s,;.–-]+(?:{})[\s.!]*$" if key == "reminding" else r"(?:{})\b"
        return re.compile(end.format(ways or "(?!)"), re.IGNORECASE)
    ways = (translate(word if "*" in word else folded(word)) for word in listed.split())
    return re.compile("|".join(ways) or "(?!)")
