"""Holds a handler for each case of a union, and finds at start that none is missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar, get_args

from aouo.facts.work import Job

C = TypeVar("C")
Handlers: TypeAlias = Mapping[type, Callable[[Job, Any], Awaitable[None]]]
"""By the type of a case, what does it and settles its job."""


def on(case: type[C], handle: Callable[[Job, C], Awaitable[None]]) -> Handlers:
    """One row of a table; the type checker sees that the handler takes this case."""
    return {case: handle}


def table(union: object, *rows: Handlers) -> Handlers:
    """Join the rows to a table of all cases of `union`.

    Raises:
        ValueError: a case has no handler, or two, or a handler is of no case; found at start.
    """
    handlers = {case: handle for row in rows for case, handle in row.items()}
    wrong = set(get_args(union)) ^ set(handlers)
    if wrong or len(handlers) != len(rows):
        named = sorted(case.__name__ for case in wrong) or "one twice"
        raise ValueError(f"cases without a handler, or handlers without a case: {named}")
    return handlers
