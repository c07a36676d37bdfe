"""Says what a person or the owner is asked in the middle of a turn, and what came of it."""

from __future__ import annotations

from aouo.facts.errors import BudgetExceeded
from aouo.facts.events import Inbound
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.guard.action import Action, Ask
from aouo.guard.approval import answers
from aouo.words import money
from aouo.words.catalogue import say, text
from aouo.words.saying import one_line

_SHOWN_NAME_CHARS = 80
_WISHES = {"read_file": "read", "read_document": "read", "list_dir": "see", "msg": "send"}


def label(kind: str, option: str) -> str:
    """Return what the button for an option of a gate says."""
    return text(f"questions.button-{option}") if kind == "approval" else option


def settled(kind: str, state: str, answer: str) -> str:
    """Return the outcome below the question of a settled gate; see `store.gates` for the states."""
    if state == "answered":
        return text(f"questions.outcome-{answer}") if kind == "approval" else answer
    if state == "expired":
        return text("questions.expired-no" if kind == "approval" else "questions.expired")
    return text("questions.stopped")


def approval(gate_id: str, action: Action, ask: Ask, waiting: Inbound | None) -> Rendered:
    """Return the card that asks the owner for a yes to a call.

    `waiting` is what the person said in another chat who waits for it, None = the owner, here.
    """
    if action.tool == "write_file":
        wish = text("questions.writes", count=ask.writes_bytes)
    else:
        wish = text(f"questions.wish-{_WISHES.get(action.tool, 'act')}")
    buttons = [
        ButtonSpec(label("approval", answer), encode("approval", gate_id, answer))
        for answer in answers(ask)
    ]
    return say(
        "questions.approval",
        buttons[:2],
        *([button] for button in buttons[2:]),
        pack=action.facts.pack,
        wish=wish,
        subject=one_line(ask.subject),
        tool=action.tool,
        waiting=text("questions.for", who=_waits(waiting)) if waiting else "",
    )


def raising(error: BudgetExceeded, turn_id: str, waiting: Inbound) -> Rendered:
    """Return the card that asks the owner to raise the budget that stopped a turn elsewhere."""
    button = raise_button(turn_id, error.raise_usd)
    return say("questions.raising", [button], who=_waits(waiting), why=money.raising(error))


def raise_button(turn_id: str, usd: float) -> ButtonSpec:
    """Return the owner's button that raises a budget for today."""
    label = text("questions.raise", usd=money.usd(usd))
    return ButtonSpec(label, encode("budget_raise", turn_id))


def _waits(waiting: Inbound) -> str:
    """Return who waits, and where; strangers chose these names."""
    person, group, topic = (
        one_line(name, _SHOWN_NAME_CHARS)
        for name in (waiting.person.name or waiting.person.id, waiting.group, waiting.title)
    )
    place = text("questions.in-group", group=group) if group else text("questions.in-private")
    if topic:
        place = text("questions.in-topic", topic=topic, place=place)
    return text("questions.who", person=person, place=place)
