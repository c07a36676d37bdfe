"""Handles /why: tells how the last turn here went, without a model."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from aouo.commands.registry import CommandCall, Look, Result
from aouo.facts.events import Inbound
from aouo.facts.work import Route
from aouo.plumbing.redact import Redactor
from aouo.store import traces, turn_lines
from aouo.store.snapshots import Snapshot
from aouo.store.traces import ToolUse
from aouo.words import turns
from aouo.words.catalogue import say


def why(
    is_owner: Callable[[Inbound], bool], page: Callable[[], str], redactor: Callable[[], Redactor]
) -> Look:
    """Make the look-up; `page` gives the address of the local page, "" = it listens nowhere.

    People are told of their own turns, the owner of everybody's here, with the whole reasons
    without secrets; in private the owner is told where to read on.
    """

    async def show(snapshot: Snapshot, call: CommandCall, route: Route | None) -> Result:
        owner, inbound = is_owner(call.inbound), call.inbound
        person = "" if owner else inbound.person.id
        session = route.session_id if route else ""
        turn = await snapshot.ask(turn_lines.newest_here(inbound.address, session, person))
        if turn is None:
            return Result(say("why.nothing"))
        told, look = await traces.ask(snapshot, turn), ""
        if owner and inbound.chat_kind == "private":
            address = page()
            look = f"{address}#/turns/{quote(turn.id, safe='')}" if address else ""
            look = look or f"aouo trace {turn.id}"

        def reason_of(use: ToolUse) -> str:
            return redactor().text(use.reason) if owner and use.verdict == "refused" else ""

        return Result(turns.why(told, reason_of, look))

    return show
