"""Voices over a real socket and through the services' own SDKs."""

from __future__ import annotations

import asyncio
import io
import sys
import wave
from array import array
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from aouo.errors import (
    ProviderAuth,
    ProviderBilling,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    UnexplainedRefusal,
)
from aouo.providers.audio import voice_note
from aouo.providers.speech import (
    MAX_HEARD_BYTES,
    Backend,
    Speaker,
    SpeechCall,
    SpeechService,
    Transcriber,
)
from tests.fakes.speech_server import SpeechServer

KEY = "sk-very-secret"
WAIT_S = 30.0
NOTE = b"OggS" + bytes(24) + b"OpusHead" + b"and so on"
BACKENDS: tuple[Backend, ...] = ("openai", "groq")


@pytest.fixture
async def server() -> AsyncIterator[SpeechServer]:
    async with SpeechServer(api_key=KEY) as server:
        yield server


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


def service_at(
    url: str,
    session: aiohttp.ClientSession,
    backend: Backend,
    *,
    key: str = KEY,
    timeout_s: float = WAIT_S,
) -> SpeechService:
    return SpeechService(
        backend=backend,
        base_url=f"{url}/v1" if backend == "openai" else f"{url}/openai/v1/",
        api_key=key,
        session=lambda: session,
        request_timeout_s=timeout_s,
    )


def wav(rate_hz: int, channels: int = 1, seconds: int = 2) -> bytes:
    """A tone that rises and falls."""
    frames = [8000 if at // 50 % 2 else -8000 for at in range(rate_hz * seconds)]
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(array("h", [v for v in frames for _ in range(channels)]).tobytes())
    return made.getvalue()


async def test_openai_sends_a_voice_note_as_it_is(
    server: SpeechServer, session: aiohttp.ClientSession
) -> None:
    server.speak(NOTE, "audio/opus")

    spoken = await Speaker(service_at(server.url, session, "openai")).speak("Good morning")

    assert (spoken.audio.data, spoken.audio.is_voice) == (NOTE, True)
    assert spoken.call == SpeechCall("tts", "openai", "gpt-4o-mini-tts", spoken.call.duration_ms)
    assert server.paths == ["/v1/audio/speech"]
    assert server.spoken == [
        {
            "input": "Good morning",
            "model": "gpt-4o-mini-tts",
            "voice": "alloy",
            "response_format": "opus",
        }
    ]


async def test_what_groq_sends_becomes_a_voice_note(
    server: SpeechServer, session: aiohttp.ClientSession
) -> None:
    server.speak(wav(24_000), "audio/wav")
    speaker = Speaker(service_at(server.url, session, "groq"), model="m", voice="v")

    audio = (await speaker.speak("Good morning", "troy")).audio

    assert audio.is_voice
    assert audio.data[:4] == b"OggS"
    assert server.paths == ["/openai/v1/audio/speech"]
    assert server.spoken == [
        {"input": "Good morning", "model": "m", "voice": "troy", "response_format": "wav"}
    ]


@pytest.mark.parametrize(
    ("rate_hz", "channels"), [(8_000, 1), (22_050, 1), (24_000, 2), (44_100, 2), (48_000, 1)]
)
def test_a_voice_note_is_as_long_as_what_was_said(rate_hz: int, channels: int) -> None:
    note = voice_note(wav(rate_hz, channels, seconds=3))

    soundfile: Any = import_module("soundfile")
    heard = soundfile.info(io.BytesIO(note.data))
    assert (heard.format, heard.subtype, heard.channels) == ("OGG", "OPUS", 1)
    assert heard.duration == pytest.approx(3.0, abs=0.01)


@pytest.mark.parametrize(
    ("data", "media_type", "suffix"),
    [(wav(24_000), "audio/wav", ".wav"), (b"ID3\x04 and so on", "audio/mpeg", ".mp3")],
)
def test_without_the_library_a_sound_stays_what_it_is(
    monkeypatch: pytest.MonkeyPatch, data: bytes, media_type: str, suffix: str
) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)

    audio = voice_note(data)

    assert (audio.data, audio.media_type, audio.suffix) == (data, media_type, suffix)
    assert not audio.is_voice


def test_a_sound_that_cannot_be_read_stays_what_it_is() -> None:
    assert not voice_note(b"RIFF and then nothing that is sound").is_voice


@pytest.mark.parametrize("data", [b"", b"<html>", b'{"error": "soon"}'])
def test_what_is_no_sound_is_a_failure_of_the_service(data: bytes) -> None:
    with pytest.raises(ProviderBusy):
        voice_note(data)


@pytest.mark.parametrize(
    ("backend", "path", "model"),
    [
        ("groq", "/openai/v1/audio/transcriptions", "whisper-large-v3-turbo"),
        ("openai", "/v1/audio/transcriptions", "whisper-1"),
    ],
)
@pytest.mark.parametrize(
    ("name", "sent_as"),
    [("file_7.oga", "file_7.ogg"), ("file_7", "file_7.ogg"), ("talk.mp3", "talk.mp3")],
)
async def test_a_file_is_heard_under_a_name_that_the_service_knows(
    server: SpeechServer,
    session: aiohttp.ClientSession,
    tmp_path: Path,
    backend: Backend,
    path: str,
    model: str,
    name: str,
    sent_as: str,
) -> None:
    """Both services go by the ending, and neither knows Telegram's `.oga`."""
    (tmp_path / name).write_bytes(NOTE)
    server.hear(" Good morning. ")
    ears = Transcriber(service_at(server.url, session, backend), model="whisper-large-v3-turbo")

    heard = await ears.transcribe(tmp_path / name)

    assert heard.text == "Good morning."
    assert heard.call == SpeechCall("stt", backend, model, heard.call.duration_ms)
    assert server.paths == [path]
    (file,) = server.files
    assert (file.name, file.data) == (sent_as, NOTE)
    assert file.fields == {"model": model, "response_format": "json"}


async def test_a_file_that_no_service_takes_is_not_sent(
    server: SpeechServer, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    file = tmp_path / "long.ogg"
    with file.open("wb") as opened:
        opened.truncate(MAX_HEARD_BYTES + 1)

    with pytest.raises(ProviderRejected):
        await Transcriber(service_at(server.url, session, "groq")).transcribe(file)
    assert server.paths == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "invalid_api_key", ProviderAuth),
        (402, "", ProviderBilling),
        (429, "insufficient_quota", ProviderBilling),
        (400, "invalid_value", UnexplainedRefusal),
        (500, "server_error", ProviderBusy),
        (503, "", ProviderBusy),
    ],
)
async def test_a_refusal_is_the_same_error_as_from_a_chat_model(
    server: SpeechServer,
    session: aiohttp.ClientSession,
    backend: Backend,
    status: int,
    code: str,
    kind: type[ProviderError],
) -> None:
    server.fail(status, {"error": {"message": f"words about {KEY}", "code": code}})

    with pytest.raises(kind) as refused:
        await Speaker(service_at(server.url, session, backend)).speak("Hello")
    assert kind is ProviderRejected or type(refused.value) is kind
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_busy_service_says_when_to_come_back(
    server: SpeechServer, session: aiohttp.ClientSession, backend: Backend
) -> None:
    server.fail(429, "<html>slow down</html>", {"Retry-After": "7"})

    with pytest.raises(ProviderBusy) as busy:
        await Speaker(service_at(server.url, session, backend)).speak("Hello")
    assert busy.value.retry_after_s == 7
    assert len(server.paths) == 1


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_silent_service_is_given_up_and_its_connection_closed(
    server: SpeechServer, session: aiohttp.ClientSession, backend: Backend
) -> None:
    service = service_at(server.url, session, backend, timeout_s=0.3)
    server.stay_silent()

    with pytest.raises(ProviderTimeout):
        await Speaker(service).speak("Hello")
    async with asyncio.timeout(WAIT_S):
        await server.left.wait()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_service_that_is_not_there_is_busy(
    session: aiohttp.ClientSession, backend: Backend
) -> None:
    with pytest.raises(ProviderBusy):
        await Speaker(service_at("http://127.0.0.1:9", session, backend)).speak("Hello")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("key", ["", "ключ", "wrong"])
async def test_a_key_that_is_none(
    server: SpeechServer,
    session: aiohttp.ClientSession,
    monkeypatch: pytest.MonkeyPatch,
    backend: Backend,
    key: str,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("GROQ_API_KEY", KEY)

    with pytest.raises(ProviderAuth):
        await Speaker(service_at(server.url, session, backend, key=key)).speak("Hello")


async def test_an_answer_without_words_is_a_failure_of_the_service(
    server: SpeechServer, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    (tmp_path / "a.ogg").write_bytes(NOTE)
    server.speak(b"<html>Welcome</html>", "text/html")

    with pytest.raises(ProviderBusy):
        await Transcriber(service_at(server.url, session, "groq")).transcribe(tmp_path / "a.ogg")
