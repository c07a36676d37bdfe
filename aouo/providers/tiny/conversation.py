"""Makes one call of a model too small to chat: chooses a tool call, or words its result."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from aouo.facts.errors import ProviderBusy
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    Message,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolReturned,
    Usage,
    UserSaid,
)
from aouo.providers.chat.wire import encode
from aouo.providers.tiny.answer import Texts, as_object, told
from aouo.providers.tiny.choice import NO_MESSAGE, choice_prompt, choose, label_logprobs
from aouo.providers.tiny.cuts import cleaned, is_edit, one_line, own_words
from aouo.providers.tiny.matching import Match, matches
from aouo.providers.tiny.options import Option, option_of, options

if TYPE_CHECKING:
    from aouo.providers.endpoint import ChatEndpoint

TOP_TOKENS = 100
MAX_REMEMBERED = 16
BUTTONS = 3


@dataclass(eq=False)
class TinyConversation:
    """See the package. `said_to_nothing` caches over calls what the model says to an empty
    message."""

    endpoint: ChatEndpoint
    texts: Texts
    said_to_nothing: dict[str, dict[str, float]]

    def __post_init__(self) -> None:
        self._usage = Usage()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        choices = options(request.tools)
        last = next((m for m in reversed(request.messages) if not _tells_of_edit(m)), None)
        if isinstance(last, ToolReturned):
            answer = self._after(request, last, choices)
        else:
            said = cleaned(own_words(last.text)) if isinstance(last, UserSaid) else ""
            answer = await self._begun(request, said, choices)
        if isinstance(answer, ToolCall):
            yield Finished(AssistantSaid("", (answer,)), self._usage, "tool_calls")
            return
        if answer:
            yield TextDelta(answer)
        yield Finished(AssistantSaid(answer), self._usage, "stop")

    async def _begun(
        self, request: ModelRequest, said: str, choices: Sequence[Option]
    ) -> ToolCall | str:
        found = matches(choices, said)
        if found:
            option, arguments = found[0] if len(found) == 1 else await self._chosen(found, said)
            return _call(option.tool.name, arguments)
        shown = [one_line(option.examples[0].message, 100) for option in choices[:BUTTONS]]
        if shown and any(tool.name == "msg" for tool in request.tools):
            text = _cannot(self.texts, shown, buttons=True)
            rows = [[f"{say}|{say}"] for say in shown if "|" not in say]
            return _call("msg", {"type": "keyboard", "text": text, "buttons": rows})
        return _cannot(self.texts, shown)

    def _after(
        self, request: ModelRequest, result: ToolReturned, choices: Sequence[Option]
    ) -> ToolCall | str:
        """Return the answer or the call that follows a call that has returned."""
        *before, call = _calls_since(request.messages) or [
            ToolCall(result.call_id, result.name, "")
        ]
        if call.name == "msg":  # its words were the answer
            return _cannot(self.texts, ()) if result.failed else ""
        written = _option_of(choices, before[-1]) if before else None
        answer = told(call, result, _option_of(choices, call), written, self.texts)
        return answer if isinstance(answer, str) else _call(call.name, answer)

    async def _chosen(self, found: Sequence[Match], message: str) -> Match:
        choices = [option for option, _ in found]
        key = choice_prompt(choices, "")
        nothing = self.said_to_nothing.get(key)
        if nothing is None:
            asked = [await self._labels(choices, empty) for empty in NO_MESSAGE]
            nothing = {label: sum(a[label] for a in asked) / len(asked) for label in asked[0]}
            if len(self.said_to_nothing) >= MAX_REMEMBERED:
                self.said_to_nothing.clear()
            self.said_to_nothing[key] = nothing
        option = choose(choices, message, await self._labels(choices, message), nothing)
        return found[choices.index(option)]

    async def _labels(self, choices: Sequence[Option], message: str) -> dict[str, float]:
        prompt = choice_prompt(choices, message)
        answer = await self._complete(prompt, n_predict=1, n_probs=TOP_TOKENS)
        try:
            top = answer["completion_probabilities"][0]["top_logprobs"]
            logprobs = {str(t["token"]): float(t["logprob"]) for t in top}
        except (LookupError, TypeError, ValueError) as error:
            raise ProviderBusy("local: an answer without probabilities") from error
        return label_logprobs(choices, logprobs)

    async def _complete(self, prompt: str, **fields: object) -> dict[str, Any]:
        body = {"prompt": prompt, "temperature": 0, "cache_prompt": True, **fields}
        answer = await self.endpoint.ask("/completion", encode(body))
        self._usage += _usage_of(answer)
        return answer


def _tells_of_edit(message: Message) -> bool:
    return isinstance(message, UserSaid) and is_edit(message.text)


def _call(tool: str, arguments: Mapping[str, Any]) -> ToolCall:
    return ToolCall(f"call_{uuid4().hex[:16]}", tool, json.dumps(arguments, ensure_ascii=False))


def _calls_since(messages: Sequence[Message]) -> list[ToolCall]:
    """Return the calls since the person's last message, in order."""
    calls: list[ToolCall] = []
    for message in messages:
        match message:
            case UserSaid(text) if not is_edit(text):
                calls = []
            case AssistantSaid(calls=made):
                calls += made
            case _:
                pass
    return calls


def _option_of(choices: Sequence[Option], call: ToolCall) -> Option | None:
    return option_of(choices, call.name, as_object(call.arguments))


def _usage_of(answer: Mapping[str, Any]) -> Usage:
    timings = cast("Mapping[str, Any]", answer.get("timings") or {})
    return Usage(
        input_tokens=int(answer.get("tokens_evaluated") or 0),
        cached_tokens=int(timings.get("cache_n") or 0),
        output_tokens=int(answer.get("tokens_predicted") or 0),
    )


def _cannot(texts: Texts, examples: Sequence[str], *, buttons: bool = False) -> str:
    """Return the answer to a message that matches no example; nothing was changed."""
    if not examples:
        return texts("small.cannot")
    listed = "" if buttons else " " + ", ".join(f"“{say}”" for say in examples)
    return texts("small.cannot-but", examples=listed)
