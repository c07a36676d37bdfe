"""Text to speech and speech to text by the openai and groq SDKs.

The first call imports the SDK, in a thread. Each result tells what its calls took, so that the
caller, who knows the turn, can record the usage.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from aouo.facts import errors
from aouo.plumbing import magic
from aouo.providers.failures import error_object, failure, parse_body
from aouo.providers.http import Session, httpx_client, shared_client
from aouo.providers.roads import in_the_way
from aouo.providers.speech import audio

_T = TypeVar("_T")

_PATIENCE_S = 60.0
"""The longest pauses of one text together, estimated from the first one.

Groq refills its limits evenly: on its free plan each piece of a long text meets the same pause, so
the first one tells the sum (see its profile)."""
_OGG = {".oga", ".opus", ""}
"""Endings of Ogg files that the services do not recognise: Telegram's, and none."""


@dataclass(frozen=True, slots=True)
class SpeechCall:
    """One call, for the usage table; `scope` as there. `usd` None = nobody knows its price."""

    scope: Literal["tts", "stt"]
    provider: str
    model: str
    duration_ms: int
    usd: float | None = None


class TermsAsked(errors.ProviderRejected):
    """The owner of the account has to accept the model's terms at the service first."""


_TERMS_CODE = "model_terms_required"
"""Groq's code, with HTTP 400; its message has the address of the terms."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A transcript; `text` "" = no words, or (`unclear`) none that can be understood."""

    text: str
    call: SpeechCall
    unclear: bool = False


Spend: TypeAlias = Callable[[SpeechCall], None]
PriceOf: TypeAlias = Callable[[str, str], float | None]
"""USD for one unit of (backend, model), None = nobody knows; the first call may take a second."""


def _unknown(backend: str, model: str) -> float | None:
    del backend, model
    return None


def unspent(call: SpeechCall) -> None:
    """Ignore a call: its usage is not recorded."""
    del call


class Ears(Protocol):
    """Transcribes recordings."""

    async def transcribe(self, file: Path, seconds: float = 0.0) -> Heard:
        """Transcribe `file`, which is so long, 0 = unknown.

        Raises:
            ProviderError: it was not transcribed.
        """
        ...


class Voice(Protocol):
    """Speaks texts."""

    async def speak(self, text: str, voice: str = "", *, spend: Spend = unspent) -> audio.Audio:
        """Speak `text` as a voice note; `voice` is the service's name for one, "" = the usual.

        `spend` is called for each answered call, also if a later one fails.

        Raises:
            ProviderError: it was not spoken, or only a part of it.
        """
        ...


@dataclass(eq=False, repr=False, kw_only=True)
class SpeechService:
    """One service's SDK over the runtime's session; failures become `ProviderError`s.

    `base_url` for groq is without `/openai/v1`, which its SDK adds.
    """

    backend: audio.Backend
    base_url: str
    api_key: str
    session: Session
    request_timeout_s: float = 90.0

    def __post_init__(self) -> None:
        self.base_url = self.base_url.rstrip("/")
        self.api_key = self.api_key.strip()
        self._client: Any = None

    async def ask(self, what: Callable[[Any], Awaitable[_T]]) -> _T:
        """Await `what` with the SDK's client, within the time limit of a request."""
        if not (self.api_key and self.api_key.isascii() and self.api_key.isprintable()):
            raise errors.ProviderAuth(
                f"{self.backend}: there is no key, or it has characters no key has"
            )
        client = self._client or await asyncio.to_thread(self._connect)
        try:
            async with asyncio.timeout(self.request_timeout_s):
                return await what(client)
        except TimeoutError as error:
            raise errors.ProviderTimeout(f"{self.backend}: no answer in time") from error
        except self._errors() as error:
            raise self._failure(error) from error

    async def shutdown_of(self, model: str) -> str:
        """Return the day on which the service shuts `model` down, "" = it names none.

        Source: developers.openai.com/api/docs/deprecations: "check each model's optional
        shutdown_date field"; Groq has none.
        """
        try:
            about = await self.ask(lambda client: client.models.retrieve(model))
        except errors.ProviderError:
            return ""
        return str(getattr(about, "shutdown_date", None) or "")

    def _connect(self) -> Any:
        """Make the SDK's client; it does not retry, since the caller decides about that."""
        if self.backend == "openai":
            import openai

            import_module("httpx")  # whole: the SDK would take one that a thread has half imported

            self._client = openai.AsyncOpenAI(
                api_key=self.api_key,
                base_url=self.base_url,
                timeout=None,
                max_retries=0,
                http_client=shared_client(self.session),
            )
        else:
            import groq

            self._client = groq.AsyncGroq(
                api_key=self.api_key,
                base_url=self.base_url.removesuffix("/openai/v1"),
                timeout=None,
                max_retries=0,
                http_client=httpx_client(self.session),
            )
        return self._client

    def _errors(self) -> type[Exception]:
        """Return the root of the SDK's errors, once it is imported."""
        if self.backend == "openai":
            from openai import OpenAIError

            return OpenAIError
        from groq import GroqError

        return GroqError

    def _failure(self, error: Exception) -> errors.ProviderError:
        response: Any = getattr(error, "response", None)
        if response is None:
            text = f"{self.backend}: {type(error).__name__}: {self._mask(str(error))}"
            if found := in_the_way(text, error.__cause__ or error):
                return found
            late = "Timeout" in type(error).__name__
            kind = errors.ProviderTimeout if late else errors.ProviderBusy
            return kind(text)
        told = error_object(parse_body(response.content))
        refusal = failure(
            self.backend, response.status_code, told, headers=response.headers, mask=self._mask
        )
        return TermsAsked(str(refusal)) if told.get("code") == _TERMS_CODE else refusal

    def _mask(self, text: str) -> str:
        return text.replace(self.api_key, "…")


@dataclass(eq=False)
class Speaker:
    """Speaks; `model` and `voice` are the service's names, "" = its usual ones. `price` is that
    of a million characters."""

    service: SpeechService
    _: KW_ONLY
    model: str = ""
    voice: str = ""
    price: PriceOf = _unknown

    def __post_init__(self) -> None:
        self._rules = audio.RULES[self.service.backend]
        self.model = self.model or self._rules.voice_model
        self.voice = self.voice or self._rules.voice

    async def speak(self, text: str, voice: str = "", *, spend: Spend = unspent) -> audio.Audio:
        """Speak `text` as a voice note, or in the service's format if it cannot be converted.

        A text that is too long for one call is spoken piece by piece, in order. Pauses that the
        service asks for after the first piece are waited out if their sum is not too long.

        Raises:
            ProviderError: it was not spoken, or only a part of it.
        """
        parts = [part for part in audio.pieces(text, self._rules.max_chars) if part.strip()] or [
            text
        ]
        how = self._rules.joined if len(parts) > 1 else self._rules.sound
        wish = {"model": self.model, "voice": voice or self.voice, "response_format": how}
        sounds: list[bytes] = []
        patience_s = 0.0
        price = await asyncio.to_thread(self.price, self.service.backend, self.model)
        for at, part in enumerate(parts):
            begun_s = time.perf_counter()
            sound, paused_s = await self._piece(
                wish | {"input": part.strip()}, patience_s / (len(parts) - at)
            )
            sounds.append(sound)
            patience_s = _PATIENCE_S if at == 0 else patience_s - paused_s
            usd = None if price is None else price * len(part.strip()) / 1_000_000
            spend(_call("tts", self.service, self.model, begun_s, usd))
        return await asyncio.to_thread(_as_note, sounds)

    async def shutdown(self) -> str:
        """The day on which the service ends this model, "" = it names none."""
        return await self.service.shutdown_of(self.model)

    async def _piece(self, wish: dict[str, str], patience_s: float) -> tuple[bytes, float]:
        """Return the sound of one piece, and the seconds paused at the service's request."""
        paused_s = 0.0
        while True:
            try:
                sound = await self.service.ask(lambda client: _spoken(client, wish))
            except errors.ProviderBusy as error:
                if not 0 < error.retry_after_s <= patience_s - paused_s:
                    raise
                await asyncio.sleep(error.retry_after_s)
                paused_s += error.retry_after_s
            else:
                return sound, paused_s


@dataclass(eq=False)
class Transcriber:
    """Transcribes files; `price` is that of a minute."""

    service: SpeechService
    _: KW_ONLY
    model: str = ""
    price: PriceOf = _unknown

    def __post_init__(self) -> None:
        self._rules = audio.RULES[self.service.backend]
        self.model = audio.ears_model(self.service.backend, self.model)

    async def transcribe(self, file: Path, seconds: float = 0.0) -> Heard:
        """Transcribe `file`, "" = it has no words.

        Raises:
            ProviderError: it was not transcribed.
        """
        data = await asyncio.to_thread(file.read_bytes)
        return await self.heard(_known_name(file, data), data, seconds)

    async def heard(self, name: str, data: bytes, seconds: float = 0.0) -> Heard:
        """Transcribe a file's content; the service knows its format by the ending of `name`."""
        if len(data) > self._rules.max_heard_bytes:
            raise errors.PromptTooLong(
                f"{self.service.backend}: {len(data)} bytes of sound in a file"
            )
        wish = {"model": self.model, "file": (name, data), "response_format": "json"}
        begun_s = time.perf_counter()
        text = await self.service.ask(lambda client: _heard(client, wish))
        if not isinstance(text, str):
            raise errors.ProviderBusy(f"{self.service.backend}: the answer is no transcript")
        price = await asyncio.to_thread(self.price, self.service.backend, self.model)
        free = price == 0
        usd = price * seconds / 60 if price is not None and (seconds or free) else None
        return Heard(text.strip(), _call("stt", self.service, self.model, begun_s, usd))

    async def shutdown(self) -> str:
        """The day on which the service ends this model, "" = it names none."""
        return await self.service.shutdown_of(self.model)


async def _spoken(client: Any, wish: dict[str, str]) -> bytes:
    answer = await client.audio.speech.create(**wish)
    data: Any = answer.read()
    return data if isinstance(data, bytes) else await data  # groq's `read` is a coroutine


def _as_note(sounds: list[bytes]) -> audio.Audio:
    alone = len(sounds) == 1 and not sounds[0].startswith(b"RIFF")
    return audio.voice_note(sounds[0] if alone else audio.one_wav(sounds))


async def _heard(client: Any, wish: dict[str, Any]) -> object:
    return getattr(await client.audio.transcriptions.create(**wish), "text", None)


def _known_name(file: Path, data: bytes) -> str:
    """Return a name that ends as its content does, for that is what the service goes by."""
    ending = magic.ENDINGS.get(magic.type_of(data), "")
    if ending:
        return f"{file.stem}{ending}"
    return f"{file.stem}.ogg" if file.suffix.lower() in _OGG else file.name


def _call(
    scope: Literal["tts", "stt"],
    service: SpeechService,
    model: str,
    begun_s: float,
    usd: float | None,
) -> SpeechCall:
    ms = round((time.perf_counter() - begun_s) * 1000)
    return SpeechCall(scope, service.backend, model, ms, usd)
