"""Splits a line that begins with a slash into a command and its words."""

from __future__ import annotations

import re

from aouo.facts.commands import Words, meant
from aouo.facts.events import Command

_COMMAND = re.compile(r"/([A-Za-z0-9_-]{1,64})(?:@([A-Za-z0-9_]+))?(?:\s+|$)")


def command(text: str) -> Command | None:
    """Return the command that `text` begins with, None = none; a slash in mid-text is none.

    `/name@bot` is accepted for any bot: the normaliser of updates decides whose command it is.
    """
    text = text.strip()
    found = _COMMAND.match(text)
    if not found:
        return None
    return Command(*meant(found[1].lower(), text[found.end() :].strip()), text)


def words(rest: str) -> Words:
    """Split at white space; `'` and `"` group, a backslash escapes the next character.

    Raises:
        ValueError: a quote is not closed, or a backslash is last; says which.
    """
    args: list[str] = []
    flags: dict[str, str] = {}
    pending = ""
    for word, quoted in _tokens(rest):
        if word.startswith("--") and not quoted and len(word) > 2:
            if pending:
                flags[pending] = "true"
            name, given, value = word[2:].partition("=")
            pending = "" if given else name.lower()
            if given:
                flags[name.lower()] = value or "true"
        elif pending:
            flags[pending] = word
            pending = ""
        else:
            args.append(word)
    if pending:
        flags[pending] = "true"
    return Words(tuple(args), flags)


def _tokens(text: str) -> list[tuple[str, bool]]:
    """Return the words, each with whether any part of it was quoted."""
    found: list[tuple[str, bool]] = []
    word, quote, quoted, escaped, begun = "", "", False, False, False
    for sign in text:
        if escaped:
            word, escaped = word + sign, False
        elif sign == "\\":
            escaped, begun = True, True
        elif quote:
            quote, word = ("", word) if sign == quote else (quote, word + sign)
        elif sign in "'\"":
            quote, quoted, begun = sign, True, True
        elif sign.isspace():
            if begun:
                found.append((word, quoted))
            word, quoted, begun = "", False, False
        else:
            word, begun = word + sign, True
    if quote:
        raise ValueError(f"the quote {quote} is not closed")
    if escaped:
        raise ValueError("a backslash at the end escapes nothing")
    if begun:
        found.append((word, quoted))
    return found
