"""Sends requests to one model server, and parses the bytes of its answers as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import httpx2

from aouo.facts import errors
from aouo.facts.transcript import Finished, ModelEvent, TextDelta
from aouo.plumbing import failpoint
from aouo.providers.failures import parse_body, refused
from aouo.providers.formats.chat_answers import ChatParser
from aouo.providers.http import Session, shared_client
from aouo.providers.roads import broken

_MAX_JSON_BYTES = 4 * 1024 * 1024
_JSON = {"Content-Type": "application/json"}
_TAIL_WAIT_S = 0.1  # for the end of a stream that already said it is done


Line: TypeAlias = Callable[[str, bytes | None], Awaitable[httpx2.Response]]
"""Sends a body to a path of one server, or gets it without one; returns the response once it has
begun, of any status. Raises httpx2.TransportError: no response began."""


class AnswerParser(Protocol):
    """Parses one answer in a service's format; see `chat.answers.ChatParser`."""

    @property
    def done(self) -> bool: ...
    def feed(self, data: bytes) -> str: ...
    def finish(self) -> Finished: ...


def line_to(
    *, base_url: str, api_key: str, session: Session, added: Mapping[str, str] | None = None
) -> Line:
    """Return a line to a server in OpenAI's formats; without a key it sends no Authorization.

    No SDK: openai's would bring 500 modules and 19 MiB, and of it only the request's address and
    headers would be used.
    """
    client = shared_client(session)
    headers = {"Accept": "application/json", "User-Agent": "aouo"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    headers |= added or {}

    async def send(path: str, body: bytes | None) -> httpx2.Response:
        method, sent = ("GET", headers) if body is None else ("POST", {**headers, **_JSON})
        root = httpx2.URL(base_url)
        url = root.copy_with(path=root.path.rstrip("/") + path)  # a query stays at its end
        request = client.build_request(method, url, content=body, headers=sent)
        return await client.send(request, stream=True)

    return send


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class ChatEndpoint:
    """Streams answers over a line, and translates the transport's errors into ours.

    `request_timeout_s` bounds the wait for the beginning of an answer, `stream_idle_timeout_s`
    each silence after it; a comment in the stream ends a silence. `model` is the model's name,
    `nearby` says that the server is on this machine or in its network. `mask` takes the key out of
    every error text.
    """

    provider: str
    line: Line
    api_key: str
    request_timeout_s: float
    stream_idle_timeout_s: float
    reader: Callable[..., AnswerParser] = ChatParser
    model: str = ""
    nearby: bool = False

    def mask(self, text: str) -> str:
        return text.replace(self.api_key, "…") if self.api_key else text

    async def stream(
        self,
        body: bytes,
        path: str = "/chat/completions",
        reader_of: Callable[..., AnswerParser] | None = None,
    ) -> AsyncGenerator[ModelEvent, None]:
        """Send `body` and yield the answer; the connection stays open only if it was read out."""
        response = await self._open(path, body)
        try:
            pieces = response.aiter_bytes()
            reader = (reader_of or self.reader)(self.provider, mask=self.mask)
            streamed = 0
            while not reader.done:
                data = await self._next(pieces)
                if not data:
                    break
                text = reader.feed(data)
                if text:
                    streamed += len(text)
                    yield TextDelta(text)
            finished = reader.finish()
            await _read_out(pieces)
        except errors.ProviderError as error:
            error.may_have_cost = True
            raise
        finally:
            await response.aclose()  # does nothing to a connection that was read to its end
        if len(finished.said.text) > streamed:
            yield TextDelta(finished.said.text[streamed:])
        yield finished

    async def ask(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        """Return the JSON object at another path of the server: a POST with a body, else a GET."""
        response = await self._open(path, body)
        try:
            answer = parse_body(await self._whole(response))
        finally:
            await response.aclose()
        if not isinstance(answer, dict):
            raise errors.ProviderBusy(f"{self.provider}: {path} answered no JSON object")
        return cast("dict[str, Any]", answer)

    async def _open(self, path: str, body: bytes | None) -> httpx2.Response:
        """Return a response that began with status 200; raise our error for any other."""
        if not (self.api_key.isascii() and self.api_key.isprintable()):
            raise errors.ProviderAuth(f"{self.provider}: the key has characters no key has")
        with self._translated(silent=True):
            async with asyncio.timeout(self.request_timeout_s):
                response = await self._send(path, body)
                if response.status_code == 200:
                    return response
                try:
                    told = await response.aread()
                finally:
                    await response.aclose()
        raise refused(
            self.provider,
            response.status_code,
            told,
            headers=response.headers,
            mask=self.mask,
            model=self.model,
        )

    async def _send(self, path: str, body: bytes | None) -> httpx2.Response:
        failpoint.reached("before asking the model")
        try:
            return await self.line(path, body)
        finally:
            failpoint.reached("after asking the model")

    async def _next(self, pieces: AsyncGenerator[bytes]) -> bytes:
        """Return the next bytes of the answer, b"" at its end."""
        with self._translated():
            async with asyncio.timeout(self.stream_idle_timeout_s):
                return await anext(pieces, b"")

    async def _whole(self, response: httpx2.Response) -> bytes:
        whole = bytearray()
        pieces = response.aiter_bytes()
        while len(whole) < _MAX_JSON_BYTES and (part := await self._next(pieces)):
            whole += part
        return bytes(whole)

    @contextmanager
    def _translated(self, *, silent: bool = False) -> Generator[None, None, None]:
        """Translate a transport's errors into ours; `silent`: no byte of an answer came yet."""
        try:
            yield
        except TimeoutError as error:
            said = f"{self.provider}: no answer in time"
            if silent and self.nearby:
                raise errors.StillComputing(said) from error
            raise errors.ProviderTimeout(said, silent=silent) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise broken(self.provider, error, mask=self.mask) from error


async def _read_out(pieces: AsyncGenerator[bytes]) -> None:
    """Read the few bytes after `[DONE]`, so that the connection can serve again."""
    try:
        async with asyncio.timeout(_TAIL_WAIT_S):
            async for _ in pieces:
                pass
    except (TimeoutError, httpx2.HTTPError):
        return  # it is closed instead
