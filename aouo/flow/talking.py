"""Hears small talk: greetings, thanks, questions about the bot, curses, signs, nonsense."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from aouo.facts.events import Inbound, Text
from aouo.packs.actions.phrases import Phrase, Phrases
from aouo.packs.actions.slots import Here
from aouo.words.catalogue import LANGUAGES

_PACK = "~talk-"
_FILLERS = re.compile(
    r"(?i)\s+(?:eigentlich|denn|mal|so|halt|bloß|überhaupt|really|just|actually|even|man|bro)\b"
)
_ROWS = ("qwertyuiop", "qwertzuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm")
_HALT_CHARS = 40
_RUN = 4
"""So many keys side by side, there or back, are no word."""


def heard(said: str, here: Here) -> tuple[str, str]:
    """Return what kind of small talk words are, and in which language; ("", "") = none."""
    words = " ".join(said.split())
    spoken = here.language.casefold()[:2]
    if not re.search(r"\w", words):
        marks = set(words) - {" "}
        return ("question" if marks and marks <= set("?!.¿¡") else "signs"), spoken
    plain = re.sub(r"[^\w\s'’,?]+", " ", words)
    own_first = sorted(LANGUAGES, key=lambda language: language != spoken)
    for said_so in dict.fromkeys((plain, _FILLERS.sub("", plain))):
        for language in own_first:
            if found := _patterns().match(said_so, here, (_PACK + language,)):
                return found[0].phrase.action, language
    return ("nonsense", spoken) if _is_nonsense(words) else ("", "")


def halts(inbound: Inbound) -> bool:
    """Whether a text is the word that stops an answer, in any language, and nothing else."""
    content = inbound.content
    if not isinstance(content, Text) or content.theirs or len(content.text) > _HALT_CHARS:
        return False
    words = re.sub(r"[^\w\s]+", " ", content.text.casefold())
    return " ".join(words.split()) in _halts()


@cache
def _halts() -> frozenset[str]:
    return frozenset(word for kinds in _listed().values() for word in kinds["halt"])


@cache
def _patterns() -> Phrases:
    return Phrases(
        [
            Phrase(_PACK + language, kind, pattern, language)
            for language in LANGUAGES
            for kind, patterns in _listed()[language].items()
            for pattern in patterns
        ]
    )


@cache
def _listed() -> dict[str, dict[str, list[str]]]:
    """Language → kind → patterns; those of `halt` are plain words."""
    import yaml

    read = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((files("aouo.words") / "talk.yml").read_text("utf-8"), read)


def _is_nonsense(words: str) -> bool:
    """Whether it is one word that nobody would say: keys in a row, one letter again and again."""
    word = words.casefold()
    if not word.isalpha() or not word.isascii() or len(word) < _RUN:
        return False
    runs = (word[at : at + _RUN] for at in range(len(word) - _RUN + 1))
    keys = any(run in row or run in row[::-1] for run in runs for row in _ROWS)
    unvoiced = not re.search(r"[aeiouy]", word) and len(word) > _RUN
    return (keys and len(word) > _RUN) or unvoiced or len(set(word)) == 1
