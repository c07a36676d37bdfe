"""Runs a turn: its input once, then model and tools until there is an answer, then its output."""

from __future__ import annotations

import json
import time
from contextlib import aclosing
from dataclasses import dataclass, replace

from aouo.agent import pipelines
from aouo.agent.calls import Calls, spent_by
from aouo.agent.context import Ack, DispatchContext, Ending, Nack, TurnContext
from aouo.agent.pipelines import Pipelines
from aouo.agent.spending.money import LEAST_ANSWER_TOKENS, own_key
from aouo.agent.spending.quota import Quota
from aouo.agent.tokens import Estimator, estimate, reserve_tokens
from aouo.facts import transcript
from aouo.facts.errors import PromptTooLong, ProviderError, QuotaExceededError, UnexplainedRefusal
from aouo.facts.events import Thought
from aouo.facts.ids import ulid
from aouo.facts.work import Act


def refuse_over(turn: TurnContext, session_tokens_max: int) -> None:
    """Refuse another model call of a turn that has taken what its pack allows one, or a whole
    session may take; 0 = no cap.

    Raises:
        QuotaExceededError: names the cap.
    """
    pack, used = turn.pack, turn.total.input_tokens + turn.total.output_tokens
    for cap, key in (
        (pack.turn_tokens_max, pack.turn_tokens_key or own_key("turn_tokens", pack.name)),
        (session_tokens_max, "advanced.session_tokens_max"),
    ):
        if cap and used >= cap:
            raise QuotaExceededError("turn", used, cap, key)


_MARGIN = 0.1
"""By which an estimate may be too low: some services refuse prompt and room together."""


def _is_cut_off(finished: transcript.Finished) -> bool:
    """Whether the token limit ended the answer before its first word, or within a tool call."""
    said = finished.said
    if finished.reason != "length":
        return False
    return not said.text.strip() if not said.calls else not _is_whole(said.calls[-1].arguments)


def _is_whole(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments or "{}"), dict)
    except (ValueError, RecursionError):
        return False


@dataclass(slots=True, eq=False, kw_only=True)
class Executor:
    """Carries out the dispatches of turns."""

    quota: Quota
    estimator: Estimator
    max_tokens: int
    temperature: float | None
    effort: str
    session_tokens_max: int

    async def dispatch(self, ctx: DispatchContext, calls: Calls) -> None:
        """Ask the model; let `calls` make what it asks for; leave the answer in the context.

        An answer that is cut off before its first word, or within a call, is asked for once more
        with up to twice the room, as far as the window has it; not if the service itself gives no
        more, and never with less than before. The turn's caps are checked again before that.

        Raises:
            ProviderError: the model gave no answer.
            Refused: a limit is reached, and no model was asked.
        """
        turn = ctx.turn
        request = transcript.ModelRequest(
            system=turn.system,
            messages=tuple(ctx.messages),
            tools=turn.toolbox.shown,
            context=turn.changing,
            temperature=self.temperature,
            effort=self.effort,
            past=ctx.past,
            may_shrink=bool(turn.make_room)
            and any(type(m) is transcript.UserSaid for m in turn.history),
        )
        room = self._room(ctx, request)
        ctx.request = replace(request, max_tokens=min(self.max_tokens, room))
        if not turn.dispatches:
            to = turn.model
            turn.recording.sent(ctx.request, self.estimator, to.provider, to.model)
        finished = await self._ask(ctx, ctx.request)
        more = min(2 * ctx.request.max_tokens, room)
        had = ctx.request.max_tokens
        if _is_cut_off(finished) and more > had and finished.bounded_by != "service":
            turn.total += finished.usage  # paid for, and no dispatch
            refuse_over(turn, self.session_tokens_max)
            if finished.said.text.strip() and not ctx.holds_text:
                await turn.view.start_over()
            ctx.request = replace(ctx.request, max_tokens=more)
            finished = await self._ask(ctx, ctx.request, least_tokens=had)
        asked = tuple(
            transcript.ToolCall(ulid(), call.name, call.arguments) for call in finished.said.calls
        )
        ctx.said = replace(finished.said, calls=asked)
        ctx.usage, ctx.finish_reason = finished.usage, finished.reason
        within_window = room < 2 * self.max_tokens
        ctx.bounded_by = finished.bounded_by or ("window" if within_window else "setting")
        model = turn.model
        ctx.answered_by = (finished.provider or model.provider, finished.model or model.model)
        turn.answered_by = ctx.answered_by
        if not asked:
            return
        if text := finished.said.text.strip():
            turn.thoughts.append(Thought("reasoning", text))
        await calls.make(turn, ctx.said)

    def _room(self, ctx: DispatchContext, request: transcript.ModelRequest) -> int:
        """Return the tokens that the window leaves for thoughts and answer, at least its reserve:
        the history was cut to leave that, and estimates err."""
        model = ctx.turn.model
        scale = self.estimator.scale(model.provider, model.model)
        fixed = self.estimator.tools(request.tools) + estimate(request.system + request.context)
        prompt = scale.tokens(fixed) + scale.at_most(request.messages)
        if model.context_window - prompt < 2 * self.max_tokens:
            prompt = scale.tokens(self.estimator.request(request, scale.model)) * (1 + _MARGIN)
        return max(reserve_tokens(model.context_window), int(model.context_window - prompt))

    async def _ask(
        self,
        ctx: DispatchContext,
        request: transcript.ModelRequest,
        least_tokens: int = LEAST_ANSWER_TOKENS,
    ) -> transcript.Finished:
        turn = ctx.turn
        begun_s = time.perf_counter()
        finished: transcript.Finished | None = None
        row = spent_by(turn, "llm")
        try:
            events = self.quota.stream(
                turn.model, request, row, turn.spend, least_tokens=least_tokens
            )
            async with aclosing(events):
                async for event in events:
                    match event:
                        case transcript.TextDelta(text):
                            if not ctx.holds_text:
                                await turn.show(text)
                        case transcript.StartedOver():
                            await turn.view.start_over()
                        case transcript.AsksAgain():
                            turn.recording.asked_again(event)
                            await turn.view.show_asking_again(event)
                        case transcript.PaidForNothing():
                            pass  # the quota has seen to it
                        case transcript.Finished():
                            finished = event
        except ProviderError as error:
            turn.recording.gave_up(error)
            raise
        finally:
            turn.provider_ms += (time.perf_counter() - begun_s) * 1000
        if finished is None:
            raise ProviderError("the stream ended without an end")
        return finished


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


async def act(
    ctx: TurnContext, calls: Calls, wanted: Act, number: int = 0
) -> transcript.ToolReturned:
    """Make the call `number` of a turn that asks no model, or take up the one that was cut off;
    return its result. The context knows what the turn has recorded so far."""
    if ctx.facts.resumes and not number:
        await calls.take_up(ctx)
    if sum(type(one) is transcript.ToolReturned for one in ctx.said) <= number:
        call = transcript.ToolCall(ulid(), wanted.tool, json.dumps(dict(wanted.arguments)))
        await calls.make(ctx, transcript.AssistantSaid("", calls=(call,)))
    return [one for one in ctx.said if type(one) is transcript.ToolReturned][number]


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
                ctx.said.append(transcript.AssistantSaid(dispatch.said.text))
            ctx.said.append(transcript.UserSaid(dispatch.again))
