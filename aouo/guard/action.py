"""What a model wants to do, as a value that can be hashed, judged and written down."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from aouo.events import Origin


@dataclass(frozen=True, slots=True)
class Action:
    """One proposed tool call. `digest` is the SHA-256 of its canonical type and payload."""

    id: str
    tool: str
    payload: Mapping[str, Any]
    origin: Origin
    pack: str
    turn_id: str
    call_id: str
    at: str
    digest: str


def digest(tool: str, payload: Mapping[str, Any]) -> str:
    """The same for the same tool and payload, however the model spelled them."""
    canonical = json.dumps(
        {"tool": tool, "payload": payload},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        default=str,
    )
    return hashlib.sha256(canonical.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Allowed:
    """Go on. `reason` says which rule let it pass."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Blocked:
    """Refused; the model reads `reason`, which says what it may do instead."""

    reason: str


Verdict: TypeAlias = Allowed | Blocked
