"""Asks a server about its models; this costs no money and never fails a turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urlsplit

import aiohttp

from aouo.providers.known.told import (
    Told,
    entry_of,
    joined,
    names,
    owners_of,
    told_by_list,
    told_by_llama_cpp,
    told_by_ollama,
)
from aouo.web.certificates import cure_of

if TYPE_CHECKING:
    from aouo.config.sections import Endpoint

Server: TypeAlias = Literal["", "ollama", "llama.cpp", "lm studio"]

_Ask: TypeAlias = Callable[..., Awaitable[tuple[int, object]]]
"""Gets a URL, or posts a second argument to it, and returns status and JSON."""

WITHIN_S = 5.0
MAX_BYTES = 32 * 1024 * 1024
"""The largest list; one of 5,000 models with long descriptions takes a third of it."""

_SMALL_BYTES = 100_000
"""A larger list is parsed in a thread."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """The result of asking a server.

    `status` is the HTTP status of its list (0 = no answer, see `why`), `names` are on the list,
    `told` is what it says of the model (None = it is not listed), `server` the local server whose
    own API was asked too, "" = none.
    """

    status: int
    why: str = ""
    names: tuple[str, ...] = ()
    told: Told | None = None
    server: Server = ""


async def inquire(
    session: aiohttp.ClientSession, backend: str, endpoint: Endpoint, model: str
) -> Inquiry:
    """Ask within `WITHIN_S` seconds; no network error is raised.

    `why` may quote an address, never a key.
    """
    gemini = backend == "gemini"
    base = endpoint.base_url.removesuffix("/openai") if gemini else endpoint.base_url
    listing = "/models?pageSize=1000" if gemini else "/models"
    ask = partial(_answer, session, _headers(endpoint.api_key, base, gemini=gemini))
    try:
        async with asyncio.timeout(WITHIN_S):
            return await _asked(ask, base, listing, model)
    except TimeoutError:
        return Inquiry(0, f"no answer within {WITHIN_S:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Inquiry(0, cure_of(error) or f"{type(error).__name__}: {error}".rstrip(": "))


async def _asked(ask: _Ask, base: str, listing: str, model: str) -> Inquiry:
    status, body = await ask(base + listing)
    listed = names(body)
    entry = entry_of(body, model)
    told = None if entry is None else told_by_list(entry)
    kind = _kind(base, body)
    own = await _own_word(ask, base, kind, model) if kind else None
    if own is not None and (told or kind == "llama.cpp"):  # which takes any name for its model
        told = joined(told or Told(), own)
    return Inquiry(status, "", listed, told, server=kind)


def _kind(base: str, body: object) -> Server:
    """Return which local server this is, by its list or its port; "" = none of them."""
    owners = owners_of(body)
    port = urlsplit(base).port
    if "llamacpp" in owners:
        return "llama.cpp"
    if "organization_owner" in owners or port == 1234:
        return "lm studio"
    return "ollama" if "library" in owners or port == 11434 else ""


async def _own_word(ask: _Ask, base: str, kind: Server, model: str) -> Told | None:
    """Return what a local server says in its own API, beside the compatible one."""
    root = base.removesuffix("/v1")
    match kind:
        case "ollama":
            _, show = await ask(f"{root}/api/show", {"model": model})
            _, running = await ask(f"{root}/api/ps")
            return told_by_ollama(show, running, model)
        case "llama.cpp":
            return told_by_llama_cpp((await ask(f"{root}/props"))[1])
        case _:
            for version in ("v1", "v0"):
                _, body = await ask(f"{root}/api/{version}/models")
                if (entry := entry_of(body, model)) is not None:
                    return told_by_list(entry)
            return None


async def _answer(
    session: aiohttp.ClientSession, headers: dict[str, str], url: str, body: object = None
) -> tuple[int, object]:
    """Post a body to a URL, or get it; return the status and the JSON of the answer."""
    async with session.request(
        "GET" if body is None else "POST", url, headers=headers, json=body, allow_redirects=False
    ) as response:
        return response.status, await _json(response)


def _headers(key: str, base: str, *, gemini: bool) -> dict[str, str]:
    if not key:
        return {}
    if gemini:
        return {"x-goog-api-key": key}
    found = {"Authorization": f"Bearer {key}"}
    if (urlsplit(base).hostname or "").endswith("anthropic.com"):
        found |= {"x-api-key": key, "anthropic-version": "2023-06-01"}
    return found


async def _json(response: aiohttp.ClientResponse) -> object:
    """Return the JSON of an answer, None = it is no JSON, or too large."""
    whole = bytearray()
    async for piece in response.content.iter_any():
        whole += piece
        if len(whole) > MAX_BYTES:
            return None
    try:
        if len(whole) < _SMALL_BYTES:
            return json.loads(whole)
        return await asyncio.to_thread(json.loads, bytes(whole))
    except (ValueError, RecursionError):
        return None
