"""Limits tokens and money: checks before a turn, reserves before a call, settles after.

`Quota.stream` is the only way to a model that is paid for: by turns, and by side calls.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import tzinfo

from aouo.agent.spending.limits import Limits, budget_exceeded, of_money, quota_exceeded
from aouo.agent.spending.money import (
    LEAST_ANSWER_TOKENS,
    UNKNOWN,
    Budget,
    Ceiling,
    Price,
    SchemaSizes,
    affordable,
    bounds_of,
    cost_usd,
    most_usd,
)
from aouo.agent.spending.reservations import OverLimit, Reservations, Settle, nothing_reserved
from aouo.facts import transcript
from aouo.facts.errors import PriceUnknown, ProviderError
from aouo.facts.ids import ulid
from aouo.facts.ports import ChatModel, Clock, stamp
from aouo.facts.records import Spent
from aouo.packs.format.manifest import Budget as PackBudget
from aouo.plumbing.redact import Redactor
from aouo.providers.fallback import Cleaning
from aouo.store import usage
from aouo.store.database import Database

_NOTHING = transcript.Usage()


class _Paying:
    """One reserved model call.

    `durable`: under a budget, so its worst case is in the table, too; `begun`: an answer began;
    `over`: what it spent is counted.
    """

    def __init__(
        self,
        worst: Spent,
        settle: Settle,
        prices: Mapping[tuple[str, str], Price],
        *,
        durable: bool,
    ) -> None:
        self._settle = settle
        self._prices = prices
        self._begun_s = time.perf_counter()
        self.durable = durable
        self.worst = worst
        self.begun = False
        self.over = False

    def settle(self, finished: transcript.Finished) -> Spent:
        """End a finished call and return its usage row.

        Under a budget a call that reports no usage, or another model than those asked, costs its
        worst case.
        """
        provider = finished.provider or self.worst.provider
        model = finished.model or self.worst.model
        price = self._prices.get((provider, model))
        if price and (finished.usage != _NOTHING or not self.durable):
            usd = cost_usd(price, finished.usage)
        else:
            usd = self.worst.cost_usd if self.durable else 0.0
        self.end(finished.usage.input_tokens + finished.usage.output_tokens, usd)
        return replace(
            self.worst,
            provider=provider,
            model=model,
            tokens=finished.usage,
            cost_usd=usd,
            unpriced=not (self.durable or (price and price.known)),
            duration_ms=self._ms(),
        )

    def cut_off(self, record: Callable[[Spent], None]) -> None:
        """End an unfinished call, unless it is over: it costs its worst case, and has a usage row
        only under a budget."""
        if self.over:
            return
        self.end(0, self.worst.cost_usd, row=self.durable)
        if self.durable:
            record(replace(self.worst, duration_ms=self._ms()))

    def end(self, tokens: int, usd: float, *, row: bool = True) -> None:
        """Count what was spent; `row`: a usage row with it will be written, too."""
        self.over = True
        self._settle(self.worst.reservation if row else "", tokens, usd)

    def _ms(self) -> int:
        return round((time.perf_counter() - self._begun_s) * 1000)


_NEAR = 0.8
"""The share of its cap at which a session is renewed, while the rest is enough for one turn."""


class Quota:
    """Enforces the day's token caps, 0 = off, and its budgets. A session's cap ends no turn: the
    session is renewed before that (`flow.answering.renewing`).

    A day ends at midnight in the `zone` of now, which is one for all of them. Without a budget
    nothing is written before a call. All caps and budgets are checked against one `Reservations`.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        zone: Callable[[], tzinfo | None],
        session_tokens_max: int,
        daily_tokens_max: int,
        budget: Budget | None = None,
        pack_budgets: Callable[[], Mapping[str, PackBudget]] = dict,
        redactor: Redactor,
        reservations: Reservations,
    ) -> None:
        self._database = database
        self._clock = clock
        self._zone = zone
        self.limits = Limits(session_tokens_max, daily_tokens_max, budget or Budget(), pack_budgets)
        self._redactor = redactor
        self._reservations = reservations
        self._sizes: SchemaSizes = {}
        self._looked_up = False

    def day(self) -> str:
        """Return the local day that usage counts for, such as `2026-11-21`."""
        return self._clock.now().astimezone(self._zone()).date().isoformat()

    @property
    def budgeted(self) -> bool:
        """Whether any budget is set."""
        return self.limits.budgeted

    def usd_per_call(self, tool: str) -> float | None:
        """Return what a service costs that answers one call of a tool, None = nobody knows."""
        return self.limits.budget.prices.of_unit("call", "", tool)[0]

    async def recover(self) -> int:
        """Count reservations of an earlier process as spent; return how many calls they are."""
        if not await self._database.read(usage.any_held, once=True):
            return 0
        return await self._database.transact(usage.write_off)

    async def is_near_its_cap(self, session_id: str) -> bool:
        """Whether a session has taken the share `_NEAR` of its token cap."""
        if not self.limits.session_tokens_max:
            return False
        used = await self._database.read(
            lambda tx: usage.tokens_of_session(tx, session_id), once=True
        )
        return used >= self.limits.session_tokens_max * _NEAR

    async def check(self, pack: str = "") -> None:
        """Check that no token cap is reached, before a turn begins.

        Raises:
            QuotaExceededError: one is; it names the cap, the day's before the pack's.
        """
        limits = self.limits.of_tokens(pack, 0)
        if not limits:
            return
        await self._catch_up(self.day())
        try:
            self._reservations.refuse(limits)
        except OverLimit as error:
            raise quota_exceeded(error) from None

    async def stream(
        self,
        model: ChatModel,
        request: transcript.ModelRequest,
        row: Spent,
        record: Callable[[Spent], None],
        *,
        least_tokens: int = LEAST_ANSWER_TOKENS,
    ) -> AsyncGenerator[transcript.ModelEvent, None]:
        """Ask a model as `ChatModel.stream` does, within the limits; close the generator as there.

        Secrets are redacted in all events, even if the model said one in pieces.

        If a budget has too little left for the worst case, the call is made with less room for its
        answer, but at least `least_tokens`. `row` says who pays. `record` gets a row to write for
        each call that cost something; a call that is cut off costs its worst case, since its
        real cost is not known.

        Raises:
            QuotaExceededError: a cap of tokens is reached.
            BudgetExceeded: the worst case does not fit a budget.
            PriceUnknown: a budget is set and the model has no price.
            ProviderError: as `ChatModel.stream`.
        """
        wanted = request.max_tokens
        paying, request = await self._pay(model, request, row, least_tokens)
        cleaning = Cleaning(self._redactor)
        try:
            async with aclosing(model.stream(request)) as events:
                async for event in events:
                    match event:
                        case transcript.TextDelta():
                            paying.begun = True
                        case transcript.PaidForNothing():
                            paying.cut_off(record)
                            paying, _ = await self._pay(model, request, row, request.max_tokens)
                        case transcript.Finished():
                            record(paying.settle(event))
                            if request.max_tokens < wanted and not event.bounded_by:
                                event = replace(event, bounded_by="budget")
                        case transcript.StartedOver() | transcript.AsksAgain():
                            pass
                    for clean in cleaning.of(event):
                        yield clean
        except ProviderError as error:
            if not (paying.over or paying.begun or error.may_have_cost):
                await self._release(paying)
            raise
        finally:
            paying.cut_off(record)

    async def _pay(
        self, model: ChatModel, request: transcript.ModelRequest, row: Spent, least_tokens: int
    ) -> tuple[_Paying, transcript.ModelRequest]:
        """Reserve the worst case of one call, under a budget in the table, too; return it with the
        request that it pays for, whose room for the answer may be smaller."""
        ceilings = self.limits.ceilings(row.person, row.pack)
        prices = await self._known_prices(model, all_of_them=bool(ceilings))
        capped = bool(self.limits.of_tokens(row.pack, 0))
        most = bounds_of(request, self._sizes) if ceilings or capped else _NOTHING
        worst_usd = _worst_usd(prices, most)
        if not worst_usd:
            ceilings = []  # what costs nothing needs no room
        limited = bool(ceilings or capped)
        day, reservation = self.day(), nothing_reserved
        if limited:
            day, reservation, most = await self._room(
                model, row, most, prices, ceilings, least_tokens
            )
            worst_usd = _worst_usd(prices, most)
            request = replace(request, max_tokens=most.output_tokens)
        worst = replace(
            row,
            day=day,
            reservation=ulid() if limited else "",
            provider=model.provider,
            model=model.model,
            cost_usd=worst_usd,
        )
        paying = _Paying(worst, reservation, prices, durable=bool(ceilings))
        if paying.durable:
            await self._write_down(paying)
        return paying, request

    async def _room(
        self,
        model: ChatModel,
        row: Spent,
        most: transcript.Usage,
        prices: Mapping[tuple[str, str], Price],
        ceilings: Sequence[Ceiling],
        least_tokens: int,
    ) -> tuple[str, Settle, transcript.Usage]:
        """Reserve room under every limit, waiting while calls at work take it up; return the day,
        the reservation, and `most` cut to the room there is."""
        while True:
            day = self.day()
            await self._catch_up(day)
            fits = most
            if caps := of_money(ceilings, self._reservations, 0.0):
                left_usd = min(cap.cap - self._reservations.used(cap.name) for cap in caps)
                fits = affordable(most, prices.values(), left_usd, least_tokens)
            worst_usd = _worst_usd(prices, fits)
            limits = self.limits.of_tokens(row.pack, fits.input_tokens + fits.output_tokens)
            limits += of_money(ceilings, self._reservations, worst_usd)
            try:
                reservation = self._reservations.reserve(limits)
            except OverLimit as error:
                if error.limit.unit == "tokens":
                    raise quota_exceeded(error) from None
                raise budget_exceeded(
                    error,
                    limits,
                    model,
                    fits,
                    self.limits.budget.prices,
                    self._reservations.used,
                    day,
                ) from None
            if reservation:
                return day, reservation, fits
            await self._reservations.change()

    async def _write_down(self, paying: _Paying) -> None:
        """Store the worst case in the table, before the call is made."""
        worst = paying.worst
        now = stamp(self._clock)
        try:
            await self._database.transact(lambda tx: usage.put_reservation(tx, worst, now))
        except BaseException:
            await self._release(paying)
            raise

    async def _release(self, paying: _Paying) -> None:
        """Give back the reservation of a call that spent nothing."""
        paying.end(0, 0.0, row=False)
        if paying.durable:
            reservation_id = paying.worst.reservation
            await self._database.transact(lambda tx: usage.release_reservation(tx, reservation_id))

    async def _catch_up(self, day: str) -> None:
        money = self.budgeted
        await self._database.read(lambda tx: self._reservations.catch_up(tx, day, money=money))

    async def _known_prices(
        self, model: ChatModel, *, all_of_them: bool
    ) -> dict[tuple[str, str], Price]:
        """As `_prices`, the first time in a thread, since that may load a catalogue."""
        if self._looked_up:
            return self._prices(model, all_of_them=all_of_them)
        prices = await asyncio.to_thread(self._prices, model, all_of_them=all_of_them)
        self._looked_up = True
        return prices

    def _prices(self, model: ChatModel, *, all_of_them: bool) -> dict[tuple[str, str], Price]:
        """Return the price of each model that may answer; without a budget it may be `UNKNOWN`.

        Raises:
            PriceUnknown: a price is not known, and `all_of_them` are needed.
        """
        prices: dict[tuple[str, str], Price] = {}
        for provider, name in model.candidates:
            price = self.limits.budget.prices.of(provider, name)
            if price is None and all_of_them:
                raise PriceUnknown(name)
            prices[provider, name] = price or UNKNOWN
        return prices


def _worst_usd(prices: Mapping[tuple[str, str], Price], most: transcript.Usage) -> float:
    return max(most_usd(price, most) for price in prices.values())
