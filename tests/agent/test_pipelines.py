"""The contract between a pipeline and its steps. Source: design §3.4."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from aouo.agent import pipelines as pipelines_module
from aouo.agent.context import Abort, Ack, DispatchContext, Meter, Nack, PackView, TurnContext
from aouo.agent.pipelines import Next, Pipelines, Settled, Step, _arranged, failed_in, run, settle
from aouo.agent.toolbox import Toolbox
from aouo.agent.tools.registry import Registry
from aouo.facts.errors import StepError
from tests.fakes.turn_facts import facts_of


@dataclass
class Trail:
    """The smallest context: what happened, and whether the turn is over."""

    seen: list[str] = field(default_factory=list[str])
    stopped: bool = False
    meter: Meter = field(default_factory=Meter)


def around(name: str) -> Step[Trail]:
    async def step(ctx: Trail, call_next: Next) -> None:
        ctx.seen.append(f"{name} in")
        try:
            await call_next()
        finally:
            ctx.seen.append(f"{name} out")

    return Step(name, step)


def doing(name: str, do: Callable[[Trail], None], *, calls: int = 1) -> Step[Trail]:
    async def step(ctx: Trail, call_next: Next) -> None:
        do(ctx)
        for _ in range(calls):
            await call_next()

    return Step(name, step)


def stop(ctx: Trail) -> None:
    ctx.stopped = True


def fail(ctx: Trail) -> None:
    raise ZeroDivisionError


def nothing(ctx: Trail) -> None:
    pass


async def test_steps_run_around_each_other_like_the_rings_of_an_onion() -> None:
    trail = Trail()
    await run("turn_input", [around("a"), around("b"), around("c")], trail)

    assert trail.seen == ["a in", "b in", "c in", "c out", "b out", "a out"]
    assert trail.meter.calls == {"turn_input.a": 1, "turn_input.b": 1, "turn_input.c": 1}


async def test_calling_next_twice_is_an_error_that_names_the_step() -> None:
    with pytest.raises(StepError, match=r"turn_input: step 'greedy' called call_next twice"):
        await run("turn_input", [doing("greedy", nothing, calls=2)], Trail())


async def test_never_calling_next_is_an_error_unless_the_turn_ended() -> None:
    trail = Trail()
    await run("turn_input", [doing("ends", stop, calls=0), around("b")], trail)

    assert trail.seen == []
    with pytest.raises(StepError, match=r"step 'lazy' did not call call_next and ended nothing"):
        await run("turn_input", [doing("lazy", nothing, calls=0), around("b")], Trail())


async def test_an_exception_passes_through_every_finally() -> None:
    trail = Trail()
    with pytest.raises(ZeroDivisionError):
        await run("turn_input", [around("a"), around("b"), doing("c", fail)], trail)

    assert trail.seen == ["a in", "b in", "b out", "a out"]


async def test_an_end_skips_the_input_steps_that_have_not_begun() -> None:
    trail = Trail()
    await run("turn_input", [around("a"), doing("ends", stop), around("c")], trail)

    assert trail.seen == ["a in", "a out"]


async def test_output_steps_always_have_their_say() -> None:
    """A turn that is acked is stopped; what comes after it runs all the same."""
    trail = Trail()
    await run("dispatch_output", [doing("ends", stop), around("b")], trail)

    assert trail.seen == ["b in", "b out"]


# Signals


def turn() -> TurnContext:
    unused = object()
    return TurnContext(
        facts_of(),
        PackView(),
        model=unused,  # pyright: ignore[reportArgumentType]
        view=unused,  # pyright: ignore[reportArgumentType]
        toolbox=Toolbox(Registry([]), permitted=()),
        prepare=unused,  # pyright: ignore[reportArgumentType]
        judge=unused,  # pyright: ignore[reportArgumentType]
        call_tool=unused,  # pyright: ignore[reportArgumentType]
        propose=unused,  # pyright: ignore[reportArgumentType]
        publish=lambda event: None,
    )


def test_the_first_signal_wins_and_another_one_is_a_logged_bug() -> None:
    ctx = turn()
    dispatch = DispatchContext(ctx, 0)
    with capture_logs() as logs:
        dispatch.ack("Paris.")
        dispatch.ack("Paris.")
        dispatch.nack(ValueError("late"))

    assert (ctx.ending, ctx.stopped) == (Ack("Paris."), True)
    assert [line["event"] for line in logs] == ["conflicting_signal"]


def test_the_abort_of_a_dispatch_aborts_the_turn() -> None:
    ctx = turn()
    DispatchContext(ctx, 0).abort("enough")

    assert ctx.ending == Abort("enough")


def test_a_nack_keeps_its_error() -> None:
    error = ValueError("no")
    ctx = turn()
    DispatchContext(ctx, 0).nack(error)

    assert ctx.ending == Nack(error)


# Order


async def pass_on(ctx: object, call_next: Next) -> None:
    await call_next()


def test_steps_are_ordered_by_what_they_need_and_what_is_dear_is_named() -> None:
    pipelines = Pipelines(
        turn_input=(
            Step("prompt", pass_on, requires=frozenset({"memory"})),
            Step("memory", pass_on, provides=frozenset({"memory"}), cost="io"),
        ),
        dispatch_input=(Step("retrieval", pass_on, cost="model"),),
        dispatch_output=(),
        turn_output=(),
    )

    ordered, findings = _arranged(pipelines)

    assert [step.name for step in ordered.turn_input] == ["memory", "prompt"]
    assert findings == ["dispatch_input.retrieval costs model in every iteration"]


def test_what_nobody_provides_is_named() -> None:
    needy: Step[TurnContext] = Step("prompt", pass_on, requires=frozenset({"memory"}))
    lonely = Pipelines((needy,), (), (), ())

    assert _arranged(lonely)[1] == ["turn_input.prompt needs memory before it"]


def test_a_step_is_added_behind_another_one() -> None:
    built_in = Pipelines((Step("a", pass_on), Step("c", pass_on)), (), (), ())
    with_b = built_in.with_step("turn_input", Step("b", pass_on), after="a")

    assert [step.name for step in with_b.turn_input] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="turn_input has no step 'x'; it has a, c"):
        built_in.with_step("turn_input", Step("b", pass_on), after="x")
    with pytest.raises(ValueError, match="has a step 'a' already"):
        built_in.with_step("turn_input", Step("a", pass_on))


async def test_an_error_names_the_step_it_began_in() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        await run("turn_input", [around("a"), doing("b", fail)], Trail())

    assert failed_in(caught.value) == "turn_input.b"


async def test_hooks_at_the_end_of_a_turn_harm_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines_module, "_SETTLED_WITHIN_S", 0.01)
    seen: list[str] = []

    async def hangs(ctx: TurnContext, status: str) -> None:
        await asyncio.Event().wait()

    async def breaks(ctx: TurnContext, status: str) -> None:
        raise ZeroDivisionError

    async def works(ctx: TurnContext, status: str) -> None:
        seen.append(status)

    hooks = [Settled("hangs", hangs), Settled("breaks", breaks), Settled("works", works)]
    with capture_logs() as logs:
        await settle(hooks, turn(), "nack")

    assert seen == ["nack"]
    assert [line["hook"] for line in logs] == ["hangs", "breaks"]
