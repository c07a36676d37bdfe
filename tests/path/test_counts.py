"""What a start and a turn cost, as counts that no machine changes. Issue 26.

A bound is what was reached, and a little more where the network or a busy machine cuts an answer
into other pieces. Raise one only with a reason in the commit.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest

from scripts.benchmarks.counted import Counts, since
from scripts.benchmarks.processes import Process
from tests.path.looking import eventually
from tests.path.world import ADA, World

TURNS = 20
AT_THE_FIRST_POLL = {"modules": 480, "ours": 52}
A_TURN = {
    "statements": 110,  # two for whose data a turn uses, two for the model chosen by /model
    "transactions": 6,
    "durable": 3,
    "reads": 9,
    "rounds": 46,
    "handles": 72,
    "tasks": 8,
    "timers": 14,
    "pages": 52,
}
_STILL = 5
"""Looks that see the same, one after the other, show that a turn is over."""


@pytest.fixture
async def counts(world: World, tmp_path: Path) -> AsyncGenerator[Counts]:
    """A bot in a process of its own, in which it is counted; the block ends it."""
    world.install("notes")
    world.config = {"telegram": {"message_batch_ms": 0}}
    world.configure()
    file = tmp_path / "counts"
    module = ("-m", "scripts.benchmarks.counted", str(file), "aouo")
    with Process(*module, "start", "--home", str(world.home.path), log=tmp_path / "log"):
        await _until_calls(world, "getUpdates", 2)
        yield Counts(file, world.home.database)


async def test_nothing_that_does_not_poll_is_imported_before_the_first_poll(
    counts: Counts,
) -> None:
    found = counts.now()

    assert found["ours"] <= AT_THE_FIRST_POLL["ours"]
    assert found["modules"] <= AT_THE_FIRST_POLL["modules"]


async def test_a_turn_in_a_settled_chat_costs_what_it_cost_before(
    world: World, counts: Counts
) -> None:
    for _ in range(3):  # the chat gets its title, and what was said its places in the index
        await _turn(world, counts)
    with counts.keep_log():
        turns = [await _turn(world, counts) for _ in range(TURNS)]

    usual = {name: statistics.median(turn[name] for turn in turns) for name in A_TURN}
    assert {name: cost for name, cost in usual.items() if cost > A_TURN[name]} == {}


async def _turn(world: World, counts: Counts) -> Mapping[str, int]:
    """Say something, wait until nothing more comes of it, and return what that took."""
    before = counts.now()
    said = await world.people.say(ADA, ADA, "what does milk cost, and where is butter sold?")
    await world.people.next_message(ADA, after=said.id)
    return since(before, await _still(counts))


async def _still(counts: Counts) -> Mapping[str, int]:
    seen: list[Mapping[str, int]] = []

    async def look() -> bool:
        await asyncio.to_thread(seen.append, counts.now())
        return len(seen) > _STILL and all(one == seen[-1] for one in seen[-_STILL:])

    await eventually(look)
    return seen[-1]


async def _until_calls(world: World, method: str, times: int) -> None:
    async def look() -> bool:
        return len(await world.people.calls(method)) >= times

    await eventually(look)
