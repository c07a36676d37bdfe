"""Tells what a model says from what its server should have kept apart: thoughts, channels, calls.

A server without the parser of its model passes all of that on as text. Whatever the pieces an
answer comes in, the same is said. Marks within code are text.

Sources: vllm-project/vllm#35705 (2 March 2026), lmstudio-bug-tracker#942 (27 August 2025); the
forms of calls: the chat templates of Qwen 3, Llama 3.1, Mistral and the harmony format of gpt-oss.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from aouo.facts import transcript
from aouo.facts.errors import Stumbled
from aouo.plumbing.logs import log
from aouo.providers.printed import marked_calls, may_become_one, was_read, whole_calls

_OPENS = ("<think>", "<thinking>", "<thought>")
_CLOSES = ("</think>", "</thinking>", "</thought>")
_CALLS = ("<tool_call>", "[TOOL_CALLS]", "<function=", "<function_calls>")
_CHANNELS = ("<|channel|>", "<|start|>", "<|message|>")
_MARKS = (*_OPENS, *_CLOSES, *_CALLS, *_CHANNELS)
_MARK = re.compile("|".join(map(re.escape, _MARKS)))
_LONGEST = max(map(len, _MARKS))
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_CHANNEL = re.compile(
    r"(?:<\|start\|>\w*)?(?:<\|channel\|>(?P<head>[^<]*))?(?:<\|constrain\|>\w*)?<\|message\|>"
    r"(?P<body>.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.DOTALL,
)
_TO = re.compile(r"to=(?:functions\.)?([\w.-]+)")
_STRIPPED = re.compile(r"analysis(?=[A-Z])(?P<thoughts>.*?)assistant(?:final|(?=<))", re.DOTALL)
"""The same where the server dropped the marks themselves."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What an answer says; `markup` is a call in some form behind it, `flag` the setting of a
    server that would have kept the rest apart, "" = nothing was to be kept apart."""

    text: str
    markup: str = ""
    flag: str = ""


THOUGHTS, CALLS = "reasoning", "tool calls"


def _spoken_in(raw: str, *, ended: bool = True) -> Spoken:
    """Return what of an answer, or of its beginning, is said."""
    if stripped := _STRIPPED.match(raw):
        return Spoken(raw[stripped.end() :].lstrip(), flag=THOUGHTS)
    if raw.startswith("analysis") and raw[8:9].isupper() and not ended:
        return Spoken("")
    if not _MARK.search(raw):
        return Spoken(raw if ended else raw[: len(raw) - _begun(raw)])
    plain = _CODE.sub(lambda code: "\0" * len(code[0]), raw)
    if any(mark in plain for mark in _CHANNELS):
        return _final_channel(raw)
    return _after_thoughts(raw, plain, ended=ended)


def _after_thoughts(raw: str, plain: str, *, ended: bool) -> Spoken:
    kept: list[str] = []
    at, flag = 0, ""
    while found := _MARK.search(plain, at):
        if found[0] in _CALLS:
            text = "".join(kept) + raw[at : found.start()]
            return Spoken(text.rstrip(), raw[found.start() :], flag or CALLS)
        flag = THOUGHTS
        if found[0] in _CLOSES:  # its opening is in the model's template
            kept, at = [], _skipped(raw, found.end())
            continue
        kept.append(raw[at : found.start()])
        ends = [plain.find(close, found.end()) for close in _CLOSES]
        end = min((one for one in ends if one >= 0), default=-1)
        if end < 0:
            return Spoken("".join(kept).rstrip(), flag=flag)
        at = _skipped(raw, plain.index(">", end) + 1)
    rest = raw[at:]
    kept.append(rest if ended else rest[: len(rest) - _begun(rest)])
    return Spoken("".join(kept), flag=flag)


def _skipped(raw: str, at: int) -> int:
    """Return where the words begin behind thoughts."""
    return at + len(raw[at:]) - len(raw[at:].lstrip())


def _final_channel(raw: str) -> Spoken:
    said: list[str] = []
    for found in _CHANNEL.finditer(raw):
        head, body = found["head"] or "", found["body"]
        if to := _TO.search(head):
            markup = f"<function={to[1]}>{body}</function>"
            return Spoken("".join(said).strip(), markup, CALLS)
        if head.strip().startswith("final"):
            said.append(body)
    return Spoken("".join(said).lstrip(), flag=THOUGHTS)


def _begun(text: str) -> int:
    """Return how many of the last letters may be the beginning of a mark."""
    for size in range(min(len(text), _LONGEST - 1), 0, -1):
        if text[-size] in "<[" and any(mark.startswith(text[-size:]) for mark in _MARKS):
            return size
    return 0


class Aloud:
    """Remembers of one model what its server does not keep apart: `heard`, and whether thoughts
    come without an opening mark."""

    def __init__(self, name: str = "") -> None:
        self.heard: set[str] = set()
        self._name = name
        self._holds = False

    async def read(
        self, events: AsyncGenerator[transcript.ModelEvent, None], request: transcript.ModelRequest
    ) -> AsyncGenerator[transcript.ModelEvent, None]:
        """Yield `events` with what is said only, and with a printed call as a call.

        Raises:
            Stumbled: a call was printed that none of the tools knows.
        """
        raw = shown = ""
        marked = False  # most answers never are, and are not searched from their beginning again
        async with aclosing(events):
            async for event in events:
                match event:
                    case transcript.TextDelta(text):
                        since = max(0, len(raw) - _LONGEST)
                        raw += text
                        marked = marked or _MARK.search(raw, since) is not None
                        now = self._so_far(raw, request, marked=marked)
                        if not now.startswith(shown):
                            self._holds = True
                            yield transcript.StartedOver()
                            shown = ""
                        if len(now) > len(shown):
                            yield transcript.TextDelta(now[len(shown) :])
                            shown = now
                    case transcript.StartedOver():
                        raw, shown, marked = "", "", False
                        yield event
                    case transcript.Finished():
                        finished = self._whole(event, request)
                        if not finished.said.text.startswith(shown):
                            yield transcript.StartedOver()
                            shown = ""
                        if rest := finished.said.text[len(shown) :]:
                            yield transcript.TextDelta(rest)
                        yield finished
                    case _:
                        yield event

    def _so_far(self, raw: str, request: transcript.ModelRequest, *, marked: bool) -> str:
        """Return what can be shown of an answer that goes on; `marked`: a mark is in it."""
        if self._holds and not any(close in raw for close in _CLOSES):
            return ""
        if marked or raw.startswith("analysis"):
            found = _spoken_in(raw, ended=False)
        else:
            found = Spoken(raw[: len(raw) - _begun(raw)])
        waits = request.tools and not found.markup and may_become_one(found.text)
        return "" if waits else found.text

    def _whole(
        self, event: transcript.Finished, request: transcript.ModelRequest
    ) -> transcript.Finished:
        said = event.said
        found = _spoken_in(said.text)
        if found.flag and found.flag not in self.heard:
            self.heard.add(found.flag)
            log.warning("passed_on_as_text", model=self._name, what=found.flag)
        if said.calls or not request.tools:
            return event if found.text == said.text else _saying(event, found.text)
        if found.markup:
            if was_read(found.markup, request):
                return event
            calls = marked_calls(found.markup, request)
            if calls is None:
                raise Stumbled(f"a call was printed as text: {found.markup[:200]}")
            return replace(
                event, said=transcript.AssistantSaid(found.text, calls), reason="tool_calls"
            )
        if calls := whole_calls(found.text, request):
            return replace(event, said=transcript.AssistantSaid("", calls), reason="tool_calls")
        return event if found.text == said.text else _saying(event, found.text)


def _saying(event: transcript.Finished, text: str) -> transcript.Finished:
    """Return the end with other words; what the service wants back held those it should not."""
    return replace(event, said=replace(event.said, text=text, native=""))
