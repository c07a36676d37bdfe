"""What languages bring to phrases, whatever is installed: words around a wish, spellings, glue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from aouo.facts import languages
from aouo.facts.letters import UNSPACED, expression, folded
from aouo.packs.actions import patterns, several
from aouo.packs.actions.tokens import ASKING, common, folded_words

MARK, _REASONED_MAX = re.compile(r"\s*[,;.!–]\s+|\s+-\s+"), 200
_MARKS_MAX, _WISH_BLANKS, _POLITE_MAX = 3, 9, 80
_BETWEEN, _LAST = "\t\n\v\f\r \xa0\u202f\u3000,", "\t\n\v\f\r \xa0\u202f\u3000.!?。！？"
_END = rf"(?:\b|(?<=[{UNSPACED}]))"


@dataclass(frozen=True, slots=True)
class _Glue:
    """Words, folded, that are not what somebody wants."""

    before: re.Pattern[str]
    after: re.Pattern[str]
    asking: frozenset[str]
    asked: tuple[str, ...]
    """What makes a question of a text wherever it stands."""
    common: frozenset[str]
    """Words that tell no two things apart."""
    unpriced: frozenset[str]
    """Those, and what says how something was: a number beside them is no price by that."""
    subjects: frozenset[str]
    """With what words begin that tell of somebody, not of a word or a thing."""
    pointing: Mapping[str, str]
    """What points at something that was said before, with what a name has before it there."""
    reasons: frozenset[str]
    """With what a reason begins after what somebody wants."""
    hedges: frozenset[str]
    """What makes more than a reason of it: "but", "unless"."""


@languages.derived
@cache
def glue() -> _Glue:
    """Return the glue of all languages."""
    before, after = (_expressions(key) for key in ("before", "after"))
    keys = ("asking", "pointing", "subjects", "reasons", "hedges")
    asking, pointing, subjects, reasons, hedges = (
        frozenset(map(folded, languages.words("phrases", key))) for key in keys
    )
    return _Glue(
        re.compile(rf"[\s¿¡]*(?:(?:{before}){_END}[\s,:，：]*)+[¿¡]*", re.IGNORECASE),
        re.compile(rf"(?:[\s,]|(?<=[{UNSPACED}]))(?:{after})$", re.IGNORECASE),
        asking,
        languages.words("phrases", "asked"),
        common(),
        common() | set(map(folded, languages.words("phrases", "being"))),
        subjects | pointing,
        {**dict.fromkeys(pointing, ""), **languages.pairs("phrases", "pointing_at")},
        reasons | subjects | pointing,
        hedges,
    )


def _expressions(key: str) -> str:
    said = (
        words
        for pattern in languages.words("phrases", key)
        for words in patterns.expansions(pattern)
    )
    return "|".join(map(expression, sorted(set(said), key=len, reverse=True))) or "(?!)"


def plain(text: str) -> str:
    """Return the text without the polite words around it, and as one says it to a friend; a wish
    that is put as a question is none."""
    head = glue().before.match(text)
    bare = _shorn(text[head.end() :] if head else text)
    for formal, friendly in languages.pairs("spelling", "formal").items():
        bare = re.sub(rf"^{formal}", friendly, bare, flags=re.IGNORECASE)
    return bare.rstrip().rstrip("?？") if head and bare else bare or text


def _shorn(text: str) -> str:
    """Return a text without the polite words at its end, read from there word by word."""
    shorn, bare = text, text.rstrip(_LAST)
    while last := glue().after.search(bare, max(0, len(bare) - _POLITE_MAX)):
        shorn = bare = bare[: last.start()].rstrip(_BETWEEN)
    return shorn


def unreasoned(text: str) -> str:
    """Return a text without the reason at its end: "delete the bank one, they just rang"."""
    for mark in MARK.finditer(text) if len(text) <= _REASONED_MAX else ():
        words = re.findall(r"\w+", folded(text[mark.end() :]))
        if words and words[0] in glue().reasons and not glue().hedges & set(words):
            return text[: mark.start()]
    return text


def reasoned(text: str) -> Iterator[tuple[str, str]]:
    """Yield what may be a wish, and the reason around it: "it's in, cancel the reminder"; what the
    wish hangs on ("if", "when") is none."""
    marks = [*several.joining().finditer(text)][:_MARKS_MAX] if len(text) <= _REASONED_MAX else []
    begins, ends = [0, *(mark.end() for mark in marks)], [*(mark.start() for mark in marks), None]
    for first, begin in reversed([*enumerate(begins)]):
        for end in ends[first:] if marks else ():
            reason = f"{text[:begin]} {text[len(text) if end is None else end :]}".strip(" ,;.")
            words = re.findall(r"\w+", folded(reason))
            wish = text[begin:end] if words and not glue().hedges & set(words) else ""
            if wish and wish.count(" ") < _WISH_BLANKS and not asks(reason):
                yield wish, reason


@languages.derived
@lru_cache(maxsize=256)
def asks(text: str, *, anywhere: bool = False) -> bool:
    """Whether a text begins as a question does, or holds what makes it one; `anywhere`: also by a
    word or mark in it that may be of no question."""
    words = [word.partition("'")[0] for word in folded_words(text)]
    first = folded(re.split(r"[\s'’]", text.strip(" ¿"), maxsplit=1)[0])
    asking = map(folded, languages.words("phrases", "sought")) if anywhere else ()
    sought = anywhere and (text.rstrip().endswith(ASKING) or not set(words).isdisjoint(asking))
    begins = first in glue().asking - glue().common
    return begins or sought or any(word in text for word in glue().asked)


def telling(text: str) -> list[str]:
    """Return the words of a question that name what is asked for."""
    words = dict.fromkeys(re.findall(r"\w+", " ".join(folded_words(text))))
    untelling = glue().unpriced | glue().asking | glue().subjects
    untelling |= {folded(w) for key in ("sought", "idle") for w in languages.words("phrases", key)}
    return [word for word in words if word not in untelling]
