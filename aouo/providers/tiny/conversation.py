"""One call of the tiny model from end to end, over llama.cpp's server."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from aouo.errors import ProviderBusy, ProviderRejected
from aouo.providers.tiny.answer import (
    Outcome,
    chat_messages,
    outcome,
    telling,
    telling_grammar,
    telling_prompt,
)
from aouo.providers.tiny.arguments import (
    MAX_SCHEMA_TOKENS,
    Copy,
    copied,
    copies,
    copy_grammar,
    copy_prompt,
    only_copy,
    schema_for,
    schema_prompt,
)
from aouo.providers.tiny.choice import NO_MESSAGE, choice_prompt, choose, label_logprobs, nearest
from aouo.providers.tiny.cuts import cleaned, own_words, with_value
from aouo.providers.tiny.options import Option, options
from aouo.providers.wire import encode
from aouo.transcript import (
    AssistantSaid,
    Finished,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
    Usage,
    UserSaid,
)

if TYPE_CHECKING:
    from aouo.providers.endpoint import ChatEndpoint

MAX_ANSWER_TOKENS = 200
MAX_COPY_TOKENS = 40
TOP_TOKENS = 100
MAX_REMEMBERED = 16

# Greedy, and DRY against loops: a repetition penalty punishes copying from the prompt too.
_SAMPLING: dict[str, Any] = {
    "temperature": 0,
    "dry_multiplier": 0.8,
    "dry_allowed_length": 8,
    "dry_penalty_last_n": 64,
    "cache_prompt": True,
}


class TinyConversation:
    """One call of the tiny model: choose, then fill the arguments or answer in words."""

    def __init__(
        self,
        endpoint: ChatEndpoint,
        model: str,
        said_to_nothing: dict[str, dict[str, float]],
    ) -> None:
        """`said_to_nothing` remembers, over calls, what the model says to no message at all."""
        self._endpoint = endpoint
        self._model = model
        self._said_to_nothing = said_to_nothing
        self._usage = Usage()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        told = outcome(request.messages)
        if told is not None:
            text = await self._tell(told)
            yield TextDelta(text)
            yield Finished(AssistantSaid(text), self._usage, "stop")
            return
        last = request.messages[-1] if request.messages else None
        message = cleaned(own_words(last.text)) if isinstance(last, UserSaid) else ""
        choices = options(request.tools) if message else ()
        if choices:
            option = await self._choose(choices, message)
            if option is not None:
                arguments = await self._arguments(option, message)
                call = ToolCall(f"call_{uuid4().hex[:16]}", option.tool.name, arguments)
                yield Finished(AssistantSaid("", (call,)), self._usage, "tool_calls")
                return
        async with aclosing(self._endpoint.stream(encode(self._answer_body(request)))) as events:
            async for event in events:
                if isinstance(event, Finished):
                    usage = _sum(self._usage, event.usage)
                    event = Finished(event.said, usage, event.reason)
                yield event

    def _answer_body(self, request: ModelRequest) -> dict[str, Any]:
        return {
            "model": self._model,
            "messages": chat_messages(request),
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": min(request.max_tokens, MAX_ANSWER_TOKENS),
            **_SAMPLING,
        }

    async def _choose(self, choices: tuple[Option, ...], message: str) -> Option | None:
        key = choice_prompt(choices, "")
        nothing = self._said_to_nothing.get(key)
        if nothing is None:
            asked = [await self._labels(choices, empty) for empty in NO_MESSAGE]
            nothing = {label: sum(a[label] for a in asked) / len(asked) for label in asked[0]}
            if len(self._said_to_nothing) >= MAX_REMEMBERED:
                self._said_to_nothing.clear()
            self._said_to_nothing[key] = nothing
        return choose(choices, message, await self._labels(choices, message), nothing)

    async def _labels(self, choices: tuple[Option, ...], message: str) -> dict[str, float]:
        prompt = choice_prompt(choices, message)
        answer = await self._complete(prompt, n_predict=1, n_probs=TOP_TOKENS)
        try:
            top = answer["completion_probabilities"][0]["top_logprobs"]
            logprobs = {str(t["token"]): float(t["logprob"]) for t in top}
        except (LookupError, TypeError, ValueError) as error:
            raise ProviderBusy("local: an answer without probabilities") from error
        return label_logprobs(choices, logprobs)

    async def _arguments(self, option: Option, message: str) -> str:
        if not option.given:
            return await self._under_schema(option, message)
        example = nearest(option, message)
        arguments: Any = example.arguments
        for copy in copies(option, example):
            piece = await self._copied(option, copy, message)
            arguments = with_value(arguments, copy.path, piece)
        return json.dumps(arguments, ensure_ascii=False)

    async def _copied(self, option: Option, copy: Copy, message: str) -> str:
        certain = only_copy(option, copy, message)
        if certain:
            return certain
        answer = await self._complete(
            copy_prompt(option, copy, message),
            n_predict=MAX_COPY_TOKENS,
            grammar=copy_grammar(option, copy, message),
        )
        return copied(option, copy, message, str(answer.get("content", "")))

    async def _tell(self, told: Outcome) -> str:
        if told.failed or told.listed:
            return telling(told, "")
        answer = await self._complete(telling_prompt(told), n_predict=12, grammar=telling_grammar())
        return telling(told, str(answer.get("content", "")))

    async def _under_schema(self, option: Option, message: str) -> str:
        try:
            answer = await self._complete(
                schema_prompt(option, message),
                n_predict=MAX_SCHEMA_TOKENS,
                json_schema=schema_for(option),
            )
        except ProviderRejected:  # a schema llama.cpp makes no grammar of
            return "{}"
        return str(answer.get("content", ""))

    async def _complete(self, prompt: str, **fields: object) -> dict[str, Any]:
        body = {"prompt": prompt, "temperature": 0, "cache_prompt": True, **fields}
        answer = await self._endpoint.ask("/completion", encode(body))
        self._usage = _sum(self._usage, _usage_of(answer))
        return answer


def _usage_of(answer: Mapping[str, Any]) -> Usage:
    timings = cast("Mapping[str, Any]", answer.get("timings") or {})
    return Usage(
        input_tokens=int(answer.get("tokens_evaluated") or 0),
        cached_tokens=int(timings.get("cache_n") or 0),
        output_tokens=int(answer.get("tokens_predicted") or 0),
    )


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.input_tokens + other.input_tokens,
        one.cached_tokens + other.cached_tokens,
        one.output_tokens + other.output_tokens,
    )
