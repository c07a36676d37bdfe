"""Makes lines of what people and strangers wrote, and joins lines to messages."""

from __future__ import annotations

from dataclasses import replace

from aouo.facts.ports import Rendered
from aouo.markdown.entities import LIMIT

_SHOWN_CHARS = 400


def below(words: Rendered, line: str) -> Rendered:
    """Return `words` with a status line below, if there is room."""
    if not words.text:
        return Rendered(line, preview=False)
    both = replace(words, text=f"{words.text}\n\n{line}")
    return both if len(both.text.encode("utf-16-le", "replace")) <= 2 * LIMIT else words


def cut(text: str, longest: int) -> str:
    """Return a text on one line, shortened at its end."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def one_line(path: str, longest: int = _SHOWN_CHARS) -> str:
    """Return a path or a name on one line, without control characters, shortened."""
    shown = "".join(char if char.isprintable() else "?" for char in path)
    if len(shown) <= longest:
        return shown
    half = longest // 2
    return f"{shown[:half]}…{shown[-half:]}"
