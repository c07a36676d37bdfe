"""Who may say yes in the end: a human, where a judge asked for one."""

from __future__ import annotations

from typing import Protocol

from aouo.facts.events import Origin
from aouo.guard.action import Action, Allowed, Ask, Blocked

ALLOW, DENY, ALWAYS = "allow", "deny", "always"
UNATTENDED = (
    "This needs the owner's yes, and nobody is there to give it while this runs by itself. "
    "Go on without it and say what is left to do."
)


class Approver(Protocol):
    """Puts a call to the owner and waits, however long; `flow.approving` is the one there is."""

    async def approve(self, action: Action, ask: Ask) -> Allowed | Blocked: ...


class Nobody:
    """There is nobody to ask, so the answer is no."""

    async def approve(self, action: Action, ask: Ask) -> Allowed | Blocked:
        del action, ask
        return Blocked(UNATTENDED)


def is_attended(origin: Origin) -> bool:
    """Whether somebody sees a question of a turn that began like this."""
    return origin in ("chat", "cli")


def answers(ask: Ask) -> tuple[str, ...]:
    """What the owner may choose from."""
    return (ALLOW, DENY) if ask.folder is None else (ALLOW, DENY, ALWAYS)
