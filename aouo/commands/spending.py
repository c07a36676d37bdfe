"""Handles /usage: reports what was spent, without a model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from aouo.commands.registry import CommandCall, Look, Result
from aouo.facts import notices
from aouo.facts.events import Inbound
from aouo.facts.work import Route
from aouo.store import usage
from aouo.store.snapshots import Query, Snapshot


def spending(day: Callable[[], str], is_owner: Callable[[Inbound], bool]) -> Look:
    """Make the look-up; `day` gives the local day. The owner also sees the sums of all people."""

    async def show(snapshot: Snapshot, call: CommandCall, route: Route | None) -> Result:
        pack, person = route.active_pack if route else "", call.inbound.person.id
        today = day()
        week = (date.fromisoformat(today) - timedelta(days=6)).isoformat()
        owner = is_owner(call.inbound)
        return Result(
            notices.SpendingReport(
                pack,
                await _spent(snapshot, usage.of_person(today, person, pack)),
                await _spent(snapshot, usage.of_person(week, person, pack)),
                await _spent(snapshot, usage.total(today)) if owner else None,
                await _spent(snapshot, usage.total(week)) if owner else None,
            )
        )

    return show


async def _spent(snapshot: Snapshot, query: Query[usage.Sum]) -> notices.Spending:
    found = await snapshot.ask(query)
    tokens = found.input_tokens + found.output_tokens
    return notices.Spending(found.calls, tokens, found.cost_usd, found.cached_tokens)
