"""Defines the results of evals, step by step, and their JSON between processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import TypeAdapter

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step as it went; `wrong` says what else was expected, and nothing when it passed.

    `step` counts from 1 (0: before the first) and `line` is in the eval's file.
    """

    step: int
    line: int
    did: str
    wrong: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    buttons: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    model_calls: int = 0
    prompt_bytes: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class EvalResult:
    """How one eval ended; `why` it was skipped. The last of `steps` is the one that failed."""

    name: str
    file: str
    outcome: Outcome
    ms: int = 0
    why: str = ""
    steps: tuple[StepResult, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the pack here."""
        return self.outcome != "failed"


def from_json(facts: object) -> tuple[EvalResult, ...]:
    """Return the results that `asdict` wrote.

    Raises:
        ValueError: it is something else.
    """
    return TypeAdapter(tuple[EvalResult, ...]).validate_python(facts)
