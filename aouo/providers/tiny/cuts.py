"""Small cuts of text and JSON that all of this shares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

MAX_PROMPT_CHARS = 2400
MAX_MESSAGE_CHARS = 600


_CONTEXT = re.compile(
    r"\[(?:"
    r'(?:about this part of an earlier message|in reply to [^\n]*?): ".*?"'
    r"|forwarded from [^\n]*"
    r")\](?:\n|$)",
    re.DOTALL,
)
"""A line that the channel puts before the person's words; what it quotes may be several lines."""

Place: TypeAlias = tuple[str, ...]
"""Keys, and positions as text, from the outside in."""


def cleaned(message: str) -> str:
    """`message` without signs that cannot be shown, which a grammar cannot hold either."""
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in message).strip()


def own_words(message: str) -> str:
    """`message` without the bracketed lines before it that say what it refers to."""
    while context := _CONTEXT.match(message):
        message = message[context.end() :]
    return message


def one_line(text: str, limit: int) -> str:
    return " ".join(text.split())[:limit]


def word_list(text: str) -> list[str]:
    """Words and telling signs in lower case, the plural's s cut off."""
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") else word
        for word in re.findall(r"[^\W_]+|[:=?!]", text.lower()[:MAX_MESSAGE_CHARS])
    ]


def gbnf(text: str) -> str:
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    )
    return f'"{escaped}"'


def all_leaves(
    value: object, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield from all_leaves(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(cast("list[object]", value)):
            yield from all_leaves(inner, (*path, str(at)))
    else:
        yield path, value


def value_at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> object:
    """What `arguments` has at `path`, None when it has no such place."""
    return dict(all_leaves(dict(arguments))).get(path)


def with_value(value: object, path: tuple[str, ...], new: object) -> Any:
    """`value` with `new` at `path`; nothing is changed in place."""
    if not path:
        return new
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        return {k: with_value(v, path[1:], new) if k == path[0] else v for k, v in entries.items()}
    items = cast("list[object]", value)
    return [with_value(v, path[1:], new) if str(at) == path[0] else v for at, v in enumerate(items)]
