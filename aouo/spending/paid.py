"""Names what may cost money, and finds what has no price although a budget is set. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from aouo.spending.money import Price, Prices, Source, Unit

Measure: TypeAlias = Literal["tokens"] | Unit
_KEYS: dict[Measure, str] = {
    "tokens": "budgets.prices",
    "minute": "budgets.prices_per_minute",
    "million_characters": "budgets.prices_per_million_characters",
    "call": "budgets.prices_per_call",
}
UNLESS_SERVED = ", unless its server says one"
"""Ends what is wrong with a model whose server was not asked."""


@dataclass(frozen=True, slots=True)
class Paid:
    """A model or a tool that may cost money; `measure` is what its price is for."""

    measure: Measure
    provider: str
    name: str

    @property
    def key(self) -> str:
        """Where the owner sets its price."""
        return f"{_KEYS[self.measure]}.{self.name}"

    @property
    def concern(self) -> tuple[str, str]:
        """What is wrong where a budget is set and it has no price, and the line that mends it."""
        if self.measure == "tokens":
            what = f"a budget is set and {self.name} has no price: nothing is asked"
            return what, f"Set {self.key}, or take the budget away."
        what = f"a budget is set and {self.name} has no price: what it does is not counted"
        return what, f"Set {self.key}."

    def price(self, prices: Prices) -> tuple[Price | float | None, Source]:
        """Return what it costs, None = that is not known, and who says it; the first call may take
        a second."""
        if self.measure == "tokens":
            return prices.told(self.provider, self.name)
        return prices.of_unit(self.measure, self.provider, self.name)


def measure_of(scope: str) -> Measure:
    """Return what a usage row of this scope is paid for."""
    measures: dict[str, Measure] = {"stt": "minute", "tts": "million_characters"}
    return "call" if scope.startswith("tool:") else measures.get(scope, "tokens")


def lacking(paid: Iterable[Paid], prices: Prices) -> tuple[Paid, ...]:
    """Return those without a price."""
    return tuple(one for one in dict.fromkeys(paid) if one.price(prices)[0] is None)
