"""Models for evals: one that answers from a script, and one that records another one's calls."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from aouo.facts.ports import ChatModel
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolReturned,
    Usage,
    estimate_tokens,
)
from aouo.packs.evals.cases import Reply
from aouo.packs.evals.checks import SeenCall
from aouo.providers.chat.wire import chat_body, encode
from aouo.turn.side_calls import is_side_call

_BEYOND = "(The eval scripts no further answer of the model.)"
_ASIDE = "NONE"


class ScriptedModel:
    """Gives the answers of its script one after another, and says so when there are none left.

    A request's tokens are estimated from its length. A side call gets a fixed answer.
    """

    provider = "scripted"
    model = "scripted"
    context_window = 128_000
    brief = False
    sees = True
    candidates = (("scripted", "scripted"),)

    def __init__(self) -> None:
        self._script: deque[Reply] = deque()
        self._calls = 0

    def follow(self, script: Iterable[Reply]) -> None:
        """Answer with this script from now on, and forget the rest of the previous one."""
        self._script = deque(script)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        if is_side_call(request):
            reply = Reply(say=_ASIDE)
        else:
            reply = self._script.popleft() if self._script else Reply(say=_BEYOND)
        calls = tuple(self._call(made.call, made.arguments) for made in reply.made)
        if reply.words:
            yield TextDelta(reply.words)
        said = sum(estimate_tokens(call.arguments) for call in calls) + estimate_tokens(reply.words)
        asked = estimate_tokens(encode(chat_body(request, model=self.model)).decode())
        usage = Usage(input_tokens=asked, output_tokens=said)
        yield Finished(AssistantSaid(reply.words, calls), usage, "tool_calls" if calls else "stop")

    def _call(self, name: str, arguments: object) -> ToolCall:
        self._calls += 1
        return ToolCall(f"eval_{self._calls}", name, json.dumps(arguments, ensure_ascii=False))


@dataclass(slots=True, eq=False)
class _Made:
    call: ToolCall
    failure: str = ""


class WatchedModel:
    """Wraps a model, and records its requests and tool calls in turns since `begin`."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner
        self._made: list[_Made] = []
        self._waiting: list[_Made] = []
        self._returned: set[str] = set()
        self.requests = 0
        self.first_bytes = 0

    @property
    def provider(self) -> str:
        return self._inner.provider

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def context_window(self) -> int:
        return self._inner.context_window

    @property
    def brief(self) -> bool:
        return self._inner.brief

    @property
    def sees(self) -> bool:
        return self._inner.sees

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        return self._inner.candidates

    def begin(self) -> None:
        """Forget what was recorded."""
        self._made = []
        self.requests = self.first_bytes = 0

    @property
    def calls(self) -> tuple[SeenCall, ...]:
        """Every tool call that was made, in order."""
        return tuple(
            SeenCall(made.call.name, _arguments(made.call.arguments), made.failure)
            for made in self._made
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        watched = not is_side_call(request)
        if watched:
            self._note(request)
        async with aclosing(self._inner.stream(request)) as events:
            async for event in events:
                if watched and isinstance(event, Finished):
                    made = [_Made(call) for call in event.said.calls]
                    self._made += made
                    self._waiting += made
                yield event

    def _note(self, request: ModelRequest) -> None:
        self.requests += 1
        if not self.first_bytes:
            self.first_bytes = len(encode(chat_body(request, model=self.model)))
        for message in request.messages:
            if isinstance(message, ToolReturned) and message.call_id not in self._returned:
                self._returned.add(message.call_id)
                self._take(message)

    def _take(self, result: ToolReturned) -> None:
        """Match a result to the oldest call of its name, since the runtime changes call ids."""
        for made in self._waiting:
            if made.call.name == result.name:
                self._waiting.remove(made)
                made.failure = result.text if result.failed else ""
                return


def _arguments(text: str) -> dict[str, Any]:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
