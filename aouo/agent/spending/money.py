"""Computes what a model call costs and may cost at most, and what has no price: pure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from aouo.facts.transcript import AssistantSaid, Message, ModelRequest, Usage, UserSaid

_Kind: TypeAlias = Literal["day", "person", "pack"]
"""Whose spending a budget bounds: everybody's of a day, one person's, one pack's."""

Ceiling: TypeAlias = tuple[_Kind, str, float, str]
"""Kind, which person or pack, USD a day, configuration key."""

_ENTRY_TOKENS = 16
"""More than any chat template puts around one entry or one tool."""

_IMAGE_TOKENS = 50_000
"""Above the dearest known way to count a Telegram photo: gpt-4o-mini bills 2,833 and 5,667 for
each of at most eight tiles. Source: platform.openai.com/docs/guides/images-vision."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens of input, of input read from a cache, of output.

    `above` are (tokens, price), ascending: a request with more input than that pays this price
    for all its tokens.
    """

    input: float
    cached: float
    output: float
    above: tuple[tuple[int, Price], ...] = ()
    known: bool = True

    def at(self, input_tokens: int) -> Price:
        """Return the price for a request with so much input."""
        found = [price for start, price in self.above if input_tokens > start]
        return found[-1] if found else self


UNKNOWN = Price(0.0, 0.0, 0.0, known=False)
"""What counts without a budget for a model whose price nobody knows."""

Unit: TypeAlias = Literal["minute", "million_characters", "call"]
"""What is paid for besides tokens: a minute of sound that is heard, a million characters that are
spoken, a call of a service."""

_Source: TypeAlias = Literal["it runs here", "you", "the catalogue", "the server", "nobody"]
"""Who says a price; `you` is the owner."""


def _nobody_said(provider: str, model: str) -> Price | None:
    del provider, model
    return None


def _none_listed(unit: Unit, provider: str, model: str) -> float | None:
    del unit, provider, model
    return None


@dataclass(frozen=True, slots=True)
class Prices:
    """The owner's prices, by model and by the models of one provider; for all others the `listed`
    ones, then those that their server says (`served`). What runs on this machine is free."""

    by_model: Mapping[str, Price] = field(default_factory=dict[str, Price])
    by_provider: Mapping[str, Mapping[str, Price]] = field(
        default_factory=dict[str, Mapping[str, Price]]
    )
    listed: Callable[[str, str], Price | None] = _nobody_said
    """What a catalogue says of (provider, model) now; the first call may take a second."""
    served: Callable[[str, str], Price | None] = _nobody_said
    by_unit: Mapping[Unit, Mapping[str, float]] = field(
        default_factory=dict[Unit, Mapping[str, float]]
    )
    """The owner's USD for one unit, by model or tool."""
    listed_unit: Callable[[Unit, str, str], float | None] = _none_listed
    """As `listed`, of one unit."""

    def of(self, provider: str, model: str) -> Price | None:
        """Return the price of a model, None = it is not known."""
        return self.told(provider, model)[0]

    def told(self, provider: str, model: str) -> tuple[Price | None, _Source]:
        """Return the price of a model, None = it is not known, and who says it."""
        if own := self.by_model.get(model) or self.by_provider.get(provider, {}).get(model):
            return own, "you"
        if listed := self.listed(provider, model):
            return listed, "the catalogue"
        served = self.served(provider, model)
        return served, "the server" if served else "nobody"

    def of_unit(self, unit: Unit, provider: str, name: str) -> tuple[float | None, _Source]:
        """Return USD for one unit of a model or a tool, None = it is not known, and who says it."""
        if provider == "local":
            return 0.0, "it runs here"
        if (own := self.by_unit.get(unit, {}).get(name)) is not None:
            return own, "you"
        listed = self.listed_unit(unit, provider, name)
        return listed, "nobody" if listed is None else "the catalogue"

    def relatives(self, provider: str, model: str) -> tuple[tuple[str, str], ...]:
        """Return (provider, model) of other models at this provider that the owner has priced:
        those under the provider, and those of the same family (`gpt-…`)."""
        family = model.partition("-")[0] + "-"
        names = [*self.by_provider.get(provider, {})]
        names += [name for name in self.by_model if name.startswith(family)]
        return tuple((provider, name) for name in dict.fromkeys(names) if name != model)


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that may be chosen; `price` may take a second at first, None = nobody knows it."""

    provider: str
    model: str
    window_tokens: int
    sees: bool
    price: Callable[[], Price | None]

    @property
    def name(self) -> str:
        return f"{self.provider}:{self.model}"


def own_key(name: str, pack: str) -> str:
    """Return how sentences name a ceiling that a pack sets itself."""
    return f"budget.{name} in the pack.yml of “{pack}”"


@dataclass(frozen=True, slots=True)
class Budget:
    """Ceilings of a day in USD; 0 or absent = none."""

    daily_usd: float = 0.0
    per_person_daily_usd: float = 0.0
    per_pack_daily_usd: Mapping[str, float] = field(default_factory=dict[str, float])
    prices: Prices = field(default_factory=Prices)
    per_role_daily_usd: Mapping[str, float] = field(default_factory=dict[str, float])
    """Of each person of a role; in place of `per_person_daily_usd`."""
    role_of: Callable[[str], str] = lambda person: ""

    @property
    def any(self) -> bool:
        named = (*self.per_pack_daily_usd.values(), *self.per_role_daily_usd.values())
        return bool(self.daily_usd or self.per_person_daily_usd or any(named))

    def ceilings(self, person: str, pack: str, own_usd: float = 0.0) -> list[Ceiling]:
        """Return a call's ceilings; `own_usd` is the pack's own, and the stricter one counts."""
        found: list[Ceiling] = [("day", "", self.daily_usd, "budgets.daily_usd")]
        if person:
            role = self.role_of(person)
            usd, key = self.per_role_daily_usd.get(role, 0.0), f"roles.{role}.daily_usd"
            if not usd:
                usd, key = self.per_person_daily_usd, "budgets.per_person_daily_usd"
            found.append(("person", person, usd, key))
        if pack:
            owners, key = (
                self.per_pack_daily_usd.get(pack, 0.0),
                f"budgets.per_pack_daily_usd.{pack}",
            )
            if own_usd and (not owners or own_usd < owners):
                owners, key = own_usd, own_key("daily_usd", pack)
            found.append(("pack", pack, owners, key))
        return [ceiling for ceiling in found if ceiling[2]]


def cost_usd(price: Price, usage: Usage) -> float:
    """Return what a call cost; cached tokens are part of the input and have their own price."""
    price = price.at(usage.input_tokens)
    cached = min(usage.cached_tokens, usage.input_tokens)
    fresh = usage.input_tokens - cached
    return (
        fresh * price.input + cached * price.cached + usage.output_tokens * price.output
    ) / 1_000_000


def most_usd(price: Price, most: Usage) -> float:
    """Return the most that a call with up to these tokens can cost, cached input or not."""
    return max(
        cost_usd(Price(max(one.input, one.cached), 0.0, one.output), most)
        for one in _possible(price, most)
    )


def _possible(price: Price, most: Usage) -> list[Price]:
    """Return every price that a request with at most the input of `most` may pay."""
    return [price, *(other for start, other in price.above if most.input_tokens > start)]


LEAST_ANSWER_TOKENS = 1_024
"""Where money is short a call is made with less room for its answer, but not with less."""


def affordable(most: Usage, prices: Iterable[Price], room_usd: float, least: int) -> Usage:
    """Return `most` with its output cut to what `room_usd` pays for at each of these prices, but
    not below `least` tokens, even if `room_usd` does not pay for those."""
    tokens = most.output_tokens
    for price in prices:
        left_usd = room_usd - most_usd(price, Usage(most.input_tokens, 0, 0))
        dearest = max(possible.output for possible in _possible(price, most))
        if most_usd(price, most) > room_usd and dearest:
            # A little less than the quotient, which may round up to one token too many.
            tokens = min(tokens, math.floor(left_usd * 999_999 / dearest))
    return Usage(most.input_tokens, 0, max(tokens, min(least, most.output_tokens)))


def bounds_of(request: ModelRequest, sizes: SchemaSizes) -> Usage:
    """Bound a request by its UTF-8 bytes: no service's tokenizer makes more tokens of it; `sizes`
    is a cache of the size of each tool's schema."""
    entries = 2 + len(request.messages) + len(request.tools)
    tokens = _bytes(request.system) + _bytes(request.context) + _ENTRY_TOKENS * entries
    # Hundreds of them, before each model call: plain tests of types, one look at all texts.
    tokens += _bytes("".join([message.text for message in request.messages]))
    for message in request.messages:
        if type(message) is AssistantSaid:
            if message.calls or message.native:
                tokens += _beside_text(message)
        elif type(message) is UserSaid and message.images:
            tokens += _beside_text(message)
    for tool in request.tools:
        tokens += _bytes(tool.name) + _bytes(tool.description) + _size(tool.parameters, sizes)
    return Usage(tokens, 0, request.max_tokens)


SchemaSizes: TypeAlias = dict[int, tuple[dict[str, Any], int]]


def _size(schema: dict[str, Any], sizes: SchemaSizes) -> int:
    known = sizes.get(id(schema))
    if known is None:
        if len(sizes) > 1_000:
            sizes.clear()
        # The schema itself is kept, so that its id cannot become another one's.
        known = sizes[id(schema)] = (schema, len(json.dumps(schema)))
    return known[1]


def step_up(cap_usd: float, missing_usd: float) -> float:
    """Return the round sum (1, 2 or 5 times a power of ten) to raise a budget by: at least half
    of it, and at least what is missing."""
    wanted = max(cap_usd / 2, missing_usd)
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(
        round(step * power, 12) for step in (1, 2, 5, 10) if step * power >= wanted * (1 - 1e-9)
    )


def cheapest_that_fits(
    candidates: Sequence[tuple[str, str]], prices: Prices, most: Usage, room_usd: float
) -> tuple[str, str] | None:
    """Return the (provider, model) with the smallest worst case, None = it does not fit either."""
    priced = [
        (most_usd(price, most), candidate)
        for candidate in dict.fromkeys(candidates)
        if (price := prices.of(*candidate))
    ]
    usd, candidate = min(priced, default=(math.inf, ("", "")))
    return candidate if usd <= max(room_usd, 0.0) else None


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _beside_text(message: Message) -> int:
    """Bound what is sent of a message besides its text, in tokens."""
    if isinstance(message, UserSaid):
        return _IMAGE_TOKENS * len(message.images) if message.images else 0
    if isinstance(message, AssistantSaid) and (message.calls or message.native):
        asked = sum(_bytes(call.id + call.name + call.arguments) for call in message.calls)
        return asked + _bytes(message.native) + _ENTRY_TOKENS * len(message.calls)
    return 0


_Measure: TypeAlias = Literal["tokens"] | Unit
_KEYS: dict[_Measure, str] = {
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

    measure: _Measure
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

    def price(self, prices: Prices) -> tuple[Price | float | None, _Source]:
        """Return what it costs, None = that is not known, and who says it; the first call may take
        a second."""
        if self.measure == "tokens":
            return prices.told(self.provider, self.name)
        return prices.of_unit(self.measure, self.provider, self.name)


def measure_of(scope: str) -> _Measure:
    """Return what a usage row of this scope is paid for."""
    measures: dict[str, _Measure] = {"stt": "minute", "tts": "million_characters"}
    return "call" if scope.startswith("tool:") else measures.get(scope, "tokens")


def lacking(paid: Iterable[Paid], prices: Prices) -> tuple[Paid, ...]:
    """Return those without a price."""
    return tuple(one for one in dict.fromkeys(paid) if one.price(prices)[0] is None)
