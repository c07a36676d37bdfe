"""Handles /usage: reports what was spent, without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta

from aouo.commands.registry import CommandCall, Look, Result
from aouo.facts.events import Inbound
from aouo.facts.work import Route
from aouo.store import usage_days
from aouo.store.snapshots import Query, Snapshot
from aouo.store.usage_days import Sum
from aouo.store.usage_report import last_days
from aouo.words import money


def spending(day: Callable[[], str], is_owner: Callable[[Inbound], bool]) -> Look:
    """Make the look-up; `day` gives the local day. The owner also sees the sums of all people."""

    async def show(snapshot: Snapshot, call: CommandCall, route: Route | None) -> Result:
        pack, person = route.active_pack if route else "", call.inbound.person.id
        today = day()
        one, week = last_days(today, 1), last_days(today, 7)
        owner = is_owner(call.inbound)
        by_day = usage_days.by_day_of_person(week, person, pack)
        found = await snapshot.ask(usage_days.by_day(week) if owner else by_day)
        mine = usage_days.of_person(one, person, pack), usage_days.of_person(week, person, pack)
        asked = [mine, (usage_days.total(one), usage_days.total(week))] if owner else [mine]
        spent = [(await _spent(snapshot, a), await _spent(snapshot, b)) for a, b in asked]
        days = _days(date.fromisoformat(today), found)
        return Result(money.spending(pack, spent, days))

    return show


def _days(today: date, found: Sequence[tuple[str, Sum]]) -> tuple[tuple[date, int], ...]:
    """The tokens of the seven days that end today, those without any included."""
    used = {day: each.input_tokens + each.output_tokens for day, each in found}
    week = [today - timedelta(days=before) for before in range(6, -1, -1)]
    return tuple((day, used.get(day.isoformat(), 0)) for day in week)


async def _spent(snapshot: Snapshot, query: Query[Sum]) -> money.Spent:
    found = await snapshot.ask(query)
    tokens = found.input_tokens + found.output_tokens
    return found.calls, tokens, found.cost_usd, found.cached_tokens, found.unpriced
