"""Reads the pattern of a phrase: words with slots, in each way that it can be said."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise, product
from math import prod
from typing import TypeAlias

from aouo.facts import languages
from aouo.facts.letters import UNSPACED
from aouo.packs.actions.tokens import AROUND, common, folded_words

_WAYS_MAX, _SLOTS_MAX, _PATTERN_MAX = 200, 6, 300
_READ_MAX = 10_000
OPEN = ("text", "row", "person", "file", "choice", "thing", "code")
"""Kinds that take any words."""
TELLING = {"thing": "thing", "place": "thing", "code": "code", "day": "date"}
"""Slots of a phrase that takes the whole message which say what it is about, and their kinds."""
_PIECE = re.compile(r"\{(\w+)(\+?)\}|\[([^\]\[]*)\]|\(([^()]*)\)|([^\[\](){}]+)|(.)", re.DOTALL)
_INSIDE = re.compile(rf"(?<=[^\W_{UNSPACED}])\{{\w+\+?\}}|\{{\w+\+?\}}(?=[^\W_{UNSPACED}])")
_SLOT = re.compile(r"(\{\w+\+?\})")
_NAMED = re.compile(r"\{(\w+)\+?\}")
_JOINING = frozenset(":,-")
_CHUNK = re.compile(r"(?:\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^\s\[\](){}])+")

Piece: TypeAlias = tuple[str, ...] | str
"""Words, folded, or a slot."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to say a pattern: words and slots by turns; `long` are slots without end."""

    pieces: tuple[Piece, ...]
    long: frozenset[str]
    needs: frozenset[str] = field(init=False, compare=False)
    """The words that a message has to have."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", frozenset(self.words))

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for piece in self.pieces if isinstance(piece, tuple) for word in piece)

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, str))


@languages.derived
@lru_cache(maxsize=_READ_MAX)
def _parts(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Return each part between blanks of a sound pattern, in each way that it can be said."""
    return tuple(tuple(expansions(chunk)) for chunk in _CHUNK.findall(pattern))


@languages.derived
@lru_cache(maxsize=_READ_MAX)
def needs(pattern: str) -> tuple[frozenset[str], ...]:
    """Return sets of words: whatever says the pattern has one of each."""
    parts = [[_words(way) for way in part] for part in _parts(pattern)]
    whole = (part for part in parts if all(part))
    return tuple({frozenset(max(way, key=len) for way in part): None for part in whole})


def vocabulary(pattern: str) -> frozenset[str]:
    """Return all words of a pattern."""
    ways = (way for part in _parts(pattern) for way in part)
    return frozenset(word for way in ways for word in _words(way))


def _words(text: str) -> list[str]:
    """Return the words of a part of a pattern that no reading leaves out."""
    words = (word for part in _SLOT.split(text) if part[:1] != "{" for word in folded_words(part))
    return [word for word in words if word not in AROUND]


def ways(patterns: Iterable[str]) -> int:
    """Return in how many ways these sound patterns can be read, all together."""
    return sum(prod(map(len, _parts(pattern))) for pattern in patterns)


def is_open(kinds: Mapping[str, str], slot: str) -> bool:
    """Whether a slot takes any words."""
    return kinds.get(slot, "text") in OPEN


def check(pattern: str, arguments: Mapping[str, str] | None) -> list[str]:
    """Return what is wrong with a pattern of an action with these arguments (name → kind); None:
    its slots are no arguments."""
    if len(pattern) > _PATTERN_MAX:
        return [f"is longer than {_PATTERN_MAX} characters"]
    try:
        _choices(pattern)
    except ValueError as error:
        return [str(error)]
    faults = [f"never fits: {said} stands in a word" for said in _INSIDE.findall(pattern)]
    for reading in readings(pattern) if _is_doubtful(pattern, arguments) else ():
        kinds = dict.fromkeys(reading.slots, "text") if arguments is None else arguments
        strange = (name for name in reading.slots if name not in kinds)
        faults += (f"{{{name}}} is no argument of the action" for name in strange)
        own = [word for word in reading.words if word not in _JOINING and word not in common()]
        if not own and "money" not in map(kinds.get, reading.slots):
            others = f' and "{" ".join(reading.words)}"' if reading.words else ""
            faults.append(f"needs a word besides its slots{others}")
        for piece, following in pairwise(reading.pieces):
            both = [slot for slot in (piece, following) if isinstance(slot, str)]
            if len(both) == 2 and all(is_open(kinds, slot) for slot in both):
                faults.append(f"needs a word between {{{piece}}} and {{{following}}}")
    return list(dict.fromkeys(faults))


def _is_doubtful(pattern: str, arguments: Mapping[str, str] | None) -> bool:
    """Whether one of a pattern's readings may be unsound: it has a slot of no argument, may be said
    without a word of its own, or with two slots for any words side by side."""
    kinds = {name: (arguments or {}).get(name, "text") for name in _NAMED.findall(pattern)}
    if arguments is not None and not arguments.keys() >= kinds.keys():
        return True
    bare, beside, empty = True, False, common() | _JOINING
    for part in _parts(pattern):
        bare = bare and any(empty.issuperset(_words(way)) for way in part)
        opened = [name for name in _NAMED.findall(" ".join(part)) if is_open(kinds, name)]
        if opened and (beside or len(opened) > 1):
            return True
        ends = any(way.endswith("}") for way in part)
        beside = ends if opened else beside and not all(part)
    return bare


def clashes(patterns: Sequence[tuple[str, str, str, Mapping[str, str]]]) -> dict[int, int]:
    """Return which patterns, as (action, language, text, kinds of arguments), say in one language
    what an earlier one says of another action: by their numbers."""
    first: dict[tuple[str, tuple[Piece, ...]], int] = {}
    taken: dict[int, int] = {}
    alike = _alike(patterns)
    for number, (action, language, text, kinds) in enumerate(patterns):
        for reading in readings(text) if number in alike else ():
            shape = tuple(_kind(piece, kinds) for piece in reading.pieces)
            earlier = first.setdefault((language, shape), number)
            if patterns[earlier][0] != action:
                taken.setdefault(number, earlier)
    return taken


def _alike(patterns: Sequence[tuple[str, str, str, Mapping[str, str]]]) -> set[int]:
    """Return those that may say what one of another action says: each holds what both need."""
    holding: dict[tuple[str, str], set[int]] = defaultdict(set)
    spoken: dict[str, set[int]] = defaultdict(set)
    for number, (_, language, text, _) in enumerate(patterns):
        spoken[language].add(number)
        for word in vocabulary(text):
            holding[language, word].add(number)
    holders: list[set[int]] = []
    for _, language, text, _ in patterns:
        able = (
            set[int]().union(*(holding[language, word] for word in need)) for need in needs(text)
        )
        holders.append(spoken[language].intersection(*able))
    return {
        number
        for number, others in enumerate(holders)
        for other in others
        if patterns[other][0] != patterns[number][0] and number in holders[other]
    }


def _kind(piece: Piece, kinds: Mapping[str, str]) -> Piece:
    if not isinstance(piece, str):
        return piece
    return "text" if is_open(kinds, piece) else kinds.get(piece, "")


@languages.derived
@lru_cache(maxsize=_READ_MAX)
def readings(pattern: str) -> tuple[Reading, ...]:
    """Return each reading of a pattern, kept from when its pack was loaded, in a thread.

    Raises:
        ValueError: it is no pattern; says why.
    """
    return tuple(map(_reading, expansions(pattern)))


def expansions(pattern: str) -> list[str]:
    """Return a pattern without brackets and alternatives, in each way.

    Raises:
        ValueError: it is no pattern; says why.
    """
    return ["".join(chosen) for chosen in product(*_choices(pattern))]


def _choices(pattern: str) -> list[tuple[str, ...]]:
    """Return the pieces of a pattern, in each way that each can be said."""
    choices: list[tuple[str, ...]] = []
    names: list[str] = []
    for slot, plus, maybe, either, words, other in _PIECE.findall(pattern):
        if other:
            raise ValueError(f"has a {other!r} that belongs to nothing")
        if slot:
            names.append(slot)
            choices.append((f"{{{slot}{plus}}}",))
        elif maybe or (not words and not either):
            choices.append((*maybe.split("|"), ""))
        else:
            choices.append(tuple(either.split("|")) if either else (words,))
    if len(set(names)) != len(names) or len(names) > _SLOTS_MAX:
        raise ValueError(f"has a slot twice, or more than {_SLOTS_MAX}")
    total = 1
    for options in choices:
        total *= len(options)
    if total > _WAYS_MAX:
        raise ValueError(f"can be read in more than {_WAYS_MAX} ways")
    return choices


def _reading(text: str) -> Reading:
    pieces: list[Piece] = []
    long: set[str] = set()
    for part in _SLOT.split(text):
        if part.startswith("{"):
            name = part.strip("{}").rstrip("+")
            pieces.append(name)
            if part.endswith("+}"):
                long.add(name)
        elif words := folded_words(part):
            pieces.append(words)
    return Reading(tuple(pieces), frozenset(long))
