"""A shared reference to a value that is only replaced as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Current(Generic[T]):
    """Holds the current value as `now`; a reader keeps the value it has read."""

    now: T
