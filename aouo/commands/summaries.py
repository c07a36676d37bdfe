"""Handles the buttons of a summary, which show and undo it, and a `/compact` with nothing to do."""

from __future__ import annotations

from aouo.commands.registry import CommandCall, Result
from aouo.facts import notices
from aouo.facts.history import Summary
from aouo.store import routes, sessions, summaries
from aouo.store.database import Tx


def nothing_to_compact(tx: Tx, call: CommandCall) -> Result:
    """Answer a `/compact` in a session that is short, or summarised already."""
    route = routes.find(tx, call.inbound.address)
    standing = summaries.reach(tx, route.session_id).summary if route else None
    return Result(notices.NothingToCompact(standing.id if standing else 0))


def show(tx: Tx, call: CommandCall, summary_id: int) -> Result:
    """Show a summary of this conversation."""
    found = _find(tx, call, summary_id)
    if found is None:
        return Result(notices.Plain.NO_SUCH_SUMMARY)
    return Result(notices.SummaryShown(found.id, found.messages, found.text, found.undone))


def undo(tx: Tx, call: CommandCall, summary_id: int) -> Result:
    """Undo a summary, so that the messages themselves are read again."""
    found = _find(tx, call, summary_id)
    if found is None:
        return Result(notices.Plain.NO_SUCH_SUMMARY)
    summaries.undo(tx, found.id, call.now)
    before = summaries.reach(tx, found.session_id).summary
    return Result(notices.SummaryUndone(found.messages, before.id if before else 0))


def _find(tx: Tx, call: CommandCall, summary_id: int) -> Summary | None:
    """Find a summary of this conversation, with any of its packs."""
    found = summaries.get(tx, summary_id)
    if found is None:
        return None
    here = str(call.inbound.address)
    key = sessions.key_of(tx, found.session_id)
    return found if key == here or key.startswith(f"{here}:pack:") else None
