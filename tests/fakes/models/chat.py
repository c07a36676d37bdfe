"""Writes answers in the format of Chat Completions, with the peculiarities of a family."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

from tests.fakes.models.asked import BYTES_A_TOKEN, Asked, at
from tests.fakes.models.judging import thinks
from tests.fakes.models.memory import Issued
from tests.fakes.models.profile import Body, Profile, Stream
from tests.fakes.models.telling import Answer, CallPart, Says, split

_THOUGHTS = "I look at what was asked."
_NINE = "abcdefghijklmnopqrstuvwxyz0123456789"


def answer_of(says: Says, asked: Asked, profile: Profile, *, cached: int, serial: int) -> Answer:
    """Return the answer number `serial` of a service."""
    model = profile.model_named(asked.model)
    assert model is not None  # `judge` has found it
    thinking = thinks(asked, model) or bool(says.thoughts)
    thoughts = says.thoughts or (_THOUGHTS if thinking else "")
    calls = tuple(
        replace(call, id=call.id or _call_id(profile, call, serial, at))
        for at, call in enumerate(says.calls)
    )
    text, reason = says.text, says.reason
    prompt = asked.prompt_tokens
    if prompt > model.in_force:  # no rule refused it
        prompt = model.in_force
        if profile.stream.overflow == "cut":
            text, calls, reason = text[: len(text) // 2], (), "length"
        elif profile.stream.overflow == "empty":
            text, calls, thoughts = "", (), ""
    thought = says.reasoning_tokens or _tokens(thoughts)
    said = _tokens(text) + thought + sum(_tokens(call.tool + call.text) for call in calls)
    if asked.max_tokens and said > asked.max_tokens and not says.usage:  # thoughts count too
        left = max(0, asked.max_tokens - thought)
        text, calls, reason = text[: left * BYTES_A_TOKEN], (), "length"
        said, thought = asked.max_tokens, min(thought, asked.max_tokens)
    counted = (prompt, min(cached, prompt), said, thought)
    if says.usage:
        counted = (*says.usage, says.reasoning_tokens)
    signature = says.signature or (_signature(serial, thoughts) if thoughts else "")
    ident = f"{serial:08d}"
    return Answer(
        ident, asked.model, text, calls, thoughts, signature, reason, says.chunks, *counted
    )


def _call_id(profile: Profile, call: CallPart, serial: int, at: int) -> str:
    """Return a call's id in the service's own form."""
    mark = hashlib.blake2b(f"{profile.name} {serial} {at}".encode(), digest_size=12)
    match profile.stream.call_ids:
        case "nine":
            return "".join(_NINE[byte % len(_NINE)] for byte in mark.digest()[:9])
        case "functions":
            return f"functions.{call.tool}:{serial * 10 + at}"
        case "uuid":
            digits = mark.hexdigest().ljust(32, "0")
            return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
        case "call":
            return f"call_{mark.hexdigest()}"
        case "none":
            return ""


def _signature(serial: int, thoughts: str) -> str:
    return "sig" + hashlib.blake2b(f"{serial} {thoughts}".encode(), digest_size=18).hexdigest()


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN)


_GOOGLES = "google/"
"""The prefix of models whose thoughts OpenRouter signs in an item that names the call."""


def pieces(answer: Answer, asked: Asked, stream: Stream) -> list[bytes]:
    """Return the stream's bytes, one piece per chunk."""
    deltas = list(_thoughts(answer, stream))
    deltas += [{"content": part} for part in split(answer.text, answer.chunks)]
    deltas += _calls(answer, stream)
    if stream.role_first or not deltas:
        deltas.insert(0, {"role": "assistant", "content": ""})
    else:
        deltas[0] = {"role": "assistant"} | deltas[0]
    chunks: list[Body] = [{"choices": [_choice(delta, None)]} for delta in deltas]
    last: Body = {"choices": [_choice({}, _reason(answer, stream))]}
    usage = _usage_of(answer, stream)
    chunks.append(last)
    match stream.usage:
        case "with_finish":
            last["usage"] = usage
        case "x_groq":
            last["x_groq"] = {"id": f"req_{answer.id}", "usage": usage}
        case "last_chunk":
            chunks.append({"choices": [], "usage": usage})
        case "asked" if at(asked.body, "stream_options.include_usage") is True:
            chunks.append({"choices": [], "usage": usage})
        case _:
            pass
    head = _head(answer, "chat.completion.chunk")
    lines = [json.dumps(head | chunk, ensure_ascii=False) for chunk in chunks]
    if stream.done:
        lines.append("[DONE]")
    return [*(f"{one}\n\n".encode() for one in stream.comments), *(_event(one) for one in lines)]


def whole(answer: Answer, _asked: Asked, stream: Stream) -> Body:
    """Return the answer to a request without a stream."""
    message = _message_of(answer, stream)
    reason = _reason(answer, stream)
    return _head(answer, "chat.completion") | {
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": _usage_of(answer, stream),
    }


def _message_of(answer: Answer, stream: Stream) -> Body:
    """Return the assistant's message, with all that a client may have to send back."""
    message: Body = {"role": "assistant", "content": answer.text or None}
    if answer.thoughts:
        match stream.thoughts:
            case "reasoning_content" | "reasoning":
                message[stream.thoughts] = answer.thoughts
            case "reasoning_details":
                message["reasoning"] = answer.thoughts
                message["reasoning_details"] = _details(answer, [answer.thoughts])
            case "parts":
                message["content"] = [_thinking(answer.thoughts), *_text_parts(answer)]
            case "silent":
                pass
    if answer.calls:
        message["tool_calls"] = [
            _call(answer, stream, place, call) for place, call in enumerate(answer.calls)
        ]
    return message


def issued(answer: Answer, stream: Stream) -> dict[str, Issued]:
    message = _message_of(answer, stream)
    return {call["id"]: (message, call) for call in message.get("tool_calls", ())}


def _usage_of(answer: Answer, stream: Stream) -> Body:
    usage: Body = {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.said_tokens,
        "total_tokens": answer.prompt_tokens + answer.said_tokens,
    }
    if answer.thought_tokens:
        usage["completion_tokens_details"] = {"reasoning_tokens": answer.thought_tokens}
    match stream.cached:
        case "details":
            usage["prompt_tokens_details"] = {"cached_tokens": answer.cached_tokens}
        case "hit_tokens":
            usage["prompt_cache_hit_tokens"] = answer.cached_tokens
            usage["prompt_cache_miss_tokens"] = answer.prompt_tokens - answer.cached_tokens
        case "none":
            pass
    return usage


def _thoughts(answer: Answer, stream: Stream) -> list[Body]:
    parts = split(answer.thoughts, 2)
    match stream.thoughts:
        case "reasoning_content" | "reasoning":
            return [{stream.thoughts: part} for part in parts]
        case "reasoning_details" if parts:
            *said, signed = _details(answer, parts)
            deltas = [{"reasoning": one["text"], "reasoning_details": [one]} for one in said]
            return [*deltas, {"reasoning_details": [signed]}]
        case "parts":
            return [{"content": [_thinking(part)]} for part in parts]
        case _:
            return []


def _details(answer: Answer, parts: list[str]) -> list[Body]:
    """Return one item for each part of the thoughts, and one that signs them."""
    google = answer.model.startswith(_GOOGLES)
    kept: Body = {"format": "google-gemini-v1" if google else "anthropic-claude-v1", "index": 0}
    said: list[Body] = [{"type": "reasoning.text", "text": part} | kept for part in parts]
    if not google:
        return [*said, {"type": "reasoning.text", "signature": answer.signature} | kept]
    named = {"id": answer.calls[0].id} if answer.calls else {}
    return [*said, {"type": "reasoning.encrypted", "data": answer.signature} | named | kept]


def _thinking(text: str) -> Body:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _text_parts(answer: Answer) -> list[Body]:
    return [{"type": "text", "text": answer.text}] if answer.text else []


def _calls(answer: Answer, stream: Stream) -> list[Body]:
    deltas: list[Body] = []
    for place, call in enumerate(answer.calls):
        told = _indexed(stream, place) | _call(answer, stream, place, call)
        if stream.whole_calls:
            deltas.append({"tool_calls": [told]})
            continue
        head = told | {"function": {"name": call.tool, "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        deltas += [
            {"tool_calls": [_indexed(stream, place) | {"function": {"arguments": part}}]}
            for part in split(call.text, 2)
        ]
    return deltas


def _call(answer: Answer, stream: Stream, place: int, call: CallPart) -> Body:
    told: Body = {
        "id": call.id,
        "type": "function",
        "function": {"name": call.tool, "arguments": call.text},
    }
    if stream.signature == "extra_content" and answer.signature and place == 0:
        told["extra_content"] = {"google": {"thought_signature": answer.signature}}
    return told


def _indexed(stream: Stream, place: int) -> Body:
    match stream.index:
        case "own":
            return {"index": place}
        case "zero":
            return {"index": 0}
        case "none":
            return {}


def _head(answer: Answer, kind: str) -> Body:
    return {"id": f"chatcmpl-{answer.id}", "object": kind, "created": 1, "model": answer.model}


def _choice(delta: Body, reason: str | None) -> Body:
    return {"index": 0, "delta": delta, "finish_reason": reason}


def _reason(answer: Answer, stream: Stream) -> str:
    return answer.reason or (stream.calls_reason if answer.calls else "stop")


def _event(data: Any) -> bytes:
    return f"data: {data}\n\n".encode()
