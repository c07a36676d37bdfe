"""Sends our bytes to Gemini by the google-genai SDK, with its address, headers and errors.

The SDK's request models and chunk objects cost 7 to 31 ms of CPU a call, depending on the length
of the history. It offers no raw stream, so we make its call with a placeholder, and the HTTP client
that we give it sends our bytes instead and keeps the answer. The first call imports this module,
since importing the SDK takes most of a second.
"""

from __future__ import annotations

import ssl
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
from google.genai import Client, errors, types

from aouo.facts.errors import ProviderRejected
from aouo.providers.http import Session, shared_client

if TYPE_CHECKING:
    from aouo.providers.endpoint import Line

_VERSION = "v1beta"
"""The version of the API that has all that `gemini.wire` writes."""


@dataclass(slots=True)
class _Exchange:
    """Our bytes, and the response to them."""

    body: bytes | None
    response: httpx2.Response | None = None


_exchange: ContextVar[_Exchange] = ContextVar("_exchange")


class _Bytes(httpx2.AsyncClient):
    """Sends the exchange's body instead of the SDK's, and gives the SDK an empty answer."""

    def __init__(self, session: Session) -> None:
        super().__init__(transport=httpx2.AsyncBaseTransport(), trust_env=False)
        self._ours = shared_client(session)

    async def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:
        exchange = _exchange.get()
        del request.headers["content-length"]  # of the SDK's body
        ours = self._ours.build_request(
            request.method, request.url, headers=request.headers, content=exchange.body
        )
        answer = exchange.response = await self._ours.send(ours, stream=True)
        return answer if answer.status_code != 200 else httpx2.Response(200, request=request)


def gemini_line(*, model: str, base_url: str, api_key: str, session: Session) -> Line:
    """Return a line to one model; `base_url` stands without the version."""
    client = Client(
        api_key=api_key,
        vertexai=False,
        http_options=types.HttpOptions(
            base_url=base_url,
            api_version=_VERSION,
            httpx_async_client=_Bytes(session),
            # Both are never used; without them it would load certificates for each.
            httpx_client=httpx2.Client(transport=httpx2.BaseTransport(), trust_env=False),
            async_client_args={"ssl": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)},
        ),
    )
    config = types.GenerateContentConfig(
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        automatic_continuation=False,
    )
    return partial(_send, client, model, config)


async def _send(
    client: Client, model: str, config: types.GenerateContentConfig, path: str, body: bytes | None
) -> httpx2.Response:
    """Return the response once it has begun; the SDK decides the path."""
    del path
    exchange = _Exchange(body)
    _exchange.set(exchange)
    models: Any = client.aio.models  # its types are incomplete
    try:
        async for _ in await models.generate_content_stream(
            model=model, contents="-", config=config
        ):
            pass
    except (errors.APIError, ValueError) as error:
        # A refusal, readable or not; or a model name or a key that cannot be sent at all.
        if exchange.response is None:
            raise ProviderRejected(f"gemini: {error}") from error
    assert exchange.response is not None
    return exchange.response
