"""Warns of models and tools without a price, where a verb sets or takes up a budget."""

from __future__ import annotations

from collections.abc import Iterable

import click

from aouo.config.settings import Settings

_MONEY_SECTIONS = (
    *("budgets", "provider", "providers", "openai", "groq", "gemini", "deepseek"),
    *("stt", "tts", "tools"),
)
"""Sections that say what may be asked, and what that may cost."""


def warn_about_missing_prices(
    settings: Settings, changed_keys: Iterable[str] = _MONEY_SECTIONS
) -> None:
    """Print a note for each model or tool without a price, if a budget is set and a key about money
    was changed."""
    budgets = settings.budgets
    limits = (
        *(budgets.daily_usd, budgets.per_person_daily_usd),
        *budgets.per_pack_daily_usd.values(),
    )
    sections = {key.partition(".")[0] for key in changed_keys}
    if not any(limits) or sections.isdisjoint(_MONEY_SECTIONS):
        return
    from aouo.app.services import budget_of, paid_for  # heavy, and rarely needed
    from aouo.plumbing.clock import SystemClock
    from aouo.spending.paid import UNLESS_SERVED, lacking

    for one in lacking(paid_for(settings), budget_of(settings, SystemClock()).prices):
        what, fix = one.concern
        but = UNLESS_SERVED if one.measure == "tokens" else ""
        click.echo(f"note: {what}{but}. {fix}")
