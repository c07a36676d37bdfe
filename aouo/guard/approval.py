"""Defines how a call is put to the owner where a judge asked for their approval."""

from __future__ import annotations

from typing import Protocol

from aouo.facts.events import Origin
from aouo.facts.origins import PROFILES
from aouo.guard.action import Action, Allowed, Ask, Blocked

ALLOW, DENY, ALWAYS = "allow", "deny", "always"
FOR_GOOD = "the owner allowed it for good"
"""What the audit says of a call that a grant let pass."""
UNATTENDED = (
    "This needs the owner's yes, and nobody is there to give it while this runs by itself. "
    "Go on without it and say what is left to do."
)


class Approver(Protocol):
    """Puts a call to the owner and waits, however long: see `flow.questions.approving`."""

    async def approve(self, action: Action, ask: Ask) -> Allowed | Blocked: ...


class Nobody:
    """An approver for turns that nobody watches: it blocks every call."""

    async def approve(self, action: Action, ask: Ask) -> Allowed | Blocked:
        del action, ask
        return Blocked(UNATTENDED, judge="nobody")


def is_attended(origin: Origin) -> bool:
    """Whether a person sees the questions of a turn of this origin."""
    return PROFILES[origin].attended


def answers(ask: Ask) -> tuple[str, ...]:
    """Return the answers that the owner may choose from."""
    return (ALLOW, DENY) if ask.folder is None else (ALLOW, DENY, ALWAYS)
