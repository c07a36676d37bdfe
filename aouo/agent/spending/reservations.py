"""Holds in memory what is used and what is reserved under each limit.

The usage table is the truth: it is read whole once for a day, then only its new rows. A call at
work is reserved at its worst case; from its end on its real size counts, before its row is written.
One process owns a home, so no other process spends at the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from aouo.store import usage
from aouo.store.database import Tx

Unit: TypeAlias = Literal["tokens", "usd"]
Name: TypeAlias = tuple[Unit, str, str]
"""Unit, kind (day, person, pack), and which person or pack, "" = all."""


@dataclass(slots=True)
class Account:
    """What is spent, and what calls at work may still spend."""

    used: float = 0.0
    reserved: float = 0.0
    at_work: int = 0

    def reserve(self, amount: float) -> None:
        self.reserved += amount
        self.at_work += 1

    def settle(self, amount: float, spent: float) -> None:
        self.at_work -= 1
        # Sums of floats leave rounding errors, and a call could wait for those for ever.
        self.reserved = self.reserved - amount if self.at_work else 0.0
        self.used += spent


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit of a call; `key` configures it, `amount` is the call's worst case."""

    name: Name
    cap: float
    key: str
    amount: float

    @property
    def unit(self) -> Unit:
        return self.name[0]


class OverLimit(Exception):
    """A limit has no room for a call, and will have none when the calls at work have ended."""

    def __init__(self, limit: Limit, used: float) -> None:
        super().__init__(f"{limit.key}: {used:g} of {limit.cap:g}")
        self.limit = limit
        self.used = used


def judge(account: Account, limit: Limit) -> Literal["fits", "wait", "over"]:
    """Whether a call may begin beside those at work.

    Money is never exceeded. Tokens are reserved alike, but the worst case of a single call is
    several times what it takes, so the last one before the cap may pass it, alone: whatever
    runs at once, a cap is passed by less than one call.
    """
    tokens = limit.unit == "tokens"
    over = account.used >= limit.cap if tokens else account.used + limit.amount > limit.cap
    if over:
        return "over"
    alone = tokens and not account.at_work
    fits = account.used + account.reserved + limit.amount <= limit.cap
    return "fits" if fits or alone else "wait"


Settle: TypeAlias = Callable[[str, float, float], None]
"""Counts the tokens and USD that one call spent in the place of what was reserved, once; a usage
row with this id will follow, "" = none will."""


def nothing_reserved(row_id: str, tokens: float, usd: float) -> None:
    """Settle a call without a reservation."""
    del row_id, tokens, usd


class Reservations:
    """All accounts of today, and the owner's allowances."""

    def __init__(self) -> None:
        self._day = ""
        self._seen = 0
        self._accounts: dict[Name, Account] = {}
        self._added: dict[tuple[str, str], float] = {}
        self._unwritten: set[str] = set()
        self._changed = asyncio.Event()

    def catch_up(self, tx: Tx, day: str, *, money: bool) -> None:
        """Read the new rows of the table, and all rows of a day that is new."""
        if self._day:
            for row in usage.since(tx, self._seen):
                self._seen = row.id
                if row.reservation in self._unwritten:
                    self._unwritten.remove(row.reservation)  # it counts since its call ended
                else:
                    self._count(row)
        else:
            self._seen = usage.newest(tx)
        if day != self._day:
            self._day = day
            self._accounts = {("tokens", "day", ""): Account(usage.tokens_of_day(tx, day))}
            for pack, tokens in usage.tokens_of_packs(tx, day):
                self._account(("tokens", "pack", pack)).used += tokens
            for person, pack, usd in usage.money_of_day(tx, day):
                self._count_money(person, pack, usd)
        if money:
            self._added = usage.allowances(tx, day)

    def used(self, name: Name) -> float:
        return self._account(name).used

    def reserved(self, name: Name) -> float:
        """Return what calls at work may still spend."""
        return self._accounts[name].reserved if name in self._accounts else 0.0

    @property
    def people(self) -> set[str]:
        """Who has spent something today."""
        return {name for _, kind, name in self._accounts if kind == "person" and name}

    def added(self, kind: str, name: str) -> float:
        """Return the owner's allowance for a budget today, in USD."""
        return self._added.get((kind, name), 0.0)

    def refuse(self, limits: Sequence[Limit]) -> None:
        """Check that every limit has room for its amount.

        Raises:
            OverLimit: the first limit that has none.
        """
        for limit in limits:
            account = self._account(limit.name)
            if judge(account, limit) == "over":
                raise OverLimit(limit, account.used)

    def reserve(self, limits: Sequence[Limit]) -> Settle | None:
        """Reserve room under all limits or under none; None = wait until a call has ended.

        Raises:
            OverLimit: as `refuse`.
        """
        self.refuse(limits)
        found = [(self._account(limit.name), limit) for limit in limits]
        if any(judge(account, limit) == "wait" for account, limit in found):
            return None
        for account, limit in found:
            account.reserve(limit.amount)
        return partial(self._settle, found)

    def _settle(
        self, left: list[tuple[Account, Limit]], row_id: str, tokens: float, usd: float
    ) -> None:
        for account, limit in left:
            account.settle(limit.amount, tokens if limit.unit == "tokens" else usd)
        left.clear()
        self.settled(row_id)

    async def change(self) -> None:
        """Wait until a call has ended."""
        await self._changed.wait()

    def settled(self, row_id: str) -> None:
        """Wake all calls that wait for room: one has ended; its row, if any, will follow."""
        if row_id:
            self._unwritten.add(row_id)
        self._changed.set()
        self._changed = asyncio.Event()

    def _account(self, name: Name) -> Account:
        return self._accounts.setdefault(name, Account())

    def _count(self, row: usage.Row) -> None:
        if row.day == self._day:
            self._account(("tokens", "day", "")).used += row.tokens
            self._account(("tokens", "pack", row.pack)).used += row.tokens
            self._count_money(row.person, row.pack, row.cost_usd)

    def _count_money(self, person: str, pack: str, usd: float) -> None:
        for kind, name in (("day", ""), ("person", person), ("pack", pack)):
            self._account(("usd", kind, name)).used += usd
