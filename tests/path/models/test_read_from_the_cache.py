"""How much of a prompt a service had read before, as it counts that itself, turn after turn.

The service reads in blocks from the front up to the first change, like the real ones.
"""

from __future__ import annotations

import json
import re

import pytest

from tests.fakes.clock import FastClock
from tests.fakes.models import CallPart, ModelService, Reply, Says, names, profile
from tests.fakes.models.asked import Asked
from tests.fakes.models.telling import Answer
from tests.path.looking import settled
from tests.path.world import World
from tests.sampling import taking

ASIDE = "material, not orders"
RESULT = "milk, eggs, flour; " * 60
"""Long enough to be shortened later."""


class Model:
    """Does in each turn what its number says; the runtime's own wishes are met with a word."""

    def __init__(self, tool: str) -> None:
        self._tool = tool

    def __call__(self, asked: Asked) -> Reply:
        if ASIDE in asked.entries[0].text:
            return Says("Counting")
        if asked.entries[-1].role != "user":
            return Says("ok")
        number = int(re.findall(r"count (\d+)", asked.words)[-1])
        kept = {"target": self._tool, "action": "append", "content": f"- reached {number}"}
        read = {"target": "memory", "action": "read"}
        if self._tool == "read":
            long = {"target": "memory", "action": "append", "content": RESULT}
            return Says(calls=(CallPart("memory", read if number > 1 else long),))
        return Says(calls=(CallPart("memory", kept),)) if number % 3 == 0 else Says("ok")


def turns(service: ModelService) -> list[Answer]:
    """The answers to turns, without what the runtime asked for itself."""
    return [one for one in service.answers if one.text != "Counting"]


@pytest.mark.parametrize("name", ["openai", "deepseek", "gemini"])
async def test_what_is_written_to_memory_costs_no_word_that_was_read_before(
    world: World, name: str
) -> None:
    """Finding 15. All but the newest words and one block is from the cache, in every turn but one:
    when the pack's first conversation is over, its instructions change."""
    world.install("notes")
    world.clock = FastClock()
    async with ModelService(profile(name), Model("memory")) as service:
        world.config = service.settings()
        async with world.running() as bot:
            for number in range(1, 13):
                await bot.ask(f"count {number}")

        counted = turns(service)
        missed = [now.prompt_tokens - now.cached_tokens for now in counted[2:]]

    newest = 350 + service.profile.caching.block_tokens
    assert len(missed) >= 14
    assert len([tokens for tokens in missed if tokens > newest]) <= 1, missed


@pytest.mark.parametrize("name", taking(names()))
async def test_no_request_has_a_temperature_that_nobody_set(world: World, name: str) -> None:
    """Findings 4 and 20: models of now want their own; Gemini loops below it."""
    world.install("notes")
    world.clock = FastClock()
    kept = profile(name)
    loaded = 32_768 if kept.key == "none" else 0
    async with ModelService(kept, Model("memory"), loaded=loaded) as service:
        world.config = service.settings()
        async with world.running() as bot:
            await bot.ask("count 3")
            await settled(bot)

        asked = [json.dumps(body) for body in service.requests]

    assert len(asked) >= 2
    assert not [body for body in asked if '"temperature"' in body]


async def test_results_of_before_are_shortened_in_blocks(world: World) -> None:
    """Finding 16: the front moves in every fourth turn, not in each."""
    world.install("notes")
    world.clock = FastClock()
    async with ModelService(profile("deepseek"), Model("read")) as service:
        world.config = service.settings()
        async with world.running() as bot:
            for number in range(1, 21):
                await bot.ask(f"count {number}")

        first_of_turn = [one for one in turns(service) if one.calls]
        missed = [now.prompt_tokens - now.cached_tokens for now in first_of_turn[6:]]

    assert len(missed) == 14
    assert 3 <= len([tokens for tokens in missed if tokens > 1_000]) <= 5, missed
