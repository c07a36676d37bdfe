"""Words the answers of a model too small to chat: the result of a call, and what it cannot do."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN_ROWS = 10


def cannot(examples: Sequence[str], *, buttons: bool) -> str:
    """Return the answer to a message that matches no example; nothing was changed."""
    head = (
        "I am a very small model and did nothing with that: I cannot chat, remind you of anything"
    )
    if not examples:
        return f"{head} or answer questions."
    listed = "" if buttons else " " + ", ".join(f"“{say}”" for say in examples)
    return f"{head} or answer other questions, only do things like these:{listed}"


def saved(what: str) -> str:
    return f"Saved: “{what}”." if what else "Saved."


def deleted(rows: int) -> str:
    return "Deleted: 1 row." if rows == 1 else f"Deleted: {rows:,} rows."


def found(rows: Sequence[str]) -> str:
    """Return the found rows as Markdown; `rows` is not empty."""
    shown = rows[:SHOWN_ROWS]
    if len(shown) == 1:
        return shown[0]
    more = [f"(There are more than these {SHOWN_ROWS}.)"] if len(rows) > SHOWN_ROWS else []
    return "\n".join([*(f"- {row}" for row in shown), *more])


def nothing() -> str:
    return "There is nothing to show."


def too_long() -> str:
    return "It is too long to be shown here."


def failed() -> str:
    return "That did not work."


def unknown() -> str:
    return "I was restarted while I did that, so I do not know whether it worked. Please look."


def done(tool: str) -> str:
    return f"“{tool}” was carried out."
