"""Knows what a bot token looks like."""

from __future__ import annotations

import re

NO_BOT_TOKEN = "that is not a bot token; it looks like 123456:ABC…"
_TOKEN = re.compile(r"[0-9]{5,}:[A-Za-z0-9_-]{20,}")


def is_token(text: str) -> bool:
    """Whether a text has the form of a bot token."""
    return _TOKEN.fullmatch(text) is not None


def names_variable(text: str) -> bool:
    """Whether a value names an environment variable: `${NAME}`."""
    return text.startswith("${") and text.endswith("}")
