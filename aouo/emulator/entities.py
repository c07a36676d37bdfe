"""Measures and cleans text, and checks and cuts its entities, as the server does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from aouo.emulator.description import JsonObject
from aouo.emulator.refusals import bad_request

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):")
_BLANK = " \n"


def utf16_length(text: str) -> int:
    """Return the number of UTF-16 code units, Telegram's unit of offsets."""
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)


def _utf16_boundaries(text: str) -> list[int]:
    """Return the UTF-16 offset of every character and of the end; others split a surrogate pair."""
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + (2 if ord(character) > 0xFFFF else 1))
    return offsets


def _clean(text: str) -> str:
    """Drop `\\r` and turn other control characters into spaces, as the server stores texts."""
    return "".join(
        " " if ord(character) < 32 and character != "\n" else character
        for character in text
        if character != "\r"
    )


def _outer_blanks(text: str) -> tuple[int, int]:
    """Return how many blank characters lead and trail; they never reach a chat."""
    leading = len(text) - len(text.lstrip(_BLANK))
    trailing = len(text) - len(text.rstrip(_BLANK))
    return leading, trailing


def link_target(url: str) -> str | None:
    """Return the address that a `text_link` opens, or None if the server drops it silently.

    `tg://user?id=` mentions are not links and are left as they are.
    """
    address = url.strip()
    scheme = _SCHEME.match(address)
    if scheme is None or "://" not in address:
        address = f"http://{address}"
    parts = urlsplit(address)
    if parts.scheme.lower() in ("tg", "ton", "tonsite"):
        return address
    if parts.scheme.lower() not in ("http", "https") or " " in address:
        return None
    if "." not in parts.netloc.strip("."):
        return None
    return address if parts.path or parts.query or parts.fragment else f"{address}/"


_MAX_ENTITIES = 100  # the server drops the rest

# The kinds that a bot may set; the server finds the others itself.
SETTABLE = frozenset(
    [
        *("bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre"),
        *("blockquote", "expandable_blockquote", "text_link", "text_mention"),
        *("custom_emoji", "date_time"),
    ]
)
_EXTRAS = ("url", "user", "language", "custom_emoji_id", "unix_time", "date_time_format")
_PATTERNS = (
    (
        "url",
        re.compile(
            r"(?<![\w@.])(?:https?://[^\s<>\"]+[^\s<>\".,;:!?)\]'»”]"
            r"|(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|de|ru|me|info|app)(?:/[^\s<>\"]*[^\s<>\".,;:!?)\]'»”])?(?![\w.-]*@))",
            re.IGNORECASE,
        ),
    ),
    ("email", re.compile(r"(?<![\w.@+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    (
        "bot_command",
        re.compile(r"(?<![\w/<>])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>])"),
    ),
    ("mention", re.compile(r"(?<!\w)@[A-Za-z0-9_]{2,32}(?!\w)")),
    ("hashtag", re.compile(r"(?<![\w#])#(?=\w*[^\W\d])\w{1,256}(?!\w)")),
    ("cashtag", re.compile(r"(?<![\w$])\$[A-Z]{1,8}(?!\w)")),
)


@dataclass(frozen=True, slots=True)
class _Entity:
    """One MessageEntity; offset and length in UTF-16 units, `extras` are its other fields."""

    kind: str
    offset: int
    length: int
    extras: tuple[tuple[str, Any], ...] = ()

    @property
    def end(self) -> int:
        return self.offset + self.length

    def as_json(self) -> JsonObject:
        return {
            "type": self.kind,
            "offset": self.offset,
            "length": self.length,
            **dict(self.extras),
        }


@dataclass(frozen=True, slots=True)
class Formatted:
    """A text as it is stored, with its entities in order."""

    text: str
    entities: tuple[_Entity, ...] = ()


def formatted(text: str, raw: Iterable[JsonObject] = ()) -> Formatted:
    """Clean and trim `text`, adjust its entities, and add those that the server finds.

    Raises Refusal for a lone surrogate and for entities outside the text or inside a pair.
    """
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise bad_request("strings must be encoded in UTF-8")
    given = [entity for item in raw if (entity := _read(item)) is not None]
    _check_bounds(text, given)
    text, given = _cleaned(text, given)
    text, given = _trimmed(text, given)
    given = _without_code_contents(given)
    found = [
        _Entity(kind, offset, length)
        for kind, offset, length in _found_entities(text)
        if not any(_overlaps(offset, length, other) for other in given)
    ]
    ordered = sorted([*given, *found], key=lambda one: (one.offset, -one.length, one.kind))
    return Formatted(text, tuple(ordered[:_MAX_ENTITIES]))


def _read(item: JsonObject) -> _Entity | None:
    """Return the entity, or None if the server ignores it: unknown kinds and invalid links."""
    kind: str = item["type"]
    offset: int = item["offset"]
    length: int = item["length"]
    if not 0 <= offset <= 1_000_000:
        raise bad_request(f"receive an entity with incorrect offset {offset}")
    if not 0 <= length <= 1_000_000:
        raise bad_request(f"receive an entity with incorrect length {length}")
    if kind not in SETTABLE or length == 0:
        return None
    extras = {name: item[name] for name in _EXTRAS if name in item}
    if kind == "text_link":
        target = link_target(str(extras.get("url", "")))
        if target is None:
            return None
        extras["url"] = target
    return _Entity(kind, offset, length, tuple(extras.items()))


def _check_bounds(text: str, entities: Sequence[_Entity]) -> None:
    boundaries = _utf16_boundaries(text)
    allowed = set(boundaries)
    for entity in entities:
        if entity.end > boundaries[-1]:
            raise bad_request(
                f"entity beginning at UTF-16 offset {entity.offset} ends after the end of the "
                f"text at UTF-16 offset {boundaries[-1]}"
            )
        if entity.offset not in allowed:
            where = _byte_offset(text, boundaries, entity.offset)
            raise bad_request(
                f"entity begins in a middle of a UTF-16 symbol at byte offset {where}"
            )
        if entity.end not in allowed:
            where = _byte_offset(text, boundaries, entity.end)
            raise bad_request(
                f"entity beginning at UTF-16 offset {entity.offset} ends in a middle of a "
                f"UTF-16 symbol at byte offset {where}"
            )


def _byte_offset(text: str, boundaries: Sequence[int], offset: int) -> int:
    count = sum(1 for boundary in boundaries if boundary < offset)
    return len(text[:count].encode("utf-8", "surrogatepass"))


def _cleaned(text: str, entities: list[_Entity]) -> tuple[str, list[_Entity]]:
    """Clean control characters; only removed `\\r` change offsets."""
    if "\r" in text:
        boundaries = _utf16_boundaries(text)
        gone = [boundaries[i] for i, character in enumerate(text) if character == "\r"]
        entities = [
            _span(
                entity,
                entity.offset - sum(1 for at in gone if at < entity.offset),
                entity.end - sum(1 for at in gone if at < entity.end),
            )
            for entity in entities
        ]
    return _clean(text), entities


def _trimmed(text: str, entities: list[_Entity]) -> tuple[str, list[_Entity]]:
    leading, trailing = _outer_blanks(text)
    kept = text[leading : len(text) - trailing]
    size = _utf16_boundaries(kept)[-1]
    moved = [
        _span(entity, max(0, entity.offset - leading), min(size, entity.end - leading))
        for entity in entities
    ]
    return kept, [entity for entity in moved if entity.length > 0]


def _span(entity: _Entity, start: int, end: int) -> _Entity:
    return replace(entity, offset=start, length=end - start)


def _without_code_contents(entities: list[_Entity]) -> list[_Entity]:
    """Drop entities inside `code` and `pre`, which contain none; a quote may lie around them."""
    blocks = [entity for entity in entities if entity.kind in ("code", "pre")]
    return [
        entity
        for entity in entities
        if entity.kind in ("code", "pre") or not any(_is_inside(entity, block) for block in blocks)
    ]


def _is_inside(entity: _Entity, block: _Entity) -> bool:
    if entity.kind.endswith("blockquote") and (entity.offset, entity.end) == (
        block.offset,
        block.end,
    ):
        return False
    return block.offset <= entity.offset and entity.end <= block.end


def _overlaps(offset: int, length: int, other: _Entity) -> bool:
    opaque = other.kind in ("code", "pre", "text_link", "text_mention", "custom_emoji")
    return opaque and offset < other.end and other.offset < offset + length


def _found_entities(text: str) -> list[tuple[str, int, int]]:
    """(kind, offset, length) of every link, command, mention and tag; none overlap."""
    boundaries = _utf16_boundaries(text)
    taken: list[tuple[int, int]] = []
    found: list[tuple[str, int, int]] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < other_end and other_start < end for other_start, other_end in taken):
                continue
            taken.append((start, end))
            found.append((kind, boundaries[start], boundaries[end] - boundaries[start]))
    return sorted(found, key=lambda item: item[1])
