"""Parses answers in OpenAI's Responses format, from bytes to text and tool calls.

Source: the types of the openai SDK 3.54, `openai/types/responses/response_stream_event.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from uuid import uuid4

from aouo.facts.errors import ProviderBusy, ProviderTimeout
from aouo.facts.transcript import AssistantSaid, Finished, FinishReason, ToolCall, Usage
from aouo.providers.event_stream import Event, EventStream
from aouo.providers.failures import error_object, failure, status_of
from aouo.providers.formats.chat_answers import as_object, count
from aouo.providers.formats.responses_requests import Item, dump_native, words_of

_UNFINISHED: dict[str, FinishReason] = {
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}


_ODD = (AttributeError, LookupError, TypeError, ValueError, OverflowError)


class ResponsesParser:
    """Parses one answer as its bytes arrive; an `endpoint.AnswerParser`.

    An item counts in its final form; the model's thoughts are in `AssistantSaid.native`.
    """

    def __init__(self, provider: str, *, model: str = "", mask: Callable[[str], str] = str) -> None:
        self.done = False
        """The service ended the answer; nothing more is read."""
        self._provider = provider
        self._model = model
        self._mask = mask
        self._events = EventStream(provider, mask=mask)
        self._text: list[str] = []
        self._speaks: object = None
        self._begun: dict[object, Item] = {}
        self._arguments: dict[object, list[str]] = {}
        self._items: dict[object, Item] = {}
        self._response: Event = {}

    def feed(self, data: bytes) -> str:
        """Parse the next bytes; return the new text in them."""
        if self.done:
            return ""
        before = len(self._text)
        for event in self._events.feed(data):
            self._event(event)
        self.done = self.done or self._events.done
        return "".join(self._text[before:])

    def finish(self) -> Finished:
        """Return the whole answer, once no more bytes come.

        Raises:
            ProviderTimeout: the stream was cut: no event ended the answer.
        """
        if not self.done:
            for event in self._events.end():
                self._event(event)
        if not self.done and not self._events.done:
            raise ProviderTimeout(f"{self._provider}: the answer stopped in the middle")
        try:
            return self._finished()
        except _ODD as error:
            raise self._odd(error) from error

    def _finished(self) -> Finished:
        reason = self._reason()
        cut = reason == "length"
        items = self._output(cut=cut)
        calls = _calls(items, cut=cut)
        if calls and reason == "stop":
            reason = "tool_calls"
        native = ""
        if reason in ("stop", "tool_calls"):
            native = dump_native(self._provider, self._model, items, calls)
        said = AssistantSaid(self._words(items), calls, native)
        usage = _usage(as_object(self._response.get("usage")))
        return Finished(said, usage, reason, called=str(self._response.get("model") or ""))

    def _event(self, event: Event) -> None:
        try:
            self._read(event)
        except _ODD as error:
            raise self._odd(error) from error

    def _read(self, event: Event) -> None:
        place = event.get("output_index")
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                self._say(place, str(event.get("delta") or ""))
            case "response.output_item.added":
                self._begun[place] = event["item"]
            case "response.function_call_arguments.delta":
                self._arguments.setdefault(place, []).append(str(event.get("delta") or ""))
            case "response.function_call_arguments.done":
                self._arguments[place] = [str(event.get("arguments") or "")]
            case "response.output_item.done":
                self._items[place] = event["item"]
            case "response.completed" | "response.incomplete" | "response.failed":
                self._end(as_object(event.get("response")))
            case "error":
                raise self._failed(error_object(event) or event)
            case None if event.get("object") == "response":
                self._end(event)
            case None if event.get("error"):
                raise self._failed(error_object(event))
            case _:
                pass  # events of thoughts, of the beginning, of features that we do not use

    def _say(self, place: object, text: str) -> None:
        if text and self._text and place != self._speaks:
            self._text.append("\n\n")  # another message
        if text:
            self._text.append(text)
            self._speaks = place

    def _end(self, response: Event) -> None:
        if error := response.get("error"):
            raise self._failed(as_object(error))
        if response.get("status") in ("failed", "cancelled"):
            raise self._failed({"message": f"the response is {response['status']}"})
        self._response = response
        self.done = True

    def _reason(self) -> FinishReason:
        details = as_object(self._response.get("incomplete_details"))
        if why := details.get("reason"):
            return _UNFINISHED.get(str(why), "unknown")
        return "unknown" if self._response.get("status") == "incomplete" else "stop"

    def _output(self, *, cut: bool) -> list[Item]:
        """Return the items in order, including the part that came of those that were cut off."""
        listed = cast("list[Item]", self._response.get("output") or [])
        places = sorted({*self._items, *(self._begun if cut else ())}, key=str)
        places.sort(key=lambda place: place if isinstance(place, int) else 0)
        streamed = [self._items.get(place) or self._cut_off(place) for place in places]
        return streamed if len(streamed) >= len(listed) else listed

    def _cut_off(self, place: object) -> Item:
        begun = self._begun[place]
        return begun | {"arguments": "".join(self._arguments.get(place, ()))}

    def _words(self, items: list[Item]) -> str:
        told = [words_of(item) for item in items if item.get("type") == "message"]
        whole, streamed = "\n\n".join(filter(None, told)), "".join(self._text)
        return whole if whole.startswith(streamed) else streamed

    def _failed(self, error: Event) -> Exception:
        return failure(self._provider, status_of(error), error, mask=self._mask)

    def _odd(self, error: Exception) -> ProviderBusy:
        return ProviderBusy(f"{self._provider}: an event of another shape: {error}")


def _calls(items: list[Item], *, cut: bool) -> tuple[ToolCall, ...]:
    """Return the calls; a missing or repeated id is replaced by one of ours, since results are
    paired by it. Arguments that were cut off are "{", since "" would mean none."""
    calls: dict[str, ToolCall] = {}
    for item in items:
        if item.get("type") == "function_call":
            given = str(item.get("call_id") or "")
            call_id = given if given and given not in calls else f"call_{uuid4().hex[:16]}"
            arguments = str(item.get("arguments") or ("{" if cut else ""))
            name = str(item.get("name") or "")
            calls[call_id] = ToolCall(call_id, name, arguments)
    return tuple(calls.values())


def _usage(usage: dict[str, Any]) -> Usage:
    read, thought = (as_object(usage.get(f"{way}_tokens_details")) for way in ("input", "output"))
    return Usage(
        input_tokens=count(usage.get("input_tokens")),
        cached_tokens=count(read.get("cached_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        reasoning_tokens=count(thought.get("reasoning_tokens")),
    )
