"""Words a call for the record: its audit rows, and the text that a model reads of it."""

from __future__ import annotations

from aouo.facts.accounts import AuditEntry, Stage
from aouo.guard.action import Action, Allowed, Ask, Blocked, Verdict


def entry(action: Action, stage: Stage, reason: str = "") -> AuditEntry:
    """Make an audit row; off the record it keeps only that there was a call of this tool."""
    return AuditEntry(
        stage,
        action.turn_id,
        action.call_id,
        action.call_id,
        action.tool,
        action.pack,
        action.origin,
        "" if action.off_record else action.digest,
        "" if action.off_record else reason,
    )


def said(verdict: Verdict) -> str:
    """Return the words that the audit keeps of a verdict."""
    match verdict:
        case Ask(reason):
            return f"the owner is asked: {reason}"
        case Blocked(reason, rule):
            return rule or reason
        case Allowed(reason):
            return reason


def legible(text: str) -> str:
    """Return `text` with lone surrogates, as file names may hold, escaped, so that UTF-8 fits."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def too_long(tool: str, limit_s: float | None) -> str:
    return f"{tool} took longer than {limit_s:g} s." if limit_s else f"{tool} took too long."
