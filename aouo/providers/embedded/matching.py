"""Matches a message with the examples, and finds which of its words are the values. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

from aouo.providers.embedded.options import Example, Option, with_values, word_list

_POLITE = r"(?:(?:please|pls|hey|hi|hello|ok|okay|so|now|just)\b[\s,!.]*+)*+"
_ASKED = r"(?P<asked>(?:can|could|would|will)\s+you\s+(?:please\s+)?)?"
_MAY_I = re.compile(
    _POLITE + r"(?:can|could)\s+(?:you|u|i|we)\s+(?:please\s+)?"
    r"(?=(?:see|show|tell|give|get|list|count|know)\b)",
    re.IGNORECASE,
)
"""A polite request to look something up; any other “can” asks what is possible."""
_ARTICLES = ("a", "an", "the", "my")
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        "a all am an any anything are do does everything get give got had has have hello "
        "hey hi i is just know let me my now of ok okay please s see show so some tell the "
        "there to u us want we what which would you your",
    )
)
"""Words that do not change what is looked up."""


Match: TypeAlias = tuple[Option, dict[str, Any]]
"""An option that a message fits, with the arguments from it."""


def matches(choices: Sequence[Option], message: str) -> tuple[Match, ...]:
    """Return every option that `message` fits; only the one whose example it equals, if any."""
    for option in choices:
        for example in option.examples:
            if word_list(message) == word_list(example.message) and not example.slots:
                return ((option, example.arguments),)
    filled = [match for option in choices if (match := _filled(option, message))]
    return tuple(filled[:1]) or tuple(_looked(choices, message))


def _filled(option: Option, message: str) -> Match | None:
    """Match the message with the option's examples; the values are the words between theirs."""
    for example in option.examples:
        if example.slots and (found := _form(example).fullmatch(message.strip())):
            asks = found[0].rstrip().endswith("?") and not option.looks
            if asks and not found["asked"] and not _has_mark(example):
                continue  # "Remember that day?" is no request to save it
            last = len(example.slots) - 1
            values = {
                place: _value(
                    found[f"v{at}"], cut=at == last and bool(option.looks or found["asked"])
                )
                for at, (place, _) in enumerate(example.slots)
            }
            first = values[example.slots[0][0]]
            if all(values.values()) and not _begins_later(option, example, first):
                return option, with_values(example.arguments, values)
    return None


def _form(example: Example) -> re.Pattern[str]:
    """Return the example as a pattern: its own words, and a group for each value."""
    rest, pattern = example.message.strip(), _POLITE + _ASKED
    for at, (_, value) in enumerate(example.slots):
        before, _, rest = rest.partition(value)
        sign = r"[^\n]" if len(example.slots) > 1 else r"."
        pattern += _words(before) + f"(?P<v{at}>{sign}+?)"
    end = r"[\s.!?]*+" if rest.strip() else r"\s*+"
    return re.compile(pattern + _words(rest) + end, re.IGNORECASE | re.DOTALL)


def _words(text: str) -> str:
    """Return a pattern for these words, with or without articles; spaces around signs may vary."""
    pattern = ""
    for piece in re.findall(r"[\w'’]+|[^\w\s'’]", text):
        sign = re.escape(piece)
        word = rf"\b{'an?' if piece.lower() in ('a', 'an') else sign}\b"
        if piece.lower() in _ARTICLES:
            pattern += rf"\s*+(?:{word})?"
        elif re.match(r"[\w'’]", piece):
            pattern += rf"\s*+(?:(?:{'|'.join(_ARTICLES)})\s++)?{word}"
        else:
            sign = "[:：]" if piece == ":" else sign
            pattern += rf"\s*+{sign}{'?' if piece in '.!?' else ''}"
    return pattern + r"\s*+"


def _has_mark(example: Example) -> bool:
    """Whether a colon or the like stands before the first value, and so marks it."""
    return bool(re.search(r"[^\w\s]\s*$", _before(example)))


def _begins_later(option: Option, example: Example, value: str) -> bool:
    """Whether `value` holds words that belong before it: of *add word: tree = Baum*, the example
    *add a = b* would take *word: tree*."""
    if _has_mark(example):
        return False
    if value.startswith(":") or value.endswith(":"):
        return True
    said = word_list(_before(example) + value)
    longer = [word_list(_before(e)) for e in option.examples if e.slots]
    own = len(word_list(_before(example)))
    return any(own < len(w) < len(said) and said[: len(w)] == w for w in longer)


def _before(example: Example) -> str:
    return example.message.partition(example.slots[0][1])[0]


def _value(words: str, *, cut: bool) -> str:
    words = words.strip()
    return words.rstrip("?!. ") if cut else words


def _looked(choices: Sequence[Option], message: str) -> list[Match]:
    """Match options that only look: their examples' words in any order, and no other words.

    Returns those that share the most words with the message.
    """
    message = _MAY_I.sub("", message, count=1) if _MAY_I.match(message) else message
    said, spelt = set(word_list(message)), set(_spelt(message))
    plain = [
        (option, [example.message for example in option.examples if not example.slots])
        for option in choices
        if option.looks
    ]
    seen = Counter(word for _, texts in plain for text in texts for word in _spelt(text))
    found: list[tuple[int, Match]] = []
    for option, texts in plain:
        known = {word for text in texts for word in word_list(text)}
        about = {word for text in texts for word in _spelt(text) if seen[word] > 1} - _FILLERS
        if about & spelt and said <= known | _FILLERS:
            found.append((len(said & known), (option, option.examples[0].arguments)))
    most = max((shared for shared, _ in found), default=0)
    return [match for shared, match in found if shared == most]


def _spelt(text: str) -> list[str]:
    """Return the words unchanged: “note” does not ask for notes."""
    return re.findall(r"[^\W_]+", text.lower())
