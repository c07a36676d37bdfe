"""Carries out one dispatch: a model call, then the tool calls that it asked for."""

from __future__ import annotations

import json
import time
from contextlib import aclosing
from dataclasses import dataclass, replace

from aouo.facts.errors import ProviderError
from aouo.facts.events import Thought
from aouo.facts.ids import ulid
from aouo.facts.transcript import (
    AsksAgain,
    Finished,
    ModelRequest,
    PaidForNothing,
    StartedOver,
    TextDelta,
    ToolCall,
    UserSaid,
)
from aouo.spending.money import LEAST_ANSWER_TOKENS
from aouo.spending.quota import Quota
from aouo.turn.calls import Calls, spent_by
from aouo.turn.caps import refuse_over
from aouo.turn.context import DispatchContext
from aouo.turn.tokens import Estimator, estimate, reserve_tokens

MARGIN = 0.1
"""By which an estimate may be too low: some services refuse prompt and room together."""


def is_cut_off(finished: Finished) -> bool:
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
        request = ModelRequest(
            system=turn.system,
            messages=tuple(ctx.messages),
            tools=turn.toolbox.shown,
            context=turn.changing,
            temperature=self.temperature,
            effort=self.effort,
            past=ctx.past,
            may_shrink=bool(turn.make_room) and any(type(m) is UserSaid for m in turn.history),
        )
        room = self._room(ctx, request)
        ctx.request = replace(request, max_tokens=min(self.max_tokens, room))
        if not turn.dispatches:
            to = turn.model
            turn.recording.sent(ctx.request, self.estimator, to.provider, to.model)
        finished = await self._ask(ctx, ctx.request)
        more = min(2 * ctx.request.max_tokens, room)
        had = ctx.request.max_tokens
        if is_cut_off(finished) and more > had and finished.bounded_by != "service":
            turn.total += finished.usage  # paid for, and no dispatch
            refuse_over(turn, self.session_tokens_max)
            if finished.said.text.strip() and not ctx.holds_text:
                await turn.view.start_over()
            ctx.request = replace(ctx.request, max_tokens=more)
            finished = await self._ask(ctx, ctx.request, least_tokens=had)
        asked = tuple(ToolCall(ulid(), call.name, call.arguments) for call in finished.said.calls)
        ctx.said = replace(finished.said, calls=asked)
        ctx.usage, ctx.finish_reason = finished.usage, finished.reason
        within_window = room < 2 * self.max_tokens
        ctx.bounded_by = finished.bounded_by or ("window" if within_window else "setting")
        model = turn.model
        ctx.answered_by = (finished.provider or model.provider, finished.model or model.model)
        if not asked:
            return
        if text := finished.said.text.strip():
            turn.thoughts.append(Thought("reasoning", text))
        await calls.make(turn, ctx.said)

    def _room(self, ctx: DispatchContext, request: ModelRequest) -> int:
        """Return the tokens that the window leaves for thoughts and answer, at least its reserve:
        the history was cut to leave that, and estimates err."""
        model = ctx.turn.model
        scale = self.estimator.scale(model.provider, model.model)
        fixed = self.estimator.tools(request.tools) + estimate(request.system + request.context)
        prompt = scale.tokens(fixed) + scale.at_most(request.messages)
        if model.context_window - prompt < 2 * self.max_tokens:
            prompt = scale.tokens(self.estimator.request(request, scale.model)) * (1 + MARGIN)
        return max(reserve_tokens(model.context_window), int(model.context_window - prompt))

    async def _ask(
        self, ctx: DispatchContext, request: ModelRequest, least_tokens: int = LEAST_ANSWER_TOKENS
    ) -> Finished:
        turn = ctx.turn
        begun_s = time.perf_counter()
        finished: Finished | None = None
        row = spent_by(turn, "llm")
        try:
            events = self.quota.stream(
                turn.model, request, row, turn.spend, least_tokens=least_tokens
            )
            async with aclosing(events):
                async for event in events:
                    match event:
                        case TextDelta(text):
                            if not ctx.holds_text:
                                await turn.show(text)
                        case StartedOver():
                            await turn.view.start_over()
                        case AsksAgain():
                            turn.recording.asked_again(event)
                            await turn.view.show_asking_again(event)
                        case PaidForNothing():
                            pass  # the quota has seen to it
                        case Finished():
                            finished = event
        except ProviderError as error:
            turn.recording.gave_up(error)
            raise
        finally:
            turn.provider_ms += (time.perf_counter() - begun_s) * 1000
        if finished is None:
            raise ProviderError("the stream ended without an end")
        return finished
