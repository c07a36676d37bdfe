"""Budgets and prices as the settings say them, and the models that a cheaper choice needs."""

from __future__ import annotations

from collections.abc import Mapping

from aouo.packs.library import Library
from aouo.settings import Price as PriceSetting
from aouo.settings import Settings
from aouo.turn.money import Budget, PackBudget, Price, Prices


def budget_of(settings: Settings) -> Budget:
    """The owner's ceilings, with every price that is known."""
    budgets = settings.budgets
    return Budget(
        budgets.daily_usd,
        budgets.per_person_daily_usd,
        dict(budgets.per_pack_daily_usd),
        Prices(
            _prices(budgets.prices),
            {name: _prices(custom.prices) for name, custom in settings.providers.items()},
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


def _prices(named: Mapping[str, PriceSetting]) -> dict[str, Price]:
    return {model: Price(price.input, price.cached, price.output) for model, price in named.items()}
