"""Summaries in the chat: what `/compact` says when there is nothing to do, and the two buttons."""

from __future__ import annotations

from aouo.commands.registry import CommandCall, Result
from aouo.facts import notices
from aouo.facts.history import Summary
from aouo.store import routes, sessions, summaries
from aouo.store.database import Tx


def nothing_to_compact(tx: Tx, call: CommandCall) -> Result:
    """`/compact` in a session that is short, or summarised already."""
    route = routes.find(tx, call.inbound.address)
    standing = summaries.reach(tx, route.session_id).summary if route else None
    return Result(notices.NothingToCompact(standing.id if standing else 0))


def show(tx: Tx, call: CommandCall, summary_id: int) -> Result:
    """The words of a summary of this conversation."""
    found = _find(tx, call, summary_id)
    if found is None:
        return Result(notices.Plain.NO_SUCH_SUMMARY)
    return Result(notices.SummaryShown(found.id, found.messages, found.text, found.undone))


def undo(tx: Tx, call: CommandCall, summary_id: int) -> Result:
    """From now on the messages themselves are read again."""
    found = _find(tx, call, summary_id)
    if found is None:
        return Result(notices.Plain.NO_SUCH_SUMMARY)
    summaries.undo(tx, found.id, call.now)
    before = summaries.reach(tx, found.session_id).summary
    return Result(notices.SummaryUndone(found.messages, before.id if before else 0))


def _find(tx: Tx, call: CommandCall, summary_id: int) -> Summary | None:
    """A summary of this conversation, with whichever pack."""
    found = summaries.get(tx, summary_id)
    if found is None:
        return None
    here = str(call.inbound.address)
    key = sessions.key_of(tx, found.session_id)
    return found if key == here or key.startswith(f"{here}:pack:") else None
