"""Voices over a real socket and through the services' own SDKs."""

from __future__ import annotations

import asyncio
import io
import sys
import wave
from array import array
from collections.abc import AsyncIterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import (
    CertificateRefused,
    ModelGone,
    PromptTooLong,
    ProviderAuth,
    ProviderBilling,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    ProxyRefused,
    UnexplainedRefusal,
)
from aouo.providers.speech.audio import RULES, Backend, one_wav, pieces, voice_note
from aouo.providers.speech.services import (
    Speaker,
    SpeechCall,
    SpeechService,
    TermsAsked,
    Transcriber,
)
from tests.fakes.models import ModelService, profile
from tests.fakes.models.asked import _MS_A_CHARACTER, _NOTE, _tone
from tests.fakes.tls_server import make, serving

KEY = "sk-very-secret"
WAIT_S = 30.0
BACKENDS: tuple[Backend, ...] = ("openai", "groq")


@pytest.fixture
def backend() -> Backend:
    """Of a test that is about one service."""
    return "groq"


@pytest.fixture
async def server(backend: Backend) -> AsyncIterator[ModelService]:
    async with ModelService(profile(backend), api_key=KEY) as server:
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


@pytest.mark.parametrize("backend", ["openai"])
async def test_openai_sends_a_voice_note_as_it_is(
    server: ModelService, session: aiohttp.ClientSession
) -> None:
    server.raw(_NOTE, content_type="audio/opus")

    calls: list[SpeechCall] = []

    speaker = Speaker(service_at(server.url, session, "openai"))
    audio = await speaker.speak("Good morning", spend=calls.append)

    assert (audio.data, audio.is_voice) == (_NOTE, True)
    assert calls == [SpeechCall("tts", "openai", "gpt-4o-mini-tts", calls[0].duration_ms)]
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
    server: ModelService, session: aiohttp.ClientSession
) -> None:
    server.raw(wav(24_000), content_type="audio/wav")
    model = "canopylabs/orpheus-v1-english"
    speaker = Speaker(service_at(server.url, session, "groq"), model=model, voice="diana")

    audio = await speaker.speak("Good morning", "troy")

    assert audio.is_voice
    assert audio.data[:4] == b"OggS"
    assert server.paths == ["/openai/v1/audio/speech"]
    assert server.spoken == [
        {"input": "Good morning", "model": model, "voice": "troy", "response_format": "wav"}
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
    assert not voice_note(b"RIFF1234WAVE and then nothing that is sound").is_voice


@pytest.mark.parametrize("data", [b"", b"<html>", b'{"error": "soon"}'])
def test_what_is_no_sound_is_a_failure_of_the_service(data: bytes) -> None:
    with pytest.raises(ProviderBusy):
        voice_note(data)


@pytest.mark.parametrize(
    ("backend", "path", "model"),
    [
        ("groq", "/openai/v1/audio/transcriptions", "whisper-large-v3-turbo"),
        ("openai", "/v1/audio/transcriptions", "gpt-transcribe"),
    ],
)
@pytest.mark.parametrize(
    ("name", "sent_as"),
    [("file_7.oga", "file_7.ogg"), ("file_7", "file_7.ogg"), ("talk.mp3", "talk.ogg")],
)
async def test_a_file_is_heard_under_a_name_that_the_service_knows(
    server: ModelService,
    session: aiohttp.ClientSession,
    tmp_path: Path,
    backend: Backend,
    path: str,
    model: str,
    name: str,
    sent_as: str,
) -> None:
    """Both services go by the ending, and neither knows Telegram's `.oga`."""
    (tmp_path / name).write_bytes(_NOTE)
    server.say(" Good morning. ")
    ears = Transcriber(service_at(server.url, session, backend), model="whisper-large-v3-turbo")

    heard = await ears.transcribe(tmp_path / name)

    assert heard.text == "Good morning."
    assert heard.call == SpeechCall("stt", backend, model, heard.call.duration_ms)
    assert server.paths == [path]
    (file,) = server.files
    assert (file.name, file.data) == (sent_as, _NOTE)
    assert file.fields == {"model": model, "response_format": "json"}


async def test_a_file_that_no_service_takes_is_not_sent(
    server: ModelService, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    file = tmp_path / "long.ogg"
    with file.open("wb") as opened:
        opened.truncate(RULES["groq"].max_heard_bytes + 1)

    with pytest.raises(PromptTooLong):
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
    server: ModelService,
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
    server: ModelService, session: aiohttp.ClientSession, backend: Backend
) -> None:
    server.fail(429, "<html>slow down</html>", {"Retry-After": "7"})

    with pytest.raises(ProviderBusy) as busy:
        await Speaker(service_at(server.url, session, backend)).speak("Hello")
    assert busy.value.retry_after_s == 7
    assert len(server.paths) == 1


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_silent_service_is_given_up_and_its_connection_closed(
    server: ModelService, session: aiohttp.ClientSession, backend: Backend
) -> None:
    service = service_at(server.url, session, backend, timeout_s=0.3)
    server.stall()

    with pytest.raises(ProviderTimeout):
        await Speaker(service).speak("Hello")
    async with asyncio.timeout(WAIT_S):
        await server.closed_by_client.wait()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_service_that_is_not_there_is_busy(
    session: aiohttp.ClientSession, backend: Backend
) -> None:
    with pytest.raises(ProviderBusy):
        await Speaker(service_at("http://127.0.0.1:9", session, backend)).speak("Hello")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("key", ["", "ключ", "wrong"])
async def test_a_key_that_is_none(
    server: ModelService,
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
    server: ModelService, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    (tmp_path / "a.ogg").write_bytes(_NOTE)
    server.raw(b"<html>Welcome</html>", content_type="text/html")

    with pytest.raises(ProviderBusy):
        await Transcriber(service_at(server.url, session, "groq")).transcribe(tmp_path / "a.ogg")


SENTENCE = "The tide comes in at six and goes out again at noon. "


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("characters", [1, 200, 201, 1_000, 4_096])
async def test_a_text_of_any_length_is_spoken_to_its_end_within_the_rules_of_the_service(
    server: ModelService, session: aiohttp.ClientSession, backend: Backend, characters: int
) -> None:
    """Finding 24: Orpheus at Groq takes 200 characters a call."""
    text = (SENTENCE * 90)[:characters].strip()
    calls: list[SpeechCall] = []

    speaker = Speaker(service_at(server.url, session, backend))
    audio = await speaker.speak(text, spend=calls.append)

    assert audio.is_voice
    assert " ".join(wish["input"] for wish in server.spoken) == text
    assert len(calls) == len(server.spoken)
    if server.spoken[0]["response_format"] == "wav":
        said = sum(len(wish["input"]) for wish in server.spoken)
        soundfile: Any = import_module("soundfile")
        length_s = soundfile.info(io.BytesIO(audio.data)).duration
        assert length_s == pytest.approx(said * _MS_A_CHARACTER / 1000, abs=0.01)


async def test_what_was_spoken_before_a_failure_is_counted_and_nothing_after_it_is_asked(
    server: ModelService, session: aiohttp.ClientSession
) -> None:
    server.raw(_tone(100), content_type="audio/wav")
    server.raw(_tone(100), content_type="audio/wav")
    server.fail(429, {"error": {"message": "tokens per day (TPD)"}}, {"Retry-After": "26100"})
    calls: list[SpeechCall] = []

    with pytest.raises(ProviderBusy):
        await Speaker(service_at(server.url, session, "groq")).speak(
            SENTENCE * 20, spend=calls.append
        )
    assert len(calls) == 2
    assert len(server.spoken) == 3


async def test_a_short_pause_that_the_service_asks_for_in_the_middle_is_waited_out(
    server: ModelService, session: aiohttp.ClientSession
) -> None:
    """Ten calls a minute on the free plan, for playai-tts (console.groq.com/docs/rate-limits)."""
    server.raw(_tone(100), content_type="audio/wav")
    server.fail(429, {"error": {"message": "requests per minute"}}, {"retry-after-ms": "5"})
    server.raw(_tone(100), content_type="audio/wav")

    audio = await Speaker(service_at(server.url, session, "groq")).speak(
        SENTENCE * 4 + "It never stops."
    )

    assert audio.is_voice
    first, refused, again = server.spoken
    assert refused == again != first


async def test_pauses_that_are_too_long_all_in_all_are_not_begun(
    session: aiohttp.ClientSession,
) -> None:
    """On Groq's free plan 1,200 characters a minute are spoken, then twenty a second."""
    async with ModelService(profile("groq"), api_key=KEY, plan="free", clock=lambda: 0.0) as server:
        with pytest.raises(ProviderBusy) as busy:
            await Speaker(service_at(server.url, session, "groq")).speak(SENTENCE * 70)

    assert [wrong.trouble for wrong in server.refusals] == ["voice_per_minute"]
    assert sum(len(wish["input"]) for wish in server.spoken[:-1]) <= 1_200
    assert 0 < busy.value.retry_after_s <= 10


async def test_a_limit_of_a_day_that_comes_back_by_and_by_is_no_quota_of_today(
    session: aiohttp.ClientSession,
) -> None:
    async with ModelService(
        profile("groq"), api_key=KEY, plan="free", clock=lambda: 86_400.0
    ) as server:
        server.memory.spend(86_400.0, "canopylabs/orpheus-v1-english", 3_571)
        with pytest.raises(ProviderBusy) as busy:
            await Speaker(service_at(server.url, session, "groq")).speak("a" * 121)

    assert type(busy.value) is ProviderBusy
    assert service_said(server) == "voice_per_day"
    assert busy.value.retry_after_s == 2_208  # 36m48s, as recorded for these very numbers


def service_said(server: ModelService) -> str:
    (wrong,) = server.refusals
    return wrong.trouble


async def test_terms_that_are_not_accepted_are_told_with_the_address_of_the_service(
    server: ModelService, session: aiohttp.ClientSession
) -> None:
    server.memory.terms_accepted = False

    with pytest.raises(
        TermsAsked, match=r"https://console\.groq\.com/playground\?model=canopylabs"
    ):
        await Speaker(service_at(server.url, session, "groq")).speak("Hello")
    assert len(server.spoken) == 1


@pytest.mark.parametrize(
    ("backend", "voice", "ears"),
    [
        ("groq", "playai-tts", "distil-whisper-large-v3-en"),
        ("openai", "gpt-4o-mini-tts-2025-03-20", "gpt-4o-mini-tts-2025-03-20"),
    ],
)
async def test_a_model_that_is_gone_is_told_from_other_refusals(
    server: ModelService,
    session: aiohttp.ClientSession,
    tmp_path: Path,
    backend: Backend,
    voice: str,
    ears: str,
) -> None:
    (tmp_path / "a.ogg").write_bytes(_NOTE)
    service = service_at(server.url, session, backend)

    with pytest.raises(ModelGone, match=voice):
        await Speaker(service, model=voice).speak("Hello")
    with pytest.raises(ModelGone, match=ears):
        await Transcriber(service, model=ears).transcribe(tmp_path / "a.ogg")


@pytest.mark.parametrize("backend", BACKENDS)
async def test_what_is_heard_by_default_is_within_the_rules_of_the_service(
    server: ModelService, session: aiohttp.ClientSession, tmp_path: Path, backend: Backend
) -> None:
    (tmp_path / "a.ogg").write_bytes(_NOTE)

    heard = await Transcriber(service_at(server.url, session, backend)).transcribe(
        tmp_path / "a.ogg"
    )

    assert heard.text == f"(a recording of {len(_NOTE)} bytes, which nobody listened to)"


@pytest.mark.parametrize("length", [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x10\0\0\0"])
def test_wav_files_are_joined_to_the_sample_whatever_their_headers_say(length: bytes) -> None:
    whole = wav(24_000, seconds=1)
    odd = bytearray(whole)
    if length != b"\x10\0\0\0":
        odd[4:8] = odd[40:44] = length
    else:
        odd[4:8] = length  # of RIFF's lengths none counts

    with wave.open(io.BytesIO(one_wav([bytes(odd), whole])), "rb") as joined:
        frames = joined.readframes(joined.getnframes())

    assert frames == whole[44:] * 2


@pytest.mark.parametrize("other", [wav(22_050), wav(24_000, channels=2), b"OggS and so on", b""])
def test_sounds_of_two_kinds_are_not_joined(other: bytes) -> None:
    with pytest.raises(ProviderBusy):
        one_wav([wav(24_000), other])


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_certificate_that_cannot_be_trusted_is_no_busy_service(
    backend: Backend, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    async with serving(make("localhost"), tmp_path) as port:
        speaker = Speaker(service_at(f"https://localhost:{port}", session, backend))
        with pytest.raises(CertificateRefused) as caught:
            await speaker.speak("Good morning")

    assert caught.value.cure.startswith("the certificate of localhost is signed by itself")


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_proxy_that_lets_no_voice_through_is_no_busy_service(backend: Backend) -> None:
    async def refuses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuses, "127.0.0.1", 0) as listening:
        proxy = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        async with aiohttp.ClientSession(proxy=proxy) as session:
            speaker = Speaker(service_at("https://voices.example", session, backend))
            with pytest.raises(ProxyRefused, match=backend):
                await speaker.speak("Good morning")


# Texts cut for a voice. The laws hold for any text; issue 12, 8


TEXTS = st.text(st.sampled_from("ab .!?,\n。é😀"), max_size=400) | st.text(max_size=300)


@given(TEXTS, st.integers(1, 60))
def test_nothing_is_lost_and_every_piece_fits(text: str, limit: int) -> None:
    cut = pieces(text, limit)

    assert "".join(cut) == text
    assert all(0 < len(piece) <= limit for piece in cut)


@given(TEXTS, st.integers(1, 60))
def test_a_word_is_cut_only_where_it_does_not_fit_alone(text: str, limit: int) -> None:
    cut = pieces(text, limit)

    for before, after in pairwise(cut):
        if before[-1].isspace() or after[0].isspace() or before[-1] in "。！？」』”":
            continue
        assert not any(sign.isspace() for sign in before)
        assert len(before) == limit


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("", 10, ()),
        ("Short.", 10, ("Short.",)),
        ("One two. Three four.", 12, ("One two. ", "Three four.")),
        ("Pi is 3.14 today. Yes.", 18, ("Pi is 3.14 today. ", "Yes.")),
        ('He said "no." Then he left.', 20, ('He said "no." ', "Then he left.")),
        ("one two three four", 9, ("one two ", "three ", "four")),
        ("今日は晴れです。明日は雨です。", 10, ("今日は晴れです。", "明日は雨です。")),
        ("a\nb c d e", 4, ("a\n", "b c ", "d e")),
        ("abcdefgh", 3, ("abc", "def", "gh")),
    ],
)
def test_where_a_text_is_cut(text: str, limit: int, expected: tuple[str, ...]) -> None:
    assert pieces(text, limit) == expected
