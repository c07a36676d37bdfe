"""What a button sends: which of it means something to the runtime, and what is too long to send.

Telegram takes 1 to 64 bytes. What is longer, and what a model made in the form of our own
buttons, stays with the row of its message, and the button sends a reference to it.

Source: core.telegram.org/bots/api#inlinekeyboardbutton.
"""

from __future__ import annotations

import re

MAX_BYTES = 64
RUNTIMES = (
    *("again_", "budget_", "edited_", "install_", "cron_", "summary_", "unsummary_", "session_"),
    *("memory_", "onboarding_", "kept_"),
)
"""What the keys of the runtime's own `nav:` buttons begin with; any other key is a pack's page."""
_OURS = ("pack:", "choice_", "approval_", "nav:", "kept_")
_REFERENCE = re.compile(r"kept_([0-9]{1,18}):([0-9]{1,4})", re.ASCII)


def is_ours(data: str) -> bool:
    """Whether the runtime itself acts on such a tap; anything else is a fresh inbound."""
    return data == "menu" or data.startswith(_OURS)


def is_page(data: str) -> bool:
    """Whether a tap opens a page of the pack's menu."""
    return data == "menu" or (data.startswith("nav:") and not data[4:].startswith(RUNTIMES))


def fits(data: str) -> bool:
    return 0 < len(data.encode()) <= MAX_BYTES


def reference(delivery_id: int, number: int) -> str:
    """Names the button `number` (from 0, row by row) of a delivery; at most 28 bytes."""
    return f"kept_{delivery_id}:{number}"


def is_reference(data: str) -> bool:
    return data.startswith("kept_")


def referred(data: str) -> tuple[int, int] | None:
    """The inverse of `reference`; None = it names nothing."""
    found = _REFERENCE.fullmatch(data)
    return (int(found[1]), int(found[2])) if found else None
