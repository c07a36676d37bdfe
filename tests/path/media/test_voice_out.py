"""What a person gets when the model wants to speak."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from tests.fakes.model_server import Body, words_of
from tests.fakes.models import ModelService, profile
from tests.fakes.models.asked import _NOTE, _tone
from tests.path.world import ADA, WAIT_S, World, texts

KEY = "sk-very-secret"


@pytest.fixture
async def voices() -> AsyncIterator[ModelService]:
    async with ModelService(profile("openai"), api_key=KEY) as server:
        yield server


@pytest.fixture(autouse=True)
def pack(world: World) -> None:
    """One that may speak."""
    folder = world.home.packs / "radio"
    folder.mkdir()
    (folder / "pack.yml").write_text(
        "name: radio\nversion: 0.1.0\ndisplay_name: Radio\npermissions: {tools: [voice]}\n"
    )


def result(body: Body) -> str:
    return words_of(body["messages"][-1])


def speaking_at(voices: ModelService) -> dict[str, object]:
    return {
        "tts": {"backend": "openai", "voice": "coral"},
        "openai": {"base_url": f"{voices.url}/v1", "api_key": KEY},
    }


async def test_without_a_voice_the_model_reads_what_the_owner_has_to_set(world: World) -> None:
    world.model.call("tts", {"text": "Good morning"})
    world.model.say("Good morning, in writing")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Say good morning")
        await bot.people.next_message(ADA, contains="Good morning, in writing")

    assert "tts.backend" in result(world.model.requests[1])


async def test_a_voice_note_is_sent_kept_with_the_packs_files_and_no_chat_sees_its_path(
    world: World, voices: ModelService
) -> None:
    world.config = speaking_at(voices)
    voices.raw(_NOTE, content_type="audio/ogg")
    world.model.call("tts", {"text": "Good morning"})
    world.model.say("Said.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Say good morning")
        await bot.people.next_message(ADA, contains="Said.")
        messages = await bot.people.messages(ADA)
        seen = texts(messages)
        spent = await bot.rows(
            "SELECT scope, provider, model FROM usage_events WHERE scope = 'tts'"
        )

    assert any("voice" in message.raw for message in messages)
    assert [(row["scope"], row["provider"]) for row in spent] == [("tts", "openai")]
    assert [(wish["input"], wish["voice"]) for wish in voices.spoken] == [("Good morning", "coral")]
    told = json.loads(result(world.model.requests[1]))
    (file,) = world.home.pack_data.glob("radio/**/artifacts/*")
    assert told["ok"]
    assert told["file"] == f"artifacts/{file.name}"
    assert file.read_bytes() == _NOTE
    assert file.stat().st_mode & 0o077 == 0
    assert not any("artifacts" in text or str(world.home.path) in text for text in seen)


SENTENCE = "The tide comes in at six and goes out again at noon. "


@pytest.fixture
async def groq() -> AsyncIterator[ModelService]:
    async with ModelService(profile("groq"), api_key=KEY) as server:
        yield server


def speaking_at_groq(groq: ModelService) -> dict[str, object]:
    return {"tts": {"backend": "groq"}, "groq": {"base_url": groq.url, "api_key": KEY}}


async def test_a_long_answer_is_one_voice_note_where_the_service_takes_short_texts_only(
    world: World, groq: ModelService
) -> None:
    """Finding 24."""
    world.config = speaking_at_groq(groq)
    world.model.call("tts", {"text": SENTENCE * 19})
    world.model.say("Said.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Read it to me")
        await bot.people.next_message(ADA, contains="Said.")
        messages = await bot.people.messages(ADA)
        spent = await bot.rows("SELECT provider FROM usage_events WHERE scope = 'tts'")

    assert sum("voice" in message.raw for message in messages) == 1
    assert len(spent) == len(groq.spoken) > 5
    assert json.loads(result(world.model.requests[1]))["ok"]


async def test_a_voice_that_fails_in_the_middle_says_nothing_and_what_was_spoken_is_counted(
    world: World, groq: ModelService
) -> None:
    world.config = speaking_at_groq(groq)
    groq.raw(_tone(100), content_type="audio/wav")
    groq.fail(429, {"error": {"message": "tokens per day (TPD)"}}, {"Retry-After": "26100"})
    world.model.call("tts", {"text": SENTENCE * 19})
    world.model.say("In writing then")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Read it to me")
        await bot.people.next_message(ADA, contains="In writing then")
        messages = await bot.people.messages(ADA)
        spent = await bot.rows("SELECT provider FROM usage_events WHERE scope = 'tts'")

    assert not any("voice" in message.raw for message in messages)
    assert len(spent) == 1
    told = "Nothing was said: the voice service gave sound for a part of this text"
    assert result(world.model.requests[1]).count(told) == 1


async def test_a_text_that_a_small_plan_takes_minutes_for_is_written_at_once(world: World) -> None:
    async with ModelService(profile("groq"), api_key=KEY, plan="free") as groq:
        world.config = speaking_at_groq(groq)
        world.model.call("tts", {"text": SENTENCE * 19 * 4})
        world.model.say("In writing then")
        async with world.running() as bot:
            await bot.people.say(ADA, ADA, "Read it to me")
            await bot.people.next_message(ADA, contains="In writing then")

    assert [wrong.trouble for wrong in groq.refusals] == ["voice_per_minute"]
    told = "Nothing was said: the voice service gave sound for a part of this text"
    assert result(world.model.requests[1]).startswith(told)


async def test_stop_ends_a_long_text_between_two_calls(world: World, groq: ModelService) -> None:
    world.config = speaking_at_groq(groq)
    groq.raw(_tone(100), content_type="audio/wav")
    groq.stall()
    world.model.call("tts", {"text": SENTENCE * 19})
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Read it to me")
        async with asyncio.timeout(WAIT_S):
            await groq.stalled.wait()
            await bot.people.say(ADA, ADA, "/stop")
            await groq.closed_by_client.wait()
        messages = await bot.people.messages(ADA)

    assert len(groq.spoken) == 2
    assert not any("voice" in message.raw for message in messages)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("", "wants the owner to accept its model's terms first"),
        ("playai-tts", "does not have the model in tts.model"),
    ],
)
async def test_what_only_the_owner_can_mend_is_told_as_that(
    world: World, groq: ModelService, model: str, why: str
) -> None:
    groq.memory.terms_accepted = False
    world.config = speaking_at_groq(groq) | {"tts": {"backend": "groq", "model": model}}
    world.model.call("tts", {"text": "Good morning"})
    world.model.say("Good morning, in writing")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Say good morning")
        await bot.people.next_message(ADA, contains="Good morning, in writing")

    told = result(world.model.requests[1])
    assert why in told
    assert "`aouo doctor`" in told
    assert len(groq.spoken) == 1


async def test_a_voice_that_fails_is_told_to_the_model_and_not_to_the_person(
    world: World, voices: ModelService
) -> None:
    world.config = speaking_at(voices)
    voices.fail(500)
    world.model.call("tts", {"text": "Good morning"})
    world.model.say("Good morning, in writing")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Say good morning")
        await bot.people.next_message(ADA, contains="Good morning, in writing")

    assert "gave no sound" in result(world.model.requests[1])


@pytest.mark.parametrize("planted", ["artifacts", "."])
async def test_a_voice_note_is_kept_past_no_link_that_a_tool_has_planted(
    world: World, voices: ModelService, planted: str
) -> None:
    """Issue 11: a link named `artifacts` led the file out of the pack's folder."""
    outside = world.home.path.parent / "outside"
    outside.mkdir()
    own = world.home.pack_folder("radio")
    own.mkdir()
    (own / "artifacts").symlink_to(outside if planted == "artifacts" else planted)
    world.config = speaking_at(voices)
    voices.raw(_NOTE, content_type="audio/ogg")
    world.model.call("tts", {"text": "Good morning"})
    world.model.say("Said.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "Say good morning")
        await bot.people.next_message(ADA, contains="Said.")

    assert "artifacts is no folder" in result(world.model.requests[1])
    assert list(outside.iterdir()) == []
    assert [entry.name for entry in own.iterdir()] == ["artifacts"]


async def test_of_a_voice_note_that_may_have_arrived_the_model_reads_not_to_send_it_again(
    world: World, voices: ModelService
) -> None:
    world.config = speaking_at(voices)
    voices.raw(_NOTE, content_type="audio/ogg")
    world.model.call("tts", {"text": "Good morning"})
    world.model.say("Said.")
    async with world.running() as bot:
        await bot.people.fault("drop_after", method="sendVoice", chat=ADA)
        await bot.people.say(ADA, ADA, "Say good morning")
        await bot.people.next_message(ADA, contains="Said.")

    told = result(world.model.requests[1])
    start = "[outcome unknown: it may have arrived, do not send it again. It is kept as artifacts/"
    assert told.startswith(start)
