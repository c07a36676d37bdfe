"""Whether the speech services that are set up really speak and hear: one word, one silent second.

That is what a service bills least; `aouo doctor` asks so, and whoever else wants to know.
"""

from __future__ import annotations

import asyncio
import io
import wave
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Literal, TypeAlias

from aouo.app.proxied import secrets_of, session_through
from aouo.app.speech import speech_of
from aouo.cli.check import Check
from aouo.errors import (
    CertificateRefused,
    ModelGone,
    ProviderAuth,
    ProviderBilling,
    ProviderError,
    ProxyRefused,
)
from aouo.logs import Logs, Nowhere
from aouo.providers.speech import Speaker, TermsAsked, Transcriber
from aouo.redact import Redactor
from aouo.settings import Settings

Part: TypeAlias = Literal["tts", "stt"]
_RATE_HZ = 16_000


def asked(settings: Settings) -> list[Check]:
    """What each speech service says that has a key; speech on this machine is not asked."""

    async def ask() -> list[Check]:
        async with AsyncExitStack() as stack:
            session = await stack.enter_async_context(session_through())
            speech = speech_of(settings, lambda: session, stack)
            found: list[Check] = []
            if isinstance(speech.voice, Speaker):
                found.append(await _voice(speech.voice, settings))
            if isinstance(speech.ears, Transcriber):
                found.append(await _ears(speech.ears, settings))
            return found

    with Logs(redactor=Redactor(secrets_of(settings)), stderr=Nowhere()):
        return asyncio.run(ask())


async def _voice(voice: Speaker, settings: Settings) -> Check:
    async def speak() -> None:
        await voice.speak("Hi.")

    return await _tried("tts", settings.tts.backend, voice.model, speak, voice.shutdown)


async def _ears(ears: Transcriber, settings: Settings) -> Check:
    async def hear() -> None:
        await ears.heard("silence.wav", _silence())

    return await _tried("stt", settings.stt.backend, ears.model, hear, ears.shutdown)


async def _tried(
    part: Part,
    backend: str,
    model: str,
    ask: Callable[[], Awaitable[None]],
    shutdown: Callable[[], Awaitable[str]],
) -> Check:
    try:
        await ask()
    except ProviderError as error:
        return Check(part, "warn", str(error), _fix(part, backend, error))
    if day := await shutdown():
        return Check(
            part,
            "warn",
            f"{backend}, {model} answers; the service shuts it down on {day}",
            f"Set {part}.model to one that the service keeps, or {part}.backend to another.",
        )
    return Check(part, "ok", f"{backend}, {model} answers")


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
    """A second of it; the services take no less than a tenth."""
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(_RATE_HZ)
        file.writeframes(bytes(2 * _RATE_HZ))
    return made.getvalue()
