"""Gemini over its own format, through the google-genai SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from aouo.errors import PromptTooLong, ProviderAuth, ProviderRejected
from aouo.providers.failures import UnexplainedRefusal
from aouo.providers.gemini_answers import GeminiReader
from aouo.providers.gemini_wire import gemini_body
from aouo.providers.http import Session
from aouo.providers.wire import encode
from aouo.transcript import ModelEvent, ModelRequest, estimate_tokens, message_tokens

if TYPE_CHECKING:
    from aouo.providers.endpoint import ChatEndpoint

FULL = 0.8
"""The share of the window from which a refused request counts as too long: estimates err."""


class GeminiModel:
    """A `ChatModel`; the SDK is imported, in a thread, by the first call or by `prepare`."""

    def __init__(
        self,
        *,
        model: str,
        api_key: str,
        base_url: str,
        context_window: int,
        sees: bool,
        session: Session,
        request_timeout_s: float = 90.0,
        stream_idle_timeout_s: float = 60.0,
        provider: str = "gemini",
    ) -> None:
        self._provider = provider
        self._model = model
        self._context_window = context_window
        self._sees = sees
        self._key = api_key.strip()
        self._base_url = _host(base_url)
        self._session = session
        self._request_timeout_s = request_timeout_s
        self._stream_idle_timeout_s = stream_idle_timeout_s
        self._endpoint: ChatEndpoint | None = None
        self._connecting = asyncio.Lock()

    @property
    def provider(self) -> str:
        return self._provider

    @property
    def model(self) -> str:
        return self._model

    @property
    def context_window(self) -> int:
        return self._context_window

    @property
    def brief(self) -> bool:
        return False

    @property
    def sees(self) -> bool:
        return self._sees

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        return ((self._provider, self._model),)

    def __repr__(self) -> str:
        return f"GeminiModel({self._model!r})"

    async def prepare(self) -> None:
        """Import the SDK and make its client, so that the first call need not wait for it."""
        await self._connected()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model.

        The service has no typed word for a prompt that is too long: an unexplained refusal of one
        that by our own count fills the window is taken for it.
        """
        endpoint = self._endpoint or await self._connected()
        body = encode(gemini_body(request, model=self._model))
        try:
            async with aclosing(endpoint.stream(body)) as events:
                async for event in events:
                    yield event
        except UnexplainedRefusal as refused:
            full = _request_tokens(request) > FULL * self._context_window
            raise (PromptTooLong if full else ProviderRejected)(str(refused)) from refused

    async def _connected(self) -> ChatEndpoint:
        """The way to the service, made once and in a thread: it takes most of a second."""
        if not self._key:  # the SDK would look for one in the environment
            raise ProviderAuth(f"{self._provider}: there is no key")
        async with self._connecting:
            if self._endpoint is None:
                self._endpoint = await asyncio.to_thread(self._connect)
        return self._endpoint

    def _connect(self) -> ChatEndpoint:
        from aouo.providers.endpoint import ChatEndpoint
        from aouo.providers.gemini_line import GeminiLine

        line = GeminiLine(
            model=self._model, base_url=self._base_url, api_key=self._key, session=self._session
        )
        return ChatEndpoint(
            provider=self._provider,
            line=line,
            api_key=self._key,
            request_timeout_s=self._request_timeout_s,
            stream_idle_timeout_s=self._stream_idle_timeout_s,
            reader=GeminiReader,
        )


def _host(base_url: str) -> str:
    """The address without what the SDK adds, and without the compatible service's part of it."""
    return base_url.rstrip("/").removesuffix("/openai").removesuffix("/v1beta")


def _request_tokens(request: ModelRequest) -> int:
    tools = "".join(f"{tool.description}{tool.parameters}" for tool in request.tools)
    fixed = estimate_tokens(request.system + request.context + tools)
    return fixed + sum(map(message_tokens, request.messages))
