"""Builds the error for a call that a limit has no room for: what is used, and what would fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aouo.facts.errors import BudgetExceeded, QuotaExceededError
from aouo.facts.ports import ChatModel
from aouo.facts.transcript import Usage
from aouo.spending.money import Prices, cheapest_that_fits, step_up
from aouo.spending.reservations import Limit, Name, OverLimit


def quota_exceeded(error: OverLimit) -> QuotaExceededError:
    _, scope, _ = error.limit.name
    named = "daily" if scope == "day" else scope
    return QuotaExceededError(named, round(error.used), round(error.limit.cap), error.limit.key)


def budget_exceeded(
    error: OverLimit,
    limits: Sequence[Limit],
    model: ChatModel,
    most: Usage,
    prices: Prices,
    used: Callable[[Name], float],
    day: str,
) -> BudgetExceeded:
    """Build the error; it names the cheapest known model that all limits have room for, if any."""
    limit = error.limit
    _, kind, name = limit.name
    cheaper = cheapest_that_fits(
        (*model.candidates, *prices.relatives(model.provider, model.model)),
        prices,
        most,
        min(item.cap - used(item.name) for item in limits if item.unit == "usd"),
    )
    return BudgetExceeded(
        kind,
        name,
        used_usd=error.used,
        cap_usd=limit.cap,
        worst_usd=limit.amount,
        key=limit.key,
        day=day,
        raise_usd=step_up(limit.cap, error.used + limit.amount - limit.cap),
        cheaper=cheaper or ("", ""),
    )
