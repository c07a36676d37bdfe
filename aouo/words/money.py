"""Words the notices about tokens and money: reached limits, and what was spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date

from aouo.facts import errors, notices
from aouo.facts.ports import Entity, Rendered
from aouo.markdown.entities import utf16_len
from aouo.words.saying import say

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


def spending(notice: notices.SpendingReport) -> Rendered:
    """Return the answer to `/usage`; its picture is there once two days can be compared."""
    lines = [
        f"You{f', with “{notice.pack}”' if notice.pack else ''}:",
        f"today {_spent(notice.today)}",
        f"7 days {_spent(notice.week)}",
    ]
    if notice.all_today and notice.all_week:
        lines += [
            "",
            "Everybody, with everything:",
            f"today {_spent(notice.all_today)}",
            f"7 days {_spent(notice.all_week)}",
        ]
    text = "\n".join(lines)
    if sum(tokens > 0 for _, tokens in notice.days) < 2:
        return say(text)
    picture, before = _picture(notice.days), f"{text}\n\n"
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


def _spent(spending: notices.Spending) -> str:
    calls = "1 call" if spending.calls == 1 else f"{spending.calls:,} calls"
    cached = f" ({spending.cached:,} cached)" if spending.cached else ""
    return f"– {spending.tokens:,} tokens{cached}, {cost(spending.usd, spending.unpriced)}, {calls}"
