"""Writes a turn down as it happens: intent before effect, result after it.

Every write first checks the job's claim, so a worker that lost it cannot write into a turn that
another one has resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aouo.facts.accounts import AuditEntry, Spent
from aouo.facts.ports import Clock, stamp
from aouo.facts.transcript import AssistantSaid, ToolReturned
from aouo.facts.work import Job
from aouo.store import audit, jobs, turns, usage
from aouo.store.database import Database, Tx
from aouo.turn.context import TurnContext


@dataclass(slots=True, eq=False)
class Journal:
    """Writes the rows of one turn."""

    database: Database
    clock: Clock
    job: Job

    async def calls(
        self,
        ctx: TurnContext,
        said: AssistantSaid,
        idempotent: Sequence[bool],
        proposed: Sequence[AuditEntry],
    ) -> None:
        """Write the model's words with its calls, each as an intent, and `proposed` to the audit;
        they are on disk before any call is judged."""

        def write(tx: Tx, now: str) -> None:
            turns.record_calls(tx, ctx.facts, said, idempotent, now)
            for entry in proposed:
                audit.append(tx, entry, now)

        await self._write(ctx, write, durable=True)
        ctx.said.append(said)

    async def result(
        self, ctx: TurnContext, result: ToolReturned, *, state: str, effect: bool
    ) -> None:
        """Write a call's result; wait for the disk if the call changed something."""
        await self._write(
            ctx,
            lambda tx, now: turns.record_result(tx, ctx.facts, result, state, effect, now),
            durable=effect,
        )
        ctx.said.append(result)

    async def nudge(self, ctx: TurnContext, answer: str, reason: str) -> None:
        """Write an answer that was sent back, and why."""
        await self._write(
            ctx, lambda tx, now: turns.record_nudge(tx, ctx.facts, answer, reason, now)
        )

    async def intents(self, turn_id: str) -> dict[str, bool]:
        """Return the calls that a crash cut off: call id → whether it may run again."""
        return await self.database.read(lambda tx: turns.intents(tx, turn_id), once=True)

    async def _write(
        self, ctx: TurnContext, work: Callable[[Tx, str], None], *, durable: bool = False
    ) -> None:
        now = stamp(self.clock)
        spent, ctx.spent = ctx.spent, []

        def write(tx: Tx) -> None:
            jobs.check_claim(tx, self.job)
            record_all(tx, spent, now)
            work(tx, now)

        await self.database.transact(write, durable=durable, brief=True)


def record_all(tx: Tx, spent: Sequence[Spent], now: str) -> None:
    for row in spent:
        usage.record(tx, row, now)
