"""Says what has no price although a budget is set, wherever a verb sets or takes up one."""

from __future__ import annotations

from collections.abc import Iterable

import click

from aouo.config.settings import Settings

_ABOUT_MONEY = (
    *("budgets", "provider", "providers", "openai", "groq", "gemini", "deepseek"),
    *("stt", "tts", "tools"),
)
"""Sections that say what may be asked, and what that may cost."""


def tell_unpriced(settings: Settings, changed: Iterable[str] = _ABOUT_MONEY) -> None:
    """Print a note for each model or tool, if what has `changed`, as keys, is about money."""
    budgets = settings.budgets
    ceilings = (
        *(budgets.daily_usd, budgets.per_person_daily_usd),
        *budgets.per_pack_daily_usd.values(),
    )
    if not (any(ceilings) and {key.partition(".")[0] for key in changed} & {*_ABOUT_MONEY}):
        return
    from aouo.app.services import budget_of, paid_for  # heavy, and rarely needed
    from aouo.plumbing.clock import SystemClock
    from aouo.spending.paid import UNLESS_SERVED, lacking

    for one in lacking(paid_for(settings), budget_of(settings, SystemClock()).prices):
        what, fix = one.concern
        but = UNLESS_SERVED if one.measure == "tokens" else ""
        click.echo(f"note: {what}{but}. {fix}")
