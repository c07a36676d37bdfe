"""A shared reference to a value that is only replaced as a whole."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Current(Generic[T]):
    """Holds the current value as `now`; a reader keeps the value it has read."""

    def __init__(self, first: T) -> None:
        self.now = first
