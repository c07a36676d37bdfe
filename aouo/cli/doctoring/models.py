"""Checks the configured models and speech services for `aouo doctor`: asks each.

A service bills least for these. `aouo doctor` and `aouo models test` use it.
"""

from __future__ import annotations

import io
import wave
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from aouo.app.services import speech_of
from aouo.cli.doctoring.check import Check, quietly
from aouo.config.settings import Settings
from aouo.facts import errors
from aouo.facts.ports import NO_MODEL
from aouo.plumbing.resources import Holder
from aouo.plumbing.web.session import session_through
from aouo.providers.speech.services import Speaker, TermsAsked, Transcriber

if TYPE_CHECKING:
    from aouo.agent.spending.money import Price
    from aouo.cli.doctoring.probing import Seen

_Prices: TypeAlias = "Mapping[tuple[str, str], Price | None]"
"""By backend and model; None = its server names none."""


def models(settings: Settings, *, fast: bool) -> tuple[Sequence[Check], _Prices]:
    """Check each model that may answer, in the order of the configuration; return also the prices
    that their servers name."""
    from aouo.app.services import price_told
    from aouo.cli.doctoring.probing import wanted_models

    wanted = tuple(dict.fromkeys(wanted_models(settings)))
    many = Counter(one.backend for one in wanted)
    names = {
        one: f"model {one.backend}" + (f" {one.model}" if many[one.backend] > 1 else "")
        for one in wanted
    }
    found = {one: _unasked(settings, one, names[one], fast=fast) for one in wanted}
    ready = [one for one, check in found.items() if check is None]
    seen = dict(zip(ready, _looked_at(settings, ready), strict=True))
    checks: list[Check] = []
    for one, check in found.items():
        checks += [check] if check else _said(names[one], seen[one])
    prices = {
        (one.backend, one.model): price_told(looked.facts)
        for one, looked in seen.items()
        if looked.inquiry and looked.inquiry.told
    }
    return checks, prices


def primary(settings: Settings) -> Sequence[Check]:
    """Check the model that answers first, and no other."""
    from aouo.cli.doctoring.probing import wanted_models

    one = wanted_models(settings)[0]
    name = f"model {one.backend}"
    check = _unasked(settings, one, name, fast=False)
    return [check] if check else [*_said(name, _looked_at(settings, [one])[0])]


def _looked_at(settings: Settings, ready: Sequence[Seen]) -> Sequence[Seen]:
    """Ask the models without a finding."""
    from aouo.cli.doctoring.probing import look
    from aouo.plumbing.clock import SystemClock

    if not ready:
        return ()
    return quietly(settings, look(settings, ready, SystemClock(), asks=True))


def _unasked(settings: Settings, one: Seen, name: str, *, fast: bool) -> Check | None:
    """Return the finding about a model that cannot be asked, None = it can be asked."""
    from aouo.app.services import key_missing

    if one.backend == NO_MODEL:
        what = "none is connected: packs act, nothing is understood freely"
        return Check("model", "warn", what, "Set provider.backend, and the key of its service.")
    if key_missing(settings, one.backend):
        return Check(name, "fail", "there is no key", f"Set {one.backend}.api_key.")
    if not one.model:
        return Check(name, "fail", "no model is chosen", f"Set {one.key}.")
    return Check(name, "skip", "needs the network") if fast else None


def _said(name: str, seen: Seen) -> Iterator[Check]:
    """Yield the finding about one model's answer, then the concerns about it."""
    reply, model = seen.tool, seen.model
    if reply is None:
        yield Check(name, "fail", seen.problem, seen.fix)
        return
    if reply.refusal:
        yield Check(name, "fail", f"{model}: {reply.refusal}", reply.fix)
    elif not reply.called:
        what = f"{model} answers, but did not call a tool when it was asked to"
        yield Check(name, "warn", what, "Packs need a model that calls tools.")
    else:
        sees = "sees pictures" if seen.facts and seen.facts.sees else "does not see pictures"
        what = f"{model} answers and calls tools; {seen.window_tokens:,} tokens; {sees}"
        yield Check(name, "ok", what)
    for one in seen.concerns:
        if reply.refusal or one.urgent:
            yield Check(name, "warn", one.what, one.fix)


_Part: TypeAlias = Literal["tts", "stt"]
_RATE_HZ = 16_000


@dataclass(frozen=True, slots=True)
class _Tried:
    """One speech service, and its answer; `ends_on` is the day on which it ends the model."""

    part: _Part
    backend: str
    model: str
    refusal: str = ""
    fix: str = ""
    ends_on: str = ""

    @property
    def concern(self) -> tuple[str, str]:
        """A concern about a service that answers, and what mends it; "" = none."""
        if not self.ends_on:
            return "", ""
        return (
            f"the service shuts it down on {self.ends_on}",
            f"Set {self.part}.model to one that the service keeps, or {self.part}.backend to "
            "another.",
        )


def asked(settings: Settings) -> list[Check]:
    """Check each speech service that has a key; speech on this machine is not asked."""
    return [_check(one) for one in tried(settings)]


def tried(settings: Settings, *, asks: bool = True) -> list[_Tried]:
    """Return each speech service that has a key, with its answer unless `asks` is false."""

    async def look() -> list[_Tried]:
        async with AsyncExitStack() as stack:
            session = await stack.enter_async_context(session_through())
            held = await stack.enter_async_context(Holder())
            ears, voice = speech_of(settings, lambda: session, held)
            found: list[_Tried] = []
            if isinstance(voice, Speaker):
                one = _Tried("tts", settings.tts.backend, voice.model)
                found.append(await _voice(voice, one) if asks else one)
            if isinstance(ears, Transcriber):
                one = _Tried("stt", settings.stt.backend, ears.model)
                found.append(await _ears(ears, one) if asks else one)
            return found

    return quietly(settings, look())


def _check(one: _Tried) -> Check:
    if one.refusal:
        return Check(one.part, "warn", one.refusal, one.fix)
    answers = f"{one.backend}, {one.model} answers"
    what, fix = one.concern
    return (
        Check(one.part, "warn", f"{answers}; {what}", fix)
        if what
        else Check(one.part, "ok", answers)
    )


async def _voice(voice: Speaker, one: _Tried) -> _Tried:
    async def speak() -> None:
        await voice.speak("Hi.")

    return await _tried(one, speak, voice.shutdown)


async def _ears(ears: Transcriber, one: _Tried) -> _Tried:
    async def hear() -> None:
        await ears.heard("silence.wav", _silence())

    return await _tried(one, hear, ears.shutdown)


async def _tried(
    one: _Tried, ask: Callable[[], Awaitable[None]], shutdown: Callable[[], Awaitable[str]]
) -> _Tried:
    try:
        await ask()
    except errors.ProviderError as error:
        return replace(one, refusal=str(error), fix=_fix(one.part, one.backend, error))
    return replace(one, ends_on=await shutdown())


def _fix(part: _Part, backend: str, error: errors.ProviderError) -> str:
    match error:
        case TermsAsked():
            return "Accept the terms at the address that the service names, then ask again."
        case errors.ModelGone():
            return f"Set {part}.model to a model that {backend} has, or {part}.backend to another."
        case errors.ProviderAuth():
            return f"Set {backend}.api_key."
        case errors.ProviderBilling():
            return "Top up the account there."
        case errors.ProxyRefused(cure=cure) | errors.CertificateRefused(cure=cure) if cure:
            return f"{cure[0].upper()}{cure[1:]}."
        case _:
            return f"If it stays so, look at {part}.model and {backend}.base_url."


def _silence() -> bytes:
    """Return one silent second as WAV; services require at least a tenth."""
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(_RATE_HZ)
        file.writeframes(bytes(2 * _RATE_HZ))
    return made.getvalue()
