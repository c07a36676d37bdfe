"""What happened around a turn's words, as the bracketed lines that a model reads."""

from __future__ import annotations

_QUOTED_CHARS = 200
OTHER_FILE = "(their file was replaced too; this turn has the one that came first)"


def edited(said: str) -> str:
    """The turn was at work already when the person changed their words."""
    return f"[the person edited their message: {said}]"


def reacted(who: str, emoji: str, text: str) -> str:
    """`who` is "" in a private chat, `text` "" when the message's words are not known."""
    quoted = " ".join(text.split())
    short = quoted if len(quoted) <= _QUOTED_CHARS else f"{quoted[:_QUOTED_CHARS]}…"
    to = f": {short}" if short else " a message"
    return f"[{who or 'the person'} reacted {emoji} to{to}]"
