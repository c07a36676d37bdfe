"""Gemini as a column of the matrix."""

from __future__ import annotations

import base64
from types import TracebackType
from typing import Any, Self

from aouo.facts.transcript import FinishReason, Image, Usage
from tests.fakes.gemini_server import GeminiServer, error, over_quota, reason, retry_in
from tests.fakes.model_server import CallPart, Says
from tests.providers.services import KEY, PLAIN_USAGE, Service, Trouble

_REASONS: dict[FinishReason, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "tool_calls": "STOP",
    "unknown": "NEW_REASON",
}
_REFUSALS: dict[Trouble, dict[str, Any]] = {
    "wrong key": error(400, "INVALID_ARGUMENT", reason("API_KEY_INVALID")),
    "no money": error(403, "PERMISSION_DENIED", reason("BILLING_DISABLED")),
    "too long": error(400, "INVALID_ARGUMENT"),
    "busy": error(429, "RESOURCE_EXHAUSTED"),
    "broken": error(500, "INTERNAL"),
    "overloaded": error(503, "UNAVAILABLE"),
    "no such model": error(404, "NOT_FOUND"),
    "wrong country": error(400, "FAILED_PRECONDITION"),
    "day used up": error(429, "RESOURCE_EXHAUSTED", over_quota("PerDay"), retry_in(20)),
}
_HALF = b'data: {"candidates": [{"content": {"parts": [{"text": "Half"}]}, "index": 0}]}\r\n\r\n'


class GeminiWire(Service):
    """Google's own format."""

    name = "gemini"
    has_a_word_for_length = False
    lacks = frozenset({"moderated", "plan too small"})

    def __init__(self) -> None:
        self.server = GeminiServer(api_key=KEY)

    def settings(self) -> dict[str, Any]:
        return {
            "gemini": {"base_url": self.server.base_url, "api_key": KEY},
        }

    @property
    def model_name(self) -> str:
        return "gemini-3-flash"

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
                signature="c2ln",
            )
        )

    def call(self, *calls: tuple[str, dict[str, Any]], text: str = "") -> None:
        parts = tuple(CallPart(tool, args) for tool, args in calls)
        self.server.reply(Says(text, parts, signature="c2ln"))

    def fail(self, trouble: Trouble, *, retry_after_s: float = 0) -> None:
        if trouble == "declined":
            self.server.raw(b'data: {"promptFeedback": {"blockReason": "SAFETY"}}\r\n\r\n')
            return
        if trouble == "stumbled":
            self.server.reply(Says("I will add", reason="MALFORMED_FUNCTION_CALL"))
            return
        if trouble == "web page":
            self.server.fail(404, "<html><title>Error 404 (Not Found)!!1</title></html>")
            return
        told = _REFUSALS[trouble]["error"]
        words = f"words about {KEY}, 401 and a timeout"  # are not read
        details = told.get("details", []) + ([retry_in(retry_after_s)] if retry_after_s else [])
        body = {"error": told | {"message": words, "details": details}}
        self.server.fail(told["code"], body)

    def fail_inside(self) -> None:
        self.server.raw(
            _HALF, b'data: {"error": {"code": 503, "message": "", "status": "UNAVAILABLE"}}\r\n\r\n'
        )

    def cut(self) -> None:
        self.server.cut(after_chunks=2)

    def end_without_reason(self) -> None:
        self.server.raw(_HALF)

    def stall(self) -> None:
        self.server.stall(after_chunks=1)

    def send_garbage(self) -> None:
        self.server.raw(b'data: {"candidates": [{"content"\r\n\r\n')

    async def stalled(self) -> None:
        await self.server.stalled.wait()

    async def left(self) -> None:
        await self.server.closed_by_client.wait()

    def seen_images(self) -> list[Image]:
        parts: list[Any] = [p for c in self.server.requests[-1]["contents"] for p in c["parts"]]
        inline = [part["inlineData"] for part in parts if "inlineData" in part]
        return [Image(image["mimeType"], base64.b64decode(image["data"])) for image in inline]


def _tokens(usage: Usage) -> tuple[int, int, int]:
    return usage.input_tokens, usage.cached_tokens, usage.output_tokens
