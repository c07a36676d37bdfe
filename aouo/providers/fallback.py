"""Makes one model of several: retries, fallbacks, health; cleans what a model answers.

`retrying` decides what a failure means for the next try. A pause grows with the tries of its own
call only: as long as the service asked for, else 1 s · 2^n, at most 20 s. A model that failed
cools down for a time that grows with its failures in all calls; meanwhile it is asked last.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import Protocol, cast, runtime_checkable

from aouo.facts import errors, transcript
from aouo.facts.ports import NO_MODEL, ChatModel, Clock
from aouo.plumbing.logs import log
from aouo.plumbing.redact import Redactor, Trickle
from aouo.providers import retrying

_OPAQUE = frozenset(
    {"thoughtSignature", "thought_signature", "signature", "data", "encrypted_content"}
)
"""Fields that a service wants back unchanged; the service makes them, not the model."""
_BY_MODEL = "args"
_SIGNED = "signature"
"""A part with this field is signed as a whole, so redacting it would break the signature."""


class Cleaning:
    """Redacts one answer: its events pass through `of` in order.

    Text is passed on as soon as it cannot be part of a secret. A tool call is made as the model
    wrote it, without our own secrets: a link with `token=` in it is to be opened.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._words = Trickle(redactor)

    def of(self, event: transcript.ModelEvent) -> tuple[transcript.ModelEvent, ...]:
        """Return the redacted events that can be passed on now."""
        match event:
            case transcript.TextDelta(text):
                sure = self._words.add(text)
                return (transcript.TextDelta(sure),) if sure else ()
            case transcript.Finished():
                rest = self._words.end()
                finished = replace(event, said=self._said(event.said))
                return (transcript.TextDelta(rest), finished) if rest else (finished,)
            case transcript.StartedOver():
                self._words = Trickle(self._redactor)
            case _:
                pass
        return (event,)

    def _said(self, said: transcript.AssistantSaid) -> transcript.AssistantSaid:
        calls = tuple(
            replace(
                call,
                name=self._redactor.text(call.name),
                arguments=self._redactor.only_known.json(call.arguments),
            )
            for call in said.calls
        )
        return transcript.AssistantSaid(
            self._redactor.text(said.text), calls, self._native(said.native)
        )

    def _native(self, native: str) -> str:
        if not native:
            return native
        try:
            value: object = json.loads(native)
            clean = self._part(value)
            return native if clean == value else json.dumps(clean, ensure_ascii=False)
        except (ValueError, RecursionError):  # broken, or nested too deep
            return self._redactor.text(native)

    def _part(self, value: object) -> object:
        """Redact what the model wrote in a piece of the service's own form of an answer."""
        if isinstance(value, list):
            pieces = [(item, self._part(item)) for item in cast("list[object]", value)]
            return [clean for item, clean in pieces if clean == item or not _is_signed(item)]
        if not isinstance(value, dict):
            return self._redactor.value(value)
        return {
            key: item
            if key in _OPAQUE
            else self._redactor.value(item)
            if key == _BY_MODEL
            else self._part(item)
            for key, item in cast("dict[str, object]", value).items()
        }


def _is_signed(item: object) -> bool:
    return isinstance(item, dict) and bool(cast("dict[str, object]", item).get(_SIGNED))


_MAX_NAMED_S = 30 * 86_400.0
"""The longest pause that a service can mean."""

_IT_WORKS = (errors.PromptTooLong, errors.ContentFiltered)


@dataclass(frozen=True, slots=True)
class Health:
    """A model's health: failures in a row, the kind of the last one ("" = none), and until when
    it cools, so that others are asked before it (None = it does not)."""

    provider: str
    model: str
    failures: int = 0
    last: str = ""
    until: datetime | None = None


@runtime_checkable
class _Listing(Protocol):
    """A model whose service lists its other models."""

    async def living(self) -> tuple[str, ...]: ...


@runtime_checkable
class Preparing(Protocol):
    """A model that can prepare for its first call."""

    async def prepare(self) -> None: ...


class NoModel:
    """Stands where no model is connected; what needs one is answered before it is asked."""

    provider = model = NO_MODEL
    context_window = 8_192
    sees = False
    candidates = ()

    async def stream(
        self, request: transcript.ModelRequest
    ) -> AsyncGenerator[transcript.ModelEvent, None]:
        raise errors.ProviderAuth("No model is connected: provider.backend is none.")
        yield


@dataclass(eq=False, repr=False)
class FallbackModel:
    """A `ChatModel` over a primary and its fallbacks.

    `StartedOver` announces that an answer that broke off begins again, `AsksAgain` each further
    try; `Finished` names the model that answered. When all failed, it raises the error of the
    first model in the configuration that was asked.
    """

    models: Sequence[ChatModel]
    """The models in the order of the configuration."""
    _: KW_ONLY
    clock: Clock
    max_retries: int
    zone: tzinfo | None = None
    spread: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        self._living: dict[int, tuple[str, ...]] = {}
        self._health = [Health(model.provider, model.model) for model in self.models]

    @property
    def provider(self) -> str:
        return self.models[0].provider

    @property
    def model(self) -> str:
        return self.models[0].model

    @property
    def context_window(self) -> int:
        return min(model.context_window for model in self.models)

    @property
    def sees(self) -> bool:
        return all(model.sees for model in self.models)

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        return tuple(pair for model in self.models for pair in model.candidates)

    @property
    def note(self) -> str:
        """A warning about the primary, "" = none."""
        return str(getattr(self.models[0], "note", ""))

    @property
    def health(self) -> tuple[Health, ...]:
        """The health of each model, in the order of the configuration."""
        now = self.clock.now()
        return tuple(
            replace(one, until=None) if one.until and one.until <= now else one
            for one in self._health
        )

    def __repr__(self) -> str:
        return f"FallbackModel({', '.join(map(repr, self.models))})"

    async def prepare(self) -> None:
        """Make the first call as fast as later ones, where a model supports it."""
        for model in self.models:
            if isinstance(model, Preparing):
                await model.prepare()

    async def stream(
        self, request: transcript.ModelRequest
    ) -> AsyncGenerator[transcript.ModelEvent, None]:
        tries, given_up = self._tries(), ("", "")
        failed: dict[int, errors.ProviderError] = {}
        broke_off = again = False
        for at, which in enumerate(tries):
            told = False
            try:
                async with aclosing(self.models[which].stream(request)) as events:
                    async for event in events:
                        if broke_off:
                            broke_off = False
                            yield transcript.StartedOver()
                        told = told or not isinstance(event, transcript.PaidForNothing)
                        yield self._signed(which, event)
                self._answered(which)
                return
            except errors.ProviderError as error:
                failed[which], spread = error, self.spread()
                given_up = ("/".join(self._name(which)), type(error).__name__)
                await self._failed(which, error, attempt=at + 1, attempts=len(tries), spread=spread)
                if not retrying.moves_on(error, request):
                    error.given_up = given_up
                    raise
                following = retrying.further(tries[at:], error, again=again)
                again = again or retrying.only_once_more(error)
                broke_off = broke_off or told
                cost = told or error.may_have_cost
            if not following:
                break
            if cost:
                yield transcript.PaidForNothing()
            names, last = (self._name(which), self._name(following[0])), at + 1 + len(following)
            yield transcript.AsksAgain(*names, at + 2, last, failed[which])
            if which in following:
                await self.clock.sleep(retrying.pause_s(failed[which], at + 1, spread))
            else:
                self._moved_on(which, following[0], failed[which])
        raised = failed[min(failed)]
        raised.given_up = given_up
        raise raised

    def _name(self, which: int) -> tuple[str, str]:
        return self.models[which].provider, self.models[which].model

    def _tries(self) -> tuple[int, ...]:
        """Return which models to ask, in order; cooling ones come last."""
        if len(self.models) == 1:
            return (0,) * (1 + self.max_retries)
        now = self.clock.now()
        cooling = [bool(health.until and health.until > now) for health in self._health]
        return tuple(sorted(range(len(self.models)), key=cooling.__getitem__))

    def _signed(self, which: int, event: transcript.ModelEvent) -> transcript.ModelEvent:
        if not isinstance(event, transcript.Finished):
            return event
        model = self.models[which]
        return replace(
            event, provider=event.provider or model.provider, model=event.model or model.model
        )

    def _answered(self, which: int) -> None:
        health = self._health[which]
        if health.failures:
            self._health[which] = Health(health.provider, health.model)

    async def _failed(
        self, which: int, error: errors.ProviderError, *, attempt: int, attempts: int, spread: float
    ) -> None:
        """Record and log a failure, and complete the error with what is known."""
        if isinstance(error, errors.ProviderBusy) and error.retry_after_s > 0:
            then = self.clock.now() + timedelta(seconds=min(error.retry_after_s, _MAX_NAMED_S))
            error.until = then.astimezone(self.zone)
        if isinstance(error, errors.ModelGone):
            error.model = error.model or self.models[which].model
            error.living = await self._living_beside(which)
        health = self._health[which]
        kind = type(error).__name__
        failures = health.failures + 1
        pause = retrying.pause_s(error, failures, spread)
        until = self.clock.now() + timedelta(seconds=min(pause, retrying.MAX_COOLING_S))
        if not isinstance(error, _IT_WORKS):
            self._health[which] = replace(
                health,
                failures=failures,
                last=kind,
                until=until
                if isinstance(error, retrying.MOVES_ON) and len(self.models) > 1
                else None,
            )
        log.warning(
            "provider_error",
            provider=health.provider,
            model=health.model,
            kind=kind,
            error=str(error),
            attempt=attempt,
            attempts=attempts,
        )

    async def _living_beside(self, which: int) -> tuple[str, ...]:
        """Return other models of the service of a missing model; asked once."""
        model = self.models[which]
        if which not in self._living:
            self._living[which] = await model.living() if isinstance(model, _Listing) else ()
        return self._living[which]

    def _moved_on(self, which: int, to: int, error: errors.ProviderError) -> None:
        left, taken = self._health[which], self._health[to]
        ends = {"from": f"{left.provider}/{left.model}", "to": f"{taken.provider}/{taken.model}"}
        log.warning("provider_failover", kind=type(error).__name__, **ends)


def models_in(model: ChatModel) -> Sequence[ChatModel]:
    """Each configured model, in order."""
    return model.models if isinstance(model, FallbackModel) else (model,)
