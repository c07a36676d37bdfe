"""One plain sentence as a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aouo.facts.ports import ButtonSpec, Rendered
from aouo.outbound.markdown.entities import LIMIT


def say(text: str, *rows: Sequence[ButtonSpec]) -> Rendered:
    """A plain sentence with buttons; nothing in it is formatted, so nothing can be refused.

    What it quotes may be as long as a message is: the sentence ends where a message does.
    """
    units = text.encode("utf-16-le", "replace")
    if len(units) > 2 * LIMIT:
        text = units[: 2 * (LIMIT - 1)].decode("utf-16-le", "ignore") + "…"
    return Rendered(text, (), tuple(tuple(row) for row in rows), 0, False)


def below(words: Rendered, line: str) -> Rendered:
    """A line about what is going on, below what stands there already, if there is room."""
    if not words.text:
        return Rendered(line, preview=False)
    both = replace(words, text=f"{words.text}\n\n{line}")
    return both if len(both.text.encode("utf-16-le", "replace")) <= 2 * LIMIT else words
