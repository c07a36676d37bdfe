"""Voices: text to speech and speech to text, by the openai and groq SDKs.

The SDK is imported, in a thread, by the first call. What a call took is told with its result, so
that usage can be written where the turn is known.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from aouo.errors import (
    ProviderAuth,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
)
from aouo.providers.audio import Audio, voice_note
from aouo.providers.failures import error_object, failure, parse_body
from aouo.providers.http import Session, httpx_client, shared_client

Backend: TypeAlias = Literal["openai", "groq"]
T = TypeVar("T")

MAX_HEARD_BYTES = 25 * 1024 * 1024
"""Both services' limit for one file."""

_VOICE_MODELS = {"openai": "gpt-4o-mini-tts", "groq": "canopylabs/orpheus-v1-english"}
_VOICES = {"openai": "alloy", "groq": "hannah"}
_FORMATS = {"openai": "opus", "groq": "wav"}
"""What each sends for the least work here: only OpenAI has voice notes' own."""
_EARS = {"openai": "whisper-1", "groq": "whisper-large-v3-turbo"}
_OGG = {".oga", ".opus", ""}
"""Endings of Ogg files that the services do not know: Telegram's, and none."""


@dataclass(frozen=True, slots=True)
class SpeechCall:
    """One call for the usage; `scope` as in the usage table."""

    scope: Literal["tts", "stt"]
    provider: str
    model: str
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Spoken:
    audio: Audio
    call: SpeechCall


@dataclass(frozen=True, slots=True)
class Heard:
    """`text` "" = no words, or (`unclear`) none that are understood."""

    text: str
    call: SpeechCall
    unclear: bool = False


class Ears(Protocol):
    """Who writes down what is said."""

    async def transcribe(self, file: Path) -> Heard:
        """What is said in `file`.

        Raises:
            ProviderError: it was not written down.
        """
        ...


class Voice(Protocol):
    """Who speaks."""

    async def speak(self, text: str, voice: str = "") -> Spoken:
        """`text` as a voice note; `voice` as whoever speaks names it, "" = the usual one.

        Raises:
            ProviderError: nothing was spoken.
        """
        ...


class SpeechService:
    """One service's SDK over the runtime's session; failures come out as `ProviderError`s.

    `base_url` for groq stands without `/openai/v1`, which its SDK adds.
    """

    def __init__(
        self,
        *,
        backend: Backend,
        base_url: str,
        api_key: str,
        session: Session,
        request_timeout_s: float = 90.0,
    ) -> None:
        self.backend: Backend = backend
        self._base_url = base_url.rstrip("/")
        self._key = api_key.strip()
        self._session = session
        self._request_timeout_s = request_timeout_s
        self._client: Any = None

    async def ask(self, what: Callable[[Any], Awaitable[T]]) -> T:
        """What `what` gets out of the SDK's client, within the time a request may take."""
        if not (self._key and self._key.isascii() and self._key.isprintable()):
            raise ProviderAuth(f"{self.backend}: there is no key, or it has characters no key has")
        client = self._client or await asyncio.to_thread(self._connect)
        try:
            async with asyncio.timeout(self._request_timeout_s):
                return await what(client)
        except TimeoutError as error:
            raise ProviderTimeout(f"{self.backend}: no answer in time") from error
        except self._errors() as error:
            raise self._failure(error) from error

    def _connect(self) -> Any:
        """The SDK's client; it never tries again by itself: that is the caller's to decide."""
        if self.backend == "openai":
            import openai

            self._client = openai.AsyncOpenAI(
                api_key=self._key,
                base_url=self._base_url,
                timeout=None,
                max_retries=0,
                http_client=shared_client(self._session),
            )
        else:
            import groq

            self._client = groq.AsyncGroq(
                api_key=self._key,
                base_url=self._base_url.removesuffix("/openai/v1"),
                timeout=None,
                max_retries=0,
                http_client=httpx_client(self._session),
            )
        return self._client

    def _errors(self) -> type[Exception]:
        """The root of the SDK's own errors, once it is imported."""
        if self.backend == "openai":
            from openai import OpenAIError

            return OpenAIError
        from groq import GroqError

        return GroqError

    def _failure(self, error: Exception) -> ProviderError:
        response: Any = getattr(error, "response", None)
        if response is None:
            late = "Timeout" in type(error).__name__
            kind = ProviderTimeout if late else ProviderBusy
            return kind(f"{self.backend}: {type(error).__name__}: {self._mask(str(error))}")
        told = error_object(parse_body(response.content))
        return failure(
            self.backend, response.status_code, told, headers=response.headers, mask=self._mask
        )

    def _mask(self, text: str) -> str:
        return text.replace(self._key, "…")


class Speaker:
    """Speaks; `model` and `voice` as the service names them, "" = its usual one."""

    def __init__(self, service: SpeechService, *, model: str = "", voice: str = "") -> None:
        self._service = service
        self._model = model or _VOICE_MODELS[service.backend]
        self._voice = voice or _VOICES[service.backend]

    async def speak(self, text: str, voice: str = "") -> Spoken:
        """`text` as a voice note, or as what the service sent where it cannot be made into one.

        Raises:
            ProviderError: nothing was spoken.
        """
        wish = {
            "input": text,
            "model": self._model,
            "voice": voice or self._voice,
            "response_format": _FORMATS[self._service.backend],
        }
        begun_s = time.perf_counter()
        data = await self._service.ask(lambda client: _spoken(client, wish))
        took = _call("tts", self._service, self._model, begun_s)
        return Spoken(await asyncio.to_thread(voice_note, data), took)


class Transcriber:
    """Writes down what is said in a file."""

    def __init__(self, service: SpeechService, *, model: str = "") -> None:
        self._service = service
        groqs = service.backend == "openai" and model == _EARS["groq"]  # the default of the key
        self._model = _EARS["openai"] if groqs else model or _EARS[service.backend]

    async def transcribe(self, file: Path) -> Heard:
        """What is said in `file`, "" = nothing.

        Raises:
            ProviderError: it was not written down.
        """
        data = await asyncio.to_thread(file.read_bytes)
        if len(data) > MAX_HEARD_BYTES:
            raise ProviderRejected(f"{self._service.backend}: {len(data)} bytes of sound in a file")
        wish = {"model": self._model, "file": (_known_name(file), data), "response_format": "json"}
        begun_s = time.perf_counter()
        text = await self._service.ask(lambda client: _heard(client, wish))
        if not isinstance(text, str):
            raise ProviderBusy(f"{self._service.backend}: the answer is no transcript")
        return Heard(text.strip(), _call("stt", self._service, self._model, begun_s))


async def _spoken(client: Any, wish: dict[str, str]) -> bytes:
    answer = await client.audio.speech.create(**wish)
    data: Any = answer.read()
    return data if isinstance(data, bytes) else await data  # groq's has to be waited for


async def _heard(client: Any, wish: dict[str, Any]) -> object:
    return getattr(await client.audio.transcriptions.create(**wish), "text", None)


def _known_name(file: Path) -> str:
    return f"{file.stem}.ogg" if file.suffix.lower() in _OGG else file.name


def _call(
    scope: Literal["tts", "stt"], service: SpeechService, model: str, begun_s: float
) -> SpeechCall:
    return SpeechCall(scope, service.backend, model, round((time.perf_counter() - begun_s) * 1000))
