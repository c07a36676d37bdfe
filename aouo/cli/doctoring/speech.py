"""Tests the configured speech services by one spoken word and one silent second.

A service bills least for these. `aouo doctor` and `aouo models test` use it.
"""

from __future__ import annotations

import io
import wave
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from aouo.app.services import speech_of
from aouo.cli.doctoring.check import Check, quietly
from aouo.config.settings import Settings
from aouo.facts.errors import (
    CertificateRefused,
    ModelGone,
    ProviderAuth,
    ProviderBilling,
    ProviderError,
    ProxyRefused,
)
from aouo.plumbing.resources import Holder
from aouo.speech.services import Speaker, TermsAsked, Transcriber
from aouo.web.session import session_through

Part: TypeAlias = Literal["tts", "stt"]
_RATE_HZ = 16_000


@dataclass(frozen=True, slots=True)
class _Tried:
    """One speech service, and its answer; `ends_on` is the day on which it ends the model."""

    part: Part
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
    except ProviderError as error:
        return replace(one, refusal=str(error), fix=_fix(one.part, one.backend, error))
    return replace(one, ends_on=await shutdown())


def _fix(part: Part, backend: str, error: ProviderError) -> str:
    match error:
        case TermsAsked():
            return "Accept the terms at the address that the service names, then ask again."
        case ModelGone():
            return f"Set {part}.model to a model that {backend} has, or {part}.backend to another."
        case ProviderAuth():
            return f"Set {backend}.api_key."
        case ProviderBilling():
            return "Top up the account there."
        case ProxyRefused(cure=cure) | CertificateRefused(cure=cure) if cure:
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
