"""The worker that hears and speaks on this machine: its life, and what it hears."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from aouo.facts.attachments import VOICE_INSTALL
from aouo.facts.errors import ProviderBroke, ProviderBusy, ProviderRejected, ProviderTimeout
from aouo.providers.speech.audio import opus_of
from aouo.providers.speech.local import LocalSpeech
from aouo.providers.speech.services import SpeechCall
from aouo.providers.speech.worker import _MAX_HEARD_S
from tests.sampling import left

pytestmark = left()
ROOT = Path(__file__).parents[3]
FAKES = ROOT / "tests" / "fakes" / "speech_packages"
LIMIT_S = 60.0
SENTENCES = (
    "Please remind me to buy oat milk and two loaves of bread tomorrow morning.",
    "What is the weather in Berlin today?",
    "I feel a bit tired today, but the walk was nice.",
    "Turn left at the old stone bridge, then walk towards the river.",
)


@pytest.fixture
async def speech(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LocalSpeech]:
    """The real worker over libraries that hear what a file holds."""
    monkeypatch.syspath_prepend(str(FAKES))
    monkeypatch.setenv("PYTHONPATH", f"{FAKES}{os.pathsep}{ROOT}")
    speech = LocalSpeech()
    async with asyncio.timeout(LIMIT_S):
        yield speech
        await speech.aclose()
    assert speech.pid == 0


@pytest.fixture
async def real() -> AsyncIterator[LocalSpeech]:
    if not (find_spec("faster_whisper") and find_spec("hibari")):
        pytest.skip(f"speech is not installed ({VOICE_INSTALL})")
    speech = LocalSpeech()
    async with asyncio.timeout(LIMIT_S):
        yield speech
        await speech.aclose()


def file(folder: Path, content: bytes, name: str = "voice.ogg") -> Path:
    made = folder / name
    made.write_bytes(content)
    return made


async def ended(speech: LocalSpeech) -> None:
    assert speech._child
    await speech._child.process.wait()


async def test_it_starts_when_it_is_needed_and_ends_when_it_is_not(
    speech: LocalSpeech, tmp_path: Path
) -> None:
    speech.idle_s = 0.0
    assert speech.pid == 0

    assert (await speech.transcribe(file(tmp_path, b"one"))).text == "one"
    await ended(speech)
    assert speech.pid == 0
    assert (await speech.transcribe(file(tmp_path, b"two"))).text == "two"


async def test_hearing_and_speaking_share_one_worker(speech: LocalSpeech, tmp_path: Path) -> None:
    calls: list[SpeechCall] = []
    async with asyncio.TaskGroup() as group:
        speaks = group.create_task(speech.speak("good morning", spend=calls.append))
        hears = group.create_task(speech.transcribe(file(tmp_path, b"good morning")))
    spoken, heard = speaks.result(), hears.result()
    first = speech.pid
    await speech.speak("again")

    assert spoken.is_voice
    assert b"OpusHead" in spoken.data[:64]
    assert heard.text == "good morning"
    assert calls == [SpeechCall("tts", "local", "hibari", calls[0].duration_ms, 0.0)]
    assert speech.pid == first > 0


async def test_one_that_was_killed_is_not_noticed_by_the_next_call(
    speech: LocalSpeech, tmp_path: Path
) -> None:
    await speech.speak("hello")
    os.kill(speech.pid, signal.SIGKILL)

    assert (await speech.transcribe(file(tmp_path, b"still here"))).text == "still here"


async def test_what_breaks_it_takes_nobody_else_along(speech: LocalSpeech, tmp_path: Path) -> None:
    breaks = file(tmp_path, b"!crash", "breaks.ogg")
    good = [file(tmp_path, b"fine", f"{at}.ogg") for at in range(3)]
    async with asyncio.TaskGroup() as group:
        bad = group.create_task(broken(speech, breaks))
        others = [group.create_task(speech.transcribe(one)) for one in good]

    assert "broke down" in bad.result()
    assert [one.result().text for one in others] == ["fine"] * 3


async def broken(speech: LocalSpeech, path: Path) -> str:
    with pytest.raises(ProviderBroke) as caught:
        await speech.transcribe(path)
    return str(caught.value)


async def test_one_that_gives_no_sign_of_life_is_ended(speech: LocalSpeech, tmp_path: Path) -> None:
    speech.patience_s = 0.5

    with pytest.raises(ProviderTimeout):
        await speech.transcribe(file(tmp_path, b"!hang"))

    assert speech.pid == 0
    speech.patience_s = LIMIT_S
    assert (await speech.transcribe(file(tmp_path, b"next"))).text == "next"


async def test_what_is_not_understood_is_marked_and_never_guessed(
    speech: LocalSpeech, tmp_path: Path
) -> None:
    some = await speech.transcribe(file(tmp_path, b"buy milk\nuhm?\nwhat?\nand bread"))
    none = await speech.transcribe(file(tmp_path, b"uhm?\nwhat?"))
    silent = await speech.transcribe(file(tmp_path, b"  "))
    empty = await speech.transcribe(file(tmp_path, b""))

    assert (some.text, some.unclear) == ("buy milk [unclear] and bread", False)
    assert (none.text, none.unclear) == ("", True)
    assert (silent.text, silent.unclear) == (empty.text, empty.unclear) == ("", False)


async def test_what_it_cannot_do_is_refused_and_the_worker_lives_on(
    speech: LocalSpeech, tmp_path: Path
) -> None:
    await speech.speak("hello")
    first = speech.pid
    with pytest.raises(ProviderRejected, match="30 minutes"):
        await speech.transcribe(file(tmp_path, b"x" * (_MAX_HEARD_S * 16_000 + 1)))
    with pytest.raises(ProviderRejected, match="no sound"):
        await speech.transcribe(file(tmp_path, b"!no sound"))
    with pytest.raises(ProviderRejected, match="no sound"):
        await speech.transcribe(tmp_path / "gone.ogg")
    for voice in ("emma", "nobody"):  # the first would have to be downloaded
        with pytest.raises(ProviderRejected, match=voice):
            await speech.speak("hello", voice)
    with pytest.raises(ProviderRejected, match="nothing in it"):
        await speech.speak(" ")

    assert speech.pid == first


async def test_whoever_does_not_know_the_key_gets_nothing(speech: LocalSpeech) -> None:
    await speech.speak("hello")
    assert speech._child
    reader, writer = await asyncio.open_connection("127.0.0.1", speech._child.port)
    writer.write(json.dumps({"key": "wrong", "speak": "hello", "voice": ""}).encode() + b"\n")

    assert await reader.read() == b""
    writer.close()


async def test_the_worker_ends_with_its_stdin(speech: LocalSpeech) -> None:
    """So it never outlives the runtime, however that ends."""
    await speech.speak("hello")
    assert speech._child
    assert speech._child.process.stdin
    speech._child.process.stdin.close()

    assert await speech._child.process.wait() == 0


async def test_once_it_is_closed_no_other_one_is_started(speech: LocalSpeech) -> None:
    await speech.aclose()

    with pytest.raises(ProviderBusy):
        await speech.speak("hello")


def heard_wrong(said: str, heard: str) -> int:
    """How many words have to be changed, added or left out."""
    ours, theirs = (re.sub(r"[^\w ]", "", text.lower()).split() for text in (said, heard))
    row = list(range(len(theirs) + 1))
    for at, word in enumerate(ours, 1):
        row, last = [at], row
        for other in range(1, len(theirs) + 1):
            same = last[other - 1] + (word != theirs[other - 1])
            row.append(min(same, last[other] + 1, row[-1] + 1))
    return row[-1]


@left()
async def test_the_packaged_voice_is_understood_by_the_packaged_ears(
    real: LocalSpeech, tmp_path: Path
) -> None:
    wrong = 0
    for sentence in SENTENCES:
        note = await real.speak(sentence)
        heard = await real.transcribe(file(tmp_path, note.data))
        wrong += heard_wrong(sentence, heard.text)

    assert wrong <= 2, "of 44 words"


@pytest.mark.parametrize("kind", ["silence", "noise", "hum"])
async def test_a_recording_without_words_gives_none(
    real: LocalSpeech, tmp_path: Path, kind: str
) -> None:
    """Whisper alone writes "You" or "Thank you." under silence."""
    numpy: Any = import_module("numpy")
    times = numpy.arange(24_000 * 4) / 24_000
    sound = {
        "silence": times * 0,
        "noise": numpy.random.default_rng(1).normal(0, 0.1, len(times)),
        "hum": 0.2 * numpy.sin(2 * numpy.pi * 50 * times),
    }[kind]

    heard = await real.transcribe(file(tmp_path, opus_of(sound[:, None], 24_000)))

    assert (heard.text, heard.unclear) == ("", False)


@left()
async def test_the_sound_of_a_video_is_heard(real: LocalSpeech, tmp_path: Path) -> None:
    av: Any = import_module("av")
    soundfile: Any = import_module("soundfile")
    note = (await real.speak(SENTENCES[1])).data
    samples, rate_hz = soundfile.read(io.BytesIO(note), dtype="int16")
    with av.open(str(tmp_path / "video.mp4"), "w") as video:
        stream = video.add_stream("aac", rate=48_000)
        frame = av.AudioFrame.from_ndarray(samples[None], format="s16", layout="mono")
        frame.sample_rate = rate_hz
        for packet in (*stream.encode(frame), *stream.encode(None)):
            video.mux(packet)

    assert (await real.transcribe(tmp_path / "video.mp4")).text == SENTENCES[1]


async def test_a_list_of_other_files_is_no_recording(real: LocalSpeech, tmp_path: Path) -> None:
    """FFmpeg would open what such a file names."""
    note = (await real.speak(SENTENCES[1])).data
    file(tmp_path, note, "secret.ogg")

    with pytest.raises(ProviderRejected):
        await real.transcribe(file(tmp_path, b"ffconcat version 1.0\nfile secret.ogg\n", "a.ogg"))


async def test_another_language_is_not_turned_into_english_words(
    real: LocalSpeech, tmp_path: Path
) -> None:
    """The packaged model knows English only, and would write something."""
    if not (espeak := shutil.which("espeak-ng")):
        pytest.skip("espeak-ng is not installed")
    said = "Bitte erinnere mich morgen früh daran, Milch und Brot zu kaufen."
    process = await asyncio.create_subprocess_exec(
        espeak, "-v", "de", "--stdout", said, stdout=asyncio.subprocess.PIPE
    )
    sound, _ = await process.communicate()

    heard = await real.transcribe(file(tmp_path, sound))

    assert (heard.text, heard.unclear) == ("", True)
