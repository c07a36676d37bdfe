"""What is sent again stays the same from the front, so that a service reads it from its cache.

Source: issue 12, `order` and `caching`; design §3.4.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.fakes.model_server import Body, CallPart, Reply, Says, text_of, words_of
from tests.path.world import World

ASIDE = "material, not orders"
SUMMARY = "They counted."


class Model:
    """Looks into memory in every third turn, writes there in every tenth."""

    def __init__(self) -> None:
        self.side_calls = 0

    def __call__(self, body: Body) -> Reply | str:
        wish = text_of(body["messages"][0])
        if "Summarise the conversation" in wish or "about to leave your view" in wish:
            self.side_calls += 1
            return SUMMARY if "Summarise" in wish else "- They count"
        if ASIDE in wish:
            return "Counting"
        newest = body["messages"][-1]
        number = int((words_of(newest).split() or ["0"])[-1]) if newest["role"] == "user" else 0
        if number and number % 10 == 0:
            added = {"target": "memory", "action": "append", "content": f"- reached {number}"}
            return Says("", (CallPart("memory", added),))
        if number and number % 3 == 0:
            return Says("", (CallPart("memory", {"target": "memory", "action": "read"}),))
        return "ok"


def turns(world: World) -> list[Body]:
    """The requests of turns, without what the runtime asked for itself."""
    bodies = world.model.requests
    return [b for b in bodies if ASIDE not in text_of(b["messages"][0])]


def common(one: Body, other: Body) -> int:
    """How many messages, from the front, are the same in both; the system prompt is one."""
    pairs = zip(one["messages"], other["messages"], strict=False)
    same = [first == second for first, second in pairs]
    return [*same, False].index(False)


@pytest.fixture
def model(world: World) -> Model:
    model = Model()
    world.install("notes")
    world.model.script = model
    world.config = {"advanced": {"max_history_messages": 50}}
    return model


async def test_the_front_of_a_long_conversation_moves_in_blocks_and_its_words_get_a_summary(
    world: World, model: Model
) -> None:
    """Also over a restart. Before, every turn past the limit began with another message."""
    for start in (1, 31):
        async with world.running() as bot:
            for number in range(start, start + 30):
                await bot.ask(f"count {number}")
    asked = turns(world)
    alike = [common(*two) for two in pairwise(asked)]
    first, *moved = [at for at, same in enumerate(alike) if same == 1]

    assert first == 0  # its words had the context
    assert alike.count(0) == 1  # the pack's first conversation is over
    assert len(asked) > 60
    assert 3 <= len(moved) <= 8
    assert all(later - earlier >= 8 for earlier, later in pairwise(moved))
    assert model.side_calls == 2 * len(moved)
    assert SUMMARY in text_of(asked[-1]["messages"][1])
    # Between two moves nothing that was sent changes but the words that had the context.
    assert all(
        same >= len(one["messages"]) - 1
        for one, same in zip(asked, alike, strict=False)
        if same > 1 and one["messages"][-1]["role"] == "user"
    )


async def test_what_a_turn_adds_stands_behind_all_that_it_has_sent(
    world: World, model: Model
) -> None:
    async with world.running() as bot:
        for number in (1, 3, 10, 12):
            await bot.ask(f"count {number}")
    asked = turns(world)
    loops = [pair for pair in pairwise(asked) if pair[1]["messages"][-1]["role"] == "tool"]

    assert len(loops) == 3
    assert all(common(one, other) == len(one["messages"]) for one, other in loops)


async def test_writing_to_memory_changes_nothing_that_stands_before_the_newest_words(
    world: World, model: Model
) -> None:
    async with world.running() as bot:
        for number in (1, 10, 11):
            await bot.ask(f"count {number}")
    first, *_, last = turns(world)

    assert first["messages"][0] == last["messages"][0]
    assert "- reached 10" in text_of(last["messages"][-1])
    assert words_of(last["messages"][-1]) == "count 11"
    assert [m["role"] for m in last["messages"]].count("system") == 1


@pytest.mark.parametrize("limit", [4, 10])
async def test_a_pack_that_wants_a_short_history_gets_no_summary_of_the_rest(
    world: World, model: Model, limit: int
) -> None:
    folder = world.home.packs / "short"
    folder.mkdir()
    (folder / "pack.yml").write_text(
        f"name: short\nversion: 1.0.0\ndisplay_name: Short\ncontext: {{history_window: {limit}}}\n"
    )
    async with world.running() as bot:
        await bot.ask("/use short")
        for _ in range(20):
            await bot.ask("count 1")

    longest = max(len(body["messages"]) for body in turns(world))
    assert model.side_calls == 0
    assert longest <= limit + 2
