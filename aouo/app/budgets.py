"""Budgets and prices as the settings say them, and the models that a cheaper choice needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from aouo.config.settings import Price as PriceSetting
from aouo.config.settings import Settings
from aouo.facts.errors import SetupError
from aouo.facts.ports import Clock
from aouo.packs.library import Library
from aouo.providers.known import catalogue
from aouo.spending.money import Budget, PackBudget, Price, Prices

Served: TypeAlias = Callable[[str, str], Price | None]


def _nothing(provider: str, model: str) -> None:
    del provider, model


def budget_of(settings: Settings, clock: Clock, served: Served = _nothing) -> Budget:
    """The owner's ceilings, with every price that is known: theirs first, then the catalogue's,
    then what the model's server says (`served`), for it leaves out what large requests cost."""
    budgets = settings.budgets
    return Budget(
        budgets.daily_usd,
        budgets.per_person_daily_usd,
        dict(budgets.per_pack_daily_usd),
        Prices(
            _prices(budgets.prices),
            {name: _prices(custom.prices) for name, custom in settings.providers.items()},
            lambda provider, model: (
                _listed(settings, clock, provider, model) or served(provider, model)
            ),
        ),
    )


def pack_budgets(library: Library) -> Mapping[str, PackBudget]:
    """What packs allow themselves; those without a ceiling are not there."""
    budgets = {name: pack.manifest.budget for name, pack in library.packs.items()}
    return {
        name: PackBudget(own.daily_usd, own.daily_tokens)
        for name, own in budgets.items()
        if own.daily_usd or own.daily_tokens
    }


def with_model(settings: Settings, backend: str, model: str) -> Settings:
    """The same settings, but this model answers alone."""
    alone = {"backend": backend, "model": model, "fallback": ()}
    return settings.model_copy(update={"provider": settings.provider.model_copy(update=alone)})


def _listed(settings: Settings, clock: Clock, provider: str, model: str) -> Price | None:
    """What the catalogue of public services says a model costs now."""
    try:
        base_url = settings.provider_endpoint(provider).base_url
    except SetupError:  # no service of the settings: a model of a test
        return None
    found = catalogue.listed(base_url, model, clock.now())
    if found is None or not found.rates:
        return None
    each = [Price(rate.input, rate.cached, rate.output) for rate in found.rates]
    above = tuple(
        (rate.above_tokens, price) for rate, price in zip(found.rates[1:], each[1:], strict=True)
    )
    return Price(each[0].input, each[0].cached, each[0].output, above)


def _prices(named: Mapping[str, PriceSetting]) -> dict[str, Price]:
    return {model: Price(price.input, price.cached, price.output) for model, price in named.items()}
