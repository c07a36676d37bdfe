"""Bounds the room for an answer in tokens, once a service refused a larger one.

A request that a service refuses for the size of the answer, not of the prompt, is sent once more
with less room. The bound is kept for the model until it cuts off an answer; the next request then
asks for the whole room again, since plans change. The history is not shortened for it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from aouo.facts import transcript
from aouo.facts.errors import PlanTooSmall, PromptTooLong, ProviderError, UnexplainedRefusal
from aouo.facts.ports import ChatModel
from aouo.plumbing.logs import log
from aouo.providers.failures import AnswerTooLarge
from aouo.providers.refusals import PER_MINUTE
from aouo.providers.thoughts import sent_of

_LEAST_TOKENS = 256
"""The least room that is worth asking for."""
_PLAN_TOKENS = 1_024
"""The room to ask for if a plan has few tokens a minute and does not say how many are left."""
_MARGIN = 0.05
"""The share by which a prompt's estimate may be too low, once a service has counted one."""
_VLLM = re.compile(r"\((\d+) > (\d+) - (\d+)\)")
_ANTHROPIC = re.compile(r"context limit: (\d+) \+ (\d+) > (\d+)")
"""Prompt, answer, window (github.com/docker/docker-agent/issues/569, 2025-10)."""


class Room:
    """What is known of the room for answers of one model at one service."""

    def __init__(self) -> None:
        self._counts = 1.0
        """How many tokens the service counts for one that we estimate."""
        self._forget()

    def _forget(self) -> None:
        self._most = 0
        self._per_minute = 0
        self._window = 0

    async def stream(
        self, model: ChatModel, request: transcript.ModelRequest
    ) -> AsyncGenerator[transcript.ModelEvent, None]:
        """Stream as `ChatModel.stream`; after a refusal for its size, ask once more with less."""
        wanted = request.max_tokens
        prompt = partial(_prompt_tokens, request, model.provider, model.model)
        request = replace(request, max_tokens=self._bounded(wanted, prompt))
        began = False
        try:
            async with aclosing(model.stream(request)) as events:
                async for event in events:
                    began = began or not isinstance(event, transcript.PaidForNothing)
                    yield self._told(event, request, wanted)
            return
        except (AnswerTooLarge, PromptTooLong, UnexplainedRefusal, PlanTooSmall) as error:
            smaller = 0 if began else self._learn(error, request.max_tokens, prompt)
            if not smaller and not began and _leaves_nothing(error, request):
                raise PromptTooLong(str(error)) from error
            if not smaller:
                raise
            log.info(
                "less_room_asked",
                provider=model.provider,
                model=model.model,
                before=request.max_tokens,
                now=smaller,
                error=str(error),
            )
            if error.may_have_cost:
                yield transcript.PaidForNothing()
        request = replace(request, max_tokens=smaller)
        async with aclosing(model.stream(request)) as events:
            async for event in events:
                yield self._told(event, request, wanted)

    def _told(
        self, event: transcript.ModelEvent, request: transcript.ModelRequest, wanted: int
    ) -> transcript.ModelEvent:
        """Return the event, marked if there was less room than wanted; forget a bound that cut off
        the answer."""
        if not isinstance(event, transcript.Finished) or request.max_tokens >= wanted:
            return event
        if event.reason == "length":
            self._forget()
        return replace(event, bounded_by="service")

    def _bounded(self, wanted: int, prompt: Callable[[], int]) -> int:
        if self._most:
            wanted = min(wanted, self._most)
        if self._per_minute:
            wanted = min(wanted, _share(self._per_minute, prompt()))
        if self._window:
            left = int(self._window - prompt() * self._counts * (1 + _MARGIN))
            wanted = min(wanted, left) if left >= _LEAST_TOKENS else wanted
        return wanted

    def _learn(self, error: ProviderError, asked: int, estimate: Callable[[], int]) -> int:
        """Return how much room to ask for next; 0 = less would not help."""
        window, prompt = counted_together(error, asked)
        if isinstance(error, PlanTooSmall):
            smaller = self._of_plan(error, asked)
        elif window:
            # A service that stops counting at the first token too many knows less than an estimate
            # (vLLM: "at least … input tokens").
            estimated = estimate()
            prompt = max(prompt, estimated) if prompt == window - asked + 1 else prompt
            self._window, self._counts = window, prompt / estimated
            smaller = window - prompt
        else:
            smaller = _room_left(error, asked)
            if _LEAST_TOKENS <= smaller < asked:
                self._most = smaller
        return smaller if _LEAST_TOKENS <= smaller < asked else 0

    def _of_plan(self, error: PlanTooSmall, asked: int) -> int:
        counted = PER_MINUTE.search(str(error))
        if not counted:
            self._most = min(self._most or _PLAN_TOKENS, _PLAN_TOKENS)
            return _PLAN_TOKENS
        self._per_minute = int(counted[1])
        return _share(self._per_minute, int(counted[2]) - asked)


def _leaves_nothing(error: ProviderError, request: transcript.ModelRequest) -> bool:
    """Whether the answer was refused for its size because the prompt fills the window."""
    window, prompt = counted_together(error, request.max_tokens)
    return isinstance(error, AnswerTooLarge) and 0 < window < prompt + _LEAST_TOKENS


def _share(per_minute: int, prompt: int) -> int:
    """Return half of what a minute leaves after the prompt: a turn makes several calls a minute."""
    return max(_PLAN_TOKENS, (per_minute - prompt) // 2)


def _prompt_tokens(request: transcript.ModelRequest, provider: str, model: str) -> int:
    """Return a cheap estimate of a request's tokens without its answer, to the high side."""
    tools = "".join(f"{tool.description}{tool.parameters}" for tool in request.tools)
    fixed = transcript.estimate_tokens(request.system + request.context + tools)
    return fixed + sum(_tokens(one, provider, model) for one in request.messages)


def _tokens(message: transcript.Message, provider: str, model: str) -> int:
    """Return the estimate for one message, with a few tokens that every provider adds."""
    match message:
        case transcript.UserSaid(text, images):
            return transcript.estimate_tokens(text) + 4 + transcript.IMAGE_TOKENS * len(images)
        case transcript.AssistantSaid():
            return 4 + sum(map(transcript.estimate_tokens, sent_of(message, provider, model)))
        case _:
            return transcript.estimate_tokens(message.text) + 4


def _room_left(error: ProviderError, asked: int) -> int:
    """Return the room that the numbers of a refusal leave for the answer; 0 = unknown."""
    window, prompt = counted_together(error, asked)
    if window or not isinstance(error, AnswerTooLarge):
        return window - prompt
    smaller = [number for number in error.numbers if _LEAST_TOKENS <= number < asked]
    return max(smaller, default=0) - ("exclusive" in str(error))


def counted_together(error: ProviderError, asked: int) -> tuple[int, int]:
    """Return (window, prompt) in tokens, if a refusal counts both with the answer, else (0, 0).

    "maximum context length is 16384 tokens. However, you requested 20000 tokens (3616 in the
    messages, 16384 in the completion)" (vLLM; github.com/ogx-ai/ogx/issues/4534).
    """
    if isinstance(error, AnswerTooLarge):
        if counted := _ANTHROPIC.search(str(error)):
            return int(counted[3]), int(counted[1])
        counted = _VLLM.search(str(error))
        return (int(counted[2]), int(counted[3])) if counted else (0, 0)
    rest = list(error.numbers)
    if asked not in rest:
        return 0, 0
    rest.remove(asked)
    total = next((number for number in rest if number - asked in rest), 0)
    for part in (total, total - asked) if total else ():
        rest.remove(part)
    window = max((number for number in rest if number < total), default=0)
    return (window, total - asked) if window else (0, 0)
