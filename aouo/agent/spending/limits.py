"""Lists the limits of a call, what is left of each, and the error for none left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from aouo.agent.spending.money import Budget, Ceiling, Prices, cheapest_that_fits, own_key, step_up
from aouo.agent.spending.reservations import Limit, Name, OverLimit, Reservations, Unit
from aouo.facts.errors import BudgetExceeded, QuotaExceededError
from aouo.facts.ports import ChatModel
from aouo.facts.transcript import Usage
from aouo.packs.format.manifest import Budget as PackBudget
from aouo.store import usage
from aouo.store.database import Tx

Whose: TypeAlias = Literal["day", "person", "pack", "session", "origin"]
_OriginCap: TypeAlias = tuple[str, int, str]
"""Origin, tokens a day (0 = off), configuration key."""
_SESSIONS_MAX = 20
"""The sessions that are shown: those at work that took most."""
_NO_CEILING = PackBudget()


@dataclass(frozen=True, slots=True)
class Left:
    """What is used of one limit, and what calls at work may still take; in tokens or USD. `name`
    says which person, pack, session or origin, "" = all."""

    unit: Unit
    whose: Whose
    name: str
    used: float
    reserved: float
    cap: float
    key: str

    @property
    def left(self) -> float:
        return max(0.0, self.cap - self.used - self.reserved)


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps of tokens, 0 = off, and the budgets of the owner and of the packs."""

    session_tokens_max: int = 0
    daily_tokens_max: int = 0
    budget: Budget = field(default_factory=Budget)
    pack_budgets: Callable[[], Mapping[str, PackBudget]] = dict

    @property
    def budgeted(self) -> bool:
        """Whether any budget is set."""
        return self.budget.any or any(own.daily_usd for own in self.pack_budgets().values())

    @property
    def budgets(self) -> tuple[object, ...]:
        """All ceilings in money: another value once one of them is set, changed or taken away."""
        own = sorted((name, one.daily_usd) for name, one in self.pack_budgets().items())
        budget, packs = self.budget, sorted(self.budget.per_pack_daily_usd.items())
        roles = sorted(budget.per_role_daily_usd.items())
        return (budget.daily_usd, budget.per_person_daily_usd, *packs, *roles, *own)

    def of_tokens(self, pack: str, amount: float) -> list[Limit]:
        """Return the token limits of a call with `pack`."""
        limits: list[Limit] = []
        if self.daily_tokens_max:
            name: Name = ("tokens", "day", "")
            limits.append(Limit(name, self.daily_tokens_max, "advanced.daily_tokens_max", amount))
        if own := self._own(pack).daily_tokens:
            key = own_key("daily_tokens", pack)
            limits.append(Limit(("tokens", "pack", pack), own, key, amount))
        return limits

    def ceilings(self, person: str, pack: str) -> list[Ceiling]:
        """Return the budgets of a call."""
        return self.budget.ceilings(person, pack, self._own(pack).daily_usd)

    def _own(self, pack: str) -> PackBudget:
        return self.pack_budgets().get(pack, _NO_CEILING)


def of_money(ceilings: Sequence[Ceiling], reservations: Reservations, usd: float) -> list[Limit]:
    """Return the money limits of a call, with what the owner allowed for today."""
    return [
        Limit(("usd", kind, name), cap + reservations.added(kind, name), key, usd)
        for kind, name, cap, key in ceilings
    ]


def left(
    tx: Tx,
    day: str,
    limits: Limits,
    origins: Sequence[_OriginCap],
    reserved: Callable[[Name], float] = lambda name: 0.0,
) -> list[Left]:
    """Return what is left of every limit on a day; `reserved` is what calls at work may take."""
    accounts = Reservations()
    accounts.catch_up(tx, day, money=True)
    packs = {*limits.pack_budgets(), *limits.budget.per_pack_daily_usd}
    calls = [("", ""), *((person, "") for person in sorted(accounts.people))]
    calls += [("", pack) for pack in sorted(packs)]
    found: dict[Name, Limit] = {}
    for person, pack in calls:
        own = limits.of_tokens(pack, 0.0)
        for limit in own + of_money(limits.ceilings(person, pack), accounts, 0.0):
            found.setdefault(limit.name, limit)
    return [
        *(
            Left(
                limit.unit,
                _kind(name),
                name[2],
                accounts.used(name),
                reserved(name),
                limit.cap,
                limit.key,
            )
            for name, limit in found.items()
        ),
        *_of_origins(tx, day, origins),
        *_of_sessions(tx, limits.session_tokens_max),
    ]


def _kind(name: Name) -> Whose:
    kinds: dict[str, Whose] = {"day": "day", "person": "person", "pack": "pack"}
    return kinds[name[1]]


def _of_origins(tx: Tx, day: str, origins: Sequence[_OriginCap]) -> Iterator[Left]:
    for origin, cap, key in origins:
        if cap:
            used = usage.tokens_of_origin(tx, day, origin)
            yield Left("tokens", "origin", origin, used, 0.0, cap, key)


def _of_sessions(tx: Tx, cap: int) -> Iterator[Left]:
    for session, used in usage.tokens_of_sessions_at_work(tx, _SESSIONS_MAX) if cap else ():
        key = "advanced.session_tokens_max"
        yield Left("tokens", "session", session, used, 0.0, cap, key)


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
