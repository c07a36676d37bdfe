"""Cuts text and replaces values in JSON, for the other modules of this package."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

MAX_PROMPT_CHARS = 2400
MAX_MESSAGE_CHARS = 600
_CALLBACK = "[callback] "
"""The prefix of a tapped button's data; source: `routing.decide`."""

_CONTEXT = re.compile(
    r"\[(?:"
    r'(?:about this part of an earlier message|in reply to [^\n]*?): ".*?"'
    r"|forwarded from [^\n]*"
    r"|[^\n\]]* reacted [^\n]*"
    r"|voice message[^\n\]]*; what was said:"
    r")\](?:\n|$)",
    re.DOTALL,
)
"""A note that the runtime puts before the person's words; its quote may have several lines."""
_EDITED = "[the person edited their message: "
"""The beginning of the note about an edit during a turn; source: `turn.heard`."""

Place: TypeAlias = tuple[str, ...]
"""The path to a value in JSON: keys, and list positions as text, from the outside in."""


def cleaned(message: str) -> str:
    """Return `message` without unprintable characters."""
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in message).strip()


def own_words(message: str) -> str:
    """Return the person's own words in `message`, without the bracketed notes before them.

    "" when some of it was forwarded, since those are another person's words.
    """
    while context := _CONTEXT.match(message):
        if context[0].startswith("[forwarded"):
            return ""
        message = message[context.end() :]
    return message.removeprefix(_CALLBACK)


def is_edit(message: str) -> bool:
    """Whether the message is only a note that an earlier one was edited."""
    return message.startswith(_EDITED)


def one_line(text: str, limit: int) -> str:
    return " ".join(text.split())[:limit]


def word_list(text: str) -> list[str]:
    """Return the words in lower case, without the plural's s."""
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") else word
        for word in re.findall(r"[^\W_]+", text.lower()[:MAX_MESSAGE_CHARS])
    ]


def all_leaves(value: object, path: Place = ()) -> Iterator[tuple[Place, object]]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield from all_leaves(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(cast("list[object]", value)):
            yield from all_leaves(inner, (*path, str(at)))
    else:
        yield path, value


def with_values(arguments: Mapping[str, Any], values: Mapping[Place, object]) -> dict[str, Any]:
    """Return a copy of `arguments` with these values in their places."""
    filled: Any = dict(arguments)
    for place, new in values.items():
        filled = _with_value(filled, place, new)
    return filled


def _with_value(value: object, place: Place, new: object) -> Any:
    if not place:
        return new
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        return {
            k: _with_value(v, place[1:], new) if k == place[0] else v for k, v in entries.items()
        }
    items = cast("list[object]", value)
    return [
        _with_value(v, place[1:], new) if str(at) == place[0] else v for at, v in enumerate(items)
    ]
