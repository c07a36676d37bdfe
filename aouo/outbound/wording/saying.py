"""Makes a message of one plain sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aouo.facts.ports import ButtonSpec, Rendered
from aouo.outbound.markdown.entities import LIMIT


def say(text: str, *rows: Sequence[ButtonSpec]) -> Rendered:
    """Return a plain sentence with buttons; without formatting, so Telegram refuses none of it.

    What it quotes may be long: the sentence is cut at the length of a message.
    """
    units = text.encode("utf-16-le", "replace")
    if len(units) > 2 * LIMIT:
        text = units[: 2 * (LIMIT - 1)].decode("utf-16-le", "ignore") + "…"
    return Rendered(text, (), tuple(tuple(row) for row in rows), 0, False)


def below(words: Rendered, line: str) -> Rendered:
    """Return `words` with a status line below, if there is room."""
    if not words.text:
        return Rendered(line, preview=False)
    both = replace(words, text=f"{words.text}\n\n{line}")
    return both if len(both.text.encode("utf-16-le", "replace")) <= 2 * LIMIT else words
