"""An answer of very many messages is a document.

Source: contract, `telegram.max_parts`; design §3.6.
"""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from aouo.emulator.description import Upload
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says
from tests.fakes.telegram import LocalTelegram
from tests.path.lives import WAIT_S, place
from tests.path.looking import answers, eventually, settled
from tests.path.world import ADA, World

PART = "lorem ipsum dolor " * 12
TITLE = "## A *long* story: part 1/2"
LONG = f"Here it is.\n\n{TITLE}\n\n" + "\n\n".join(f"{n}. {PART}" for n in range(60)).strip()
"""Four messages."""
NAME = "A long story part 1 2.md"


def file_of(emulator: LocalTelegram, message: dict[str, Any]) -> tuple[str, str]:
    """The name and the words of the file of a message."""
    file = message["document"]
    content = emulator.world.files[file["file_id"]]
    assert isinstance(content, Upload)
    return file["file_name"], content.content.decode()


@pytest.fixture
async def clock(world: World) -> FastClock:
    world.clock = clock = FastClock()
    return clock


async def typed(world: World, times: int) -> None:
    """Wait until typing was shown that many times more."""
    before = len(await world.people.calls("sendChatAction"))

    async def look() -> bool:
        return len(await world.people.calls("sendChatAction")) >= before + times

    await world.people.until(look)


async def test_an_answer_of_too_many_messages_is_an_opening_and_a_document(world: World) -> None:
    world.install("notes", "vocab")
    world.config = {"telegram": {"max_parts": 3, "streaming": "off"}}
    world.model.say(LONG)
    async with world.running() as bot:
        await bot.ask("/use notes")
        await bot.people.say(ADA, ADA, "tell me")
        document = await bot.people.next_message(ADA, contains="whole answer")
        await settled(bot)
        *_, opening = (await bot.people.messages(ADA))[:-1]
        uploads = await bot.people.calls("sendDocument")

    assert opening.text.startswith("Here it is.\n\nA long story: part 1/2\n\n0. lorem")
    assert opening.text.endswith("\n\n…")
    assert len(opening.text) <= 1100
    assert file_of(world.emulator, document.raw) == (NAME, LONG)
    assert (
        document.text
        == f"The whole answer is in this file: {len(LONG.split()):,} words.\n\n— notes"
    )
    assert len(uploads) == 1


async def test_an_answer_of_just_as_many_messages_stays_messages(world: World) -> None:
    world.config = {"telegram": {"max_parts": 4, "streaming": "off"}}
    world.model.say(LONG)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "tell me")
        await bot.people.next_message(ADA, contains="59. lorem")
        await settled(bot)

    assert len(await answers(world)) == 4
    assert await world.people.calls("sendDocument") == []


async def test_what_is_read_already_stays_and_stops_growing(world: World, clock: FastClock) -> None:
    """Text that somebody reads is not taken away; the document is added below it."""
    world.config = {"telegram": {"max_parts": 2}}
    world.model.reply(Says(LONG, chunks=20, stall_after=(14, 18)))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "tell me")
        second = await bot.people.next_message(ADA, contains="20. lorem")
        world.model.release.set()
        world.model.release.clear()
        await typed(world, 3)  # a dozen seconds in which a third message would be there
        shown = [m for m in await bot.people.messages(ADA) if m.from_bot]
        world.model.release.set()
        document = await bot.people.next_message(ADA, contains="whole answer")
        await settled(bot)
        after = [m for m in await bot.people.messages(ADA) if m.from_bot]

    assert [m.id for m in shown] == [m.id for m in after[:-1]]
    assert (len(after), after[1].id, after[-1].id) == (3, second.id, document.id)
    words = LONG.replace("*", "").replace("## ", "").split()
    read = f"{after[0].text} {after[1].text}".split()
    assert read == words[: len(read)]
    assert file_of(world.emulator, document.raw) == (NAME, LONG)


async def test_the_document_is_shown_again_on_request(world: World) -> None:
    """A send without an answer is never repeated by itself."""
    world.config = {"telegram": {"max_parts": 3, "streaming": "off"}}
    world.model.say(LONG)
    await world.people.fault("drop_after", method="sendDocument")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "tell me")
        doubt = await bot.people.next_message(ADA, contains="may not have arrived")
        await bot.people.tap(ADA, ADA, doubt.id, doubt.buttons[0].data)
        again = await bot.people.next_message(ADA, contains="whole answer", after=doubt.id)

    assert file_of(world.emulator, again.raw) == (NAME, LONG)


async def test_a_killed_process_leaves_the_document_to_the_next_one(
    tmp_path: Path, runner_port: int
) -> None:
    """Its words are in the row that the turn's commit wrote."""
    async with place(tmp_path, ("notes",), lambda body: LONG, runner_port=runner_port) as here:
        config = json.loads(here.home.config.read_text())
        config["telegram"] |= {"max_parts": 3, "streaming": "off"}
        here.home.config.write_text(json.dumps(config))
        people = here.emulator.client
        await people.fault("status", method="sendDocument", status=429, retry_after=60)
        async with here.alive() as life:
            await people.say(ADA, ADA, "tell me")

            async def is_held_up() -> bool:
                return bool(
                    here.rows("SELECT 1 FROM deliveries WHERE attempts > 0 AND state = 'queued'")
                )

            await here.until(is_held_up)
            life.stop(signal.SIGKILL)
            async with asyncio.timeout(WAIT_S):
                await life.gone.wait()
        async with here.alive() as life:
            document = await here.until_said("The whole answer")
            life.stop()
            async with asyncio.timeout(WAIT_S):
                await life.gone.wait()
        shown = [m.text for m in await here.said()]

    assert file_of(here.emulator, document.raw) == (NAME, LONG)
    assert [text[:11] for text in shown] == ["Here it is.", "The whole a"]


async def test_the_words_of_a_document_off_the_record_go_with_their_row(world: World) -> None:
    world.install("notes")
    world.config = {"telegram": {"max_parts": 3, "streaming": "off"}}
    world.model.say(LONG)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/otr tell me")
        await bot.people.next_message(ADA, contains="whole answer")

        async def gone() -> bool:
            return not await bot.rows("SELECT 1 FROM deliveries WHERE body LIKE '%lorem%'")

        await eventually(gone)
