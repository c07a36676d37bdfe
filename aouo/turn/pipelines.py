"""Runs a list of steps around each other, and holds them to their contract."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

import structlog

from aouo.errors import StepError
from aouo.turn.context import DispatchContext, Meter, TurnContext

log = structlog.get_logger()
Next: TypeAlias = Callable[[], Awaitable[None]]
Cost: TypeAlias = Literal["cpu", "io", "model"]


class _Context(Protocol):
    @property
    def stopped(self) -> bool: ...
    @property
    def meter(self) -> Meter: ...


C = TypeVar("C", bound=_Context)


@dataclass(frozen=True, slots=True)
class Step(Generic[C]):
    """One middleware. It awaits `call_next` exactly once, or ends the turn instead.

    What stands before the call happens on the way in, what stands behind it on the way out;
    an exception passes through all of them, so `try/finally` means what it says.
    """

    name: str
    run: Callable[[C, Next], Awaitable[None]]
    requires: frozenset[str] = frozenset()
    provides: frozenset[str] = frozenset()
    cost: Cost = "cpu"


@dataclass(frozen=True, slots=True)
class Pipelines:
    """All four of a generation, each in order."""

    turn_input: Sequence[Step[TurnContext]]
    dispatch_input: Sequence[Step[DispatchContext]]
    dispatch_output: Sequence[Step[DispatchContext]]
    turn_output: Sequence[Step[TurnContext]]


async def run(label: str, steps: Sequence[Step[C]], context: C) -> None:
    """Run the steps in order, each around the rest.

    Raises:
        StepError: a step called `call_next` twice, or never without ending the turn.
    """
    await _from(label, steps, 0, context)


async def _from(label: str, steps: Sequence[Step[C]], index: int, context: C) -> None:
    if index == len(steps) or (context.stopped and label.endswith("_input")):
        return
    step = steps[index]
    calls = 0
    inner_s = 0.0

    async def call_next() -> None:
        nonlocal calls, inner_s
        calls += 1
        if calls > 1:
            raise StepError(f"{label}: step {step.name!r} called call_next twice")
        begun_s = time.perf_counter()
        try:
            await _from(label, steps, index + 1, context)
        finally:
            inner_s = time.perf_counter() - begun_s

    begun_s = time.perf_counter()
    try:
        await step.run(context, call_next)
    finally:
        own_s = time.perf_counter() - begun_s - inner_s
        context.meter.add(f"{label}.{step.name}", own_s * 1000)
    if not calls and not context.stopped:
        raise StepError(f"{label}: step {step.name!r} did not call call_next and ended nothing")


def check(pipelines: Pipelines) -> list[str]:
    """What is wrong with an order: a step before what it requires, expensive work per dispatch.

    Returns one line for each finding, none when all is well.
    """
    found: list[str] = []
    provided: set[str] = set()
    for label in ("turn_input", "dispatch_input", "dispatch_output", "turn_output"):
        steps: Sequence[Step[TurnContext] | Step[DispatchContext]] = getattr(pipelines, label)
        for step in steps:
            if missing := step.requires - provided:
                found.append(f"{label}.{step.name} needs {', '.join(sorted(missing))} before it")
            if label.startswith("dispatch") and step.cost != "cpu":
                found.append(f"{label}.{step.name} costs {step.cost} in every iteration")
            provided |= step.provides
    return found
