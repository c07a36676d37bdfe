"""The services that the matrix of behaviours is run against, each on loopback in its own format."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

import aiohttp

from aouo.app.services import model_of
from aouo.config.settings import Settings
from aouo.emulator.models.profile import Profile
from aouo.emulator.models.responses import line
from aouo.facts.ports import ChatModel
from aouo.facts.transcript import FinishReason, Image, Usage
from aouo.plumbing.resources import Holder
from tests.fakes.clock import FastClock
from tests.fakes.model_server import STRICTEST, CallPart, Fails, ModelServer, Says, family

KEY = "sk-very-secret"
WAIT_S = 30.0

Trouble: TypeAlias = Literal[
    "wrong key",
    "no money",
    "too long",
    "busy",
    "broken",
    "overloaded",
    "no such model",
    "declined",
    "moderated",
    "wrong country",
    "day used up",
    "plan too small",
    "stumbled",
    "web page",
]


class Service(ABC):
    """One service: a fake of its wire format, and the model that speaks to it.

    The model comes out of the settings, as the runtime makes it, without retries. The methods
    that begin with a verb say what the service does at its next call.
    """

    name: str
    """Its backend in the configuration."""
    has_a_word_for_length = True
    """Whether it says by a code that a prompt is too long."""
    lacks: frozenset[Trouble] = frozenset()
    """Refusals that it has none of."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The part of the configuration that says where the service is."""

    async def model(self, session: aiohttp.ClientSession, *, idle_s: float = WAIT_S) -> ChatModel:
        provider = {
            "backend": self.name,
            "model": self.model_name,
            "max_retries": 0,
            "request_timeout_s": WAIT_S,
            "stream_idle_timeout_s": idle_s,
        }
        settings = Settings.model_validate({"provider": provider, **self.settings()})
        async with Holder() as held:
            return await model_of(settings, session, held, FastClock())

    @property
    @abstractmethod
    def model_name(self) -> str: ...
    @abstractmethod
    async def __aenter__(self) -> Self: ...
    @abstractmethod
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    @abstractmethod
    def say(self, text: str, *, usage: Usage = ..., reason: FinishReason = ...) -> None:
        """Say `text` in several pieces."""

    @abstractmethod
    def think(self, thoughts: str, text: str, *, usage: Usage) -> None:
        """Think aloud, then say `text`."""

    @abstractmethod
    def call(self, *calls: tuple[str, dict[str, Any]], text: str = "") -> None:
        """Call tools, all in one answer."""

    @abstractmethod
    def fail(self, trouble: Trouble, *, retry_after_s: float = 0) -> None:
        """Refuse with a status and a body of the service's own."""

    @abstractmethod
    def fail_inside(self) -> None:
        """Begin well, then send an error that says it is overloaded."""

    @abstractmethod
    def cut(self) -> None:
        """Break the connection in the middle of an answer."""

    @abstractmethod
    def end_without_reason(self) -> None:
        """End the stream politely before the answer is whole."""

    @abstractmethod
    def stall(self) -> None:
        """Say the beginning, then nothing until the test is over."""

    @abstractmethod
    def send_garbage(self) -> None:
        """Send an event that is no JSON."""

    @abstractmethod
    async def stalled(self) -> None:
        """Wait until the answer stalls."""

    @abstractmethod
    async def left(self) -> None:
        """Wait until the other side hung up before its answer was all written."""

    @abstractmethod
    def seen_images(self) -> list[Image]:
        """The images of the newest request."""


PLAIN_USAGE = Usage(10, 0, 5)

_REASONS: dict[FinishReason, str] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
    "unknown": "new_reason",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """How one service says what is wrong."""

    status: int
    code: str = ""
    type: str = ""
    more: Mapping[str, object] = field(default_factory=dict[str, object])
    """What stands beside them in the error."""
    page: str = ""
    """Instead of JSON."""


OPENAI_REFUSALS: dict[Trouble, Refusal] = {
    "wrong key": Refusal(401, "invalid_api_key", "invalid_request_error"),
    "no money": Refusal(429, "insufficient_quota", "insufficient_quota"),
    "too long": Refusal(400, "context_length_exceeded", "invalid_request_error"),
    "busy": Refusal(429, "rate_limit_exceeded", "requests"),
    "broken": Refusal(500, "", "server_error"),
    "overloaded": Refusal(503),
    "no such model": Refusal(404, "model_not_found", "invalid_request_error"),
    "declined": Refusal(400, "content_policy_violation", "invalid_request_error"),
    "moderated": Refusal(403, more={"metadata": {"reasons": ["violence"], "flagged_input": "…"}}),
    "wrong country": Refusal(403, "unsupported_country_region_territory", "request_forbidden"),
    "day used up": Refusal(429, more={"metadata": {"limit_source": "openrouter_free_tier_daily"}}),
    "plan too small": Refusal(413, "rate_limit_exceeded", "tokens"),
    "stumbled": Refusal(400, "tool_use_failed", "invalid_request_error"),
    "web page": Refusal(404, page="<html><title>Welcome to nginx!</title></html>"),
}


class OpenAIWire(Service):
    """Any service that speaks OpenAI's chat format; they differ in address and in refusals."""

    def __init__(
        self,
        name: str,
        model: str,
        *,
        base: str,
        refusals: dict[Trouble, Refusal] | None = None,
        rules: Profile | None = None,
    ) -> None:
        self.name = name
        self._model = model
        self._base = base
        self._refusals = OPENAI_REFUSALS | (refusals or {})
        rules = rules or family(name)
        chat = replace(rules, paths={"chat": rules.paths.get("chat", "")})
        self.server = ModelServer(api_key=KEY, rules=chat)

    def settings(self) -> dict[str, Any]:
        where = {"base_url": f"http://127.0.0.1:{self.server.port}{self._base}", "api_key": KEY}
        known = self.name in Settings.model_fields
        return {self.name: where} if known else {"providers": {self.name: where}}

    @property
    def model_name(self) -> str:
        return self._model

    async def __aenter__(self) -> Self:
        await self.server.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.server.__aexit__(kind, error, trace)

    def say(self, text: str, *, usage: Usage = PLAIN_USAGE, reason: FinishReason = "stop") -> None:
        self.server.reply(Says(text, (), 4, _tokens(usage), _REASONS[reason]))

    def think(self, thoughts: str, text: str, *, usage: Usage) -> None:
        self.server.reply(
            Says(
                text,
                chunks=2,
                usage=_tokens(usage),
                thoughts=thoughts,
                reasoning_tokens=usage.reasoning_tokens,
            )
        )

    def call(self, *calls: tuple[str, dict[str, Any]], text: str = "") -> None:
        parts = [CallPart(tool, args, f"call_{at}") for at, (tool, args) in enumerate(calls)]
        self.server.calls(*parts, text=text)

    def fail(self, trouble: Trouble, *, retry_after_s: float = 0) -> None:
        refusal = self._refusals[trouble]
        words = f"words about {KEY}, 401 and a timeout"  # are not read
        named = {"message": words, "type": refusal.type, "code": refusal.code, **refusal.more}
        body = refusal.page or {"error": named}
        headers = {"Retry-After": f"{retry_after_s:g}"} if retry_after_s else {}
        self.server.fail(refusal.status, body, headers)

    def fail_inside(self) -> None:
        self.server.raw(
            b'data: {"choices": [{"index": 0, "delta": {"content": "So"}}]}\n\n',
            b'data: {"error": {"message": "wait", "type": "overloaded_error"}}\n\n',
        )

    def cut(self) -> None:
        self.server.cut(after_chunks=2)

    def end_without_reason(self) -> None:
        self.server.raw(b'data: {"choices": [{"index": 0, "delta": {"content": "Half"}}]}\n\n')

    def stall(self) -> None:
        self.server.stall(after_chunks=1)

    def send_garbage(self) -> None:
        self.server.raw(b'data: {"choices": [{"delta"\n\n')

    async def stalled(self) -> None:
        await self.server.stalled.wait()

    async def left(self) -> None:
        await self.server.closed_by_client.wait()

    def seen_images(self) -> list[Image]:
        contents: list[Any] = [m["content"] for m in self.server.requests[-1]["messages"]]
        parts = [part for content in contents if isinstance(content, list) for part in content]
        return [_image(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]


RESPONSES_ONLY = Fails(
    404,
    {
        "error": {
            "message": "This model is only supported in v1/responses and not in "
            "v1/chat/completions.",
            "type": "invalid_request_error",
            "param": "model",
            "code": None,
        }
    },
)
"""Source: github.com/n8n-io/n8n/issues/18352, 14 Aug 2025."""


class ResponsesWire(OpenAIWire):
    """OpenAI's Responses API, found out by a refusal of the other one."""

    def __init__(self, name: str, model: str) -> None:
        super().__init__(name, model, base="/v1", rules=STRICTEST)
        self.server = ModelServer(api_key=KEY, wires=("/responses", "/chat/completions"))
        self.server.refused["/chat/completions"] = RESPONSES_ONLY

    def fail(self, trouble: Trouble, *, retry_after_s: float = 0) -> None:
        super().fail(trouble, retry_after_s=retry_after_s)
        if trouble == "web page":  # it stands at every path
            del self.server.refused["/chat/completions"]

    def fail_inside(self) -> None:
        error = {"code": "server_error", "message": "wait"}
        failed = {"status": "failed", "error": error, "output": []}
        self.server.raw(
            self._said("So"),
            line({"type": "response.failed", "response": failed}),
        )

    def cut(self) -> None:
        self.server.cut(after_chunks=6)

    def end_without_reason(self) -> None:
        self.server.raw(self._said("Half"))

    def stall(self) -> None:
        self.server.stall(after_chunks=6)

    def send_garbage(self) -> None:
        self.server.raw(b'data: {"type": "response.created"\n\n')

    def seen_images(self) -> list[Image]:
        contents = [item.get("content") for item in self.server.requests[-1]["input"]]
        parts = [part for content in contents if isinstance(content, list) for part in content]
        return [_image(part["image_url"]) for part in parts if part["type"] == "input_image"]

    def _said(self, text: str) -> bytes:
        delta = {"type": "response.output_text.delta", "output_index": 0, "delta": text}
        return line(delta)


def _tokens(usage: Usage) -> tuple[int, int, int]:
    return usage.input_tokens, usage.cached_tokens, usage.output_tokens


def _image(url: str) -> Image:
    head, _, data = url.partition(";base64,")
    return Image(head.removeprefix("data:"), base64.b64decode(data))


def all_services() -> Sequence[Service]:
    """A new one of each."""
    from tests.providers.gemini_service import GeminiWire  # which is made of what is above

    return (
        GeminiWire(),
        OpenAIWire("openai", "gpt-4o-mini", base="/v1"),
        ResponsesWire("responses", "gpt-6-luna"),
        OpenAIWire(
            "groq",
            "llama-3.3-70b-versatile",
            base="",
            refusals={
                "too long": Refusal(413, "request_too_large", "invalid_request_error"),
                "no money": Refusal(402, "", "billing_error"),
                "overloaded": Refusal(498, "capacity_exceeded", "server_error"),
            },
        ),
        OpenAIWire(
            "deepseek",
            "deepseek-reasoner",
            base="",
            refusals={
                "wrong key": Refusal(401, "invalid_request_error", "authentication_error"),
                "no money": Refusal(402, "invalid_request_error", "unknown_error"),
                "overloaded": Refusal(503, "service_unavailable_error"),
            },
        ),
        OpenAIWire(
            "mine",
            "some-model",
            base="/api/v1",
            refusals={
                "too long": Refusal(400, "", "exceed_context_size_error"),
                "overloaded": Refusal(529, "", "overloaded_error"),
                "declined": Refusal(400, "content_filter"),
            },
            rules=replace(STRICTEST, address="/api/v1"),
        ),
    )
