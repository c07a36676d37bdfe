"""Defines how a call is put to the owner where a judge asked for their approval."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

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


Approve: TypeAlias = Callable[[Action, Ask], Awaitable[Allowed | Blocked]]
"""Puts a call to the owner and waits, however long: see `flow.questions.approving`."""


async def by_nobody(action: Action, ask: Ask) -> Allowed | Blocked:
    """Block a call of a turn that nobody watches."""
    del action, ask
    return Blocked(UNATTENDED, judge="nobody")


def is_attended(origin: Origin) -> bool:
    """Whether a person sees the questions of a turn of this origin."""
    return PROFILES[origin].attended


def answers(ask: Ask) -> tuple[str, ...]:
    """Return the answers that the owner may choose from."""
    return (ALLOW, DENY) if ask.folder is None else (ALLOW, DENY, ALWAYS)
