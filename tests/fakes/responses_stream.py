"""How OpenAI's Responses API streams an answer, event by event.

Source: openai SDK 3.54, `openai/types/responses/response_stream_event.py`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

Event: TypeAlias = dict[str, Any]


class Call(Protocol):
    @property
    def tool(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...


class Says(Protocol):
    """What is used of `model_server.Says`."""

    @property
    def text(self) -> str: ...
    @property
    def calls(self) -> Sequence[Call]: ...
    @property
    def chunks(self) -> int: ...
    @property
    def usage(self) -> tuple[int, int, int] | None: ...
    @property
    def reason(self) -> str: ...
    @property
    def thoughts(self) -> str: ...
    @property
    def reasoning_tokens(self) -> int: ...


def sealed(thoughts: str) -> str:
    """Thoughts as only the service can read them."""
    return "gAAAA" + base64.urlsafe_b64encode(thoughts.encode()).decode()


def pieces(says: Says, model: str) -> list[bytes]:
    """The stream: thoughts, words, calls, then the whole response."""
    response = whole(says, model)
    events: list[Event] = [_event("created", response=response | {"output": []})]
    for at, item in enumerate(response["output"]):
        place = {"output_index": at, "item_id": item["id"]}
        events.append(_event("output_item.added", **place, item=_begun(item)))
        events += [_event(name, **place, **fields) for name, fields in _deltas(item, says.chunks)]
        events.append(_event("output_item.done", **place, item=item))
    ended = "completed" if response["status"] == "completed" else "incomplete"
    return [line(event) for event in [*events, _event(ended, response=response)]]


def line(event: Mapping[str, object]) -> bytes:
    name = str(event["type"]).encode()
    return b"event: %b\ndata: %b\n\n" % (name, json.dumps(event, ensure_ascii=False).encode())


def whole(says: Says, model: str) -> Event:
    """The response as it is without a stream."""
    output: list[Event] = []
    if says.thoughts:
        output.append(
            {
                "type": "reasoning",
                "id": f"rs_{len(says.thoughts)}",
                "summary": [],
                "content": None,
                "status": "completed",
                "encrypted_content": sealed(says.thoughts),
            }
        )
    if says.text:
        part = {"type": "output_text", "text": says.text, "annotations": []}
        output.append(_item("message", "msg_1", role="assistant", content=[part]))
    for at, call in enumerate(says.calls):
        called = {"name": call.tool, "call_id": call.id or f"call_{at}", "arguments": call.text}
        output.append(_item("function_call", f"fc_{at}", **called))
    why = {"length": "max_output_tokens"}.get(says.reason, says.reason)
    cut = why in ("max_output_tokens", "content_filter")
    return {
        "id": "resp_1",
        "object": "response",
        "model": f"{model}-2026-09-01",
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": why} if cut else None,
        "output": output,
        "usage": _usage(says),
    }


def _item(kind: str, item_id: str, **fields: object) -> Event:
    return {"type": kind, "id": item_id, "status": "completed", **fields}


def _begun(item: Event) -> Event:
    """An item as it is announced: empty."""
    empty = {"content": [], "arguments": "", "encrypted_content": "gAAAA", "status": "in_progress"}
    return item | {key: value for key, value in empty.items() if key in item}


def _deltas(item: Event, chunks: int) -> list[tuple[str, Event]]:
    match item["type"]:
        case "message":
            text = item["content"][0]["text"]
            parts = [
                ("output_text.delta", {"content_index": 0, "delta": part})
                for part in _split(text, chunks)
            ]
            return [*parts, ("output_text.done", {"content_index": 0, "text": text})]
        case "function_call":
            arguments = item["arguments"]
            parts = [
                ("function_call_arguments.delta", {"delta": part}) for part in _split(arguments, 2)
            ]
            return [*parts, ("function_call_arguments.done", {"arguments": arguments})]
        case _:
            return []


def _event(name: str, **fields: object) -> Event:
    return {"type": f"response.{name}", "sequence_number": 0, **fields}


def _usage(says: Says) -> Event | None:
    if says.usage is None:
        return None
    read, cached, said = says.usage
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": says.reasoning_tokens},
        "total_tokens": read + said,
    }


def _split(text: str, parts: int) -> list[str]:
    size = max(1, -(-len(text) // max(1, parts)))
    return [text[at : at + size] for at in range(0, len(text), size)]
