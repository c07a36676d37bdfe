"""Sends our bytes to a server by the openai SDK, with its client and headers.

The SDK's request transforms and stream objects cost 6 to 50 ms of CPU a call, depending on the
length of the history; bytes with `cast_to=httpx2.Response` cost 1.2 ms (bare aiohttp: 0.6). The
first call imports this module, since importing the SDK takes most of a second.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, cast

import httpx2
import openai

from aouo.providers.http import Session, shared_client

if TYPE_CHECKING:
    from aouo.providers.endpoint import Line

import_module("httpx")  # whole: the SDK would take one that a thread has half imported

_NO_KEY = "none"  # the SDK requires a key even where the header is left out


class _Client(openai.AsyncOpenAI):
    """The SDK's client without headers that describe this machine or come from the environment
    (OPENAI_ORG_ID, OPENAI_CUSTOM_HEADERS, …), which may be meant for another server."""

    @property
    def default_headers(self) -> dict[str, str | openai.Omit]:
        return {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": self.user_agent,
        }


def openai_line(*, base_url: str, api_key: str, session: Session) -> Line:
    """Return a line over the SDK; without a key it sends no Authorization header."""
    client = _Client(
        api_key=api_key or _NO_KEY,
        base_url=base_url,
        timeout=None,
        max_retries=0,  # `fallback` retries: it also knows cut streams and the next model
        http_client=shared_client(session),
    )
    options: openai.RequestOptions = {"security": {"bearer_auth": True}}
    if not api_key:
        options["headers"] = {"Authorization": openai.Omit()}
    return partial(_send, client, options)


async def _send(
    client: _Client, options: openai.RequestOptions, path: str, body: bytes | None
) -> httpx2.Response:
    try:
        return cast("httpx2.Response", await _begin(client, options, path, body))
    except openai.APIStatusError as refused:
        return refused.response
    except openai.APIConnectionError as error:
        broken = error.__cause__ or error
        raise broken from broken.__cause__  # what aiohttp said


async def _begin(
    client: _Client, options: openai.RequestOptions, path: str, body: bytes | None
) -> object:
    """Return the raw response once it begins, without the SDK's stream object around it."""
    stream_cls, raw = openai.AsyncStream[object], httpx2.Response
    if body is None:
        return await client.get(
            path, cast_to=raw, options=options, stream=True, stream_cls=stream_cls
        )
    return await client.post(
        path, cast_to=raw, content=body, options=options, stream=True, stream_cls=stream_cls
    )
