"""One dispatch: a model call, then the calls it asked for."""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import replace

from aouo.errors import ProviderError
from aouo.events import Thought
from aouo.ids import ulid
from aouo.transcript import (
    AsksAgain,
    Finished,
    ModelRequest,
    PaidForNothing,
    StartedOver,
    TextDelta,
    ToolCall,
)
from aouo.turn.calls import Calls, spent_by
from aouo.turn.context import DispatchContext
from aouo.turn.quota import Quota


class Executor:
    """Carries out dispatches of one turn."""

    def __init__(
        self,
        *,
        calls: Calls,
        quota: Quota,
        max_tokens: int,
        temperature: float | None,
        effort: str,
    ) -> None:
        self._calls = calls
        self._quota = quota
        self._max_tokens = max_tokens
        self._temperature = temperature
        self._effort = effort

    async def dispatch(self, ctx: DispatchContext) -> None:
        """Ask the model; make its calls; leave the answer in the context.

        Raises:
            ProviderError: the model gave no answer.
            Refused: a limit is reached, nobody was asked.
        """
        turn = ctx.turn
        window = turn.model.context_window
        ctx.request = ModelRequest(
            system=turn.system,
            messages=tuple(ctx.messages),
            tools=turn.toolbox.shown,
            context=turn.changing,
            max_tokens=min(self._max_tokens, 4096, window // 4),
            temperature=self._temperature,
            effort=self._effort,
            past=ctx.past,
        )
        finished = await self._ask(ctx, ctx.request)
        calls = tuple(ToolCall(ulid(), call.name, call.arguments) for call in finished.said.calls)
        ctx.said = replace(finished.said, calls=calls)
        ctx.usage, ctx.finish_reason = finished.usage, finished.reason
        model = turn.model
        ctx.answered_by = (finished.provider or model.provider, finished.model or model.model)
        if not calls:
            return
        if text := finished.said.text.strip():
            turn.thoughts.append(Thought("reasoning", text))
        await self._calls.make(turn, ctx.said)

    async def _ask(self, ctx: DispatchContext, request: ModelRequest) -> Finished:
        turn = ctx.turn
        begun_s = time.perf_counter()
        finished: Finished | None = None
        row = spent_by(turn, "llm")
        try:
            async with aclosing(self._quota.stream(turn.model, request, row, turn.spend)) as stream:
                async for event in stream:
                    match event:
                        case TextDelta(text):
                            if not ctx.holds_text:
                                await turn.show(text)
                        case StartedOver():
                            await turn.view.start_over()
                        case AsksAgain():
                            await turn.view.show_asking_again(event)
                        case PaidForNothing():
                            pass  # the quota has seen to it
                        case Finished():
                            finished = event
        finally:
            turn.provider_ms += (time.perf_counter() - begun_s) * 1000
        if finished is None:
            raise ProviderError("the stream ended without an end")
        return finished
