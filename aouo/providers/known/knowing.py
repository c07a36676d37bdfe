"""Asks a server about its models, and adds what is known of one to it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urlsplit

import aiohttp

from aouo.facts.errors import ProviderError
from aouo.facts.transcript import Finished, ModelEvent, ModelRequest, PaidForNothing, UserSaid
from aouo.plumbing.logs import log
from aouo.plumbing.web.certificates import cure_of
from aouo.providers.known.told import (
    Told,
    entry_of,
    joined,
    names,
    nearest,
    owners_of,
    told_by_list,
    told_by_llama_cpp,
    told_by_ollama,
)
from aouo.providers.known.windows import known, listed_window, window_of
from aouo.providers.refusals import refuses_pictures, refuses_this_picture
from aouo.providers.room import Room
from aouo.providers.service import ServiceModel
from aouo.providers.thoughts import family

if TYPE_CHECKING:
    from aouo.config.sections import Endpoint

_Server: TypeAlias = Literal["", "ollama", "llama.cpp", "lm studio"]

_Ask: TypeAlias = Callable[..., Awaitable[tuple[int, object]]]
"""Gets a URL, or posts a second argument to it, and returns status and JSON."""

_WITHIN_S = 5.0
_MAX_BYTES = 32 * 1024 * 1024
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
    server: _Server = ""


async def inquire(
    session: aiohttp.ClientSession, backend: str, endpoint: Endpoint, model: str
) -> Inquiry:
    """Ask within `_WITHIN_S` seconds; no network error is raised.

    `why` may quote an address, never a key.
    """
    gemini = backend == "gemini"
    base = endpoint.base_url.removesuffix("/openai") if gemini else endpoint.base_url
    listing = "/models?pageSize=1000" if gemini else "/models"
    headers = {**_headers(endpoint.api_key, base, gemini=gemini), **endpoint.headers}
    ask = partial(_answer, session, headers)
    try:
        async with asyncio.timeout(_WITHIN_S):
            return await _asked(ask, base, listing, model)
    except TimeoutError:
        return Inquiry(0, f"no answer within {_WITHIN_S:g} s")
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


def _kind(base: str, body: object) -> _Server:
    """Return which local server this is, by its list or its port; "" = none of them."""
    owners = owners_of(body)
    port = urlsplit(base).port
    if "llamacpp" in owners:
        return "llama.cpp"
    if "organization_owner" in owners or port == 1234:
        return "lm studio"
    return "ollama" if "library" in owners or port == 11434 else ""


async def _own_word(ask: _Ask, base: str, kind: _Server, model: str) -> Told | None:
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
        if len(whole) > _MAX_BYTES:
            return None
    try:
        if len(whole) < _SMALL_BYTES:
            return json.loads(whole)
        return await asyncio.to_thread(json.loads, bytes(whole))
    except (ValueError, RecursionError):
        return None


_Source = Literal["you", "the server", "the catalogue", "its name", "a refusal", "nobody"]

_UNSEEN = "A picture came with this. You cannot see pictures: say so, and do not guess."
_UNTAKEN = (
    "[A picture came with this, and your service did not take it: it may be too large, or of a "
    "form that it cannot read. Say so, and do not guess.]"
)
_AGAIN = "When it is sent once more, another model describes it to you: say that too."


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one model, and from which source."""

    window_tokens: int
    window_from: _Source
    sees: bool
    sees_from: _Source
    told: Told | None = None


def facts_of(
    model: str, *, own_window: int, vision: Literal["auto", "on", "off"], tries: bool
) -> Facts:
    """Return what is known before the server is asked.

    `tries`: an unknown model is sent pictures until it refuses one.
    """
    found = known(model)
    window: tuple[int, _Source] = (window_of(model), "its name" if found else "nobody")
    if own_window:
        window = own_window, "you"
    if vision != "auto":
        return Facts(*window, vision == "on", "you")
    if found:
        return Facts(*window, found.sees, "its name")
    return Facts(*window, tries, "nobody")


def _with_word(facts: Facts, told: Told | None, listed_tokens: int = 0) -> Facts:
    """Return `facts` with what the server and the catalogue say; the smaller window counts.

    The owner's settings stay, and so does what a refusal has shown.
    """
    said = told or Told()
    if facts.window_from != "you":
        windows: list[tuple[int, _Source]] = [
            (said.window_tokens, "the server"),
            (listed_tokens, "the catalogue"),
        ]
        if not said.loaded and facts.told and facts.told.loaded:  # what it had in memory counts
            windows.append((facts.told.window_tokens, "the server"))
        given = [window for window in windows if window[0]]
        if given:
            tokens, source = min(given)
            facts = replace(facts, window_tokens=tokens, window_from=source)
    if said.sees is not None and facts.sees_from not in ("you", "a refusal"):
        facts = replace(facts, sees=said.sees, sees_from="the server")
    keeps = facts.told and facts.told.loaded and not said.loaded
    return replace(facts, told=facts.told if keeps else told or facts.told)


class KnownModel:
    """Wraps a `ChatModel`, and learns from a refusal that it cannot see.

    A model that refuses a picture is asked once more without it, with a note; if it takes no
    pictures at all, it counts as blind from then on. `eyes`: another model describes pictures to
    blind ones. `base_url` is the address of its service, `room` what is known of the room for its
    answers.
    """

    def __init__(
        self,
        inner: ServiceModel,
        facts: Facts,
        ask: Callable[[], Awaitable[Inquiry]],
        *,
        base_url: str = "",
        eyes: bool = False,
        room: Room | None = None,
    ) -> None:
        self.base_url = base_url
        self._inner = inner
        self._ask = ask
        self._room = room or Room()
        self._unseen = f"[{_UNSEEN} {_AGAIN}]" if eyes else f"[{_UNSEEN}]"
        self.facts = facts
        self.answers_as = ""
        """The model that its service says answers in its place, "" = none."""
        self.answered = asyncio.Event()
        """Set by its first answer, when a server that loads models on demand has loaded it."""

    async def learn(self, listed_tokens: int = 0) -> Inquiry:
        """Ask the server, and add its answer to `facts`; `listed_tokens`: a catalogue's window."""
        said = await self._ask()
        self.facts = _with_word(self.facts, said.told, listed_tokens)
        return said

    @property
    def provider(self) -> str:
        return self._inner.provider

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def context_window(self) -> int:
        return self.facts.window_tokens

    @property
    def sees(self) -> bool:
        return self.facts.sees

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        return self._inner.candidates

    @property
    def aloud(self) -> frozenset[str]:
        """What its server passed on as text, though it is none."""
        return self._inner.aloud

    def effort_for(self, wish: str) -> str:
        """See `ServiceModel.effort_for`."""
        return self._inner.effort_for(wish)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The owner's settings that the service does not take."""
        return self._inner.left_out

    def __repr__(self) -> str:
        return repr(self._inner)

    async def living(self) -> tuple[str, ...]:
        """Return a few models of the service, those with the nearest names, or the first ones of
        its list; () when it does not answer."""
        said = await self._ask()
        near = await asyncio.to_thread(nearest, said.names, self.model)
        return near or tuple(name for name in said.names if name != self.model)[:3]

    async def prepare(self) -> None:
        await self._inner.prepare()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        begun = False
        try:
            async with aclosing(self._room.stream(self._inner, request)) as events:
                async for event in events:
                    begun = begun or not isinstance(event, PaidForNothing)
                    self._note(event)
                    yield event
            return
        except ProviderError as error:
            told = "" if begun or not request.has_pictures else self._instead(error)
            if not told:
                raise
            if error.may_have_cost:
                yield PaidForNothing()
        unseen = _without_pictures(request, told)
        async with aclosing(self._room.stream(self._inner, unseen)) as events:
            async for event in events:
                self._note(event)
                yield event

    def _instead(self, error: ProviderError) -> str:
        """Return what the model reads in place of a refused picture; "" = none was refused."""
        if refuses_pictures(error):
            log.warning("model_is_blind", model=self.model, error=str(error))
            if self.facts.sees_from != "you":
                self.facts = replace(self.facts, sees=False, sees_from="a refusal")
            return self._unseen
        if refuses_this_picture(error):
            log.warning("picture_refused", model=self.model, error=str(error))
            return _UNTAKEN
        return ""

    def _note(self, event: ModelEvent) -> None:
        if isinstance(event, Finished):
            if _is_another(self.model, event.called):
                self.answers_as = event.called
            self.answered.set()


_VERSION = re.compile(r"[-@](?:\d{4}-?\d{2}-?\d{2}|\d{3,4}|latest|preview.*|exp.*)$|:.*$|-latest")


def _is_another(asked: str, called: str) -> bool:
    """Whether an answer names another model of the same maker than was asked: services answer for
    names that they retired, and say so there alone (aaif-goose/goose#10345, 14 Jul 2026).

    Dates, makers and paths do not count; a name of our own for a model says nothing.
    """
    wish, name = (_VERSION.sub("", one.lower().rpartition("/")[2]) for one in (asked, called))
    if not called or "latest" in asked or family(wish) != family(name):
        return False
    return not (wish.startswith(name) or name.startswith(wish))


def _without_pictures(request: ModelRequest, unseen: str) -> ModelRequest:
    messages = tuple(
        replace(one, text=f"{one.text}\n{unseen}".lstrip(), images=())
        if isinstance(one, UserSaid) and one.images
        else one
        for one in request.messages
    )
    return replace(request, messages=messages)


async def look_up(model: KnownModel) -> int:
    """The window in tokens that the catalogue has, 0 = none; the model knows it from then on."""
    tokens = await asyncio.to_thread(listed_window, model.base_url, model.model)
    model.facts = _with_word(model.facts, None, tokens)
    return tokens


async def learn(model: KnownModel) -> Inquiry:
    """Ask a model's server and the catalogue."""
    return await model.learn(await look_up(model))
