"""Words what a person or the owner is asked in the middle of a turn, and what came of it."""

from __future__ import annotations

from aouo.facts import notices
from aouo.facts.errors import BudgetExceeded
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.words import money
from aouo.words.saying import one_line, say

_SHOWN_NAME_CHARS = 80
_APPROVAL_BUTTONS = {"allow": "Allow once", "deny": "No", "always": "Always in this folder"}
_APPROVAL_OUTCOMES = {
    "allow": "allowed once",
    "deny": "no",
    "always": "allowed, and from now on for this folder",
}


def label(kind: str, option: str) -> str:
    """Return what the button for an option of a gate says."""
    return _APPROVAL_BUTTONS[option] if kind == "approval" else option


def settled(kind: str, state: str, answer: str) -> str:
    """Return the outcome below the question of a settled gate; see `store.gates` for the states."""
    match state:
        case "answered":
            return _APPROVAL_OUTCOMES[answer] if kind == "approval" else answer
        case "expired":
            no = ", so no" if kind == "approval" else ""
            return f"nobody answered in time{no}"
        case _:
            return "stopped"


def approval(notice: notices.ApprovalAsked) -> Rendered:
    """Return the card that asks the owner for a yes to a call."""
    match notice.tool:
        case "read_file" | "read_document":
            wish = "read"
        case "list_dir":
            wish = "see what is in"
        case "msg":
            wish = "send"
        case "write_file":
            size = "1 byte" if notice.writes_bytes == 1 else f"{notice.writes_bytes:,} bytes"
            wish = f"write {size} to"
        case _:
            wish = "act on"
    by = f", for {_elsewhere_in_words(notice.waiting)}" if notice.waiting else ""
    buttons = [
        ButtonSpec(label("approval", answer), encode("approval", notice.gate_id, answer))
        for answer in notice.answers
    ]
    return say(
        f"“{notice.pack}” wants to {wish}\n{one_line(notice.subject)}\n"
        f"with {notice.tool}{by}. Is that all right?",
        buttons[:2],
        *([button] for button in buttons[2:]),
    )


def raising(error: BudgetExceeded, turn_id: str, waiting: notices.Elsewhere) -> Rendered:
    """Return the card that asks the owner to raise the budget that stopped a turn elsewhere."""
    who = _elsewhere_in_words(waiting)
    asks = f"{who} is not answered: {money.raising(error)}"
    return say(asks, [raise_button(turn_id, error.raise_usd)])


def raise_button(turn_id: str, usd: float) -> ButtonSpec:
    """Return the owner's button that raises a budget for today."""
    return ButtonSpec(f"Raise today by {money.usd(usd)}", encode("budget_raise", turn_id))


def _elsewhere_in_words(asked: notices.Elsewhere) -> str:
    """Return who waits, and where; strangers chose these names."""
    person, group, topic = (
        one_line(name, _SHOWN_NAME_CHARS) for name in (asked.person, asked.group, asked.topic)
    )
    place = f"the group “{group}”" if group else "their private chat"
    return f"{person} in {f'“{topic}” of {place}' if topic else place}"
