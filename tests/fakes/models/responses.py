"""Writes answers in OpenAI's Responses format: typed events, with items of thoughts.

Source: developers.openai.com/api/reference/resources/responses (streaming events).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.fakes.models.asked import Asked
from tests.fakes.models.memory import Issued
from tests.fakes.models.profile import Body, Stream
from tests.fakes.models.telling import Answer, split

_WHY = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why an answer is incomplete (openai SDK 3.54, `Response.incomplete_details`)."""
_ENCRYPTED = "reasoning.encrypted_content"


def pieces(answer: Answer, asked: Asked, _stream: Stream) -> list[bytes]:
    events = enumerate(_events(answer, asked))
    return [line(event | {"sequence_number": at}) for at, event in events]


def line(event: Body) -> bytes:
    """Return the bytes of an event."""
    data = json.dumps(event, ensure_ascii=False).encode()
    return b"event: %b\ndata: %b\n\n" % (str(event["type"]).encode(), data)


def whole(answer: Answer, asked: Asked, _stream: Stream) -> Body:
    return _response(answer, _status(answer), _items(answer, asked))


def issued(answer: Answer, _stream: Stream) -> dict[str, Issued]:
    """Return each call with the item of thoughts before it."""
    thought = f"rs_{answer.id} {answer.signature}" if answer.thoughts else ""
    call: Body = {"reasoning": thought} if thought else {}
    return {part.id: ({}, call) for part in answer.calls}


def _events(answer: Answer, asked: Asked) -> Iterator[Body]:
    yield {"type": "response.created", "response": _response(answer, "in_progress", [])}
    yield {"type": "response.in_progress", "response": _response(answer, "in_progress", [])}
    items = _items(answer, asked)
    for at, item in enumerate(items):
        where = {"output_index": at, "item_id": item["id"]}
        begun = item | {"status": "in_progress"} | _emptied(item)
        yield {"type": "response.output_item.added", "output_index": at, "item": begun}
        yield from _inside(answer, item, where)
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    name = _status(answer)
    yield {"type": f"response.{name}", "response": _response(answer, name, items)}


def _status(answer: Answer) -> str:
    return "incomplete" if answer.reason in _WHY else "completed"


def _inside(answer: Answer, item: Body, where: Body) -> Iterator[Body]:
    match item["type"]:
        case "message":
            place = where | {"content_index": 0}
            empty: Body = {"type": "output_text", "text": "", "annotations": []}
            yield {"type": "response.content_part.added", "part": empty} | place
            for part in split(answer.text, answer.chunks):
                yield {"type": "response.output_text.delta", "delta": part} | place
            yield {"type": "response.output_text.done", "text": answer.text} | place
            whole = item["content"][0]
            yield {"type": "response.content_part.done", "part": whole} | place
        case "function_call":
            for part in split(item["arguments"], 2):
                yield {"type": "response.function_call_arguments.delta", "delta": part} | where
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done"} | done | where
        case _:
            return


def _emptied(item: Body) -> Body:
    begun: dict[str, Body] = {"message": {"content": []}, "function_call": {"arguments": ""}}
    return begun.get(item["type"], {})


def _items(answer: Answer, asked: Asked) -> list[Body]:
    items: list[Body] = []
    if answer.thoughts:
        thought: Body = {"type": "reasoning", "id": f"rs_{answer.id}", "summary": []}
        thought |= {"content": None, "status": "completed"}  # refused where they come back
        if _ENCRYPTED in (asked.body.get("include") or ()):
            thought["encrypted_content"] = answer.signature
        items.append(thought)
    if answer.text or not answer.calls:
        said: Body = {"type": "output_text", "text": answer.text, "annotations": []}
        items.append(
            {
                "type": "message",
                "id": f"msg_{answer.id}",
                "status": "completed",
                "role": "assistant",
                "content": [said],
            }
        )
    for at, call in enumerate(answer.calls):
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{answer.id}_{at}",
                "status": "completed",
                "call_id": call.id,
                "name": call.tool,
                "arguments": call.text,
            }
        )
    return items


def _response(answer: Answer, status: str, items: list[Body]) -> Body:
    usage: Body = {
        "input_tokens": answer.prompt_tokens,
        "input_tokens_details": {"cached_tokens": answer.cached_tokens},
        "output_tokens": answer.said_tokens,
        "output_tokens_details": {"reasoning_tokens": answer.thought_tokens},
        "total_tokens": answer.prompt_tokens + answer.said_tokens,
    }
    why = {"reason": _WHY[answer.reason]} if status == "incomplete" else None
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": answer.model,
        "error": None,
        "incomplete_details": why,
        "output": items,
        "usage": None if status == "in_progress" else usage,
    }
