"""Makes an answer of a reply: ids, thoughts, signatures and tokens, in no format yet."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from aouo.emulator.models.asked import BYTES_A_TOKEN, Asked
from aouo.emulator.models.profile import Profile
from aouo.emulator.models.replies import Answer, CallPart, Says
from aouo.emulator.models.rules import thinks

_THOUGHTS = "I look at what was asked."
_NINE = "abcdefghijklmnopqrstuvwxyz0123456789"


def answer_of(says: Says, asked: Asked, profile: Profile, *, cached: int, serial: int) -> Answer:
    """Return the answer number `serial` of a service."""
    model = profile.model_named(asked.model)
    assert model is not None  # `judge` has found it
    thinking = thinks(asked, model) or bool(says.thoughts)
    thoughts = says.thoughts or (_THOUGHTS if thinking else "")
    calls = tuple(
        replace(call, id=call.id or call_id(profile, call, serial, at))
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


def call_id(profile: Profile, call: CallPart, serial: int, at: int) -> str:
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
