"""Hears what a text corrects of the last act, and works out the arguments that act has then.

Which argument is meant is told by its kind: a time changes a time, and only the part of it that
was said; an amount changes an amount, and keeps its currency; words in quotes, or in place of
others, change a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import cache

from aouo.facts import languages, schedule, times
from aouo.facts.letters import UNSPACED, expression, folded
from aouo.facts.work import Correction
from aouo.packs.actions import slots, spoken
from aouo.packs.actions.slots import Here, Misread, Money

_CHARS_MAX = 160
_SIGNS = str.maketrans("“”„«»’‘，：。！？", '"""""\'\',:.!?')
_DAYS = ("date", "past-date")
_AMOUNTS, _TIMES = ("money", "number", "int", "duration"), ("datetime", "when", *_DAYS)
SHIFTS = {"later": "+", "earlier": "-"}
_CUES = ("drop", "cancel", "other", *SHIFTS, "swap", "name", "more")
_READ = ("date", "datetime", "recurrence", "duration", "money")
_PIECE = re.compile(r"\[([^\]]*)\]|\(([^)]*)\)|\{(\w+)\}|([^\[({]+)")
_HALF, _HOURS, _MORNING = timedelta(hours=12), 24, 6


def hear(text: str, here: Here) -> Correction | None:
    """Return what a text corrects, None = it is no correction, whatever was done."""
    wish = spoken.MARK.split(text[:_CHARS_MAX])[-1]
    reason = _leads().sub("", text[: -len(wish)], count=1).rstrip(" ,;.!–-")
    if reason and not spoken.asks(reason):
        after = _heard(wish, here)  # "no, that was my brother, delete it"
        if after and after.kind in ("drop", "cancel"):
            return replace(after, old=reason)
    ways = dict.fromkeys((spoken.unreasoned(text), text))
    return next(filter(None, (_heard(way, here) for way in ways)), None)


def _heard(text: str, here: Here) -> Correction | None:
    words = " ".join(text.translate(_SIGNS).split()).rstrip(" .!?…")
    if not 1 < len(words) <= _CHARS_MAX:
        return None
    own = languages.base_of(here.language)
    for language in sorted(languages.names(), key=lambda language: language != own):
        for kind, pattern in _patterns(language):
            if kind == "more" and language != own:
                continue  # "y a quoi" is French
            match = pattern.fullmatch(words)
            there = replace(here, language=here.language if language == own else language)
            if match and _fits(kind, match.groupdict(), there):
                return Correction(kind, language=there.language, **match.groupdict())
    return None


def _fits(kind: str, parts: Mapping[str, str], here: Here) -> bool:
    leads = kind in ("priced", "swap") and _leads().fullmatch(parts["old"])
    if kind == "priced":
        named = {*re.findall(r"\w+", folded(parts["old"]))} - spoken.glue().subjects
        named -= spoken.glue().unpriced
        return bool(named) and not leads and slots.is_one("money", parts["value"], here)
    if kind in SHIFTS:
        return slots.is_one("duration", parts["value"], here)
    if leads and _is_value(parts["value"], here):
        return False  # "no wait, 12" takes nothing called "wait" back
    if kind == "swap" and not parts["old"][0].isalnum() and parts["old"][0] != '"':
        return False
    return kind != "change" or _is_value(parts["value"], here)


@languages.derived
@cache
def _patterns(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    cues: Mapping[str, list[str]] = languages.table(language, "phrases").get("corrections", {})
    if not cues:
        return ()
    link, instead, polite = (
        "|".join(map(_regex, cues[key])) for key in ("link", "instead", "polite")
    )
    ends = rf"(?:[ ,]+(?:{polite}))*"
    against = rf"[ ,]+(?:{'|'.join(map(_regex, cues.get('against', ['(?!)'])))}) \S+"
    insteads, leads = rf"[ ,]+(?:{instead}){ends}", [*map(_regex, cues["lead"])]
    apart = rf"(?:(?=[^\w'])|(?<=[{UNSPACED}]))[ ,:;.!-]*"
    begins = [  # in both orders: the last word of one may be the first of a time ("a las 9")
        rf"(?:(?:{'|'.join(order)}){apart})+(?:(?:{link}) +)?" for order in (leads, leads[::-1])
    ]
    listed = {kind: map(_regex, cues.get(kind, ())) for kind in _CUES}
    written = {k: [f"(?:{begins[0]})?{cue}{ends}" for cue in of] for k, of in listed.items()}
    written["priced"] = [
        rf"(?:{begins[0]})?(?P<rest>{_regex(cue)})(?:{insteads}|{ends}|{against})"
        for cue in cues.get("priced", ())
    ]
    written["change"] = [
        *(rf"{begin}(?P<value>.+?)(?:{insteads}|{ends})" for begin in begins),
        rf"(?P<value>.+?)(?:{insteads}|(?:[ ,]+(?:{polite}))+)",
    ]
    return tuple(
        (kind, re.compile(pattern, re.IGNORECASE))
        for kind in (*_CUES[:-3], "priced", "swap", "change", *_CUES[-2:])
        for pattern in written[kind]
    )


@languages.derived
@cache
def _leads() -> re.Pattern[str]:
    """Return what matches words by which something is taken back, or changed."""
    tables = (languages.table(language, "phrases") for language in languages.names())
    cues = (cue for table in tables for cue in table.get("corrections", {}).get("lead", ()))
    words = "|".join(map(_regex, cues))
    return re.compile(rf"(?:(?:{words})\W*)+", re.IGNORECASE)


def _regex(pattern: str) -> str:
    """Return a cue as an expression; words in brackets may be left out, and so may their marks."""
    pieces: list[str] = []
    for maybe, either, slot, words in _PIECE.findall(pattern.translate(_SIGNS)):
        options = "|".join(map(_words, (maybe or either or words).split("|")))
        piece = rf"(?P<{slot}>.+?)" if slot else f"(?:{options})"
        pieces.append(f"{piece.replace(',', ',?')}?" if maybe else piece)
    return " *".join(pieces)


def _words(said: str) -> str:
    bounded = re.compile(rf"[^\W{UNSPACED}]")
    edges = (said.strip()[:1], said.strip()[-1:])
    begin, end = (r"\b" if bounded.match(side) else "" for side in edges)
    end += r"(?!\d)" * said.rstrip().endswith(",")  # no comma of a number
    return f"{begin}{expression(said)}{end}"


def _is_value(value: str, here: Here) -> bool:
    """Whether words say by themselves which kind of argument they are: a time, an amount, or in
    quotes."""
    if value.isalpha() and slots.is_one("int", value, here) and slots.read("int", value, here) == 1:
        return False  # "one" and "a" are no number by themselves
    return bool(_quoted(value)) or any(slots.is_one(kind, value, here) for kind in _READ)


def is_typed(correction: Correction, here: Here) -> bool:
    """Whether a correction says by itself which kind of argument it changes."""
    if correction.kind == "swap":
        return _is_value(correction.old, here) and _is_value(correction.value, here)
    return correction.kind in ("change", *SHIFTS)


def _quoted(value: str) -> str:
    match = re.fullmatch(r'"([^"]+)"', value)
    return match[1].strip() if match else ""


def revise(
    kinds: Mapping[str, str],
    given: Mapping[str, object],
    correction: Correction,
    then: Here,
    here: Here,
) -> dict[str, object] | None:
    """Return the arguments of an act as they are once corrected, None = it has none of that kind.

    `kinds` are those of its action, `given` what it was called with, `then` when that was.

    Raises:
        Misread: the time that it would have is no time it can have.
    """
    value = SHIFTS.get(correction.kind, "") + correction.value
    texts = [name for name, kind in kinds.items() if kind == "text"]
    if correction.kind == "swap":
        for name in texts:
            swapped = _swapped(str(given.get(name) or ""), correction.old, value)
            if swapped:
                return {**given, name: swapped}
        if not is_typed(correction, here):
            return None
    if words := _quoted(value):
        named = [name for name in texts if given.get(name)]
        return {**given, named[0]: words} if len(named) == 1 else None
    for name in _named(kinds, given, _AMOUNTS):
        if slots.is_one(kinds[name], value, here):
            return {**given, name: with_currency(kinds[name], value, given.get(name), here)}
    for name in (name for name, kind in kinds.items() if kind == "new-time"):
        return {**given, name: value} if slots.is_one("new-time", value, here) else None
    for name in _named(kinds, given, _TIMES):
        if kinds[name] in _DAYS and slots.is_one(kinds[name], value, here):
            day = slots.read(kinds[name], value, here)
            return {**given, name: slots.stored(kinds[name], day)}
        if kinds[name] not in _DAYS and (later := moved(str(given.get(name)), value, then, here)):
            return {**given, name: later}
    return None


def is_of(kinds: Mapping[str, str], given: Mapping[str, object], words: str) -> bool:
    """Whether an act keeps an amount, and what for is called so."""
    called = (str(given.get(name) or "") for name, kind in kinds.items() if kind == "text")
    sought = set(folded(words).split()) - spoken.glue().common
    named = bool(sought) and any(sought <= set(folded(one).split()) for one in called)
    return named and "money" in kinds.values()


def _named(
    kinds: Mapping[str, str], given: Mapping[str, object], those: Sequence[str]
) -> list[str]:
    """Return the one argument of these kinds that was given, or else the only one there is."""
    names = [name for name, kind in kinds.items() if kind in those]
    some = [name for name in names if given.get(name) not in (None, "")] or names
    return some if len(some) == 1 else []


def _swapped(text: str, old: str, new: str) -> str:
    """Return a text with other words in place of `old`, "" = it does not hold these as words."""
    old, new = _quoted(old) or old, _quoted(new) or new
    place = rf"(?<![^\W{UNSPACED}]){re.escape(old)}(?![^\W{UNSPACED}])"
    swapped, times = re.subn(place, lambda _: new, text, flags=re.IGNORECASE)
    return swapped if times == 1 else ""


def with_currency(kind: str, value: str, before: object, here: Here) -> str:
    """Return an amount with the currency of that before it, if it was said without one."""
    if kind != "money" or not before:
        return value
    amount, former = (slots.read("money", str(said), here) for said in (value, before))
    if not (isinstance(amount, Money) and isinstance(former, Money)) or amount.currency:
        return value
    return f"{value} {former.currency}".strip()


def moved(old: str, value: str, then: Here, here: Here) -> str:
    """Return a time with what `value` says of it, a day, a clock or both, in place of its own, or
    as much later or earlier as it says with a sign; "" = it says nothing of this one.

    Raises:
        Misread: that is past.
    """
    before = slots.read("when", old, then)
    if value[0] in SHIFTS.values():
        return _shifted(before, value, here)
    if slots.is_one("recurrence", value, here):
        clock = _clock_of(before, here) if isinstance(before, str) else None
        new = str(slots.read("recurrence", value, here))
        return new if clock is None or _has_clock(value, here) else _at_clock(new, clock, here)
    if isinstance(before, str):
        return _recurring(before, value, here)
    if not isinstance(before, datetime):
        return ""
    local, later = before.astimezone(here.zone), here.now + timedelta(minutes=7)
    moment, next_moment = _at(value, here.now, here), _at(value, later, here)
    if moment and next_moment and next_moment - moment == later - here.now:
        return moment.isoformat()  # a span from now
    whole = not _has_clock(value, here) and slots.is_one("date", value, here)
    if whole and isinstance(day := slots.read("date", value, here), date):
        return _checked(datetime.combine(day, local.timetz()), value, here)
    if clocks := _clocks(value, local, here):
        moments = sorted(clocks, key=lambda at: (at <= here.now, _unlikely(at, local)))
        return _checked(moments[0], value, here)
    return _checked(moment, value, here) if moment else ""


def _shifted(before: slots.Value, value: str, here: Here) -> str:
    """Return a moment, or the clock of what comes again, a span later or earlier."""
    span = slots.read("duration", value[1:], here)
    shift = span * int(f"{value[0]}1") if isinstance(span, timedelta) else timedelta(0)
    if isinstance(before, datetime):
        later = before.astimezone(here.zone) + shift
        return _checked(later, slots.say("datetime", later, here), here)
    if not isinstance(before, str) or (clock := _clock_of(before, here)) is None:
        return ""
    day = datetime.combine(here.now, clock)
    same = (day + shift).date() == day.date()
    return _at_clock(before, (day + shift).time(), here) if same else ""


def _has_clock(value: str, here: Here) -> bool:
    readings = [span.readings[0][0] for span in times.find(value, here.language, loose="bare")]
    return any(features.keys() & {"clock", "part"} for features in readings)


def _checked(moment: datetime, value: str, here: Here) -> str:
    """Return a moment as text if it is to come and exists.

    Raises:
        Misread: it does not.
    """
    if moment <= here.now:
        raise Misread("past", text=value)
    existing = slots.read("datetime", moment.replace(tzinfo=None).isoformat(), here)
    return existing.isoformat() if isinstance(existing, datetime) else ""


def _clocks(value: str, day: datetime, here: Here) -> list[datetime]:
    """Return the times of a day that a clock alone could mean, none if it is more than that.

    A clock alone is on the day at hand when that begins, and on the next one at its end.
    """
    begin = day.replace(hour=0, minute=0, second=0, microsecond=0)
    if value.isdecimal() and int(value) < _HOURS:
        hours = (int(value), int(value) + 12) if 0 < int(value) <= 12 else (int(value),)
        return [begin.replace(hour=hour) for hour in hours if hour < _HOURS]
    nows = (begin, begin + timedelta(hours=12), begin + timedelta(hours=23, minutes=59))
    first, late, next_day = (_at(value, now, here) for now in nows)
    if not (first and late and next_day) or (first - next_day) % _HALF:
        return []
    on_days = (first.date() - day.date(), next_day.date() - day.date())
    if on_days != (timedelta(0), timedelta(days=1)):
        return []
    return [at for at in dict.fromkeys((first, late)) if at.date() == day.date()]


def _at(value: str, now: datetime, here: Here) -> datetime | None:
    """Return the moment that words name; what is a clock and a span alike ("18h45") is a clock."""
    at = languages.table(languages.base_of(here.language), "times").get("at", ())[:1]
    mixed = value[0].isdecimal() and not value.isdecimal()
    for words in (value, *(f"{one} {value}" for one in at if mixed)):
        with suppress(Misread):
            moment = slots.read("datetime", words, replace(here, now=now))
            return moment.astimezone(here.zone) if isinstance(moment, datetime) else None
    return None


def _recurring(before: str, value: str, here: Here) -> str:
    """Return what comes again and again at another clock, "" = a clock alone does not say that."""
    today = here.now.astimezone(here.zone)
    if (clock := _clock_of(before, here)) is None:
        return ""
    old = today.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0)
    clocks = _clocks(value, old, here)
    at = min(clocks, key=lambda at: _unlikely(at, old), default=None)
    return _at_clock(before, at.time(), here) if at else ""


def _unlikely(at: datetime, old: datetime) -> tuple[bool, timedelta]:
    """Order new times of a day: one in the night in place of one that was not comes last."""
    return at.hour < _MORNING <= old.hour, abs(at - old)


def _clock_of(recurrence: str, here: Here) -> time | None:
    """Return the one time of day at which something comes again, None = it has none, or several."""
    plan = schedule.parse(recurrence, here.now, here.zone)
    match plan:
        case schedule.Cron(expression):
            minute, hour, *_ = expression.split()
            return time(int(hour), int(minute)) if (hour + minute).isdecimal() else None
        case schedule.Every(since=since, anchored=True):
            return since.astimezone(here.zone).time()
        case _:
            return None


def _at_clock(recurrence: str, clock: time, here: Here) -> str:
    """Return a recurrence that has one time of day at another."""
    plan = schedule.parse(recurrence, here.now, here.zone)
    if isinstance(plan, schedule.Cron):
        return " ".join((str(clock.minute), str(clock.hour), *plan.expression.split()[2:]))
    if isinstance(plan, schedule.Every):
        first = plan.since.astimezone(here.zone) + timedelta(minutes=plan.minutes)
        return f"every {plan.minutes // 1440}d from {first.date()}T{clock:%H:%M}"
    return recurrence
