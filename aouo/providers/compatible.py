"""Any model behind an OpenAI-compatible server, over the runtime's one HTTP session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from aouo.providers.bodies import Bodies
from aouo.providers.failures import ParameterRefused
from aouo.providers.http import Session
from aouo.providers.wire import Dialect
from aouo.transcript import ModelEvent, ModelRequest

if TYPE_CHECKING:
    from aouo.providers.endpoint import ChatEndpoint


class CompatibleModel:
    """A `ChatModel` over a `ChatEndpoint`; remembers which optional fields its service refused.

    The SDK behind it is imported by the first call or by `prepare`.
    """

    def __init__(
        self,
        *,
        provider: str,
        model: str,
        base_url: str,
        api_key: str,
        context_window: int,
        session: Session,
        request_timeout_s: float = 90.0,
        stream_idle_timeout_s: float = 60.0,
        brief: bool = False,
        sees: bool = False,
    ) -> None:
        self._provider = provider
        self._model = model
        self._bodies = Bodies(model=model, provider=provider)
        self._context_window = context_window
        self._brief = brief
        self._sees = sees
        self._dialect = Dialect(thoughts=provider == "deepseek")
        self._base_url = base_url.rstrip("/")
        self._key = api_key.strip()
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
        return self._brief

    @property
    def sees(self) -> bool:
        return self._sees

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        return ((self._provider, self._model),)

    def __repr__(self) -> str:
        return f"CompatibleModel({self._provider!r}, {self._model!r})"

    async def prepare(self) -> None:
        """Import the SDK, in a thread, so that the first call need not wait for it."""
        await self._connected()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model; a service that refuses an optional field is asked again without it."""
        endpoint = self._endpoint or await self._connected()
        while True:
            dialect = self._dialect
            body = self._bodies.body(request, dialect)
            try:
                async with aclosing(endpoint.stream(body)) as events:
                    async for event in events:
                        yield event
                return
            except ParameterRefused as refused:
                self._dialect = _learn(dialect, refused)

    async def _connected(self) -> ChatEndpoint:
        """The way to the service, made once and in a thread: it takes most of a second."""
        async with self._connecting:
            if self._endpoint is None:
                self._endpoint = await asyncio.to_thread(self._connect)
        return self._endpoint

    def _connect(self) -> ChatEndpoint:
        from aouo.providers.endpoint import ChatEndpoint
        from aouo.providers.openai_line import OpenAILine

        line = OpenAILine(base_url=self._base_url, api_key=self._key, session=self._session)
        return ChatEndpoint(
            provider=self._provider,
            line=line,
            api_key=self._key,
            request_timeout_s=self._request_timeout_s,
            stream_idle_timeout_s=self._stream_idle_timeout_s,
        )


def _learn(dialect: Dialect, refused: ParameterRefused) -> Dialect:
    """The dialect to try next; raises `refused` when there is none."""
    without = dialect.without(refused.parameter)
    if without == dialect:
        raise refused
    return without
