"""Follows one reserved model call from its worst case to the usage row that it ends with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from aouo.facts.accounts import Spent
from aouo.facts.transcript import Finished, Usage
from aouo.spending.money import Price, cost_usd
from aouo.spending.reservations import Settle

_NOTHING = Usage()


class Paying:
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

    def settle(self, finished: Finished) -> Spent:
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
