"""Says whether a message books an amount: what is left beside it, and what the whole says of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from itertools import pairwise

from aouo.facts import languages, numbers, times
from aouo.facts.letters import folded, words_of
from aouo.packs.actions import money
from aouo.packs.actions.tokens import tokens

_AMOUNT_WORDS_MAX, _READ_MAX = 5, 5_000
_JOINERS, _AROUND = frozenset("+&-–"), ',;:()!?"“”„，。！？：'
_SUMMED = re.compile(r"(.+)(?:[,;.]\s|\n|\s=\s)(.+)", re.DOTALL)
_FIGURE = re.compile(r"\d+(?:[.,]\d\d?)?")


def holds_amount(words: str, language: str) -> bool:
    """Whether words hold an amount, or a number that an "and" joins to more, or begin or end with
    what joins them to another one."""

    def joins(word: str) -> bool:
        return word in _JOINERS or numbers.joins(word, language)

    split = words_of(words)
    listed = any(one[0].isdecimal() and joins(more) for one, more in pairwise(split))
    edges = map(joins, (*split[:1], *split[-1:]))
    return not split or listed or any(edges) or names_amount(words, language)


def names_amount(text: str, language: str) -> bool:
    """Whether a text names an amount that shows by itself: with a currency, or cents."""
    return amounts_in(text, language) > 0


@languages.derived
@lru_cache(maxsize=_READ_MAX)
def amounts_in(text: str, language: str) -> int:
    """Return how many amounts a text names that show by themselves; 2 stands for more as well."""
    words = [word.strip(_AROUND) for word in words_of(text)]
    amounts = at = 0
    while at < len(words) and amounts < 2:
        word, length = words[at], 0
        if _may_begin(word):
            ends = range(min(at + _AMOUNT_WORDS_MAX, len(words)), at, -1)
            marked = (end for end in ends if money.is_marked(" ".join(words[at:end]), language))
            length = next(marked, at) - at
        amounts += length > 0
        at += length or 1
    return amounts


def holds_number(text: str) -> bool:
    """Whether a text may hold a number, in words or figures."""
    return any(_may_begin(word.strip(_AROUND)) for word in words_of(text))


def _may_begin(word: str) -> bool:
    return bool(word) and (not word[0].isalpha() or money.may_begin(folded(word)))


def unsummed(text: str, language: str) -> str:
    """Return a text without the sum at its end of the amounts before it: "3 and 4, so 7 in all";
    "" = they make another one."""
    clauses = _SUMMED.fullmatch(text)
    if not clauses or not _markers("total", clauses[2]):
        return text
    parts, sums = (
        [numbers.numeral(figure, language) or 0 for figure in _FIGURE.findall(clause)]
        for clause in clauses.groups()
    )
    if not sums or len(parts) < 2:
        return text
    return clauses[1] if [sum(parts)] == sums else ""


def is_torn(before: str, after: str, language: str) -> bool:
    """Whether a number goes on from one slot to the next: "a hundred", "twenty euros", or is an
    hour that the words before it announce: "left home at 8"."""
    bare = after[:1].isdigit() and not money.is_marked(after, language)
    if bare and times.is_timelike(before, language, begins=False):
        return True
    last, first = words_of(before)[-1:], words_of(after)[:1]
    if numbers.spelled(last, language):
        return numbers.spelled(first, language) is not None
    grouped = re.match(r"\d{1,3} \d{3}(?![.,]?\d)", after)
    return grouped is not None and numbers.marks(language)[1] != " "


def is_unspent(text: str, own: Collection[str]) -> bool:
    """Whether a message books nothing: what it names is planned, denied or no spending. `own` are
    words of the phrase that it is: what they say is meant."""
    return any(not set(marker) <= set(own) for marker in _markers("unspent", text))


def is_statement(text: str) -> bool:
    """Whether words say more than what a thing is called."""
    return bool(_markers("statement", text))


def _markers(key: str, text: str) -> list[tuple[str, ...]]:
    words = ("^", *(token.folded for token in tokens(text)))
    return [
        marker
        for at, word in enumerate(words)
        for marker in _listed(key).get(word, ())
        if words[at : at + len(marker)] == marker
    ]


@languages.derived
@cache
def _listed(key: str) -> Mapping[str, list[tuple[str, ...]]]:
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for entry in languages.words("numbers", key):
        if marker := tuple(token.folded for token in tokens(entry)):
            by_first.setdefault(marker[0], []).append(marker)
    return by_first
