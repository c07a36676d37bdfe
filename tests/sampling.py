"""What each run takes of the long tables: a fixed part of them, and with `--all` everything.

`scripts/check` holds a commit to the part, `scripts/check --all` and CI to the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

FAMILIES = ("gemini", "mistral", "ollama", "openai")
"""The services that differ most: a format of its own, the strictest, a local one, two formats."""
STEP = 8
"""Each eighth place to be killed at."""


class Run:
    """What this run takes; tests/conftest.py says so."""

    takes_all = False


def places(numbers: Sequence[T], step: int = STEP) -> Sequence[T]:
    """The places to be killed at, or whatever else of which this run takes a part."""
    return numbers if Run.takes_all else numbers[::step]


def step(wanted: int = STEP) -> int:
    """From one place to be killed at to the next."""
    return 1 if Run.takes_all else wanted


def count(whole: int, part: int) -> int:
    """How many events or examples this run takes."""
    return whole if Run.takes_all else part


def left() -> pytest.MarkDecorator:
    """The mark of a case that is left to `--all`."""
    return pytest.mark.left_to_all


def taking(cases: Iterable[Any], taken: Iterable[Any] = FAMILIES) -> list[Any]:
    """Parameters of which all but those `taken`, by their first value, are left to `--all`."""
    kept = frozenset(taken)
    return [
        case if values[0] in kept else pytest.param(*values, marks=left())
        for case in cases
        for values in [case if isinstance(case, tuple) else (case,)]
    ]
