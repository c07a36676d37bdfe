"""A message whose buttons have been used: pure."""

from __future__ import annotations

from dataclasses import replace

from aouo.outbound.entities import LIMIT, utf16_len
from aouo.outbound.payloads import MAX_CAPTION
from aouo.ports import Rendered


def chosen(message: Rendered, label: str) -> Rendered:
    """The message with `→ label` below its text, if that fits, and without its buttons."""
    done = replace(message, buttons=(), reply_to=0)
    text = f"{message.text}\n→ {label}".lstrip("\n")
    limit = MAX_CAPTION if message.media else LIMIT
    fits = utf16_len(text) <= limit
    return replace(done, text=text) if label and fits else done
