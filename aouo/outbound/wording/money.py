"""Words the notices about tokens and money: reached limits, and what was spent."""

from __future__ import annotations

from aouo.facts import errors, notices


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


def raising(notice: notices.RaiseAsked) -> str:
    """Return the question to the owner whether to raise the budget for another person's turn."""
    whose = "their budget of today"
    if notice.kind != "person":
        whose = _whose(notice.kind, notice.name)
        whose = f"{whose[0].lower()}{whose[1:]}"
    return f"{whose} {_not_allowed(notice)}. Raise it for today?"


def spending(notice: notices.SpendingReport) -> str:
    """Return the answer to `/usage`."""
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
    """Return US dollars as text: with cents, or four decimals for less than a cent."""
    if amount == 0 or amount >= 0.01:
        return f"${amount:,.2f}"
    return "less than $0.0001" if amount < 0.0001 else f"${amount:.4f}"


def _whose(kind: str, name: str) -> str:
    return f"Today's budget of “{name}”" if kind == "pack" else "Today's budget"


def _not_allowed(refused: errors.BudgetExceeded | notices.RaiseAsked) -> str:
    return (
        f"does not allow this: {usd(refused.used_usd)} of {usd(refused.cap_usd)} are spent, and "
        f"this answer may cost up to {usd(refused.worst_usd)}"
    )


def _spent(spending: notices.Spending) -> str:
    calls = "1 call" if spending.calls == 1 else f"{spending.calls:,} calls"
    cached = f" ({spending.cached:,} cached)" if spending.cached else ""
    return f"– {spending.tokens:,} tokens{cached}, {usd(spending.usd)}, {calls}"
