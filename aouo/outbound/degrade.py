"""What becomes of a payload that a platform cannot show: pure, as the contract's table says."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aouo.ports import Payload


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a platform can show beyond text, keyboards and activities."""

    photo: bool = False
    voice: bool = False
    audio: bool = False
    document: bool = False


def degrade(payload: Payload, can: Capabilities) -> tuple[Payload, str]:
    """Return what can be shown instead, and the note the model reads, "" = unchanged."""
    match payload.type:
        case "voice" if not can.voice and can.audio:
            return replace(payload, type="audio"), "voice rendered as audio"
        case "photo" if not can.photo:
            return _as_text(payload), "photo not supported"
        case "voice" if not can.voice:
            return _as_text(payload), "voice not supported"
        case "audio" if not can.audio:
            return _as_text(payload), "audio not supported"
        case "document" if not can.document:
            return _as_text(payload), "document not supported"
        case _:
            return payload, ""


def _as_text(payload: Payload) -> Payload:
    """The caption and the address of what could not be shown; a file here has no address."""
    address = payload.url if "://" in payload.url else ""
    text = "\n".join(filter(None, (payload.text, address)))
    return replace(payload, type="text", text=text or "(something this chat cannot show)", url="")
