"""Writes answers in Gemini's format: parts, a signature on the first call, totals in each event."""

from __future__ import annotations

import json

from tests.fakes.models.asked import Asked
from tests.fakes.models.memory import Issued
from tests.fakes.models.profile import Body, Stream
from tests.fakes.models.telling import Answer, split


def pieces(answer: Answer, _asked: Asked, stream: Stream) -> list[bytes]:
    """Return the stream's events, which end in CRLF; only the end of the stream ends the answer."""
    parts = _parts(answer, stream)
    events = [_event(answer, [part]) for part in parts] or [_event(answer, [])]
    events[-1]["candidates"][0]["finishReason"] = _reason(answer)
    return [b"data: %b\r\n\r\n" % json.dumps(event).encode() for event in events]


def whole(answer: Answer, _asked: Asked, stream: Stream) -> Body:
    event = _event(answer, _parts(answer, stream))
    event["candidates"][0]["finishReason"] = _reason(answer)
    return event


def issued(answer: Answer, stream: Stream) -> dict[str, Issued]:
    """Return the issued calls by id; one without an id is known only by its signature."""
    calls = [part for part in _parts(answer, stream) if "functionCall" in part]
    return {
        part["functionCall"].get("id") or f"{answer.id} {place}": ({}, part)
        for place, part in enumerate(calls)
    }


def _parts(answer: Answer, stream: Stream) -> list[Body]:
    thought = answer.thoughts and stream.thoughts == "parts"
    parts: list[Body] = [{"text": answer.thoughts, "thought": True}] if thought else []
    parts += [{"text": part} for part in split(answer.text, answer.chunks)]
    for place, call in enumerate(answer.calls):
        function = {"name": call.tool, "args": call.value} | ({"id": call.id} if call.id else {})
        part: Body = {"functionCall": function}
        if answer.signature and place == 0:
            part["thoughtSignature"] = answer.signature
        parts.append(part)
    if answer.signature and not answer.calls:
        parts.append({"text": "", "thoughtSignature": answer.signature})
    return parts


def _event(answer: Answer, parts: list[Body]) -> Body:
    usage: Body = {
        "promptTokenCount": answer.prompt_tokens,
        "candidatesTokenCount": answer.said_tokens - answer.thought_tokens,
        "totalTokenCount": answer.prompt_tokens + answer.said_tokens,
    }
    if answer.thought_tokens:
        usage["thoughtsTokenCount"] = answer.thought_tokens
    if answer.cached_tokens:
        usage["cachedContentTokenCount"] = answer.cached_tokens
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "usageMetadata": usage,
        "modelVersion": answer.model,
        "responseId": answer.id,
    }


def _reason(answer: Answer) -> str:
    named = {"length": "MAX_TOKENS", "content_filter": "SAFETY", "": "STOP"}
    return named.get(answer.reason, answer.reason)
