"""Sentences about tokens and money: limits that are reached, and what was spent."""

from __future__ import annotations

from aouo import errors, notices


def quota(error: errors.QuotaExceededError) -> str:
    """Used, cap and key of a limit, and what helps."""
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
    """What is spent of whose budget, what this might cost, and what helps."""
    match error.kind:
        case "person":
            whose = "Your budget of today"
        case "pack":
            whose = f"Today's budget of “{error.name}”"
        case _:
            whose = "Today's budget"
    return (
        f"{whose} does not allow this: {usd(error.used_usd)} of {usd(error.cap_usd)} are spent, "
        f"and this answer may cost up to {usd(error.worst_usd)}. It starts again at midnight, "
        f"or the owner raises {error.key}."
    )


def spending(notice: notices.SpendingReport) -> str:
    """The answer to `/usage`."""
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
    return "\n".join(lines)


def usd(amount: float) -> str:
    """US dollars as text: cents, and as many more places as a small sum needs to be seen."""
    if amount == 0 or amount >= 0.01:
        return f"${amount:,.2f}"
    return "less than $0.0001" if amount < 0.0001 else f"${amount:.4f}"


def _spent(spending: notices.Spending) -> str:
    calls = "1 call" if spending.calls == 1 else f"{spending.calls:,} calls"
    return f"– {spending.tokens:,} tokens, {usd(spending.usd)}, {calls}"
