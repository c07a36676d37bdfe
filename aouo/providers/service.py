"""Models at a service: what they share, and those of any OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import ipaddress
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aouo.facts.errors import (
    ModelGone,
    ProviderError,
    ProviderRejected,
    ScopeMissing,
    ToolsRefused,
    UnexplainedRefusal,
)
from aouo.facts.transcript import AssistantSaid, ModelEvent, ModelRequest, PaidForNothing
from aouo.plumbing.logs import log
from aouo.providers.aloud import Aloud
from aouo.providers.dialect import (
    Dialect,
    Dialects,
    Refusal,
    alternatives,
    first_dialect,
    is_about_us,
)
from aouo.providers.effort import fitting
from aouo.providers.failures import ParameterRefused
from aouo.providers.formats.chat_answers import ChatParser
from aouo.providers.formats.chat_requests import Bodies, wants_marks
from aouo.providers.formats.responses_answers import ResponsesParser
from aouo.providers.formats.responses_requests import ResponsesBodies
from aouo.providers.http import Session
from aouo.providers.refusals import refuses_pictures, refuses_this_picture
from aouo.providers.room import counted_together
from aouo.providers.thoughts import Forgotten, is_at, signed_in, wants_thoughts

if TYPE_CHECKING:
    from aouo.providers.endpoint import AnswerParser, ChatEndpoint, Line

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
    sees: bool = False
    dialects: Dialects = field(default_factory=Dialects)
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the owner adds to each request."""

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
    def aloud(self) -> frozenset[str]:
        """What the server passed on as text, though it is none; nothing on other wires."""
        return frozenset()

    @property
    def left_out(self) -> tuple[str, ...]:
        """The owner's settings that the service does not take; requests omit them."""
        dialect = self._dialect
        taken = {
            "provider.temperature": dialect.temperature,
            "provider.effort": bool(dialect.efforts),
        }
        return tuple(setting for setting, is_taken in taken.items() if not is_taken)

    def effort_for(self, wish: str) -> str:
        """Return what requests say of how much to think, where the owner wishes for this."""
        return fitting(wish, self._dialect.efforts)

    @property
    def _forgotten(self) -> Forgotten:
        return self.dialects.forgotten(self.base_url, self.model)

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
        if was.efforts != now.efforts and request.effort:
            sent = now.effort_of(request)
            log.warning(
                "setting_refused", setting="provider.effort", value=request.effort, sent=sent, **who
            )
        if was.temperature and not now.temperature and request.temperature is not None:
            value = request.temperature
            log.warning("setting_refused", setting="provider.temperature", value=value, **who)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.provider!r}, {self.model!r})"

    async def prepare(self) -> None:
        """Import the client and make it, so that the first call does not wait for it."""
        await self._connected()

    @abstractmethod
    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model; see `ChatModel.stream`."""

    @abstractmethod
    def _reader(self) -> Callable[..., AnswerParser]:
        """Return what makes the parser for an answer in the service's format."""

    @abstractmethod
    def _line(self) -> Line:
        """Return the line to the service; importing what it needs may take most of a second."""

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
            nearby=_is_nearby(self.base_url),
        )


def _is_nearby(url: str) -> bool:
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


_TRIES_MAX = 6
"""The most attempts of one request after refusals; two refusals are usual."""


class CompatibleModel(ServiceModel):
    """A `ChatModel` over a `ChatEndpoint`, on the wire and in the dialect that its service takes.

    It learns both from the service's refusals (`dialect`), once.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._bodies = Bodies(model=self.model, provider=self.provider, added=self.body)
        self._responses = ResponsesBodies(model=self.model, provider=self.provider, added=self.body)
        self._aloud = Aloud(f"{self.provider} {self.model}")
        self._first = replace(
            self._first,
            thoughts=wants_thoughts(self.provider, self.model),
            signed=signed_in(self.provider, self.base_url, self.model),
            cache_marks=wants_marks(self.provider, self.base_url, self.model),
            cache_key=is_at("mistral", self.provider, self.base_url),
        )

    @property
    def aloud(self) -> frozenset[str]:
        """What the server passed on as text, though it is none: `reasoning`, `tool calls`."""
        return frozenset(self._aloud.heard)

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model; tool calls that it prints as text become calls."""
        return self._aloud.read(self._stream(request), request)

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model, and after a refusal again in the next likely dialect.

        A change that a refusal names is learnt at once, a guess when an answer comes. If no guess
        helps, the first refusal is raised, unless the last one says more.
        """
        endpoint = await self._connected()
        known = self._dialect
        if request.tools and not known.tools:
            raise ToolsRefused(f"{self.provider}: {self.model} takes no tools at this address")
        tries, guessed = [known], None
        dropped: list[AssistantSaid] = []
        for left in range(_TRIES_MAX, 0, -1):
            dialect, *tries = tries
            answered = False
            try:
                sent = self._forgotten.without(request)
                async with aclosing(self._asked(endpoint, sent, dialect)) as events:
                    async for event in events:
                        if not answered:
                            answered = True
                            self._learn(known, dialect.answering(request), request, guessed)
                        yield event
                return
            except (ProviderRejected, ModelGone, ScopeMissing) as refused:
                if answered:
                    raise
                if not dropped and (dropped := self._forget(dialect, refused, request)):
                    tries = [dialect, *tries]
                    guessed = guessed or refused
                    if refused.may_have_cost:
                        yield PaidForNothing()
                    continue
                others = self._others(dialect, refused, request, guessed)
                if _is_named(refused, dialect, others) and not guessed:
                    self._learn(known, others[0], request, refused)
                    known = others[0]
                else:
                    guessed = guessed or refused
                tries = [*others, *(one for one in tries if one not in others)]
                if not tries or left == 1:
                    self._forgotten.recall(dropped)
                    if _needs_no_tools(refused, dialect, request):
                        self._learn(known, replace(known, tools=False), request, refused)
                        raise ToolsRefused(str(guessed or refused)) from refused
                    if guessed is None or _says_more(refused, guessed):
                        raise
                    guessed.may_have_cost = refused.may_have_cost  # the others were reported above
                    raise guessed from refused
                if refused.may_have_cost:
                    yield PaidForNothing()

    def _others(
        self,
        dialect: Dialect,
        refused: Refusal,
        request: ModelRequest,
        guessed: ProviderError | None,
    ) -> tuple[Dialect, ...]:
        """Return the dialects to try next. One that was learnt and is refused later is forgotten:
        the service has changed."""
        if request.has_pictures and (refuses_pictures(refused) or refuses_this_picture(refused)):
            return ()  # `KnownModel` handles that
        if any(counted_together(refused, request.max_tokens)):
            return ()  # its numbers show that it is about the size
        if isinstance(guessed, UnexplainedRefusal) and isinstance(refused, UnexplainedRefusal):
            return ()  # the tries already cover all possible causes
        found = alternatives(dialect, refused, request)
        changed = dialect.proven and replace(dialect, proven=False) != self._first
        return (self._first,) if not found and changed and is_about_us(refused) else found

    def _forget(
        self, dialect: Dialect, refused: Refusal, request: ModelRequest
    ) -> list[AssistantSaid]:
        """Forget what another key or version may have made, after a refusal that may be about it:
        one without a field's name or, of Responses, one that names its input."""
        of_input = isinstance(refused, ParameterRefused) and refused.parameter.startswith("input")
        if not isinstance(refused, UnexplainedRefusal) and not (
            of_input and dialect.wire == "responses"
        ):
            return []
        if any(counted_together(refused, request.max_tokens)):
            return []
        return self._forgotten.forget(request, self.provider, self.model)

    def _asked(
        self, endpoint: ChatEndpoint, request: ModelRequest, dialect: Dialect
    ) -> AsyncGenerator[ModelEvent, None]:
        if dialect.wire == "chat":
            return endpoint.stream(self._bodies.body(request, dialect))
        reader = partial(ResponsesParser, model=self.model)
        return endpoint.stream(self._responses.body(request, dialect), "/responses", reader)

    def _reader(self) -> Callable[..., AnswerParser]:
        return partial(ChatParser, model=self.model)

    def _line(self) -> Line:
        from aouo.providers.endpoint import line_to

        return line_to(
            base_url=self.base_url, api_key=self.api_key, session=self.session, added=self.headers
        )


def _needs_no_tools(refused: ProviderError, dialect: Dialect, request: ModelRequest) -> bool:
    """Whether tools were refused with thoughts and without, and the other wire is not there
    (dev.to/aihubmix/migrating-to-gpt-61-sol, Oct 2026)."""
    about_thoughts = isinstance(refused, ParameterRefused) and refused.parameter.startswith(
        "reason"
    )
    return bool(request.tools) and about_thoughts and not dialect.tools_think


def _says_more(refused: Refusal, guessed: ProviderError) -> bool:
    """Whether to raise the last refusal, and not the first one, which the guesses began with."""
    named = isinstance(guessed, ParameterRefused)
    return type(refused) is ProviderRejected or (named and isinstance(refused, ModelGone))


def _is_named(refused: Refusal, dialect: Dialect, others: tuple[Dialect, ...]) -> bool:
    """Whether the refusal names one field that can be changed on the same wire."""
    return isinstance(refused, ParameterRefused) and [other.wire for other in others] == [
        dialect.wire
    ]
