"""`onboarding_done`: end a pack's first conversation for good."""

from __future__ import annotations

from aouo.facts.ports import Clock, stamp
from aouo.store import onboarding
from aouo.store.database import Database
from aouo.tools.registry import Arguments, Tool, ToolContext, tool

GROUP = "onboarding"
"""It needs no permission, and exists only in turns of a first conversation."""
SUMMARY_CHARS = 500


class OnboardingDone(Arguments):
    summary: str = ""


def onboarding_done(database: Database, clock: Clock) -> Tool:
    """Make the tool; a second call changes nothing."""

    async def _run(wish: OnboardingDone, context: ToolContext, call_id: str) -> str:
        del call_id
        now, summary = stamp(clock), wish.summary.strip()[:SUMMARY_CHARS]
        await database.transact(
            lambda tx: onboarding.end(
                tx, context.facts.pack, context.facts.tenant, "done", now, summary
            ),
            durable=True,
        )
        return "Recorded: it does not begin again. Go on with what the person wants."

    return tool(
        "onboarding_done",
        "End the first conversation, also if they want none.",
        OnboardingDone,
        _run,
        group=GROUP,
        mutates=True,
    )
