"""The common part of models at a service: their facts, and the endpoint made at the first call."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from aouo.facts.errors import ProviderError
from aouo.facts.transcript import ModelEvent, ModelRequest
from aouo.providers.dialect import Dialect, Dialects, first_dialect
from aouo.providers.http import Session

if TYPE_CHECKING:
    from aouo.providers.endpoint import AnswerParser, ChatEndpoint, Line
import ipaddress
from urllib.parse import urlsplit

log = structlog.get_logger()
_NAMES = ("localhost", ".localhost", ".local", ".lan", ".internal", ".home.arpa")


@dataclass(eq=False, repr=False, kw_only=True)
class ServiceModel(ABC):
    """A `ChatModel` of a service, without what depends on the service's format.

    The first call or `prepare` imports its SDK, in a thread. Times are in seconds,
    `context_window` is in tokens.
    """

    provider: str
    model: str
    base_url: str
    api_key: str
    context_window: int
    session: Session
    request_timeout_s: float = 300.0
    stream_idle_timeout_s: float = 300.0
    brief: bool = False
    sees: bool = False
    dialects: Dialects = field(default_factory=Dialects)

    def __post_init__(self) -> None:
        self.base_url = self.base_url.rstrip("/")
        self.api_key = self.api_key.strip()
        self._first = first_dialect(self.model, self.base_url)
        self._endpoint: ChatEndpoint | None = None
        self._connecting = asyncio.Lock()

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        return ((self.provider, self.model),)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The owner's settings that the service does not take; requests omit them."""
        dialect = self._dialect
        taken = {"provider.temperature": dialect.temperature, "provider.effort": dialect.effort}
        return tuple(setting for setting, is_taken in taken.items() if not is_taken)

    @property
    def _dialect(self) -> Dialect:
        return self.dialects.of(self.base_url, self.model, self._first)

    def _learn(
        self, was: Dialect, now: Dialect, request: ModelRequest, refused: ProviderError | None
    ) -> None:
        """Keep what an answer or a refusal has shown, for all users of this model."""
        if now == was:
            return
        self.dialects.learn(self.base_url, self.model, was, now)
        if refused is None:
            return
        who = {"provider": self.provider, "model": self.model, "error": str(refused)}
        if was.effort and not now.effort and request.effort:
            log.warning("setting_refused", setting="provider.effort", value=request.effort, **who)
        if was.temperature and not now.temperature and request.temperature is not None:
            value = request.temperature
            log.warning("setting_refused", setting="provider.temperature", value=value, **who)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.provider!r}, {self.model!r})"

    async def prepare(self) -> None:
        """Import the SDK and make its client, so that the first call does not wait for it."""
        await self._connected()

    @abstractmethod
    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model; see `ChatModel.stream`."""

    @abstractmethod
    def _reader(self) -> Callable[..., AnswerParser]:
        """Return what makes the parser for an answer in the service's format."""

    @abstractmethod
    def _line(self) -> Line:
        """Return the line to the service; importing its SDK may take most of a second."""

    async def _connected(self) -> ChatEndpoint:
        """Return the endpoint, made once and in a thread."""
        if self._endpoint is None:
            async with self._connecting:
                if self._endpoint is None:
                    self._endpoint = await asyncio.to_thread(self._connect)
        return self._endpoint

    def _connect(self) -> ChatEndpoint:
        from aouo.providers.endpoint import ChatEndpoint

        return ChatEndpoint(
            provider=self.provider,
            line=self._line(),
            api_key=self.api_key,
            request_timeout_s=self.request_timeout_s,
            stream_idle_timeout_s=self.stream_idle_timeout_s,
            reader=self._reader(),
            model=self.model,
            nearby=is_nearby(self.base_url),
        )


def is_nearby(url: str) -> bool:
    """Sources: RFC 1918 (10, 172.16, 192.168), RFC 4193 (fd00), RFC 6762 (.local), RFC 6761
    (localhost), RFC 8375 (.home.arpa)."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_private
    except ValueError:
        return ("." not in host and bool(host)) or host.endswith(_NAMES)
