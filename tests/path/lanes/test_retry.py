"""`/retry`: the newest words are answered again. Source: issue 3, "Steering"."""

from __future__ import annotations

from aouo.emulator import FAMILY
from tests.fakes.model_server import Body, words_of
from tests.path.looking import prompts, settled
from tests.path.world import ADA, BEN, World


def words(body: Body) -> list[str]:
    return [words_of(m) for m in body["messages"] if m["role"] in ("user", "assistant")]


async def test_the_answer_is_taken_back_and_the_same_words_are_answered_again(
    world: World,
) -> None:
    world.install("notes")
    for text in ("Hello.", "Paris?", "Paris."):
        world.model.say(text)
    async with world.running() as bot:
        await bot.ask("hi")
        await bot.ask("capital of France")

        assert (await bot.ask("/retry")).text == "Paris."
        assert words(world.model.requests[-1]) == ["hi", "Hello.", "capital of France"]
        rows = await bot.rows("SELECT text FROM messages WHERE visible = 1 ORDER BY id")
        assert [row["text"] for row in rows] == ["hi", "Hello.", "capital of France", "Paris."]


async def test_a_failed_turn_can_be_tried_again(world: World) -> None:
    world.install("notes")
    world.model.fail(401)
    world.model.say("Now it works.")
    async with world.running() as bot:
        await bot.ask("hi")

        assert (await bot.ask("/retry")).text == "Now it works."
        assert words(world.model.requests[-1]) == ["hi"]


async def test_what_took_effect_before_is_known_to_the_next_attempt(world: World) -> None:
    """Else a note would be saved twice because its answer was not liked."""
    world.install("notes")
    world.model.call("memory", {"target": "memory", "action": "append", "content": "tea"})
    world.model.say("Saved, maybe.")
    world.model.say("Saved.")
    async with world.running() as bot:
        await bot.ask("remember tea")
        await bot.ask("/retry")

        assert words(world.model.requests[-1]) == [
            "remember tea",
            "[This answer was taken back; the person asks for it again. "
            "These had taken effect before, or may have: memory.]",
            "remember tea",
        ]


async def test_where_nothing_was_asked_that_is_said(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        assert (await bot.ask("/retry")).text == (
            "There is nothing of yours that I can answer again here. Write me what you need."
        )
        await settled(bot)
        assert not world.model.requests


async def test_without_a_pack_the_picker_comes(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        assert "Which pack shall answer here?" in (await bot.ask("/retry")).text


# In a group


def group(world: World) -> None:
    world.install("notes")
    world.config = {"telegram": {"groups": "all"}}


async def test_in_a_group_everybody_repeats_their_own_words(world: World) -> None:
    """With what those had changed, and on the account of whoever said them."""
    group(world)
    world.model.call("memory", {"target": "memory", "action": "append", "content": "tea"})
    for text in ("Saved.", "Hello Ada.", "Saved already."):
        world.model.say(text)
    async with world.running() as bot:
        await bot.ask("remember tea", user=BEN, chat=FAMILY)
        await bot.ask("hi", user=ADA, chat=FAMILY)
        again = await bot.ask("/retry", user=BEN, chat=FAMILY)
        await settled(bot)
        usage = await bot.rows("SELECT person FROM usage_events WHERE scope = 'llm' ORDER BY id")

    assert again.text == "Saved already."
    assert words(world.model.requests[-1]) == [
        "hi",
        "Hello Ada.",
        "remember tea",
        "[This answer was taken back; the person asks for it again. "
        "These had taken effect before, or may have: memory.]",
        "remember tea",
    ]
    assert [row["person"] for row in usage] == [str(BEN), str(BEN), str(ADA), str(BEN)]


async def test_who_asked_nothing_repeats_nothing(world: World) -> None:
    group(world)
    async with world.running() as bot:
        await bot.ask("hi", user=ADA, chat=FAMILY)
        told = await bot.ask("/retry", user=BEN, chat=FAMILY)
        await settled(bot)

    assert told.text == (
        "There is nothing of yours that I can answer again here. Write me what you need."
    )
    assert prompts(world) == ["hi"]
