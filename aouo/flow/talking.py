"""Hears small talk: greetings, thanks, questions about the bot, curses, signs, nonsense."""

from __future__ import annotations

import re
from functools import cache

from aouo.facts import languages
from aouo.facts.events import Inbound, Text
from aouo.packs.actions.phrases import Phrase, Phrases
from aouo.packs.actions.slots import Here

_PACK = "~talk-"
_ROWS = ("qwertyuiop", "qwertzuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm")
_HALT_CHARS, _TALK_CHARS = 40, 200
_FRIENDLY = ("greeting", "wellbeing", "thanks", "praise", "ok", "bye", "laugh", "love")
_STOPPING = ("stop", "halt")
_PARTS_MAX = 3
_DRAWN = re.compile(r"([aeiouyáéíóú])\1+|([^\W\d_])\2{2,}", re.IGNORECASE)
"""A letter that is drawn out: a vowel twice, or any three times."""
_RUN = 4
"""So many keys side by side, there or back, are no word."""


def heard(said: str, here: Here) -> tuple[str, str]:
    """Return what kind of small talk words are, and in which language; ("", "") = none."""
    words = " ".join(said.split())
    spoken = here.language.casefold()[:2]
    if not re.search(r"\w", words):
        marks = set(words) - {" "}
        return ("question" if marks and marks <= set("?!.¿¡") else "signs"), spoken
    if len(words) > _TALK_CHARS:
        return "", ""
    plain = re.sub(r"[^\w\s'’,?]+", " ", words)
    own_first = sorted(languages.names(), key=lambda language: language != spoken)
    short = [_DRAWN.sub(kept, plain) for kept in (r"\1\2", r"\1\1\2\2")]  # "huhuuu", "cooool"
    for said_so in dict.fromkeys((plain, _fillers().sub("", plain), *short)):
        for language in own_first:
            if found := _patterns().match(said_so, here, (_PACK + language,)):
                return found[0].phrase.action, language
    return ("nonsense", spoken) if _is_nonsense(words) else _joined(words, here)


def _joined(words: str, here: Here) -> tuple[str, str]:
    """Return the last that tells most of what marks part, where all of it is small talk."""
    first, *others = _parting().split(words, maxsplit=_PARTS_MAX)
    parts = [heard(part, here) for part in (first, *others)] if others else []
    if any(kind not in (*_FRIENDLY, *_STOPPING) for kind, _ in parts):
        return "", ""
    telling = [part for part in parts if part[0] in _STOPPING] or parts
    return max(reversed(telling), key=lambda part: part[0] != "ok", default=("", ""))


@languages.derived
@cache
def _parting() -> re.Pattern[str]:
    words = "|".join(map(re.escape, languages.words("phrases", "joining")))
    return re.compile(rf"(?:[,.!;…]+\s+(?:(?:{words})\s+)?|\s+(?:{words})\s+)(?=\w)", re.IGNORECASE)


def halts(inbound: Inbound) -> bool:
    """Whether a text is the word that stops an answer, in any language, and nothing else."""
    content = inbound.content
    if not isinstance(content, Text) or content.theirs or len(content.text) > _HALT_CHARS:
        return False
    words = re.sub(r"[^\w\s]+", " ", content.text.casefold())
    return " ".join(words.split()) in _halts()


@languages.derived
@cache
def _halts() -> frozenset[str]:
    return frozenset(languages.words("talk", "halt"))


@languages.derived
@cache
def _fillers() -> re.Pattern[str]:
    words = "|".join(map(re.escape, languages.words("phrases", "fillers")))
    return re.compile(rf"\s+(?:{words})\b", re.IGNORECASE)


@languages.derived
@cache
def _patterns() -> Phrases:
    return Phrases(
        [
            Phrase(_PACK + language, kind, pattern, language)
            for language in languages.names()
            for kind, patterns in languages.table(language, "talk").items()
            for pattern in patterns
        ]
    )


def _is_nonsense(words: str) -> bool:
    """Whether it is one word that nobody would say: keys in a row, one letter again and again."""
    word = words.casefold()
    if not word.isalpha() or not word.isascii() or len(word) < _RUN:
        return False
    runs = (word[at : at + _RUN] for at in range(len(word) - _RUN + 1))
    keys = any(run in row or run in row[::-1] for run in runs for row in _ROWS)
    unvoiced = not re.search(r"[aeiouy]", word) and len(word) > _RUN
    return (keys and len(word) > _RUN) or unvoiced or len(set(word)) == 1
