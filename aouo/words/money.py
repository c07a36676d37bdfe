"""Words the notices about tokens and money: reached limits, and what was spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import TypeAlias

from aouo.facts import errors
from aouo.facts.ports import Entity, Rendered
from aouo.markdown.entities import utf16_len
from aouo.words.catalogue import message, text

Spent: TypeAlias = tuple[int, int, float, int, int]
"""Calls, tokens of input and output, US dollars, how many of the tokens were read from a cache, and
how many of the calls had no known price."""
_WEEKDAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
_BAR_CHARS = 10
_EIGHTHS = "▏▎▍▌▋▊▉"


def quota(error: errors.QuotaExceededError) -> str:
    """Return the sentence for a reached token cap: used, cap, key, and what helps."""
    match error.scope:
        case "turn":
            helps = "Ask for a smaller piece"
        case _:
            helps = "It starts again at midnight"
    named = {"pack": "daily limit of this pack", "turn": "limit of one answer"}
    whose = named.get(error.scope, f"{error.scope} limit")
    return (
        f"The {whose} is reached: {error.used_tokens:,} of {error.cap_tokens:,} tokens. "
        f"{helps}, or the owner raises {error.key}."
    )


def budget(error: errors.BudgetExceeded) -> str:
    """Return the sentence for an exceeded budget: spent, cap, the worst case, and what helps."""
    whose = "Your budget of today" if error.kind == "person" else _whose(error.kind, error.name)
    return (
        f"{whose} {_not_allowed(error)}. It starts again at midnight, or the owner raises "
        f"{error.key}."
    )


def raising(error: errors.BudgetExceeded) -> str:
    """Return the question to the owner whether to raise the budget for another person's turn."""
    whose = "their budget of today"
    if error.kind != "person":
        whose = _whose(error.kind, error.name)
        whose = f"{whose[0].lower()}{whose[1:]}"
    return f"{whose} {_not_allowed(error)}. Raise it for today?"


def spending(
    pack: str,
    spent: Sequence[tuple[Spent, Spent]],
    days: Sequence[tuple[date, int]],
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
    calls = "1 call" if unpriced == 1 else f"{unpriced:,} calls"
    return f"{f'{usd(amount)} and ' if amount else ''}{calls} without a known price"


def usd(amount: float) -> str:
    """Return US dollars as text: with cents, or four decimals for less than a cent."""
    if amount == 0 or amount >= 0.01:
        return f"${amount:,.2f}"
    return "less than $0.0001" if amount < 0.0001 else f"${amount:.4f}"


def _whose(kind: str, name: str) -> str:
    return f"Today's budget of “{name}”" if kind == "pack" else "Today's budget"


def _not_allowed(refused: errors.BudgetExceeded) -> str:
    return (
        f"does not allow this: {usd(refused.used_usd)} of {usd(refused.cap_usd)} are spent, and "
        f"this answer may cost up to {usd(refused.worst_usd)}"
    )


def _spent(calls: int, tokens: int, amount: float, cached: int, unpriced: int) -> str:
    return text(
        "usage.spent",
        count=calls,
        tokens=tokens,
        cached=text("usage.cached", tokens=cached) if cached else "",
        cost=cost(amount, unpriced),
    )
