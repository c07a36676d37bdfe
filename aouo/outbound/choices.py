"""Rewrites a message whose button was tapped. Pure."""

from __future__ import annotations

from dataclasses import replace

from aouo.facts.ports import Rendered
from aouo.markdown.entities import LIMIT, utf16_len
from aouo.outbound.payloads import MAX_CAPTION


def chosen(message: Rendered, label: str) -> Rendered:
    """Return the message without buttons, with as much of `→ label` below its text as fits."""
    done = replace(message, buttons=(), reply_to=0)
    limit = MAX_CAPTION if message.media else LIMIT
    above = f"{message.text}\n→ ".lstrip("\n")
    label = _shortened(label, limit - utf16_len(above))
    return replace(done, text=above + label) if label else done


def _shortened(label: str, room: int) -> str:
    """Return the part of `label` that fits into `room` UTF-16 units, "" = nothing."""
    if utf16_len(label) <= room:
        return label
    units = label.encode("utf-16-le", "surrogatepass")[: 2 * max(0, room - 1)]
    kept = units.decode("utf-16-le", "ignore")
    return f"{kept}…" if kept else ""
