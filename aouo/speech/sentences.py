"""Cuts a text into pieces that a voice takes: after a sentence, else a word, else anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SENTENCE_END = re.compile(r"[.!?…:;]+[\"'»”’)\]]*(?=\s)|[。！？]+[」』”]*|\n+")
_SPACES = re.compile(r"\s+")


def pieces(text: str, limit: int) -> tuple[str, ...]:
    """Return `text` in pieces of at most `limit` characters.

    Joined they are `text` again, spaces included.
    """
    return tuple(_cut(text, limit))


def _cut(text: str, limit: int) -> Iterator[str]:
    while len(text) > limit:
        end = _last_end(_SENTENCE_END, text, limit) or _last_end(_SPACES, text, limit) or limit
        yield text[:end]
        text = text[end:]
    if text:
        yield text


def _last_end(mark: re.Pattern[str], text: str, limit: int) -> int:
    """Return the end of the last `mark` that fits with the spaces after it; 0 = there is none."""
    ends = (_after_spaces(text, found.end()) for found in mark.finditer(text, 0, limit + 1))
    return max((end for end in ends if end <= limit), default=0)


def _after_spaces(text: str, at: int) -> int:
    found = _SPACES.match(text, at)
    return found.end() if found else at
