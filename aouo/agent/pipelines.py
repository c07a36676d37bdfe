"""Runs a pipeline's steps, each around the rest; the owner's packages may add some.

Such an entry point names a function that gets the built-in `Pipelines` and returns its own; see
docs/extending.md. Packs cannot bring steps: they bring tools.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar, get_args

from aouo.agent.context import DispatchContext, Meter, TurnContext
from aouo.facts.errors import StepError
from aouo.plumbing import resources
from aouo.plumbing.logs import log

Next: TypeAlias = Callable[[], Awaitable[None]]
_Cost: TypeAlias = Literal["cpu", "io", "model"]


class _Context(Protocol):
    @property
    def stopped(self) -> bool: ...
    @property
    def meter(self) -> Meter: ...


_C = TypeVar("_C", bound=_Context)
_SETTLED_WITHIN_S = 5.0
_IN = "in "


_Scope: TypeAlias = Literal["turn_input", "dispatch_input", "dispatch_output", "turn_output"]
_SCOPES: tuple[_Scope, ...] = get_args(_Scope)


@dataclass(frozen=True, slots=True)
class Step(Generic[_C]):
    """One middleware. It awaits `call_next` exactly once, or ends the turn instead.

    Code before the call runs on the way in, code after it on the way out; an exception passes
    through all steps, so `try/finally` works as usual. A step that sends answers back with
    `retry` sets `may_retry`: then no text is shown before it has decided.
    """

    name: str
    run: Callable[[_C, Next], Awaitable[None]]
    requires: frozenset[str] = frozenset()
    provides: frozenset[str] = frozenset()
    cost: _Cost = "cpu"
    may_retry: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """A hook that runs when a turn is over, however it ended: `status` is ack | nack | aborted.

    It runs after the commit, cannot change the ending, and has `_SETTLED_WITHIN_S`.
    """

    name: str
    run: Callable[[TurnContext, str], Awaitable[None]]


_AnyStep: TypeAlias = Step[TurnContext] | Step[DispatchContext]


@dataclass(frozen=True, slots=True)
class Pipelines:
    """The four pipelines of a generation, each in order, and the hooks for settled turns."""

    turn_input: Sequence[Step[TurnContext]]
    dispatch_input: Sequence[Step[DispatchContext]]
    dispatch_output: Sequence[Step[DispatchContext]]
    turn_output: Sequence[Step[TurnContext]]
    settled: Sequence[Settled] = ()

    @property
    def holds_text(self) -> bool:
        """Whether text is held back until the steps have decided: one may send it back."""
        return any(step.may_retry for step in self.dispatch_output)

    def with_step(self, scope: _Scope, step: _AnyStep, *, after: str = "") -> Pipelines:
        """Return these pipelines with one more step, after the one named `after`, "" = the last.

        Raises:
            ValueError: there is no such step to follow, or the name is taken.
        """
        steps: list[_AnyStep] = list(getattr(self, scope))
        names = [other.name for other in steps]
        if step.name in names:
            raise ValueError(f"{scope} has a step {step.name!r} already")
        if after and after not in names:
            raise ValueError(f"{scope} has no step {after!r}; it has {', '.join(names)}")
        steps.insert(names.index(after) + 1 if after else len(steps), step)
        return replace(self, **{scope: tuple(steps)})

    def with_settled(self, hook: Settled) -> Pipelines:
        """Return these pipelines with one more hook for settled turns."""
        return replace(self, settled=(*self.settled, hook))


async def run(label: str, steps: Sequence[Step[_C]], context: _C) -> None:
    """Run the steps in order, each around the rest.

    An exception leaves with a note that names the step it began in.

    Raises:
        StepError: a step called `call_next` twice, or never without ending the turn.
    """
    await _from(label, steps, 0, context)


async def _from(label: str, steps: Sequence[Step[_C]], index: int, context: _C) -> None:
    if index == len(steps) or (context.stopped and label.endswith("_input")):
        return
    step = steps[index]
    name = f"{label}.{step.name}"
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
    context.meter.begins(name, begun_s)
    try:
        await step.run(context, call_next)
    except Exception as error:
        if not failed_in(error):
            error.add_note(f"{_IN}{name}")
        raise
    finally:
        own_s = time.perf_counter() - begun_s - inner_s
        context.meter.took(name, own_s * 1000)
    if not calls and not context.stopped:
        raise StepError(f"{label}: step {step.name!r} did not call call_next and ended nothing")


def failed_in(error: BaseException) -> str:
    """Return the step that an exception began in, as `pipeline.step`; "" = in none."""
    notes: Sequence[str] = getattr(error, "__notes__", ())
    return next((note.removeprefix(_IN) for note in notes if note.startswith(_IN)), "")


async def settle(hooks: Sequence[Settled], ctx: TurnContext, status: str) -> None:
    """Run the hooks one after the other; log one that fails or takes too long, and go on."""
    for hook in hooks:
        try:
            async with asyncio.timeout(_SETTLED_WITHIN_S):
                await hook.run(ctx, status)
        except Exception as error:
            log.exception("settled_hook_failed", hook=hook.name, error=repr(error))


def _arranged(pipelines: Pipelines) -> tuple[Pipelines, list[str]]:
    """Order the steps of each pipeline so that each comes after what it requires.

    Steps keep their places as far as that allows. Returns the order, and a line for each problem
    that is left: a requirement that no earlier step provides, expensive work in each dispatch.
    """
    found: list[str] = []
    provided: set[str] = set()
    ordered: dict[str, Sequence[_AnyStep]] = {}
    for scope in _SCOPES:
        waiting: list[_AnyStep] = list(getattr(pipelines, scope))
        steps: list[_AnyStep] = []
        while waiting:
            step = next((s for s in waiting if s.requires <= provided), waiting[0])
            if missing := step.requires - provided:
                found.append(f"{scope}.{step.name} needs {', '.join(sorted(missing))} before it")
            if scope.startswith("dispatch") and step.cost != "cpu":
                found.append(f"{scope}.{step.name} costs {step.cost} in every iteration")
            waiting.remove(step)
            steps.append(step)
            provided |= step.provides
        ordered[scope] = tuple(steps)
    return replace(pipelines, **ordered), found


GROUP = "aouo.pipelines"
_WHAT = "pipeline extension"


def extended(pipelines: Pipelines) -> Pipelines:
    """The pipelines with every installed extension, in an order in which all find what they need.

    A turn that silently lacks a step its owner relies on is worse than none, so:

    Raises:
        SetupError: an extension does not load, or does something else than it should.
    """
    for entry in resources.found_entry_points(GROUP):
        extend = resources.load_entry_point(entry, _WHAT)
        try:
            result: object = extend(pipelines)
        except Exception as error:
            raise resources.entry_point_failed(entry, _WHAT, f"failed: {error!r}") from error
        if not isinstance(result, Pipelines):
            fix = "Let it return what `with_step` gives."
            raise resources.entry_point_failed(entry, _WHAT, "returned no Pipelines", fix=fix)
        log.info("pipeline_extended", by=entry.name)
        pipelines = result
    ordered, findings = _arranged(pipelines)
    for finding in findings:
        log.warning("pipeline_order", finding=finding)
    return ordered
