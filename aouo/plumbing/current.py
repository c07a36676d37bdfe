"""A value that is only ever replaced as a whole."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Current(Generic[T]):
    """Whoever holds this reads the value of now, and keeps what they have read."""

    def __init__(self, first: T) -> None:
        self.now = first
