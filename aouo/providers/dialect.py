"""Learns from a model's refusals which fields it takes, and keeps that while we run."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from aouo.facts import errors
from aouo.facts.transcript import AssistantSaid, ModelRequest
from aouo.providers.effort import LADDER, efforts_of, fitting, left_after, names_thinking
from aouo.providers.failures import FieldsRefused, ParameterRefused
from aouo.providers.room import Room
from aouo.providers.thoughts import THOUGHTS, Forgotten, Signed

Refusal: TypeAlias = errors.ProviderRejected | errors.ModelGone | errors.ScopeMissing
"""What another dialect may help against."""
_Wire: TypeAlias = Literal["chat", "responses"]

_OPENAI = "api.openai.com"
_THINKS = re.compile(r"gpt-[5-9]|o[1-9]")
"""OpenAI's reasoning models, which want `max_completion_tokens`."""
_SWITCHED = re.compile(r"(?:deepseek|kimi|glm)[^/:]*")
"""Models whose own services turn thinking off by `thinking`, and by no effort.

Source: api-docs.deepseek.com/guides/thinking_mode (read 23 Nov 2026); kimi-k2.5 and k2.6:
java.agentscope.io/v2/en/integration/model/kimi.
"""

_DECIDED = re.compile(
    r"max_(completion_|output_)?tokens|temperature|stream_options|include|model|reasoning(_effort)?"
    r"|thinking"
)
"""Fields of a request that a `Dialect` decides about."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which of the two wires a model speaks, and which optional fields it takes."""

    max_tokens: str = "max_tokens"
    """The field's name on the chat wire; "" = none is sent on any wire."""
    temperature: bool = True
    stream_options: bool = True
    thoughts: bool = False
    """Every answer in the history wants the field `reasoning_content` (DeepSeek, Kimi)."""
    signed: Signed = ""
    """The field in which a call without a signature says so (Gemini)."""
    cache_marks: bool = False
    """The end of a stable prefix is marked, because nothing is cached otherwise (Claude)."""
    cache_key: bool = False
    """Requests with the same beginning send the same cache key (Mistral)."""
    wire: _Wire = "chat"
    efforts: tuple[str, ...] = LADDER
    """The values of how much to think that the model takes, () = none."""
    tools_think: bool = True
    """The model may think when it has tools; if not, the effort `none` must be sent."""
    tools: bool = True
    """The model takes tools, with thoughts or without, on one of the wires."""
    switched: bool = False
    """Thinking is turned off by the field `thinking`."""
    encrypted: bool = True
    """The service returns encrypted thoughts, to be sent back (Responses)."""
    other_wire: bool = True
    """The other wire has not been tried yet."""
    proven: bool = False
    """An answer came in this dialect, so later refusals are not about fields of our own."""
    recalled: bool = False
    """An answer has shown that thoughts in the history are treated rightly."""

    def effort_of(self, request: ModelRequest) -> str:
        """Return the effort to send, "" for none."""
        if request.tools and not self.tools_think:
            return "none"
        return fitting(request.effort, self.efforts)

    def quiet(self, request: ModelRequest) -> Dialect:
        """Return the dialect without the fields that the owner set."""
        return replace(
            self,
            temperature=self.temperature and request.temperature is None,
            efforts=() if request.effort else self.efforts,
        )

    def answering(self, request: ModelRequest) -> Dialect:
        """Return what is known of the dialect after an answer to this request."""
        if self.proven and (self.recalled or self.wire != "chat"):
            return self
        return replace(self, proven=True, recalled=self.recalled or self._tells(request))

    def _tells(self, request: ModelRequest) -> bool:
        """Whether an answer to this request shows that thoughts are treated rightly.

        If they are sent, any answer in the history shows it. If not, only one with calls and
        without thoughts does, since some services want thoughts with calls only.
        """
        said = [one for one in request.messages if type(one) is AssistantSaid]
        if self.thoughts:
            return bool(said)
        return any(one.calls and not any(name in one.native for name in THOUGHTS) for one in said)


PLAIN = Dialect()


def first_dialect(model: str, base_url: str) -> Dialect:
    """Return the dialect to begin with, before anything is learnt.

    At OpenAI's own address that is the Responses API: only there do its models think and use tools
    in one request, and some know no other (github.com/bolna-ai/bolna/pull/1019, Sep 2026).
    """
    host = urlsplit(base_url).hostname or ""
    return Dialect(
        max_tokens="max_completion_tokens" if _THINKS.match(model) else "max_tokens",
        wire="responses" if f".{host}".endswith(f".{_OPENAI}") else "chat",
        switched=bool(_SWITCHED.fullmatch(model)),
        efforts=efforts_of(model),
    )


def alternatives(dialect: Dialect, refused: Refusal, request: ModelRequest) -> tuple[Dialect, ...]:
    """Return the dialects to try next, the likeliest first; () = no change of ours can help."""
    match refused:
        case ParameterRefused():
            return _without(dialect, refused, request)
        case errors.NotServed() | errors.NoModelService() if dialect.wire == "responses":
            return _on_other_wire(dialect)
        case errors.ScopeMissing():
            return _on_other_wire(dialect)
        case FieldsRefused():
            return _bare(dialect, request)
        case errors.ModelGone() if not dialect.proven:  # some are served by one of the wires only
            return _on_other_wire(dialect)
        case errors.UnexplainedRefusal():
            return (*thinking_less(dialect, refused, request), *_bare(dialect, request))
        case _:
            return ()


def is_about_us(refused: Refusal) -> bool:
    """Whether a refusal names something that a dialect decides."""
    if isinstance(refused, ParameterRefused):
        return bool(_DECIDED.fullmatch(_field(refused)))
    return isinstance(refused, errors.NotServed | errors.NoModelService | errors.ModelGone)


def _field(refused: ParameterRefused) -> str:
    path = re.split(r"[.\[]", refused.parameter)
    return path[-1] if path[-1] == "reasoning_content" else path[0]


def _without(
    dialect: Dialect, refused: ParameterRefused, request: ModelRequest
) -> tuple[Dialect, ...]:
    """Return the dialects without one field that was refused by its name."""
    match _field(refused):
        case "max_tokens" if dialect.max_tokens == "max_tokens":
            return (replace(dialect, max_tokens="max_completion_tokens"),)
        case "max_tokens" | "max_completion_tokens" | "max_output_tokens" if dialect.max_tokens:
            return (replace(dialect, max_tokens=""),)
        case "temperature" if dialect.temperature:
            return (replace(dialect, temperature=False),)
        case "stream_options" if dialect.stream_options:
            return (replace(dialect, stream_options=False),)
        case "reasoning_content":
            return (replace(dialect, thoughts=not dialect.thoughts, recalled=False),)
        case "cache_control" if dialect.cache_marks:
            return (replace(dialect, cache_marks=False),)
        case "prompt_cache_key" if dialect.cache_key:
            return (replace(dialect, cache_key=False),)
        case "include" if dialect.encrypted:
            return (replace(dialect, encrypted=False),)
        case "reasoning_effort" | "reasoning" | "thinking":
            return _thinking_otherwise(dialect, refused, request)
        case "model":
            return _on_other_wire(dialect)
        case _:
            return ()


def thinking_less(
    dialect: Dialect, refused: errors.ProviderRejected, request: ModelRequest
) -> tuple[Dialect, ...]:
    """Return the dialect after a refusal without a field that is about thinking: with the nearest
    effort that is left, () = there is none, or it is about something else."""
    sent = dialect.effort_of(request)
    if not sent or not request.effort or not names_thinking(str(refused)):
        return ()
    lowered = replace(dialect, efforts=left_after(dialect.efforts, sent, str(refused)))
    return (lowered,) if lowered.efforts else ()


def _thinking_otherwise(
    dialect: Dialect, refused: ParameterRefused, request: ModelRequest
) -> tuple[Dialect, ...]:
    """Return the dialects after a refused effort.

    If one was sent, another is, or it is left out. If none was, tools and thoughts do not go
    together: then the other wire is tried, or no thoughts.

    Source: "Function tools with reasoning_effort are not supported for gpt-5.6-luna in
    /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to
    'none'", param `reasoning_effort` (github.com/langflow-ai/langflow/issues/14361, Jul 2026).
    """
    with_tools = bool(request.tools)
    sent = dialect.effort_of(request)
    if sent and request.effort and (dialect.tools_think or not with_tools):
        return (replace(dialect, efforts=left_after(dialect.efforts, sent, str(refused))),)
    if dialect.wire != "chat" or not with_tools:
        return ()
    other = _on_other_wire(dialect)
    if not dialect.tools_think:
        return other
    return (*other, replace(dialect, tools_think=False, other_wire=False))


def _on_other_wire(dialect: Dialect) -> tuple[Dialect, ...]:
    if not dialect.other_wire:
        return ()
    wire: _Wire = "chat" if dialect.wire == "responses" else "responses"
    return (
        replace(
            dialect,
            wire=wire,
            other_wire=False,
            efforts=dialect.efforts or LADDER,
            tools_think=True,
            proven=False,
        ),
    )


def _bare(dialect: Dialect, request: ModelRequest) -> tuple[Dialect, ...]:
    """Return the dialects to try after a refusal that names no field.

    First without the owner's fields, then with the other treatment of thoughts (Kimi at Groq:
    CherryHQ/cherry-studio#12298 of January 2026), then without our own optional fields.

    A refusal that names nothing may be about each (Kimi: "invalid temperature"; DeepSeek: "The
    reasoning_content in the thinking mode must be passed back to the API", without a `param`:
    github.com/qwersyk/Newelle/issues/404 of July 2026).
    """
    bare = quiet = dialect.quiet(request)
    answers = any(type(message) is AssistantSaid for message in request.messages)
    turned = answers and dialect.wire == "chat" and not dialect.recalled
    thinking = replace(quiet, thoughts=dialect.thoughts is not turned)
    if not dialect.proven and dialect.wire == "chat":
        bare = replace(quiet, stream_options=False)
    elif not dialect.proven:
        bare = replace(quiet, encrypted=False)
    return tuple(dict.fromkeys(tried for tried in (quiet, thinking, bare) if tried != dialect))


class Dialects:
    """The learnt dialect of each model, by its address and name; all its users share it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Dialect] = {}
        self._rooms: dict[tuple[str, str], Room] = {}
        self._forgotten: dict[tuple[str, str], Forgotten] = {}

    def room(self, base_url: str, model: str) -> Room:
        """Return what is known of the room for the model's answers."""
        return self._rooms.setdefault((base_url, model), Room())

    def forgotten(self, base_url: str, model: str) -> Forgotten:
        """Return what the model's service did not take back of earlier answers."""
        return self._forgotten.setdefault((base_url, model), Forgotten())

    def of(self, base_url: str, model: str, first: Dialect = PLAIN) -> Dialect:
        return self._known.get((base_url, model), first)

    def learn(self, base_url: str, model: str, was: Dialect, now: Dialect) -> None:
        """Keep what changed between `was` and `now`; what others learnt meanwhile stays."""
        changed = {
            field.name: getattr(now, field.name)
            for field in fields(now)
            if getattr(now, field.name) != getattr(was, field.name)
        }
        if changed:
            self._known[base_url, model] = replace(self.of(base_url, model, was), **changed)
