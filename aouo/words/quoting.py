"""Escapes strangers' names and words in our Markdown, so that they format nothing."""

from __future__ import annotations

import unicodedata

_NAME_MAX = 80
_MARKS = frozenset("\\`*_{}[]()#+-.!|~<>$&=:@^")
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def code(text: str, longest: int = _NAME_MAX) -> str:
    """Return a stranger's name in a code span, shortened."""
    return f"`{_one_line(text, longest).replace('`', '‘') or ' '}`"


def whole(text: str) -> str:
    """Return a stranger's name in a code span, uncut, for what a person agrees to."""
    return code(text, len(text))


def plain(text: str, longest: int = _NAME_MAX) -> str:
    """Return a stranger's words with every Markdown mark escaped.

    As numeric entities, since a backslash before a bracket begins a formula. Two bars become one
    character: they make a spoiler even if escaped.
    """
    line = _one_line(text, longest).replace("||", "‖")
    return "".join(f"&#{ord(c)};" if c in _MARKS else c for c in line)


def _one_line(text: str, longest: int) -> str:
    visible = "".join(" " if c.isspace() else "" if _is_unseen(c) else c for c in text)
    line = " ".join(visible.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _is_unseen(character: str) -> bool:
    return character in _BLANK or unicodedata.category(character) in _INVISIBLE
