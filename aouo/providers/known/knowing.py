"""Adds to a model what is known of it, and what it learns: its window, and whether it sees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal

import structlog

from aouo.facts.errors import ProviderError
from aouo.facts.transcript import Finished, ModelEvent, ModelRequest, PaidForNothing, UserSaid
from aouo.providers.known import catalogue
from aouo.providers.known.inquiry import Inquiry
from aouo.providers.known.told import Told, nearest
from aouo.providers.known.windows import known, window_of
from aouo.providers.refusals import refuses_pictures, refuses_this_picture
from aouo.providers.room import Room
from aouo.providers.service import ServiceModel

log = structlog.get_logger()

Source = Literal["you", "the server", "the catalogue", "its name", "a refusal", "nobody"]

UNSEEN = "A picture came with this. You cannot see pictures: say so, and do not guess."
UNTAKEN = (
    "[A picture came with this, and your service did not take it: it may be too large, or of a "
    "form that it cannot read. Say so, and do not guess.]"
)
AGAIN = "When it is sent once more, another model describes it to you: say that too."


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one model, and from which source."""

    window_tokens: int
    window_from: Source
    sees: bool
    sees_from: Source
    told: Told | None = None


def facts_of(
    model: str, *, own_window: int, vision: Literal["auto", "on", "off"], tries: bool
) -> Facts:
    """Return what is known before the server is asked.

    `tries`: an unknown model is sent pictures until it refuses one.
    """
    found = known(model)
    window: tuple[int, Source] = (window_of(model), "its name" if found else "nobody")
    if own_window:
        window = own_window, "you"
    if vision != "auto":
        return Facts(*window, vision == "on", "you")
    if found:
        return Facts(*window, found.sees, "its name")
    return Facts(*window, tries, "nobody")


def with_word(facts: Facts, told: Told | None, listed_tokens: int = 0) -> Facts:
    """Return `facts` with what the server and the catalogue say; the smaller window counts.

    The owner's settings stay, and so does what a refusal has shown.
    """
    said = told or Told()
    if facts.window_from != "you":
        windows: list[tuple[int, Source]] = [
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

    brief = False

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
        self._unseen = f"[{UNSEEN} {AGAIN}]" if eyes else f"[{UNSEEN}]"
        self.facts = facts
        self.answered = asyncio.Event()
        """Set by its first answer, when a server that loads models on demand has loaded it."""

    async def learn(self, listed_tokens: int = 0) -> Inquiry:
        """Ask the server, and add its answer to `facts`; `listed_tokens`: a catalogue's window."""
        said = await self._ask()
        self.facts = with_word(self.facts, said.told, listed_tokens)
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
            return UNTAKEN
        return ""

    def _note(self, event: ModelEvent) -> None:
        if isinstance(event, Finished):
            self.answered.set()


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
    tokens = await asyncio.to_thread(catalogue.listed_window, model.base_url, model.model)
    model.facts = with_word(model.facts, None, tokens)
    return tokens


async def learn(model: KnownModel) -> Inquiry:
    """Ask a model's server and the catalogue."""
    return await model.learn(await look_up(model))
