"""Handles /why: tells how the last turn here went, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from urllib.parse import quote

from aouo.commands.registry import CommandCall, Look, Result
from aouo.facts.events import Inbound
from aouo.facts.notices_commands import CalledTool, LastTurn, NoTurnHere, UsedModel
from aouo.facts.work import Route
from aouo.plumbing.redact import Redactor
from aouo.store import traces, turn_lines
from aouo.store.snapshots import Snapshot
from aouo.store.traces import ToolUse, Trace, TracedCall


def why(
    is_owner: Callable[[Inbound], bool], page: Callable[[], str], redactor: Callable[[], Redactor]
) -> Look:
    """Make the look-up; `page` gives the address of the local page, "" = it listens nowhere.

    People are told of their own turns, the owner of everybody's here, with the reasons; in private
    the owner is told where to read on.
    """

    async def show(snapshot: Snapshot, call: CommandCall, route: Route | None) -> Result:
        owner, inbound = is_owner(call.inbound), call.inbound
        person = "" if owner else inbound.person.id
        session = route.session_id if route else ""
        turn = await snapshot.ask(turn_lines.newest_here(inbound.address, session, person))
        if turn is None:
            return Result(NoTurnHere())
        told = await traces.ask(snapshot, turn)
        reads_on = owner and inbound.chat_kind == "private"
        tools = _tools(told, redactor() if owner else None)
        return Result(_last_turn(told, tools, page() if reads_on else "", reads_on=reads_on))

    return show


def _last_turn(
    told: Trace, tools: tuple[CalledTool, ...], page: str, *, reads_on: bool
) -> LastTurn:
    turn = told.turn
    return LastTurn(
        turn.status,
        turn.off_record,
        turn.origin,
        turn.ms,
        turn.waited_ms,
        turn.cost_usd,
        turn.unpriced_calls,
        _models(told),
        tools,
        told.recorded.tries,
        told.recorded.sections,
        turn.id if reads_on else "",
        f"{page}#/turns/{quote(turn.id, safe='')}" if page else "",
    )


def _models(told: Trace) -> tuple[UsedModel, ...]:
    found: dict[str, UsedModel] = {}
    for entry in told.timeline:
        if not isinstance(entry, TracedCall):
            continue
        name = "/".join(filter(None, (entry.provider, entry.model))) or entry.scope
        before = found.get(name, UsedModel(name))
        found[name] = UsedModel(
            name,
            before.calls + 1,
            before.input_tokens + entry.input_tokens,
            before.cached_tokens + entry.cached_tokens,
            before.output_tokens + entry.output_tokens,
        )
    return tuple(found.values())


def _tools(told: Trace, redactor: Redactor | None) -> tuple[CalledTool, ...]:
    """The tools, with the whole reasons without secrets; without a redactor none is told."""
    uses = [entry for entry in told.timeline if isinstance(entry, ToolUse)]
    times = Counter(
        CalledTool(
            use.name,
            use.verdict,
            use.judge,
            redactor.text(use.reason) if redactor and use.verdict == "refused" else "",
            failed=use.verdict != "refused" and use.state in ("failed", "unknown"),
        )
        for use in uses
    )
    return tuple(
        CalledTool(one.name, one.verdict, one.judge, one.reason, failed=one.failed, times=count)
        for one, count in times.items()
    )
