"""Turns an exception group with a `SetupError` in it into that error."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from aouo.facts.errors import SetupError


@contextmanager
def one_setup_error() -> Generator[None]:
    """Raise the first `SetupError` inside an exception group instead of the group."""
    try:
        yield
    except BaseExceptionGroup as group:
        found: BaseException | None = group.subgroup(SetupError)
        while isinstance(found, BaseExceptionGroup):
            found = found.exceptions[0]
        if isinstance(found, SetupError):
            raise found from None
        raise
