"""Any model behind an OpenAI-compatible server, over the runtime's one HTTP session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, contextmanager
from typing import Any, cast

import aiohttp

from aouo import failpoint
from aouo.errors import ProviderAuth, ProviderBusy, ProviderError, ProviderRejected, ProviderTimeout
from aouo.providers.answers import AnswerReader
from aouo.providers.failures import error_object, failure, parse_body, rejected_parameter
from aouo.providers.wire import PLAIN, Dialect, chat_body, encode
from aouo.transcript import ModelEvent, ModelRequest, TextDelta

MAX_ERROR_BYTES = 64 * 1024
MAX_JSON_BYTES = 4 * 1024 * 1024
TAIL_WAIT_S = 0.1  # for the end of a stream that already said it is done

_NO_LIMITS = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


class ParameterRefused(ProviderRejected):
    """The service names one optional field of ours that it does not take."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class ChatEndpoint:
    """One server, at `<base_url>/chat/completions`; the only place that sees aiohttp's exceptions.

    `request_timeout_s` bounds the wait for the beginning of an answer, `stream_idle_timeout_s`
    each silence after it. The key is in no message: `mask` takes it out of what others say.
    """

    def __init__(
        self,
        *,
        provider: str,
        base_url: str,
        api_key: str,
        session: aiohttp.ClientSession | Callable[[], aiohttp.ClientSession],
        request_timeout_s: float,
        stream_idle_timeout_s: float,
        keep_alive: bool = True,
    ) -> None:
        self._provider = provider
        self._base_url = base_url.rstrip("/")
        self._key = api_key.strip()
        self._headers = {"Content-Type": "application/json"}
        if self._key:
            self._headers["Authorization"] = f"Bearer {self._key}"
        if not keep_alive:
            self._headers["Connection"] = "close"
        self._session = session
        self._request_timeout_s = request_timeout_s
        self._stream_idle_timeout_s = stream_idle_timeout_s

    def mask(self, text: str) -> str:
        return text.replace(self._key, "…") if self._key else text

    async def stream(self, body: bytes) -> AsyncGenerator[ModelEvent, None]:
        """Send `body` and yield what comes back; the socket is closed unless it was read out."""
        response = await self._open("/chat/completions", body)
        try:
            if response.status != 200:
                raise await self._refusal(response)
            reader = AnswerReader(self._provider, mask=self.mask)
            streamed = 0
            while not reader.done:
                data = await self._read(response)
                if not data:
                    break
                text = reader.feed(data)
                if text:
                    streamed += len(text)
                    yield TextDelta(text)
            finished = reader.finish()
            await self._read_out(response)
        finally:
            response.close()  # does nothing to a connection that was read to its end
        if len(finished.said.text) > streamed:
            yield TextDelta(finished.said.text[streamed:])
        yield finished

    async def ask(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        """The JSON object at another path of the same server: a POST with a body, else a GET."""
        response = await self._open(path, body)
        try:
            if response.status != 200:
                raise await self._refusal(response)
            answer = parse_body(await self._whole(response, MAX_JSON_BYTES))
        finally:
            response.close()
        if not isinstance(answer, dict):
            raise ProviderBusy(f"{self._provider}: {path} answered no JSON object")
        return cast("dict[str, Any]", answer)

    async def _open(self, path: str, body: bytes | None) -> aiohttp.ClientResponse:
        if not (self._key.isascii() and self._key.isprintable()):
            raise ProviderAuth(f"{self._provider}: the key has characters no key has")
        with self._translated():
            async with asyncio.timeout(self._request_timeout_s):
                try:
                    return await self._send(path, body)
                except aiohttp.ClientConnectorError:
                    raise
                except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                    # Most often a kept connection that the server was just closing. Asking a
                    # model has no effect but its price, so it is safe to ask again.
                    return await self._send(path, body)

    async def _send(self, path: str, body: bytes | None) -> aiohttp.ClientResponse:
        session = self._session() if callable(self._session) else self._session
        failpoint.reached("before asking the model")
        try:
            return await session.request(
                "GET" if body is None else "POST",
                self._base_url + path,
                data=body,
                headers=self._headers,
                timeout=_NO_LIMITS,
                allow_redirects=False,  # a redirect would carry the prompt elsewhere
            )
        finally:
            failpoint.reached("after asking the model")

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The next bytes of the answer, b"" at its end."""
        with self._translated():
            async with asyncio.timeout(self._stream_idle_timeout_s):
                return await response.content.readany()

    async def _whole(self, response: aiohttp.ClientResponse, limit_bytes: int) -> bytes:
        body = bytearray()
        while len(body) < limit_bytes and (part := await self._read(response)):
            body += part
        return bytes(body)

    async def _read_out(self, response: aiohttp.ClientResponse) -> None:
        """Read the few bytes behind `[DONE]`, so that the connection can serve again."""
        try:
            async with asyncio.timeout(TAIL_WAIT_S):
                while await response.content.readany():
                    pass
        except (TimeoutError, aiohttp.ClientError):
            return  # it is closed instead

    async def _refusal(self, response: aiohttp.ClientResponse) -> ProviderError:
        error = error_object(parse_body(await self._whole(response, MAX_ERROR_BYTES)))
        refused = failure(
            self._provider, response.status, error, headers=response.headers, mask=self.mask
        )
        parameter = rejected_parameter(error)
        if parameter and type(refused) is ProviderRejected:
            return ParameterRefused(str(refused), parameter)
        return refused

    @contextmanager
    def _translated(self) -> Generator[None, None, None]:
        who = self._provider
        try:
            yield
        except TimeoutError as error:
            raise ProviderTimeout(f"{who}: no answer in time") from error
        except aiohttp.ClientPayloadError as error:
            raise ProviderTimeout(f"{who}: the connection broke in the middle") from error
        except (aiohttp.InvalidURL, aiohttp.ClientSSLError) as error:
            raise ProviderRejected(
                f"{who}: {type(error).__name__}: {self.mask(str(error))}"
            ) from error
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            # RuntimeError is what a closed session raises.
            raise ProviderBusy(f"{who}: {type(error).__name__}: {self.mask(str(error))}") from error


class CompatibleModel:
    """A `ChatModel` over a `ChatEndpoint`; remembers which optional fields its service refused."""

    def __init__(
        self,
        *,
        provider: str,
        model: str,
        base_url: str,
        api_key: str,
        context_window: int,
        session: aiohttp.ClientSession | Callable[[], aiohttp.ClientSession],
        request_timeout_s: float = 90.0,
        stream_idle_timeout_s: float = 60.0,
        brief: bool = False,
        sees: bool = False,
    ) -> None:
        self._provider = provider
        self._model = model
        self._context_window = context_window
        self._brief = brief
        self._sees = sees
        self._dialect = PLAIN
        self._endpoint = ChatEndpoint(
            provider=provider,
            base_url=base_url,
            api_key=api_key,
            session=session,
            request_timeout_s=request_timeout_s,
            stream_idle_timeout_s=stream_idle_timeout_s,
        )

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

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model; a service that refuses an optional field is asked again without it."""
        while True:
            dialect = self._dialect
            body = encode(chat_body(request, model=self._model, dialect=dialect))
            try:
                async with aclosing(self._endpoint.stream(body)) as events:
                    async for event in events:
                        yield event
                return
            except ParameterRefused as refused:
                self._dialect = _learn(dialect, refused)


def _learn(dialect: Dialect, refused: ParameterRefused) -> Dialect:
    """The dialect to try next; raises `refused` when there is none."""
    without = dialect.without(refused.parameter)
    if without == dialect:
        raise refused
    return without
