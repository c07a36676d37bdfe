"""One model call at work: what it may cost at most, and the usage row that it ends with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from aouo.facts.accounts import Spent
from aouo.facts.transcript import Finished, Usage
from aouo.spending.money import Price, cost_usd
from aouo.spending.reservations import Reservation

_NOTHING = Usage()


class Paying:
    """`durable` when the worst case is in the table too, which is so under a budget; `begun` when
    an answer began, `over` when what was spent is counted."""

    def __init__(
        self,
        worst: Spent,
        reservation: Reservation,
        prices: Mapping[tuple[str, str], Price],
        *,
        durable: bool,
    ) -> None:
        self._reservation = reservation
        self._prices = prices
        self._begun_s = time.perf_counter()
        self.durable = durable
        self.worst = worst
        self.begun = False
        self.over = False

    def settle(self, finished: Finished) -> Spent:
        """The row of a call that came to its end.

        Under a budget a call without any usage, or of a model nobody expected, costs its worst
        case.
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
            duration_ms=self._ms(),
        )

    def cut_off(self, record: Callable[[Spent], None]) -> None:
        """End a call that did not come to its end, if it is not over: it costs its worst case,
        and has a row only if money is counted."""
        if self.over:
            return
        self.end(0, self.worst.cost_usd, row=self.durable)
        if self.durable:
            record(replace(self.worst, duration_ms=self._ms()))

    def end(self, tokens: int, usd: float, *, row: bool = True) -> None:
        """Count what was spent; `row` says that the table will tell it too."""
        self.over = True
        self._reservation.settle(self.worst.reservation if row else "", tokens, usd)

    def _ms(self) -> int:
        return round((time.perf_counter() - self._begun_s) * 1000)
