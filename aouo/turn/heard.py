"""Words what people did besides writing, as bracketed lines that a model reads."""

from __future__ import annotations

_QUOTED_CHARS = 200
OTHER_FILE = "(their file was replaced too; this turn has the one that came first)"


def edited(said: str) -> str:
    """Return the line for an edit that came while the turn was running."""
    return f"[the person edited their message: {said}]"


def reacted(who: str, emoji: str, text: str) -> str:
    """Return the line for a reaction; `who` is "" in a private chat, `text` "" = not known."""
    quoted = " ".join(text.split())
    short = quoted if len(quoted) <= _QUOTED_CHARS else f"{quoted[:_QUOTED_CHARS]}…"
    to = f": {short}" if short else " a message"
    return f"[{who or 'the person'} reacted {emoji} to{to}]"
