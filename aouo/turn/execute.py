"""One dispatch: a model call, then the tools it asked for, in the order it asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

from aouo.errors import ProviderError
from aouo.events import LlmToken, Thought
from aouo.ids import ulid
from aouo.store.usage import Spent
from aouo.transcript import (
    AssistantSaid,
    Finished,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolReturned,
)
from aouo.turn.context import DispatchContext, TurnContext
from aouo.turn.journal import Journal

_UNKNOWN = (
    "[outcome unknown: the process was restarted while this ran. Do not repeat it blindly; "
    "check first, and tell the person.]"
)


class Executor:
    """Carries out dispatches of one turn."""

    def __init__(
        self,
        *,
        journal: Journal,
        may_run_again: Callable[[str], bool],
        day: Callable[[], str],
        max_tokens: int,
        temperature: float,
    ) -> None:
        self._journal = journal
        self._may_run_again = may_run_again
        self._day = day
        self._max_tokens = max_tokens
        self._temperature = temperature

    async def dispatch(self, ctx: DispatchContext) -> None:
        """Ask the model; make its calls; leave the answer in the context.

        Raises:
            ProviderError: the model gave no answer.
        """
        turn = ctx.turn
        window = turn.model.context_window
        ctx.request = ModelRequest(
            system=turn.system,
            messages=tuple(ctx.messages),
            tools=turn.tools,
            context=turn.changing,
            max_tokens=min(self._max_tokens, 4096, window // 4),
            temperature=self._temperature,
        )
        finished = await self._ask(ctx, ctx.request)
        calls = tuple(ToolCall(ulid(), call.name, call.arguments) for call in finished.said.calls)
        ctx.said = AssistantSaid(finished.said.text, calls)
        ctx.usage, ctx.finish_reason = finished.usage, finished.reason
        if not calls:
            return
        if text := finished.said.text.strip():
            turn.thoughts.append(Thought("reasoning", text))
        again = [self._may_run_again(call.name) for call in calls]
        await self._journal.calls(turn, ctx.said, again)
        for call in calls:
            await self._call(turn, call)

    async def take_up(self, turn: TurnContext) -> None:
        """Finish the calls that a crash cut off: at most once, unless the tool allows more."""
        open_calls = await self._journal.intents(turn.facts.turn.id)
        if not open_calls:
            return
        asked = {call.id: call for entry in turn.said for call in _calls(entry)}
        for call_id, again in open_calls.items():
            call = asked[call_id]
            if again:
                await self._call(turn, call)
            else:
                result = ToolReturned(call.id, call.name, _UNKNOWN, failed=True)
                await self._journal.result(turn, result, state="unknown", effect=True)

    async def _ask(self, ctx: DispatchContext, request: ModelRequest) -> Finished:
        turn = ctx.turn
        begun_s = time.perf_counter()
        finished: Finished | None = None
        try:
            async with aclosing(turn.model.stream(request)) as stream:
                async for event in stream:
                    match event:
                        case TextDelta(text):
                            await turn.view.streaming_reply(text)
                            turn.publish(
                                LlmToken(turn.facts.turn.id, turn.facts.turn.session_id, text)
                            )
                        case Finished():
                            finished = event
        finally:
            ms = (time.perf_counter() - begun_s) * 1000
            turn.provider_ms += ms
        if finished is None:
            raise ProviderError("the stream ended without an end")
        turn.spent.append(
            replace(
                self._spent(turn, "llm"),
                provider=turn.model.provider,
                model=turn.model.model,
                tokens=finished.usage,
                duration_ms=round(ms),
            )
        )
        return finished

    async def _call(self, turn: TurnContext, call: ToolCall) -> None:
        await turn.view.show_tool_call(call.name, call.arguments)
        begun_s = time.perf_counter()
        outcome = await turn.call_tool(call)
        ms = round((time.perf_counter() - begun_s) * 1000)
        turn.tool_calls += 1
        turn.spent.append(replace(self._spent(turn, f"tool:{call.name}"), duration_ms=ms))
        turn.thoughts.append(
            Thought(
                "tool_call",
                f"{call.name} -> {outcome.text[:80]}",
                {"tool_name": call.name, "success": not outcome.failed},
            )
        )
        result = ToolReturned(call.id, call.name, outcome.text, outcome.failed)
        state = "failed" if outcome.failed else "done"
        await self._journal.result(turn, result, state=state, effect=outcome.effect)
        await turn.view.show_tool_result()

    def _spent(self, turn: TurnContext, scope: str) -> Spent:
        facts = turn.facts
        return Spent(
            scope,
            self._day(),
            pack=facts.pack.name,
            session_id=facts.turn.session_id,
            person=facts.person.id,
            turn_id=facts.turn.id,
        )


def _calls(entry: object) -> tuple[ToolCall, ...]:
    return entry.calls if isinstance(entry, AssistantSaid) else ()
