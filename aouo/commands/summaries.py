"""Handles the buttons of a summary, and the post-action that begins a fresh session with one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aouo.commands.post_actions import Answered
from aouo.commands.registry import CommandCall, Result
from aouo.facts.history import Draft, Summary
from aouo.facts.ports import Rendered
from aouo.store import routes, sessions, summaries, turns
from aouo.store.database import Tx
from aouo.words import summaries as words
from aouo.words.catalogue import say

ROTATE = "rotate"
"""The post-action that lets the conversation go on in a fresh session, which begins with a summary:
the `Draft` that its arguments are, or without any the answer itself."""
_BYTES_A_TOKEN = 4


def rotate(tx: Tx, arguments: Mapping[str, Any], answered: Answered) -> Rendered:
    """Do `ROTATE`.

    Raises:
        ValueError: there is no summary.
    """
    draft = Draft(**arguments) if arguments else _drafted(tx, answered)
    if not draft.text.strip():
        raise ValueError("there are no words to begin the fresh session with")
    _, summary = go_on_afresh(tx, answered, draft)
    return words.compacted(draft.messages, summary)


def go_on_afresh(tx: Tx, answered: Answered, draft: Draft) -> tuple[str, int]:
    """Begin a fresh session with a summary, and let the conversation go on in it; returns the ids
    of both."""
    address, now = answered.address, answered.now
    route = routes.get_or_create(tx, address, answered.chat_kind, now)
    fresh = sessions.create(tx, address, answered.pack, now)
    sessions.pin_skill(tx, fresh, answered.skill)
    routes.set_session(tx, route, fresh, now)
    return fresh, summaries.add(tx, fresh, draft, now, behind=0)


def _drafted(tx: Tx, answered: Answered) -> Draft:
    """Let the answer stand for all that was said in its session, itself included."""
    reach, entries = summaries.reach(tx, answered.session_id), 0
    for part in reach.stretches:
        entries += turns.tally(tx, part.session_id, after=part.after, until=part.until)[0]
    before = reach.summary.messages if reach.summary else 0
    newest = turns.entries(tx, answered.session_id, 1)
    text = answered.text.strip()
    return Draft(
        answered.session_id,
        newest[-1].id if newest else 0,
        entries + before,
        text,
        len(text.encode()) // _BYTES_A_TOKEN,
    )


def nothing_to_compact(tx: Tx, call: CommandCall) -> Result:
    """Answer a `/compact` in a session that is short, or summarised already."""
    route = routes.find(tx, call.inbound.address)
    standing = summaries.reach(tx, route.session_id).summary if route else None
    return Result(words.nothing_new(standing.id if standing else 0))


def show(tx: Tx, call: CommandCall, summary_id: int) -> Result:
    """Show a summary of this conversation."""
    found = _find(tx, call, summary_id)
    if found is None:
        return Result(say("summaries.gone"))
    return Result(words.shown(found.id, found.messages, found.text, undone=found.undone))


def undo(tx: Tx, call: CommandCall, summary_id: int) -> Result:
    """Undo a summary, so that the messages themselves are read again."""
    found = _find(tx, call, summary_id)
    if found is None:
        return Result(say("summaries.gone"))
    summaries.undo(tx, found.id, call.now)
    before = summaries.reach(tx, found.session_id).summary
    return Result(words.undone(found.messages, before.id if before else 0))


def _find(tx: Tx, call: CommandCall, summary_id: int) -> Summary | None:
    """Find a summary of this conversation, with any of its packs."""
    found = summaries.get(tx, summary_id)
    if found is None:
        return None
    here = str(call.inbound.address)
    key = sessions.key_of(tx, found.session_id)
    return found if key == here or key.startswith(f"{here}:pack:") else None
