"""Writes a message that is to be sent into a row, and reads it back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from aouo.facts.ports import ButtonSpec, Entity, Media, Rendered


def dump(message: Rendered) -> str:
    return json.dumps(asdict(message), ensure_ascii=False, separators=(",", ":"))


def load(text: str) -> Rendered:
    """The inverse of `dump`; what was said off the record is empty once it was sent."""
    if not text:
        return Rendered("")
    body: dict[str, Any] = json.loads(text)
    rows: Sequence[Sequence[dict[str, Any]]] = body["buttons"]
    body["entities"] = tuple(Entity(**item) for item in body["entities"])
    body["buttons"] = tuple(tuple(ButtonSpec(**item) for item in row) for row in rows)
    media: dict[str, Any] | None = body.pop("media", None)
    body["media"] = Media(**media) if media else None
    items: Sequence[dict[str, Any]] = body.pop("album", ())
    body["album"] = tuple(Media(**item) for item in items)
    return Rendered(**body)
