"""Finds where a call's arguments lead, and whether somebody named that in their own words.

A call's values are of three kinds. A *place* says where something goes: an address, a host, an
account, a path, and any other short value. A *number* says how much. A *text* is what is said
there: a value of several lines or many characters, or of a field whose name says so; what is an
address or an account inside a text is a place all the same.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from typing import Any, cast

from aouo.facts import languages
from aouo.plumbing.web.envelope import said_by

MOST = 400
"""Values of one call that are looked at; a call with more says nothing that anybody named."""
ALL = 100_000
"""Values of one call that a question shows."""
_PLACE_CHARS = 80
_PASTED = "pasted text"
_PASTED_LINES, _PASTED_CHARS, _OWN_LINE_CHARS, _BESIDE = 3, 500, 200, 80
_TEXT_KEYS = re.compile(
    r"(?:^|_)(?:subject|title|body|content|contents|text|message|description|details|summary|"
    r"note|notes|comment|caption|reason|location|venue|prompt|html|markdown|say|sql|data)$"
)
_DAY = re.compile(
    r"(?<!\d)(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)"
)
_EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_ENDINGS = (
    "com|net|org|info|biz|app|dev|xyz|online|site|top|shop|club|live|cloud|tech|link|click|store|"
    "space|website|page|zip|mov|icu|vip|fun|pro|work|world|email|news|name|example|test|invalid|"
    "local|onion|edu|gov|"
    r"(?!(?:py|js|md|sh|rs|ts|gz|db|go|hs|rb|cs|as|am|is|it|so|no|to|be)(?![\w/]))[a-z]{2}"
)
_ADDRESSES = re.compile(
    rf"(?P<url>\b[a-z][a-z0-9+.-]{{1,15}}://[^\s<>\"'`]+|\bwww\.[^\s<>\"'`]+)|(?P<email>{_EMAIL})"
    rf"|(?P<host>(?<![\w@./-])(?:[a-z0-9-]+\.)+(?:{_ENDINGS})\b(?::\d+)?(?:/[^\s<>\"'`]*)?)"
    r"|(?P<handle>(?<![\w@.])@\w{4,})"
    r"|(?P<account>(?<!\w)(?=(?:[A-Za-z]*\d){4})[A-Za-z0-9]{14,}(?!\w)"
    r"|(?<![\w.])\+?\d(?:[ ().-]{0,2}\d){8,}(?!\w))",
    re.IGNORECASE,
)
_WHO_KEYS = re.compile(
    r"(?:^|_)(?:to|cc|bcc|recipients?|users?|usernames?|persons?|people|members?|contacts?|invitees?|"
    r"participants?|attendees?|guests?|share_with|shared_with|handle|emails?)$"
)
_ROOM_KEYS = re.compile(
    r"(?:^|_)(?:channels?|rooms?|groups?|chats?|spaces?|threads?|lists?|teams?|boards?|forums?)"
    r"(?:_names?)?$"
)
_WORDS = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)*")
_PARTS = re.compile(r"\s*[\n\r,;]\s*")
_TRAILING = ".,;:!?)]}>"
_DIGITS = re.compile(r"(?<![\w.])\+?\d(?:[ ().-]{0,2}\d)*(?!\w)")
_SCHEME = re.compile(r"\b(?:https?://)?(?:www\.(?=\w))?", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d[\d']*(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Target:
    """One place that a call leads to, as it is shown; a rule about it names `rule`: the field, and
    of an address that is fetched or written to what stands before its query, else the place
    itself. `field` is "" for what no argument says."""

    shown: str
    rule: str
    field: str = ""

    @property
    def is_who(self) -> bool:
        """Whether the name of its field says that it is somebody, or a room of several."""
        return bool(_WHO_KEYS.search(self.field) or _ROOM_KEYS.search(self.field))

    def is_named(self, words: str) -> bool:
        """Whether `words`, which are normal, name it. Mere letters may be a word of the sentence:
        "in general" and "my mail" name no channel and nobody."""
        plain = _plain(self.shown)
        if not _WORDS.fullmatch(plain):
            return stands_in(self.shown, words)
        marks, room, verb, verb_of_who = _beside()
        name = rf"(?<![\w@.+/\\-]){re.escape(plain)}(?![\w@]|[./\\-]\w)"
        places = [
            (words[max(0, m.start() - _BESIDE) : m.start()], m) for m in re.finditer(name, words)
        ]
        if any(marks.search(head) or room.match(words, m.end()) for head, m in places):
            return True
        if not (self.is_who or self.shown.islower()):
            return stands_in(self.shown, words)
        verb = verb_of_who if self.is_who else verb
        return not _ROOM_KEYS.search(self.field) and any(verb.search(head) for head, _ in places)


@dataclass(slots=True)
class Values:
    """What a call's arguments hold."""

    places: dict[str, Target] = field(default_factory=dict[str, Target])
    numbers: dict[str, float] = field(default_factory=dict[str, float])
    days: list[str] = field(default_factory=list[str])
    texts: list[str] = field(default_factory=list[str])
    fields: list[str] = field(default_factory=list[str])  # places that are no part of a text
    too_many: bool = False


def values_of(payload: Mapping[str, Any], most: int = MOST) -> Values:
    """Sort a call's arguments, however nested; beyond `most` none is looked at."""
    found = Values()
    for seen, (key, value) in enumerate(_leaves("", payload)):
        if seen == most:
            found.too_many = True
            break
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, int | float):
            found.numbers[f"{value:g}" if isinstance(value, float) else str(value)] = float(value)
        elif text := str(value).strip():
            _sort(found, key, text)
    return found


def flat(payload: Mapping[str, Any]) -> str:
    """Return all values of a call as one text, the names of its fields before them."""
    return "\n".join(f"{key} {value}" for key, value in _leaves("", payload))


def _sort(found: Values, key: str, text: str) -> None:
    if _DAY.fullmatch(text):
        found.days.append(text)
        return
    if _TEXT_KEYS.search(key):
        found.texts.append(text)
        places = list(addresses(text))
    else:
        apart = "\n" in text or len(text) > _PLACE_CHARS
        places = [part for part in _PARTS.split(text) if part] if apart else [text]
        found.fields += places
    for place in places:
        target = Target(place, f"{key}: {rule_of(place)}", key)
        found.places.setdefault(f"{key}: {_plain(place)}", target)


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in cast("Mapping[str, Any]", value).items():
            yield from _leaves(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(), inner)
    elif isinstance(value, list | tuple):
        for inner in cast("Sequence[Any]", value):
            yield from _leaves(key, inner)
    elif isinstance(value, str) and value[:1] in ("{", "[") and (inner := _json(value)) is not None:
        yield from _leaves(key, inner)
    else:
        yield key, value


def _json(text: str) -> Any:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("Any", found) if isinstance(found, dict | list) else None


def addresses(text: str) -> Iterator[str]:
    """Find the addresses and accounts in a text: of pages, hosts, mail, people, banks, phones."""
    for match in _ADDRESSES.finditer(_DAY.sub(" ", text)):
        yield match[0].rstrip(_TRAILING)


def as_said(theirs: str, text: str) -> str:
    """Return a message's words as a model reads them: those of others between marks, and what its
    sender pasted: lines behind ">", and a text of several lines that is long or holds an address,
    but for a line of their own above it and below it."""
    lines = text.strip().splitlines()
    if theirs or (len(lines) < 2 and not text.lstrip().startswith(">")):
        return said_by(theirs, text)
    told = lines[0].rstrip().endswith((":", "\uff1a"))
    first = int(told or _is_own(lines[0]))
    last = len(lines) - int(_is_own(lines[-1]) and not lines[-2].strip())
    inner = "\n".join(lines[first:last])
    several = sum(map(bool, map(str.strip, lines))) >= _PASTED_LINES - told
    if several and (len(inner) > _PASTED_CHARS or any(addresses(inner))):
        return "\n".join((*lines[:first], said_by(_PASTED, inner), *lines[last:]))
    groups = groupby(lines, lambda line: _PASTED if line.lstrip().startswith(">") else "")
    return "\n".join(said_by(source, "\n".join(group)) for source, group in groups)


def _is_own(line: str) -> bool:
    """Whether the line above or below what is pasted may be its sender's own."""
    quoted = line.lstrip().startswith(">")
    return len(line) <= _OWN_LINE_CHARS and not quoted and not any(addresses(line))


def as_link(text: str) -> bool:
    """Whether a value is the address of something that can be fetched, and nothing else."""
    match = _ADDRESSES.match(text.strip())
    return bool(match and (match["url"] or match["host"]) and match.end() == len(text.strip()))


def rule_of(text: str) -> str:
    """Return what a rule about this place names: an address up to its path, else the place."""
    if not as_link(text) or "\\" in text:
        return _plain(text)
    host, slash, path = _SCHEME.sub("", re.split(r"[?#]", text, maxsplit=1)[0]).partition("/")
    return f"{host.lower()}{slash}{path}".rstrip("/")


def normal(text: str) -> str:
    """Return a text as it is compared: letters alike, one space between words, addresses bare."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = " ".join(text.lower().split())
    return _SCHEME.sub("", text) if "://" in text or "www." in text else text


def those_with(address: str, texts: Iterable[str]) -> str:
    """Return, normal, those of some texts that may hold this address."""
    wanted = _plain(address)
    return normal("\n".join(text for text in texts if wanted in text.lower()))


def _plain(text: str) -> str:
    return normal(text).rstrip("/")


def stands_in(place: str, words: str) -> bool:
    """Whether `words`, which are normal, name this place: whole, not as a part of another one."""
    wanted = _plain(place)
    if not wanted:
        return True
    is_link, at = as_link(place), words.find(wanted)
    while at >= 0:
        before, after = words[at - 1 : at], words[at + len(wanted) :][:2]
        if not _goes_on_before(before) and not _goes_on_after(after, is_link=is_link):
            return True
        at = words.find(wanted, at + 1)
    return _as_account(wanted, words)


@languages.derived
@cache
def _beside() -> tuple[re.Pattern[str], ...]:
    """Return what shows that a name is one: what marks it before it, the word for a room after it,
    and any word before it but an article; of somebody also none by which it is an idiom."""
    leads, rooms, articles, idioms = (
        "|".join(map(re.escape, languages.words("spelling", key))) or "(?!)"
        for key in ("leads", "rooms", "articles", "idioms")
    )
    marks = rf"(?:[#@'\"“„«‘`]|\b(?:{leads})\s+(?:(?:{articles})\s+)?|\b(?:{rooms})\s+)$"
    after, verb = rf"['\"”“»’`]?[\s-]+(?:{rooms})\b", r"(?:^|(?<!\w)(?!(?:{})\s)\w+\s+|[^\w\s]\s*)$"
    verbs = map(verb.format, (articles, f"{articles}|{idioms}"))
    return tuple(map(re.compile, (marks, after, *verbs)))


def _goes_on_before(before: str) -> bool:
    return bool(before) and (before.isalnum() or before in "_@.+-/\\")


def _goes_on_after(after: str, *, is_link: bool) -> bool:
    if not after:
        return False
    if after[0].isalnum() or after[0] in "_@":
        return True
    then = after[1:].isalnum()
    if is_link and after[0] in "/?#&=:%":
        return then or after[0] != "/" or bool(after[1:].strip())
    return after[0] in ".-/\\" and then


def _as_account(wanted: str, words: str) -> bool:
    """Whether an account or a phone stands there, in one piece, in other groups of digits."""
    bare = re.sub(r"[\s().-]", "", wanted)
    if re.fullmatch(r"[a-z]{2}\d{2}[a-z0-9]{10,30}", bare):
        fours = " ".join(bare[at : at + 4] for at in range(0, len(bare), 4))
        written = f"(?:{re.escape(bare)}|{re.escape(fours)})"
        return bool(re.search(rf"(?<![\w.-]){written}(?! ?\d|[\w-])", words))
    if not re.fullmatch(r"\+?\d{4,}", bare):
        return False
    return any(re.sub(r"[ ().-]", "", run[0]) == bare for run in _DIGITS.finditer(words))


def has_number(number: float, words: str) -> bool:
    """Whether `words` hold this number, however it is written."""
    return any(number in _readings(match[0]) for match in _NUMBER.finditer(words))


def _readings(text: str) -> Iterator[float]:
    bare = text.replace("'", "")
    for grouping, point in ((",", "."), (".", ",")):
        try:
            yield float(bare.replace(grouping, "").replace(point, "."))
        except ValueError:
            continue


def has_day(text: str, words: str) -> bool:
    """Whether `words` name the day of this date: as a date, or as its month and its number."""
    found = _DAY.match(text)
    if not found:
        return False
    year, month, day = map(int, found.groups())
    if found[0][:10] in words or not 1 <= month <= 12:
        return found[0][:10] in words
    ordinals, between, months = (
        "|".join(map(re.escape, said)) or "(?!)" for said in _date_words(month)
    )
    number = rf"(?<!\d)0?{day}(?:{ordinals}|\.)?(?![\d:])"
    named = rf"\b(?:{months})\w*"
    digits = rf"(?<!\d)(?:0?{day}\.\s?0?{month}\.|0?{month}/0?{day}(?:/{year})?(?!\d))"
    apart = rf"{number}(?:\s+(?:{between}))?\s+{named}|{named}\s+(?:(?:{between})\s+)?{number}"
    return bool(re.search(rf"{digits}|{apart}", words))


def _date_words(month: int) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Return how all languages end an ordinal, join day and month, and begin this month."""
    tables = [languages.table(language, "spelling") for language in languages.names()]
    begins = [table["months"][month - 1] for table in tables if "months" in table]
    return languages.words("spelling", "ordinals"), languages.words("spelling", "of"), begins
