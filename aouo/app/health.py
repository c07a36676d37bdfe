"""Says whether messages come in, are worked on and go out: `/healthz`, `aouo status --health`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from aouo.app.shared import Shared
from aouo.facts.ports import Clock, iso
from aouo.plumbing.parts import Parts
from aouo.plumbing.verbs import Facts
from aouo.queue.lanes import Bell
from aouo.store import deliveries, jobs
from aouo.store.database import Tx

UNHEARD_S = 120.0
"""So long may pass between two answers of Telegram, whose longest poll takes 65 s."""
UNCLAIMED_S = 60.0
"""So long may a message wait where nobody is at work; a busy lane may have it wait for hours."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What is looked at, in seconds: since Telegram answered (None = it is not asked); whether the
    task that asks it goes on; what it says; since when a message waits in a lane without work."""

    unheard_s: float | None
    listens: bool
    problem: str
    unclaimed_s: float


def reasons(signs: Signs) -> list[str]:
    """Return why we are not healthy, none = we are."""
    found: list[str] = []
    if not signs.listens:
        found.append("The task that asks Telegram hangs.")
    if signs.unheard_s is not None and signs.unheard_s > UNHEARD_S:
        why = f": {signs.problem}" if signs.problem else ""
        found.append(f"Telegram has not answered for {signs.unheard_s:.0f} s{why}")
    if signs.unclaimed_s > UNCLAIMED_S:
        found.append(f"A message waits for {signs.unclaimed_s:.0f} s, and nobody is at work on it.")
    return found


class Health:
    """Looks at what is stored and at work."""

    def __init__(self, shared: Shared, bell: Bell, parts: Parts) -> None:
        self._shared = shared
        self._bell = bell
        self._parts = parts
        self._since = shared.clock.now()

    @property
    def listens(self) -> bool:
        """Whether what asks Telegram goes on, answered or not."""
        telegram = self._shared.telegram
        return telegram.is_alive if telegram else True

    async def facts(self) -> Facts:
        """Return `ok` with the `reasons` where it is false, and what they were judged by.

        An optional part that failed is named and is no reason: whoever reads this starts us again.
        """
        clock, telegram = self._shared.clock, self._shared.telegram
        since_s = (clock.now() - self._since).total_seconds()

        def look(tx: Tx) -> tuple[dict[str, int], list[jobs.Waiting], deliveries.Unsent]:
            return jobs.count_by_state(tx), jobs.first_ready(tx), deliveries.unsent(tx)

        states, waiting, unsent = await self._shared.database.read(look)
        idle = [one.since for one in waiting if not self._bell.is_at_work(one.lane)]
        answered_s = telegram.answered_s if telegram else None
        unheard_s = (since_s if answered_s is None else answered_s) if telegram else None
        problem = str(telegram.state["problem"]) if telegram else ""
        found = reasons(Signs(unheard_s, self.listens, problem, _age_s(clock, *idle)))
        return {
            "ok": not found,
            "reasons": found,
            "since": iso(self._since),
            "last_poll_s": None if answered_s is None else round(answered_s, 1),
            "jobs": {state: states.get(state, 0) for state in ("ready", "running", "parked")},
            "oldest_waiting_s": _age_s(clock, *(one.since for one in waiting)),
            "outbox": {
                "queued": unsent.queued,
                "oldest_s": _age_s(clock, unsent.since),
                "unknown": unsent.unknown,
            },
            "lanes": self._bell.at_work,
            "failed_parts": self._parts.failing,
        }

    async def line(self) -> str:
        """Return the state in one short line, for `systemctl status`."""
        facts = await self.facts()
        if not facts["ok"]:
            return " ".join(facts["reasons"])
        failed = ", ".join(facts["failed_parts"])
        return f"without {failed}" if failed else "well"


def _age_s(clock: Clock, *moments: str) -> float:
    """Return how long ago the oldest moment was, in seconds; 0 = there is none."""
    first = min(filter(None, moments), default="")
    if not first:
        return 0.0
    return round(max(0.0, (clock.now() - datetime.fromisoformat(first)).total_seconds()), 1)
