"""A person speaks instead of writing. Source: issue 4 (inbound), design 3.1.4."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says
from tests.fakes.models import ModelService, profile
from tests.fakes.models.asked import _NOTE
from tests.path.looking import answers, cut_off, eventually, prompts, said, settled
from tests.path.world import ADA, BEN, WAIT_S, Running, World

KEY = "gsk-very-secret"


@pytest.fixture
async def ears(world: World) -> AsyncIterator[ModelService]:
    world.install("notes")
    async with ModelService(profile("groq"), api_key=KEY) as server:
        world.config = {
            "stt": {"backend": "groq"},
            "groq": {"base_url": server.url, "api_key": KEY},
        }
        yield server


async def speak(bot: Running, user: int = ADA, **more: Any) -> None:
    await bot.people.send_file(user, user, "voice", _NOTE, **more)


async def test_a_voice_message_is_answered_as_if_it_had_been_written(
    world: World, ears: ModelService
) -> None:
    ears.say("buy milk tomorrow")
    world.model.say("Noted.")
    async with world.running() as bot:
        await speak(bot)
        await said(world, "Noted.")
        await settled(bot)
        usage = await bot.rows("SELECT scope, provider, model, pack, person FROM usage_events")
        media = await bot.rows("SELECT kind, path, state, text, size_bytes FROM media")

    (told,) = prompts(world)
    assert told.endswith("buy milk tomorrow")
    assert told.startswith("[voice message, 1 s; what was said:]")
    (file,) = ears.files
    assert file.name.endswith(".ogg")
    assert file.data == _NOTE
    assert usage[0] == {
        "scope": "stt",
        "provider": "groq",
        "model": "whisper-large-v3-turbo",
        "pack": "notes",
        "person": str(ADA),
    }
    assert media[0]["text"] == "buy milk tomorrow"
    stored = world.home.media / media[0]["path"]
    assert stored.read_bytes() == _NOTE
    assert stored.stat().st_mode & 0o777 == 0o600
    assert stored.parent.name == f"tg_{ADA}"


async def test_words_under_a_sound_and_its_length_reach_the_model(
    world: World, ears: ModelService
) -> None:
    ears.say("la la la")
    async with world.running() as bot:
        await bot.people.send_file(
            ADA,
            ADA,
            "audio",
            b"ID3 sound" + bytes(60),
            name="../a song].mp3",
            caption="who sings this?",
        )
        await bot.people.next_message(ADA)
        await settled(bot)

    (asked,) = prompts(world)
    assert re.fullmatch(
        r"\[audio a song_\.mp3, 1 s; what was heard in it:\]\n"
        r'<untrusted source="audio" id="(\w+)">\nla la la\n</untrusted \1>\nwho sings this\?',
        asked,
    )
    assert ears.files[0].name.endswith("a song_.mp3")


async def test_a_silent_recording_is_said_and_reaches_no_model(
    world: World, ears: ModelService
) -> None:
    ears.say("  ")
    async with world.running() as bot:
        await speak(bot)
        await said(
            world, "I heard no words in your voice message. Please say it again, or write it."
        )
        await settled(bot)
        rows = await bot.rows("SELECT scope FROM usage_events")

    assert world.model.requests == []
    assert rows == [{"scope": "stt"}]


async def test_without_speech_recognition_the_person_reads_how_it_is_set_up(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        await speak(bot)
        answer = await bot.people.next_message(ADA)
        await settled(bot)

        calls = await bot.people.calls("getFile")
    assert answer.text.startswith("I cannot listen to your voice message: speech recognition")
    assert "stt.groq_api_key" in answer.text
    assert world.model.requests == []
    assert calls == []


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "refuses our key"),
        (400, "does not take it"),
        (413, "it is too large for speech recognition"),
    ],
)
async def test_speech_recognition_that_refuses_is_said_with_its_reason(
    world: World, ears: ModelService, status: int, reason: str
) -> None:
    ears.fail(status)
    async with world.running() as bot:
        await speak(bot)
        answer = await bot.people.next_message(ADA)
        await settled(bot)

    assert reason in answer.text
    assert world.model.requests == []


async def test_a_recording_that_was_cut_off_before_its_first_sound_is_said(
    world: World, ears: ModelService
) -> None:
    async with world.running() as bot:
        await bot.people.send_file(ADA, ADA, "voice", _NOTE[:40])
        answer = await bot.people.next_message(ADA)
        await settled(bot)

    assert "does not take it. Send it in another form, or write it." in answer.text
    assert [wrong.trouble for wrong in ears.refusals] == ["no_media"]
    assert world.model.requests == []


async def test_a_model_of_speech_recognition_that_is_gone_is_the_owners_to_change(
    world: World, ears: ModelService
) -> None:
    """Finding 1."""
    ears.fail(404, {"error": {"message": "The model does not exist", "code": "model_not_found"}})
    async with world.running() as bot:
        await speak(bot)
        answer = await bot.people.next_message(ADA)
        await settled(bot)

    assert "speech recognition cannot be used as it is set up" in answer.text
    assert "aouo doctor" in answer.text


async def test_speech_recognition_that_is_busy_is_asked_again(
    world: World, ears: ModelService
) -> None:
    world.clock = FastClock()
    ears.fail(503)
    ears.say("at last")
    async with world.running() as bot:
        await speak(bot)
        await bot.people.next_message(ADA)
        await settled(bot)

    assert prompts(world)[0].endswith("at last")


async def test_a_download_that_breaks_is_made_again_and_then_given_up(
    world: World, ears: ModelService
) -> None:
    world.clock = FastClock()
    ears.say("hello")
    async with world.running() as bot:
        await bot.people.fault("status", method="getFile", status=502)
        await bot.people.fault("status", method="download", status=404)
        await bot.people.fault("drop_after", method="download", nth=2)
        await speak(bot)
        await eventually(lambda: answers(world))
        assert await bot.people.faults_pending() == []
        await bot.people.fault("status", method="getFile", status=502, times=4)
        await speak(bot)
        await said(
            world,
            "I could not download your voice message. Please send it again in a minute.",
        )
        await settled(bot)

    assert len(prompts(world)) == 1
    assert not list(world.home.media.glob("*/.*"))


async def test_what_was_heard_is_not_heard_again_after_a_restart(
    world: World, ears: ModelService
) -> None:
    """The crash comes between the words and the turn: design 3.5."""
    ears.say("once is enough")
    ears.stall()
    async with world.running() as bot:
        world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
        await speak(bot)
        await world.model.stalled.wait()
        await cut_off(bot)
    world.model.say("Understood.")
    async with world.running() as bot:
        await said(world, "Understood.")
        await settled(bot)

    assert len(ears.files) == 1
    assert [told.splitlines()[-1] for told in prompts(world)] == ["once is enough"] * 2
    assert len(await world.people.calls("getFile")) == 1


async def test_what_was_downloaded_is_not_downloaded_again_after_a_restart(
    world: World, ears: ModelService
) -> None:
    ears.stall()
    async with world.running() as bot:
        await speak(bot)
        async with asyncio.timeout(WAIT_S):
            await ears.stalled.wait()
        await cut_off(bot)
    ears.say("good morning")
    async with world.running() as bot:
        await settled(bot)

    assert [told.splitlines()[-1] for told in prompts(world)] == ["good morning"]
    assert len(await world.people.calls("getFile")) == 1


async def test_a_stop_ends_the_listening_too(world: World, ears: ModelService) -> None:
    ears.stall()
    async with world.running() as bot:
        await speak(bot)
        async with asyncio.timeout(WAIT_S):
            await ears.stalled.wait()
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Stopped.")
        await settled(bot)
        async with asyncio.timeout(WAIT_S):
            await ears.closed_by_client.wait()

    assert world.model.requests == []


async def test_a_stop_between_the_words_and_the_model_ends_the_turn(
    world: World, ears: ModelService
) -> None:
    ears.say("never mind")
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await speak(bot)
        await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Stopped.")
        await settled(bot)
        turns = await bot.rows("SELECT status FROM turns")

    assert turns == [{"status": "aborted"}]


async def test_a_download_that_hangs_holds_up_nobody_else(world: World, ears: ModelService) -> None:
    ears.say("too late")
    async with world.running() as bot:
        await bot.people.fault("slow", method="download", seconds=30)
        await speak(bot)
        assert (await bot.ask("hello", user=BEN)).text == "hello"
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Stopped.")

    assert len(prompts(world)) == 1


async def test_nothing_of_a_stranger_is_fetched_or_kept(world: World, ears: ModelService) -> None:
    async with world.running() as bot:
        stranger = await bot.people.create_user("Eve")
        await speak(bot, stranger, caption="let me in")
        await bot.people.next_message(stranger, contains="You are not authorized to use this bot.")
        await settled(bot)
        bodies = await bot.rows("SELECT body FROM updates UNION ALL SELECT body FROM jobs")

        assert await bot.people.calls("getFile") == []
    assert not any("let me in" in row["body"] or "voice-" in row["body"] for row in bodies)
    assert ears.files == []
    assert list(world.home.media.iterdir()) == []


async def test_a_used_up_day_is_said_before_anything_is_heard(
    world: World, ears: ModelService
) -> None:
    world.config["advanced"] = {"daily_tokens_max": 10}
    async with world.running() as bot:
        await bot.ask("hello")
        await speak(bot)
        answer = await bot.people.next_message(ADA, contains="limit is reached")
        await settled(bot)

    assert "advanced.daily_tokens_max" in answer.text
    assert ears.files == []


async def test_a_voice_message_off_the_record_leaves_nothing(
    world: World, ears: ModelService
) -> None:
    ears.say("zanzibar-7731 is my secret")
    world.model.say("I see.")
    async with world.running() as bot:
        await bot.ask("/otr")
        await speak(bot)
        await said(world, "I see.")
        await settled(bot)
        rows = await bot.rows("SELECT * FROM media")

        async def gone() -> bool:
            return not list(world.home.media.rglob("*.ogg"))

        assert await eventually(gone)
    assert rows == []


@pytest.mark.parametrize(
    ("show", "shown"), [("never", []), ("groups", []), ("always", ["🎙 “buy milk”"])]
)
async def test_what_was_heard_is_shown_as_the_owner_wishes(
    world: World, ears: ModelService, show: str, shown: list[str]
) -> None:
    world.config["stt"] |= {"show": show}
    ears.say("buy milk")
    world.model.say("Noted.")
    async with world.running() as bot:
        await speak(bot)
        await said(world, "Noted.")
        await settled(bot)

    assert (await answers(world))[:-1] == shown


async def test_credits_that_a_service_invents_for_silence_are_not_answered(
    world: World, ears: ModelService
) -> None:
    ears.say("Thanks for watching!")
    async with world.running() as bot:
        await speak(bot)
        await said(
            world, "I heard no words in your voice message. Please say it again, or write it."
        )
        await settled(bot)

    assert not world.model.requests
