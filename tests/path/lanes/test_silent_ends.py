"""A turn that has shown a card may end without words; any other silence is asked once more."""

from __future__ import annotations

import pytest

from tests.fakes.model_server import CallPart, words_of
from tests.path.looking import prompts, said, settled
from tests.path.world import ADA, World, texts

NUDGE = "[You gave no answer. Say what you found or did, or what you need from the person.]"
READ = {"target": "memory", "action": "read"}


@pytest.fixture(autouse=True)
def notes(world: World) -> None:
    world.install("notes")


CARD = {"type": "keyboard", "text": "**Baum**", "buttons": [["Again|again", "Good|good"]]}


async def test_silence_right_behind_a_message_with_buttons_is_the_end_of_a_turn(
    world: World,
) -> None:
    """The card is the answer: one message, no second request, and history holds its words."""
    world.model.call("msg", CARD)
    world.model.say("")
    world.model.say("Right.")
    async with world.running() as bot:
        card = await bot.ask("next")
        await settled(bot)
        shown = texts(await bot.people.messages(ADA))
        turns = await bot.rows("SELECT status FROM turns")
        await bot.ask("tree")

    assert (card.text, shown) == ("Baum", ["Baum"])
    assert turns == [{"status": "ack"}]
    assert len(world.model.requests) == 3
    told = [(m["role"], words_of(m)) for m in world.model.requests[-1]["messages"]]
    assert [one for one in told if one[0] != "system"][-2:] == [
        ("assistant", "**Baum**"),
        ("user", "tree"),
    ]


@pytest.mark.parametrize(
    "calls",
    [
        (CallPart("msg", {"type": "text", "text": "Let me look."}), CallPart("memory", READ)),
        (CallPart("msg", {"type": "action", "action": "typing"}),),
        (CallPart("msg", {"type": "keyboard", "text": "", "buttons": [["A|a"]]}),),
    ],
    ids=["words before another call", "no words", "refused words"],
)
async def test_silence_behind_anything_else_is_asked_once_more(
    world: World, calls: tuple[CallPart, ...]
) -> None:
    world.model.calls(*calls)
    world.model.say("")
    world.model.say("Here I am.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "hello")
        await said(world, "Here I am.")

    assert prompts(world)[-1] == NUDGE
