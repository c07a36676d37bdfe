"""/usage: what was spent, without a model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from aouo import notices
from aouo.commands.registry import Call, Entry, Result
from aouo.events import Inbound
from aouo.packs.library import Library
from aouo.store import routes, usage
from aouo.store.database import Tx


def spending(day: Callable[[], str], is_owner: Callable[[Inbound], bool]) -> Entry:
    """`day` is the local day; whoever `is_owner` sees the sums of everybody besides."""

    def show(tx: Tx, call: Call, library: Library) -> Result:
        del library
        inbound = call.inbound
        route = routes.find(tx, inbound.address)
        pack, person = route.active_pack if route else "", inbound.person.id
        today = day()
        week = (date.fromisoformat(today) - timedelta(days=6)).isoformat()
        owner = is_owner(inbound)
        return Result(
            notices.SpendingReport(
                pack,
                _spent(usage.of_person(tx, today, person, pack)),
                _spent(usage.of_person(tx, week, person, pack)),
                _spent(usage.total(tx, today)) if owner else None,
                _spent(usage.total(tx, week)) if owner else None,
            )
        )

    return Entry("usage", "what today and this week cost", show)


def _spent(found: usage.Sum) -> notices.Spending:
    return notices.Spending(found.calls, found.input_tokens + found.output_tokens, found.cost_usd)
