"""Tells whether an answer says that something was done: held against what was."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from aouo.facts import languages

_LOOKED_AT_CHARS = 300
_OUR_LINE = re.compile(r"^\s*✓ ", re.MULTILINE)
"""What only the runtime says, below an answer."""


@languages.derived
@cache
def _expressions() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return what says that all is done, what names an effect, and what asks back."""
    words = {
        key: _any_of(languages.words("claims", key))
        for key in ("before", "done", "effects", "heard", "after", "asks")
    }
    before = rf"^\W*(?:{words['before']}\b[\s,.!:–—-]*)*"
    end = rf"(?=\s*(?:[.!,;✓✅👍]|$)|\s+{words['after']}\b)"
    claims = [
        claim.replace("{effects}", _any_of(table.get("effects", "").split()))
        for language in languages.names()
        if (table := languages.table(language, "claims"))
        for claim in table.get("claims", ())
    ]
    effect = "|".join([rf"(?!{words['heard']}){words['effects']}{end}", *claims])
    asks = rf"^\W*{words['asks']}\b.*\?\s*$"
    return (
        re.compile(rf"{before}{words['done']}{end}", re.IGNORECASE),
        re.compile(rf"{before}(?:{effect})", re.IGNORECASE),
        re.compile(asks, re.IGNORECASE | re.DOTALL),
    )


def _any_of(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, words)) or '(?!)'})"


def says_done(answer: str, asked: str, *, looked: bool) -> bool:
    """Whether an answer to the words `asked` begins by saying that something was changed or sent.

    A mere "noted" says that it was heard, a question about what is or was may be answered so, and
    a mere "done" may be about a look, where the turn had `looked`.
    """
    done, effect, asks_back = _expressions()
    if asks_back.match(asked):
        return False
    begins = answer[:_LOOKED_AT_CHARS]
    if effect.match(begins) or _OUR_LINE.search(answer):
        return True
    return not looked and bool(done.match(begins))
