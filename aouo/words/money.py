"""Says what is reached and spent: limits of tokens and money, and costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import TypeAlias

from aouo.facts import errors
from aouo.facts.ports import Entity, Rendered
from aouo.words.catalogue import message, text
from aouo.words.markdown.tables import utf16_len

Spent: TypeAlias = tuple[int, int, float, int, int]
"""Calls, tokens of input and output, US dollars, how many of the tokens were read from a cache, and
how many of the calls had no known price."""
_WEEKDAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
_BAR_CHARS = 10
_EIGHTHS = "▏▎▍▌▋▊▉"


def quota(error: errors.QuotaExceededError) -> str:
    """Return the sentence for a reached token cap: used, cap, key, and what helps."""
    return text(
        f"money.quota-{error.scope}", used=error.used_tokens, cap=error.cap_tokens, key=error.key
    )


def budget(error: errors.BudgetExceeded) -> str:
    """Return the sentence for an exceeded budget: spent, cap, the worst case, and what helps."""
    return text(
        f"money.budget-{error.kind}",
        name=error.name,
        used=usd(error.used_usd),
        cap=usd(error.cap_usd),
        worst=usd(error.worst_usd),
        key=error.key,
    )


def raising(error: errors.BudgetExceeded) -> str:
    """Return the question to the owner whether to raise the budget for another person's turn."""
    return text(
        f"money.raise-{error.kind}",
        name=error.name,
        used=usd(error.used_usd),
        cap=usd(error.cap_usd),
        worst=usd(error.worst_usd),
    )


def spending(
    pack: str, spent: Sequence[tuple[Spent, Spent]], days: Sequence[tuple[date, int]]
) -> Rendered:
    """Return the answer to `/usage`; its picture is there once two days can be compared.

    `spent` has one person's today and week with `pack` ("" = none), and for the owner also what all
    people spent; `days` are the week's (date, tokens).
    """
    titles = (
        text("usage.yours-with", pack=pack) if pack else text("usage.yours"),
        text("usage.everybody"),
    )
    parts: list[str] = []
    for title, (today, week) in zip(titles, spent, strict=False):
        lines = text("usage.today", spent=_spent(*today)), text("usage.week", spent=_spent(*week))
        parts.append("\n".join((title, *lines)))
    shown = "\n\n".join(parts)
    if sum(tokens > 0 for _, tokens in days) < 2:
        return message(shown)
    picture, before = _picture(days), f"{shown}\n\n"
    pre = Entity("pre", utf16_len(before), utf16_len(picture))
    return Rendered(before + picture, (pre,), preview=False)


def _picture(days: Sequence[tuple[date, int]]) -> str:
    """Draw one bar a day, for a font of equal widths: at most 30 characters wide."""
    most = max(tokens for _, tokens in days)
    numbers = [f"{tokens:,}" for _, tokens in days]
    width = max(map(len, numbers))
    return "\n".join(
        f"{_WEEKDAYS[day.weekday()]} {day.day:>2} {number:>{width}} {_bar(tokens / most)}".rstrip()
        for (day, tokens), number in zip(days, numbers, strict=True)
    )


def _bar(share: float) -> str:
    """Draw a share of the longest bar, in eighths of a character; what is not nothing shows."""
    eighths = math.ceil(share * _BAR_CHARS * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8 - 1] if eighths % 8 else "")


def cost(amount: float, unpriced: int) -> str:
    """Return what calls cost, and that `unpriced` of them have no known price."""
    if not unpriced:
        return usd(amount)
    unknown = text("money.unpriced", count=unpriced)
    return text("money.and", usd=usd(amount), unpriced=unknown) if amount else unknown


def usd(amount: float) -> str:
    """Return US dollars as text: with cents, or four decimals for less than a cent."""
    if amount == 0 or amount >= 0.01:
        return text("money.usd", amount=amount)
    return text("money.tiny" if amount < 0.0001 else "money.usd-small", amount=amount)


def _spent(calls: int, tokens: int, amount: float, cached: int, unpriced: int) -> str:
    return text(
        "usage.spent",
        count=calls,
        tokens=tokens,
        cached=text("usage.cached", tokens=cached) if cached else "",
        cost=cost(amount, unpriced),
    )
