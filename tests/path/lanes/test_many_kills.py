"""A process that is killed again and again gives up no message that only waited.

Source: issue 30, number 13: three, six and ten kills under 60 messages in 40 chats.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from aouo.emulator.world import Person
from aouo.plumbing.home import write_atomically
from tests.fakes.model_server import Body, words_of
from tests.path.lives import Place, place

CHATS, MESSAGES = 40, 60
FIRST = 5001


def answer(body: Body) -> str:
    return f"re: {words_of(body['messages'][-1])}"


async def crowd(here: Place) -> list[tuple[int, str]]:
    """Let 40 people in, who say 60 things; (person, words), in order."""
    people = [FIRST + number for number in range(CHATS)]
    for number in people:
        here.emulator.world.add_person(Person(number, f"P{number}"), started=True)
    config = json.loads(here.home.config.read_text())
    config["telegram"]["allowed_user_ids"] = [*config["telegram"]["allowed_user_ids"], *people]
    here.home.config.write_text(json.dumps(config))
    said = [(people[number % CHATS], f"what of plum {number:02}?") for number in range(MESSAGES)]
    for person, text in said:
        await here.emulator.client.say(person, person, text)
    return said


def reload(here: Place, number: int) -> None:
    """The owner saves a change, which the running bot takes up."""
    config: dict[str, Any] = json.loads(here.home.config.read_text())
    config["log"] = {"level": ("info", "warning")[number % 2]}
    write_atomically(here.home.config, json.dumps(config))


async def shown(here: Place, said: list[tuple[int, str]]) -> list[str]:
    people = {person for person, _ in said}
    chats = [await here.emulator.client.messages(person) for person in people]
    return [one.text for chat in chats for one in chat if one.from_bot]


def answered(texts: list[str], said: list[tuple[int, str]]) -> Counter[str]:
    """How many answers each was given; two of one person may be answered together."""
    answers = [text for text in texts if text.startswith("re: ")]
    return Counter({words: sum(words in text for text in answers) for _, words in said})


async def in_doubt(here: Place, said: list[tuple[int, str]]) -> set[str]:
    """What was being answered just when the process was killed: nobody knows whether it arrived,
    and its person reads that."""
    found = set[str]()
    for person, words in said:
        chat = await here.emulator.client.messages(person)
        if any("may not have arrived" in one.text for one in chat):
            found.add(words)
    return found


async def settled(here: Place, said: list[tuple[int, str]]) -> set[str]:
    counts = answered(await shown(here, said), said)
    return {words for words, count in counts.items() if count} | await in_doubt(here, said)


@pytest.mark.parametrize("kills", [3, 6, 10])
async def test_all_that_waited_through_kills_is_answered_once(
    kills: int, tmp_path: Path, runner_port: int
) -> None:
    chance = random.Random(kills)
    async with place(tmp_path, ("notes",), answer, runner_port=runner_port) as here:
        said = await crowd(here)
        for number in range(kills):
            kill_at = chance.randrange(1, 7)
            async with here.alive(kill_at=kill_at, among="asking the model") as life:
                reload(here, number)
                await life.gone.wait()
        async with here.alive() as life:

            async def all_there() -> bool:
                counts = answered(await shown(here, said), said)
                return not counts.keys() - await settled(here, said) or life.gone.is_set()

            await here.until(all_there)
            life.stop()
            await life.gone.wait()
        texts = await shown(here, said)
        doubted = await in_doubt(here, said)

    assert len(here.kills) == kills
    counts = answered(texts, said)
    assert max(counts.values()) == 1
    assert {words for words, count in counts.items() if not count} <= doubted
    assert not [text for text in texts if "three times" in text]


async def test_a_message_that_kills_is_found_among_those_that_wait_with_it(
    tmp_path: Path, runner_port: int
) -> None:
    """The process dies whenever the model is asked for it, whatever else is at work."""
    here: Place

    def poisoned(body: Body) -> str:
        if "plum 07?" in words_of(body["messages"][-1]):
            here.life.stop(9)  # pyright: ignore[reportArgumentType]
        return answer(body)

    async with place(tmp_path, ("notes",), poisoned, runner_port=runner_port) as here:
        said = await crowd(here)

        async def all_over() -> bool:
            over = here.rows("SELECT id FROM jobs WHERE state IN ('done', 'aside')")
            waits = here.rows(
                "SELECT id FROM jobs WHERE state NOT IN ('done', 'aside') UNION ALL "
                "SELECT id FROM deliveries WHERE state IN ('queued', 'sending', 'live')"
            )
            return here.is_dead or (len(over) >= CHATS and not waits)

        for _ in range(12):
            async with here.alive() as life:
                await here.until(all_over)
                if not life.gone.is_set():
                    life.stop()
                await life.gone.wait()
            if life.ended:
                break
        texts = await shown(here, said)
        doubted = await in_doubt(here, said)

    assert len(here.lives) <= 6
    assert sum("three times" in text for text in texts) == 1
    unanswered = {words for words, count in answered(texts, said).items() if not count}
    assert {"what of plum 07?"} <= unanswered
    assert unanswered - {"what of plum 07?", "what of plum 47?"} <= doubted
    assert max(answered(texts, said).values()) == 1
