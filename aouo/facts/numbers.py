"""Reads numbers as people write them: in figures, spelled, or both ("2 and a half million").

A language's `numbers.yml` brings the words; what is read is the longest number at the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import takewhile
from typing import Any, Literal, TypeAlias

from aouo.facts import languages
from aouo.facts.letters import folded

_Kind: TypeAlias = Literal["word", "article", "and", "fraction", "added", "point", "ordinal"]
_FIGURES = re.compile(r"\d[\d.,]*")
_PARTS = re.compile(r"\d[\d.,]*|[^\W\d_]+")
_KEY_WORDS_MAX, _NUMBER_WORDS_MAX = 4, 16


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """The words of one language; keys are folded, and may be several words."""

    atoms: Mapping[str, tuple[_Kind, Decimal]]
    parts: frozenset[str]
    """Each word of a key."""
    multipliers: frozenset[Decimal]
    compounds: bool
    """Whether words of numbers are written as one: "zweihundert"."""
    units_first: bool
    """Whether units come before tens: "fünfundzwanzig"."""
    trailing: bool
    """Whether a last unit counts a tenth of what it follows: 二百五 is 250."""
    and_from: Decimal
    """The least place after which "and" joins: "hundred and five", not "twenty and five"."""


@dataclass(frozen=True, slots=True)
class _Atom:
    kind: _Kind
    value: Decimal
    end: int
    """How many words end with it; 0: it ends inside one."""
    inside: bool = False
    """Whether it begins inside a word."""


@dataclass(slots=True)
class _Sum:
    """What is read so far: terms that get smaller, each with the place that is open below it."""

    lexicon: _Lexicon
    terms: list[tuple[Decimal, Decimal]] = field(default_factory=list[tuple[Decimal, Decimal]])
    joined: bool = False

    @property
    def value(self) -> Decimal:
        return sum((value for value, _ in self.terms), Decimal(0))

    @property
    def _open(self) -> Decimal:
        return self.terms[-1][1] if self.terms else Decimal("Infinity")

    def take(self, atom: _Atom) -> bool:
        """Take one more word; false: the number ended before it."""
        if atom.kind == "and":
            joins = bool(self.terms) and (self._open >= self.lexicon.and_from or self._unit())
            self.joined, joins = joins, joins and not self.joined
            return joins
        if atom.kind == "added":
            whole = (
                bool(self.terms)
                and not self.joined
                and self.value == self.value.to_integral_value()
            )
            self.terms += [(atom.value, Decimal(0))] if whole else []
            return whole
        if atom.kind == "article" and self.terms and not atom.inside:
            return False
        joined, self.joined = self.joined, False
        if atom.kind == "word" and atom.value in self.lexicon.multipliers:
            return self._multiply(atom.value, joined=joined)
        if joined and self._unit() and 20 <= atom.value < 100:
            self.terms[-1] = (self.terms[-1][0] + atom.value, Decimal(1))
            return True
        if atom.value >= self._open or (joined and self._open < self.lexicon.and_from):
            return False
        self.terms.append((atom.value, _place(atom)))
        return True

    def _unit(self) -> bool:
        return self.lexicon.units_first and bool(self.terms) and 1 <= self.terms[-1][0] < 10

    def _multiply(self, factor: Decimal, *, joined: bool) -> bool:
        kept = next((n for n in range(len(self.terms), 0, -1) if self.terms[n - 1][0] >= factor), 0)
        count = sum((value for value, _ in self.terms[kept:]), Decimal(0))
        above = self.terms[kept - 1][1] if kept else Decimal("Infinity")
        product = (count or 1) * factor
        if product >= above or (joined and count):
            return False
        self.terms[kept:] = [(product, factor)]
        return True


def _place(atom: _Atom) -> Decimal:
    """Return below which place a word leaves room: 10 after "twenty", none after "ten"."""
    if atom.kind == "fraction" or atom.value % 1 or atom.value in (0, 10):
        return Decimal(0)
    place = Decimal(1)
    while atom.value % (place * 10) == 0:
        place *= 10
    return place


def spelled(
    words: Sequence[str], language: str, *, articles: bool = False
) -> tuple[Decimal, int] | None:
    """Return the longest number at the beginning of `words`, and how many of them it takes.

    `articles`: whether "a" alone is one, as before a unit.
    """
    sums = _sums(_atoms(words, language), _lexicon(language))
    if sums and sums[1] == 1 and not articles:
        first = _atoms(words[:1], language)
        return None if len(first) == 1 and first[0].kind == "article" else sums
    return sums


def ordinal(words: Sequence[str], language: str) -> tuple[int, int] | None:
    """Return the ordinal at the beginning of `words`, such as "twenty first", and how many words
    it takes."""
    atoms = _atoms(words, language)
    last = next((n for n, atom in enumerate(atoms) if atom.kind == "ordinal"), None)
    if last is None or not atoms[last].end:
        return None
    total = _Sum(_lexicon(language))
    if all(total.take(atom) for atom in atoms[: last + 1]):
        return int(total.value), atoms[last].end
    return None


def numeral(text: str, language: str) -> Decimal | None:
    """Return a number in figures, with the separators of any language; a language's own settle
    what is open: 1.234."""
    if re.fullmatch(r"[+-]?\d[\d.,' ]*", text := text.strip()) is None:
        return None
    text = text.replace(" ", "").replace("'", "").rstrip(".,")
    points, commas = text.count("."), text.count(",")
    mark = "," if text.rfind(",") > text.rfind(".") else "."
    if points + commas == 1 and len(text.rpartition(mark)[2]) == 3:
        mark = "" if mark == marks(language)[1] else mark
    elif (points > 1 and not commas) or (commas > 1 and not points):
        mark = ""
    digits = "".join("#" if letter == mark else letter for letter in text)
    try:
        return Decimal(digits.replace(".", "").replace(",", "").replace("#", "."))
    except InvalidOperation:
        return None


def marks(language: str) -> tuple[str, str]:
    """Return what a language writes before decimals, and between thousands."""
    table = _table(language)
    return table.get("decimal", "."), table.get("thousands", ",")


def joins(word: str, language: str) -> bool:
    """Whether a word is an "and"."""
    return folded(word) in map(folded, _table(language).get("and", ()))


def _sums(atoms: Sequence[_Atom], lexicon: _Lexicon) -> tuple[Decimal, int] | None:
    total, longest = _Sum(lexicon), None
    at = 0
    while at < len(atoms):
        atom = atoms[at]
        if atom.kind == "ordinal":
            break
        if atom.kind == "point":
            decimals, used = _decimals(atoms[at + 1 :], lexicon)
            if not used or not total.terms or total.joined or total.value % 1:
                break
            total.terms.append((decimals, Decimal(0)))
            at += used
        else:
            below = total.terms[-1][1] if total.terms and not total.joined else Decimal(0)
            if not total.take(atom):
                break
            after = atoms[at + 1].kind if at + 1 < len(atoms) else ""
            if lexicon.trailing and below >= 100 and 0 < atom.value < 10 and after != "word":
                total.terms[-1] = (atom.value * below / 10, Decimal(0))
        end = atoms[at].end
        longest = (total.value, end) if end and not total.joined else longest
        at += 1
    return longest


def _decimals(atoms: Sequence[_Atom], lexicon: _Lexicon) -> tuple[Decimal, int]:
    """Return what follows a spoken point, as one number below 100 or digit by digit, and how many
    atoms it takes."""
    whole = _sums(atoms, lexicon)
    if whole and 10 <= whole[0] < 100:
        return whole[0] / 100, next(n for n, atom in enumerate(atoms, 1) if atom.end == whole[1])
    digits = "".join(str(atom.value) for atom in takewhile(_is_digit, atoms))
    return Decimal(f"0.{digits or 0}"), len(digits)


def _is_digit(atom: _Atom) -> bool:
    return atom.kind == "word" and atom.value < 10


def _atoms(words: Sequence[str], language: str) -> list[_Atom]:
    """Return what the first words are as parts of numbers, up to one that is none."""
    lexicon = _lexicon(language)
    parts: list[tuple[str, int]] = []
    for number, word in enumerate(words[:_NUMBER_WORDS_MAX], 1):
        pieces = _pieces(folded(word), lexicon)
        if not pieces:
            break
        parts += [(piece, number if n == len(pieces) else 0) for n, piece in enumerate(pieces, 1)]
    atoms: list[_Atom] = []
    at = 0
    while at < len(parts):
        for length in range(_KEY_WORDS_MAX, 0, -1):
            key = " ".join(part for part, _ in parts[at : at + length])
            if key in lexicon.atoms and at + length <= len(parts):
                kind, value = lexicon.atoms[key]
                break
        else:
            figures = numeral(parts[at][0], language) if not atoms else None
            if figures is None:
                break
            length, kind, value = 1, "fraction", figures
        inside = at > 0 and not parts[at - 1][1]
        at += length
        atoms.append(_Atom(kind, value, parts[at - 1][1], inside))
    return atoms


def _pieces(word: str, lexicon: _Lexicon) -> list[str]:
    """Return a word cut into words of numbers and figures; [] = it is something else."""
    whole = word.strip(".,") if _FIGURES.fullmatch(word) else word
    pieces: list[str] = []
    for part in re.split(r"[\s-]+", whole) if whole != "-" else []:
        if part in lexicon.parts or _FIGURES.fullmatch(part):
            pieces.append(part)
        elif lexicon.compounds and (cut := _cut(part, lexicon.parts)):
            pieces += cut
        else:
            return []
    return pieces


def _cut(word: str, parts: frozenset[str]) -> list[str]:
    """Return a compound as the longest words of numbers that make it up; [] = it is none."""
    figures = _FIGURES.match(word)
    ends = [figures.end()] if figures else range(len(word), 0, -1)
    for end in ends:
        if not figures and word[:end] not in parts:
            continue
        if end == len(word):
            return [word]
        if rest := _cut(word[end:], parts):
            return [word[:end], *rest]
    return []


def _table(language: str) -> Mapping[str, Any]:
    base = language.casefold().replace("_", "-").partition("-")[0]
    return languages.table(base, "numbers") or languages.table(languages.FIRST, "numbers")


@languages.derived
@cache
def _lexicon(language: str) -> _Lexicon:
    table = _table(language)
    atoms: dict[str, tuple[_Kind, Decimal]] = dict(_entries(table))
    words = table.get("words", {})
    powers = {Decimal(10) ** n for n in range(2, 16)}
    own = {Decimal(str(words[word])) for word in table.get("multipliers", ())}
    return _Lexicon(
        atoms,
        frozenset(part for key in atoms for part in key.split()),
        frozenset(powers | own),
        bool(table.get("compounds")),
        bool(table.get("units_first")),
        bool(table.get("trailing")),
        Decimal(str(table.get("and_from", 100))),
    )


def _entries(table: Mapping[str, Any]) -> Iterator[tuple[str, tuple[_Kind, Decimal]]]:
    kinds: Mapping[str, _Kind] = {"words": "word", "fractions": "fraction", "added": "added"}
    for name in table.get("ordinals", {}):
        for ending in table.get("ordinal_endings", [""]):
            yield _key(f"{name}{ending}"), ("ordinal", Decimal(str(table["ordinals"][name])))
    for name, kind in kinds.items():
        for word, value in table.get(name, {}).items():
            yield _key(word), (kind, Decimal(str(value)))
    lists: Mapping[str, _Kind] = {"articles": "article", "and": "and", "points": "point"}
    for name, kind in lists.items():
        for word in table.get(name, ()):
            yield _key(word), (kind, Decimal(kind == "article"))


def _key(word: object) -> str:
    return " ".join(re.split(r"[\s-]+", folded(str(word))))
