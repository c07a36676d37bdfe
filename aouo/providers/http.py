"""Makes HTTP clients over the runtime's one aiohttp session: one pool, one TLS context.

`shared_client` (httpx2) is for chat and the SDKs of openai and google-genai, `httpx_client` for
groq's. Each library is imported by the first call that needs it. Only a request on a kept
connection that was closed is repeated, no redirect is followed (it would carry the prompt
elsewhere), no environment variable is read, and bodies are not decompressed.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import aiohttp

if TYPE_CHECKING:
    import httpx
    import httpx2

_MAX_ERROR_BYTES = 64 * 1024
"""The part of a refusal's body that is read."""

Session: TypeAlias = aiohttp.ClientSession | Callable[[], aiohttp.ClientSession]

_HEADERS = {"Accept-Encoding": "identity"}  # a compressed event stream arrives in lumps


def shared_client(
    session: Session, *, headers: Mapping[str, str] | None = None, again: bool = True
) -> httpx2.AsyncClient:
    """Return a client for SDKs on httpx2; closing it does not close the session.

    Not `again`: requests may have effects, so none is sent twice.
    """
    import httpx2

    transport: httpx2.AsyncBaseTransport = _transport(httpx2, session, again=again)
    headers = {**_HEADERS, **(headers or {})}
    return httpx2.AsyncClient(transport=transport, headers=headers, timeout=None, trust_env=False)


def httpx_client(session: Session) -> httpx.AsyncClient:
    """Return a client for SDKs on httpx; closing it does not close the session."""
    import httpx

    transport: httpx.AsyncBaseTransport = _transport(httpx, session, again=True)
    return httpx.AsyncClient(transport=transport, headers=_HEADERS, timeout=None, trust_env=False)


def _transport(library: Any, session: Session, *, again: bool) -> Any:
    """Return a transport for `library`, httpx2 or httpx: they differ in name only."""

    class Body(library.AsyncByteStream):
        def __init__(self, response: aiohttp.ClientResponse) -> None:
            self._response = response

        async def __aiter__(self) -> AsyncIterator[bytes]:
            content = self._response.content
            left = _MAX_ERROR_BYTES if self._response.status >= 400 else math.inf
            with _translated(library):
                while left > 0 and (data := await content.readany()):
                    left -= len(data)
                    yield data

        async def aclose(self) -> None:
            self._response.close()  # does nothing to a connection that was read to its end

    class Transport(library.AsyncBaseTransport):
        async def handle_async_request(self, request: Any) -> Any:
            body: bytes = await request.aread()
            with _translated(library):
                response = await (_send if again else _send_once)(session, request, body)
            return library.Response(
                response.status,
                headers=response.raw_headers,
                stream=Body(response),
                request=request,
                extensions={"reason_phrase": (response.reason or "").encode("ascii", "replace")},
            )

    return Transport()


async def _send(session: Session, request: Any, body: bytes) -> aiohttp.ClientResponse:
    """Send a request, and once more if a kept connection lost it, mostly since the server was just
    closing it. Asking a model has no effect but its price, so repeating it is safe."""
    try:
        return await _send_once(session, request, body)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
        return await _send_once(session, request, body)


async def _send_once(session: Session, request: Any, body: bytes) -> aiohttp.ClientResponse:
    limits: dict[str, float | None] = request.extensions.get("timeout", {})
    named: list[tuple[bytes, bytes]] = request.headers.raw
    return await (session() if callable(session) else session).request(
        request.method,
        str(request.url),
        data=body or None,
        headers=[(name.decode("ascii"), value.decode("latin-1")) for name, value in named],
        timeout=aiohttp.ClientTimeout(
            total=None,
            connect=limits.get("pool"),
            sock_connect=limits.get("connect"),
            sock_read=limits.get("read"),
        ),
        allow_redirects=False,
        auto_decompress=False,
    )


@contextmanager
def _translated(library: Any) -> Generator[None, None, None]:
    """Translate aiohttp's errors into the library's; the cause is kept, since it tells more."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise library.ConnectTimeout(str(error)) from error
    except TimeoutError as error:
        raise library.ReadTimeout(str(error)) from error
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
        raise library.UnsupportedProtocol(str(error)) from error
    except aiohttp.ClientConnectorError as error:
        raise library.ConnectError(str(error)) from error
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientResponseError) as error:
        raise library.RemoteProtocolError(str(error)) from error
    except (aiohttp.ClientError, OSError) as error:
        raise library.ReadError(str(error)) from error
    except RuntimeError as error:  # the session is closed
        raise library.ConnectError(str(error)) from error
