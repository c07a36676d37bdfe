"""Looks up limits and prices of the running bot, or of the settings while none runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aouo.agent.spending import limits
from aouo.agent.spending.limits import Left, Limits
from aouo.agent.spending.money import Paid, Price, measure_of
from aouo.agent.spending.reservations import Name
from aouo.app.services import budget_of, pack_budgets, paid_for
from aouo.config.file import load_settings
from aouo.config.sections import Heartbeat, Memory
from aouo.dashboard.access import Shown
from aouo.plumbing.control import Facts
from aouo.providers.known import windows
from aouo.store.opening import reading
from aouo.store.usage_report import Asked


@dataclass(frozen=True, slots=True)
class _Rules:
    """What decides about tokens and money; `reserved` is what calls at work may still take."""

    limits: Limits
    heartbeat: Heartbeat
    memory: Memory
    paid: tuple[Paid, ...]
    reserved: Callable[[Name], float] = lambda name: 0.0


def prices(shown: Shown, asked: Sequence[Asked]) -> Facts:
    """Return the price of everything that was asked, or that may be; in a thread, for it may
    load the catalogue."""
    rules = _rules(shown)
    prices = rules.limits.budget.prices
    used: dict[Paid, list[int]] = {}
    for one in asked:
        what = Paid(measure_of(one.scope), one.provider, one.model or _tool(one.scope))
        calls = used.setdefault(what, [0, 0])
        calls[0] += one.calls
        calls[1] += one.unpriced
    version, month = windows.version()
    rows: list[Facts] = []
    for what in dict.fromkeys((*rules.paid, *used)):
        price, source = what.price(prices)
        calls, unpriced = used.get(what, (0, 0))
        rows.append(
            {
                "provider": what.provider,
                "name": what.name,
                "per": what.measure,
                "usd": _usd(price),
                "from": source,
                "key": what.key,
                "configured": what in rules.paid,
                "calls": calls,
                "unpriced_calls": unpriced,
            }
        )
    about = {"name": "genai-prices", "version": version, "month": month}
    return {"catalogue": about, "budgeted": rules.limits.budgeted, "prices": rows}


def left(shown: Shown, day: str) -> list[Facts]:
    """Return what is left of every limit, as the same limits decide it; in a thread."""
    rules = _rules(shown)
    origins = [
        ("heartbeat", rules.heartbeat.daily_tokens_max, "heartbeat.daily_tokens_max"),
        ("journal", rules.memory.daily_tokens_max, "memory.daily_tokens_max"),
        ("consolidate", rules.memory.daily_tokens_max, "memory.daily_tokens_max"),
    ]
    enabled = {
        "heartbeat": rules.heartbeat.enabled,
        "journal": rules.memory.journal,
        "consolidate": rules.memory.consolidate.enabled,
    }
    if not shown.home.database.exists():
        return []
    with reading(shown.home.database) as tx:
        asked = [one for one in origins if enabled[one[0]]]
        found = limits.left(tx, day, rules.limits, asked, rules.reserved)
    return [_left_facts(one) for one in found]


def _rules(shown: Shown) -> _Rules:
    if shown.runtime:
        app = shown.runtime.app
        now = app.generations.now
        reserved = app.shared.reservations.reserved
        return _Rules(now.quota.limits, now.heartbeat, now.memory, now.paid, reserved)
    settings = load_settings(shown.home.path, shown.environ).settings
    return _Rules(
        Limits(
            settings.advanced.session_tokens_max,
            settings.advanced.daily_tokens_max,
            budget_of(settings, shown.clock),
            lambda: pack_budgets(shown.library()),
        ),
        settings.heartbeat,
        settings.memory,
        paid_for(settings),
    )


def _tool(scope: str) -> str:
    return scope.removeprefix("tool:")


def _usd(price: Price | float | None) -> Facts | float | None:
    """Return a price as facts: of tokens by the million, else of one unit."""
    if not isinstance(price, Price):
        return price
    dearer = [{"input_tokens": start, **_tokens(above)} for start, above in price.above]
    return _tokens(price) | ({"above": dearer} if dearer else {})


def _tokens(price: Price) -> Facts:
    return {"input": price.input, "cached": price.cached, "output": price.output}


def _left_facts(one: Left) -> Facts:
    return {
        "unit": one.unit,
        "of": one.whose,
        "name": one.name,
        "used": round(one.used, 9),
        "reserved": round(one.reserved, 9),
        "cap": one.cap,
        "left": round(one.left, 9),
        "key": one.key,
    }
