"""Puts messages into an order that every chat template accepts.

OpenAI takes any order, and others refuse: Qwen 3.5 and later want the one system message at the
head (vllm-project/vllm#41114, ollama/ollama#17754), Mistral no person right after a tool
(zed-industries/zed#37021, mistralai/mistral-vibe#578 of April 2026) and no answer at the end, old
Mistral and Gemma templates person and model in turns (vllm-project/vllm#6862,
suitenumerique/conversations#197 of December 2025). So all of them get one order: the person first,
then person and model in turns, results right after their calls, never the model at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aouo.facts import transcript

_EARLIER = transcript.UserSaid("[Earlier messages are not shown.]")
_NO_ANSWER_YET = transcript.AssistantSaid("[no answer yet]")
_GO_ON = transcript.UserSaid("[Go on.]")
_BREAK = "\n\n"


def in_order(request: transcript.ModelRequest) -> tuple[Sequence[transcript.Message], int]:
    """Return the messages of a request as every service accepts them, and the index of this turn's
    first message, the length if there is none.

    There are no system messages, and unchanged messages are the same objects.

    A summary stands before the first words of the person, so that system and tools stay a stable
    prefix, and strangers' words in it never become system words. The changing context, in
    brackets, stands before the words that began this turn, so that nothing before it changes while
    the turn goes on.
    """
    messages = [
        message for message in request.messages if type(message) is not transcript.SystemSaid
    ]
    at = _words_at(messages, request)
    _tell(messages, at, f"[{request.context}]" if request.context else "")
    summary = [
        message.text for message in request.messages if type(message) is transcript.SystemSaid
    ]
    if any(summary):
        first = next((n for n, said in enumerate(messages) if type(said) is transcript.UserSaid), 0)
        grown = len(messages)
        _tell(messages, first, _BREAK.join(filter(None, summary)))
        at += len(messages) - grown
    return _in_turns(messages, at)


def _tell(messages: list[transcript.Message], at: int, told: str) -> None:
    """Put words of the runtime before the person's, or as a message of their own at the end."""
    if not told:
        return
    words = messages[at] if at < len(messages) else None
    if isinstance(words, transcript.UserSaid):
        messages[at] = replace(words, text=_joined(told, words.text))
    else:
        messages.insert(at, transcript.UserSaid(told))


def _words_at(messages: Sequence[transcript.Message], request: transcript.ModelRequest) -> int:
    places = range(len(messages) - 1, -1, -1)
    if request.past is not None:
        earlier = [
            m for m in request.messages[: request.past] if type(m) is not transcript.SystemSaid
        ]
        places = range(len(earlier), len(messages))
    return next((at for at in places if type(messages[at]) is transcript.UserSaid), len(messages))


def _in_turns(
    messages: Sequence[transcript.Message], at: int
) -> tuple[Sequence[transcript.Message], int]:
    kept: list[transcript.Message] = []
    words_at = -1
    # Plain type tests, since this runs over hundreds of messages before each model call.
    for index, message in enumerate(messages):
        last = kept[-1] if kept else None
        if type(message) is transcript.UserSaid:
            if type(last) is transcript.UserSaid:
                kept[-1] = _both_said(last, message)
            elif message.text or message.images:
                if type(last) is transcript.ToolReturned:
                    kept.append(_NO_ANSWER_YET)
                kept.append(message)
        elif type(message) is transcript.AssistantSaid:
            if type(last) is transcript.AssistantSaid and not last.calls:
                kept[-1] = replace(message, text=_joined(last.text, message.text))
            elif message.text or message.calls:
                if last is None:
                    kept.append(_EARLIER)
                kept.append(message)
        else:
            kept.append(message)
        if index == at:
            words_at = len(kept) - 1
    if kept and type(kept[-1]) is transcript.AssistantSaid:
        kept.append(_GO_ON)
    return kept, words_at if words_at >= 0 else len(kept)


def _both_said(one: transcript.UserSaid, other: transcript.UserSaid) -> transcript.UserSaid:
    return transcript.UserSaid(_joined(one.text, other.text), one.images + other.images)


def _joined(one: str, other: str) -> str:
    return f"{one}{_BREAK}{other}" if one and other else one or other
