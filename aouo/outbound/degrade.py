"""Replaces payloads that a platform cannot show, by the contract's table. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from aouo.facts.ports import Payload, PayloadType
from aouo.outbound.albums import media_of

Capabilities: TypeAlias = frozenset[PayloadType]
"""What a platform can show beyond text, keyboards and activities."""


def degraded(payload: Payload, can: Capabilities) -> tuple[tuple[Payload, ...], str]:
    """Return the payloads to show instead, and a note for the model, "" = unchanged."""
    if payload.type != "album" or "album" in can:
        shown, note = _degraded(payload, can)
        return (shown,), note
    items = [_degraded(item, can) for item in _one_by_one(payload)]
    notes = dict.fromkeys(note for _, note in items if note)
    return tuple(item for item, _ in items), "; ".join(("album not supported", *notes))


def _degraded(payload: Payload, can: Capabilities) -> tuple[Payload, str]:
    match payload.type:
        case "voice" if "voice" not in can and "audio" in can:
            return replace(payload, type="audio"), "voice rendered as audio"
        case "photo" | "voice" | "audio" | "document" if payload.type not in can:
            return _as_text(payload), f"{payload.type} not supported"
        case _:
            return payload, ""


def _one_by_one(album: Payload) -> list[Payload]:
    """Return one payload per item of an album: the words on the first, buttons on the last."""
    items: list[Payload] = []
    for source in album.album:
        kind = media_of(source).kind
        kind = "document" if kind == "video" else kind
        items.append(Payload(kind, url=source))
    items[0] = replace(items[0], text=album.text, reply_to=album.reply_to)
    items[-1] = replace(items[-1], buttons=album.buttons)
    return items


def _as_text(payload: Payload) -> Payload:
    """Return a text payload with the caption and the address; a local file has no address."""
    address = payload.url if "://" in payload.url else ""
    text = "\n".join(filter(None, (payload.text, address)))
    return replace(payload, type="text", text=text or "(something this chat cannot show)", url="")
