"""Runs a turn: its input once, then model and tools until there is an answer, then its output."""

from __future__ import annotations

from aouo.facts.errors import PromptTooLong, UnexplainedRefusal
from aouo.facts.transcript import AssistantSaid, UserSaid
from aouo.turn import pipelines
from aouo.turn.calls import Calls
from aouo.turn.context import Ack, DispatchContext, Ending, Nack, TurnContext
from aouo.turn.execute import Executor
from aouo.turn.pipelines import Pipelines


async def run_turn(ctx: TurnContext, steps: Pipelines, executor: Executor, calls: Calls) -> Ending:
    """Run the turn and return its ending; an error is an ending too, a cancellation is raised.

    `turn_output` runs on an answer only, and cannot take it back.
    """
    try:
        await pipelines.run("turn_input", steps.turn_input, ctx)
        if not ctx.stopped:
            if ctx.facts.resumes:
                await calls.take_up(ctx)
            await _dispatch(ctx, steps, executor, calls)
    except Exception as error:  # noqa: BLE001 - a turn that fails has an ending too
        if isinstance(ctx.ending, Ack):  # what is paid for stands
            pipelines.log.exception("dispatch_output_failed", error=repr(error))
        else:
            ctx.end(Nack(error))
    if isinstance(ctx.ending, Ack):
        try:
            await pipelines.run("turn_output", steps.turn_output, ctx)
        except Exception as error:  # noqa: BLE001 - the answer stands
            pipelines.log.exception("turn_output_failed", error=repr(error))
    assert ctx.ending is not None
    return ctx.ending


async def _dispatch(ctx: TurnContext, steps: Pipelines, executor: Executor, calls: Calls) -> None:
    """Dispatch until a step ends the turn; `dispatch_output` runs after each answer.

    A request that a service refuses without a reason may be too long: once a turn it is sent again
    with less history. If that helps, the estimator is told; if not, the first refusal is raised.
    """
    iteration = 0
    unexplained: UnexplainedRefusal | None = None
    while True:
        dispatch = DispatchContext(ctx, iteration, holds_text=steps.holds_text)
        dispatch.messages = [*ctx.history, *ctx.said]
        await pipelines.run("dispatch_input", steps.dispatch_input, dispatch)
        if ctx.stopped:
            return
        try:
            await executor.dispatch(dispatch, calls)
        except PromptTooLong:
            if ctx.make_room and await ctx.make_room(True):
                continue
            raise
        except UnexplainedRefusal as refused:
            if ctx.make_room and await ctx.make_room(False):
                unexplained = refused
                continue
            raise (unexplained or refused) from None
        if unexplained:
            unexplained = None
            if dispatch.answered_by == (ctx.model.provider, ctx.model.model):
                ctx.was_too_long()
        await pipelines.run("dispatch_output", steps.dispatch_output, dispatch)
        if dispatch.holds_text and dispatch.said.text and dispatch.again is None:
            await ctx.show(dispatch.said.text)
        if ctx.stopped:
            return
        iteration += 1  # a refused request does not count
        if dispatch.again is not None:
            await calls.journal.nudge(ctx, dispatch.said.text, dispatch.again)
            if dispatch.said.text:
                ctx.said.append(AssistantSaid(dispatch.said.text))
            ctx.said.append(UserSaid(dispatch.again))
