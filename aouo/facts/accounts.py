"""Rows of accounting: money spent, turns that a budget stopped, tool calls that were judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from aouo.facts.transcript import Usage

Stage = Literal["PROPOSED", "EVALUATED", "EXECUTED", "FAILED", "BLOCKED"]


@dataclass(frozen=True, slots=True)
class Spent:
    """One row of what was spent. `day` is the local day, `2026-11-21`; money in USD.

    `reservation` is the id of the reservation that this row settles, "" = nothing was reserved.
    `unpriced`: nobody knows its price, so `cost_usd` says nothing.
    """

    scope: str
    day: str
    provider: str = ""
    model: str = ""
    pack: str = ""
    session_id: str = ""
    person: str = ""
    turn_id: str = ""
    tokens: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    duration_ms: int = 0
    reservation: str = ""
    unpriced: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """One turn that a budget stopped, and what its buttons mean; money in USD.

    `kind` is day | person | pack and `name` whose; `provider` and `model` name the cheaper
    model, "" = there is none. `state` is open | raised | cheaper | stopped.
    """

    turn_id: str
    day: str
    kind: str
    name: str
    raise_usd: float
    provider: str = ""
    model: str = ""
    state: str = "open"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One row of the audit; it holds digests and names, never the arguments themselves.

    `judge` is who decided, "" = nobody yet; see `guard.action`.
    """

    stage: Stage
    turn_id: str
    call_id: str
    action_id: str
    tool: str
    pack: str
    origin: str
    digest: str
    reason: str = ""
    judge: str = ""
