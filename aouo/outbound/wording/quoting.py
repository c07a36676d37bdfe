"""What strangers named, put into our own Markdown so that it can format nothing."""

from __future__ import annotations

import unicodedata

_NAME_MAX = 80
_MARKS = frozenset("\\`*_{}[]()#+-.!|~<>$&=:@^")
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def code(text: str, longest: int = _NAME_MAX) -> str:
    """A stranger's name in a code span."""
    return f"`{_one_line(text, longest).replace('`', '‘') or ' '}`"


def whole(text: str) -> str:
    """A stranger's name in a code span, however long: what somebody agrees to is not cut."""
    return code(text, len(text))


def plain(text: str, longest: int = _NAME_MAX) -> str:
    """A stranger's words with every mark of Markdown taken as it stands.

    By number, since a backslash before a bracket begins a formula. Two bars become one sign:
    they hide what is between them however they are written.
    """
    line = _one_line(text, longest).replace("||", "‖")
    return "".join(f"&#{ord(c)};" if c in _MARKS else c for c in line)


def _one_line(text: str, longest: int) -> str:
    visible = "".join(" " if c.isspace() else "" if _is_unseen(c) else c for c in text)
    line = " ".join(visible.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _is_unseen(character: str) -> bool:
    return character in _BLANK or unicodedata.category(character) in _INVISIBLE
