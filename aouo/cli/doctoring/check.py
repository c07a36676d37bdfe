"""The value of one finding of `aouo doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Mark: TypeAlias = Literal["ok", "warn", "fail", "skip"]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: the part, its status with details, and how to mend it."""

    name: str
    status: Mark
    detail: str
    fix: str = ""
