"""Reads the words and files of rich messages, which the library does not know yet.

Every block is read by the fields that it has, so one of a later version gives what words it holds.
Source: core.telegram.org/bots/api#richmessage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

_DEEPEST = 100
"""Levels of blocks and of styles within each other that are read."""
_MOST_CHARS = 100_000
_DEEPER = "[… nested deeper than is read]"
_WORDS = ("title", "question", "name", "text", "caption", "description")
_FILES = ("photo", "video", "audio", "animation", "voice_note", "document")


def text_of(rich: object) -> str:
    """Return the words of a rich message as plain lines, at most 100,000 characters of them."""
    text = "\n".join(_blocks(_field(rich, "blocks"), 0)).strip()
    if len(text) > _MOST_CHARS:
        left = len(text) - _MOST_CHARS
        return f"{text[:_MOST_CHARS]}\n[… {left:,} more characters, not read]"
    return text


def files_in(rich: object) -> list[tuple[str, object]]:
    """Return its files in order as (field of a `Message`, value)."""
    found: list[tuple[str, object]] = []
    for node in _nodes(rich):
        kind = node.get("type")
        if kind in _FILES and kind in node:
            found.append((str(kind).removesuffix("_note"), node[kind]))
    return found


def mentions(rich: object) -> set[str]:
    """Return the user names, without @ and in lower case, and the ids of all who are mentioned."""
    nodes = list(_nodes(rich))
    names = {str(node.get("username", "")) for node in nodes if node.get("type") == "mention"}
    users = [node.get("user") for node in nodes if node.get("type") == "text_mention"]
    return {name.lstrip("@").casefold() for name in names} | {
        str(_field(user, "id")) for user in users
    }


def words_in(unknown: object) -> str:
    """Return the words of a kind of message that is newer than this, in the order they stand."""
    found = [node[name] for node in _nodes(unknown) for name in _WORDS if name in node]
    return " · ".join(text for text in found if isinstance(text, str) and text.strip())


def _nodes(rich: object) -> Iterator[dict[str, Any]]:
    """Every object in it, in order."""
    open_: list[object] = [rich]
    while open_:
        node = open_.pop()
        if isinstance(node, dict):
            yield cast("dict[str, Any]", node)
            open_ += reversed(list(cast("dict[str, object]", node).values()))
        elif isinstance(node, list):
            open_ += reversed(cast("list[object]", node))


def _blocks(blocks: object, depth: int) -> Iterator[str]:
    for block in _items(blocks):
        yield from _block(block, depth)


def _block(block: object, depth: int) -> list[str]:
    """Return a block's lines: its words, what is inside of it, and what stands below it."""
    if depth > _DEEPEST:
        return [_DEEPER]
    lines = [_headed(block, _inline(_field(block, "text") or _field(block, "summary")))]
    if expression := _field(block, "expression"):
        lines.append(f"$${expression}$$")
    if place := _field(block, "location"):
        lines.append(f"[place: {_field(place, 'latitude')}, {_field(place, 'longitude')}]")
    for item in _items(_field(block, "items")):
        first, *more = [*_blocks(_field(item, "blocks"), depth + 1), ""]
        lines += [f"{_bullet(item)} {first}".rstrip(), *(f"  {line}" for line in more if line)]
    for cells in _items(_field(block, "cells")):
        lines.append(" | ".join(_inline(_field(cell, "text")) for cell in _items(cells)))
    lines += _blocks(_field(block, "blocks"), depth + 1)
    if (kind := _field(block, "type")) in _FILES:
        lines.append(f"[{str(kind).replace('_', ' ')}]")
    caption = _field(block, "caption")
    lines += [_inline(caption), _inline(_field(caption, "text"))]
    if credit := _inline(_field(block, "credit") or _field(caption, "credit")):
        lines.append(f"— {credit}")
    quoted = "> " if _field(block, "type") in ("blockquote", "pullquote") else ""
    return [f"{quoted}{line}" for line in lines if line]


def _headed(block: object, words: str) -> str:
    match _field(block, "type"):
        case "heading" if words:
            size = _field(block, "size")
            return f"{'#' * (size if isinstance(size, int) and 0 < size < 7 else 1)} {words}"
        case "pre" if words:
            return f"```{_field(block, 'language') or ''}\n{words}\n```"
        case "divider":
            return "---"
        case _:
            return words


def _bullet(item: object) -> str:
    if _field(item, "has_checkbox"):
        return "[x]" if _field(item, "is_checked") else "[ ]"
    label = _field(item, "label")
    return label if isinstance(label, str) and label.strip() else "-"


def _inline(text: object, depth: int = 0) -> str:
    """Return rich text without its styles; a link's address stands behind its words."""
    if isinstance(text, str):
        return text
    if depth > _DEEPEST:
        return _DEEPER
    if isinstance(text, list):
        return "".join(_inline(part, depth + 1) for part in cast("list[object]", text))
    match _field(text, "type"):
        case "mathematical_expression":
            return f"${_field(text, 'expression')}$"
        case "custom_emoji":
            return str(_field(text, "alternative_text") or "")
        case "url":
            words, url = _inline(_field(text, "text"), depth + 1), str(_field(text, "url") or "")
            return words if not url or words in url else f"{words} ({url})"
        case _ if _field(text, "type"):
            return _inline(_field(text, "text"), depth + 1)
        case _:
            return ""


def _field(node: object, name: str) -> Any:
    return cast("dict[str, Any]", node).get(name) if isinstance(node, dict) else None


def _items(value: object) -> Iterable[object]:
    return cast("list[object]", value) if isinstance(value, list) else ()
