"""Each kind of payload by what arrives, and what it may refer to. Source: design §3.6; seed 003."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import pytest

from aouo.app.status import _terminal_inbound
from aouo.emulator import HOUSEHOLD, NOTES
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, words_of
from tests.path.looking import Calls, answers, come_at_s, cut_off, said, settled
from tests.path.world import ADA, Running, World

PICTURE = "https://example.org/a.png"
SPEED = 20.0


async def shown(world: World, bot: Running, *wishes: dict[str, Any]) -> list[dict[str, Any]]:
    """Let the model show these; the raw messages that people then see, the answer left out."""
    world.model.calls(*(CallPart("msg", wish) for wish in wishes))
    world.model.say("final")
    await bot.people.say(ADA, ADA, "go")
    await said(world, "final")
    await settled(bot)
    return [m.raw for m in await bot.people.messages(ADA) if m.from_bot and m.text != "final"]


def results(world: World) -> list[dict[str, Any]]:
    """What the model read of its calls."""
    messages = world.model.requests[-1]["messages"]
    return [json.loads(words_of(m).partition("\n")[0]) for m in messages if m["role"] == "tool"]


def kind_of(value: object) -> str:
    """What a test of a payload is called."""
    return str(cast("dict[str, Any]", value)["type"]) if isinstance(value, dict) else ""


@pytest.mark.parametrize(
    ("wish", "method", "field"),
    [
        ({"type": "text", "text": "**Hi**"}, "sendMessage", "text"),
        ({"type": "photo", "url": PICTURE}, "sendPhoto", "photo"),
        ({"type": "audio", "url": "https://example.org/a.mp3"}, "sendAudio", "audio"),
        ({"type": "voice", "url": "https://example.org/a.ogg"}, "sendVoice", "voice"),
        ({"type": "document", "url": "https://example.org/a.pdf"}, "sendDocument", "document"),
        (
            {"type": "keyboard", "text": "Well?", "buttons": [["Yes|y"], ["No|n"]]},
            "sendMessage",
            "reply_markup",
        ),
        ({"type": "album", "url": f"{PICTURE}\n{PICTURE}"}, "sendMediaGroup", "media_group_id"),
    ],
    ids=kind_of,
)
async def test_a_payload_is_one_call(
    world: World, wish: dict[str, Any], method: str, field: str
) -> None:
    world.install("notes")
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        first, *_ = await shown(world, bot, wish)
        made = [c for c in await bot.people.calls(method) if c["params"].get("text") != "final"]

    assert field in first
    assert len(made) == 1
    assert results(world) == [{"ok": True, "message_id": first["message_id"], "sent_content": True}]


async def test_an_action_is_shown_and_is_no_content(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        assert await shown(world, bot, {"type": "action", "action": "upload_photo"}) == []
        actions = await bot.people.calls("sendChatAction")

    assert "upload_photo" in [call["params"]["action"] for call in actions]
    assert results(world) == [{"ok": True, "message_id": 0, "sent_content": False}]


async def test_an_action_that_there_is_not_is_refused_with_those_there_are(world: World) -> None:
    world.install("notes")
    world.model.call("msg", {"type": "action", "action": "dancing"})
    world.model.say("final")
    async with world.running() as bot:
        await bot.ask("go")
        actions = await bot.people.calls("sendChatAction")

    told = words_of(world.model.requests[-1]["messages"][-1])
    assert told.startswith("There is no action 'dancing'. It is typing, upload_photo, ")
    assert "dancing" not in [call["params"]["action"] for call in actions]


async def test_an_action_that_is_not_wanted_keeps_nothing_from_being_shown(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        (first,) = await shown(world, bot, {"type": "text", "text": "Hi", "action": "send"})

    assert first["text"] == "Hi"


async def test_of_a_message_that_may_have_arrived_the_model_reads_not_to_send_it_again(
    world: World,
) -> None:
    world.install("notes")
    world.config = {"telegram": {"streaming": "off"}}
    world.model.call("msg", {"type": "text", "text": "Hi"})
    world.model.say("final")
    async with world.running() as bot:
        await bot.people.fault("drop_after", method="sendMessage", chat=ADA)
        await bot.people.say(ADA, ADA, "go")
        await said(world, "final")
        calls = await bot.rows("SELECT state, effect FROM tool_calls")

    told = words_of(world.model.requests[-1]["messages"][-1])
    assert told == "[outcome unknown: it may have arrived, do not send it again.]"
    assert calls == [{"state": "unknown", "effect": 1}]


async def test_of_a_message_that_arrived_in_part_the_model_reads_how_much(world: World) -> None:
    world.install("notes")
    world.config = {"telegram": {"streaming": "off"}}
    world.model.call("msg", {"type": "text", "text": f"{'word ' * 810}\n\n{'more ' * 100}"})
    world.model.say("final")
    async with world.running() as bot:
        await bot.people.fault(
            "status", method="sendMessage", chat=ADA, status=400, nth=2, description="no"
        )
        await bot.people.say(ADA, ADA, "go")
        await said(world, "final")

    (told,) = results(world)
    assert (told["ok"], told["note"].partition(";")[0]) == (False, "1 of its 2 messages arrived")


async def test_payloads_arrive_in_the_order_in_which_they_were_meant(world: World) -> None:
    """One sender for a conversation: photo, album, text, final."""
    world.install("notes")
    async with world.running() as bot:
        messages = await shown(
            world,
            bot,
            {"type": "photo", "url": PICTURE, "text": "1"},
            {"type": "album", "url": f"{PICTURE}\n{PICTURE}", "text": "2"},
            {"type": "text", "text": "3"},
        )

    said_there = [message.get("caption", message.get("text", "")) for message in messages]
    assert said_there == ["1", "2", "", "3"]
    assert (await answers(world))[-1] == "final"


async def test_a_reply_is_to_a_message_a_tag_or_the_person(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, "hello")
        await said(world, "hello")
        _, first, *replies = await shown(
            world,
            bot,
            {"type": "photo", "url": PICTURE, "tag": "chart"},
            {"type": "text", "text": "to the chart", "reply_to": "chart"},
            {"type": "text", "text": "to the person", "reply_to": "user"},
            {"type": "text", "text": "to the first", "reply_to": asked.id},
            {"type": "text", "text": "to nothing", "reply_to": "no such tag"},
        )

    assert [reply.get("reply_to_message", {}).get("message_id") for reply in replies] == [
        first["message_id"],
        asked.id + 2,
        asked.id,
        None,
    ]
    assert results(world)[-1] == {
        "ok": True,
        "message_id": replies[-1]["message_id"],
        "sent_content": True,
        "note": "no message of this turn has the tag 'no such tag'",
    }


async def test_a_reply_to_a_message_that_is_gone_arrives_all_the_same(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        gone = await bot.people.say(ADA, ADA, "hello")
        await said(world, "hello")
        await bot.people.delete(ADA, ADA, gone.id)
        *_, reply = await shown(world, bot, {"type": "text", "text": "here", "reply_to": gone.id})

    assert (reply["text"], "reply_to_message" in reply) == ("here", False)


async def test_a_tag_of_digits_that_no_message_can_have_is_a_tag(world: World) -> None:
    tag = "1" * 19
    world.model.call("msg", {"type": "text", "text": "one", "tag": tag})
    world.model.call("msg", {"type": "text", "text": "two", "reply_to": tag})
    world.model.say("done")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go on")
        await said(world, "done")
        shown = {m.text: m for m in await bot.people.messages(ADA)}

    assert shown["two"].reply_to == shown["one"].id


async def test_a_tag_outlives_the_process_that_gave_it(world: World) -> None:
    world.install("notes")
    world.model.call("msg", {"type": "text", "text": "one", "tag": "first"})
    world.model.stall(after_chunks=0, text="never seen")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        one = await said(world, "one")
        await world.model.stalled.wait()
        await cut_off(bot)
    world.model.call("msg", {"type": "text", "text": "two", "reply_to": "first"})
    world.model.say("done")
    async with world.running() as bot:
        await said(world, "done")
        two = await said(world, "two")

    assert two.reply_to == one.id


@pytest.mark.parametrize(
    ("shows", "final", "said_again"),
    [
        ("Done and **saved**.", "done   and saved.", False),
        ("Done.", "Done, and more.", True),
        ("word " * 2_000, "word " * 2_000, False),
        ("- a\n- b", "* a\n* b\n", False),
    ],
    ids=["the same", "more", "long", "another spelling"],
)
async def test_only_the_same_text_is_not_said_again(
    world: World, shows: str, final: str, said_again: bool
) -> None:
    world.install("notes")
    world.config = {"telegram": {"streaming": "off"}}
    world.model.call("msg", {"type": "text", "text": shows})
    world.model.say(final)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA)
        await settled(bot)
        rows = await bot.rows("SELECT kind FROM deliveries WHERE kind = 'reply'")

    assert bool(rows) is said_again


async def test_a_caption_that_is_the_answer_is_not_said_again(world: World) -> None:
    world.install("notes")
    world.model.call("msg", {"type": "photo", "url": PICTURE, "text": "Here it is."})
    world.model.say("Here it is.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await said(world, "Here it is.")
        await settled(bot)

    assert await answers(world) == ["Here it is."]


@pytest.mark.parametrize(
    ("wish", "lines", "note"),
    [
        ({"type": "photo", "url": PICTURE, "text": "A"}, [f"A\n{PICTURE}"], "photo not supported"),
        ({"type": "voice", "url": PICTURE}, [PICTURE], "voice not supported"),
        ({"type": "audio", "url": PICTURE}, [PICTURE], "audio not supported"),
        ({"type": "document", "url": PICTURE}, [PICTURE], "document not supported"),
        ({"type": "text", "text": "A"}, ["A"], None),
        ({"type": "keyboard", "text": "A", "buttons": [["Yes|y"]]}, ["A"], None),
        (
            {"type": "album", "url": f"{PICTURE}\n{PICTURE}", "text": "A"},
            [f"A\n{PICTURE}", PICTURE],
            "album not supported; photo not supported",
        ),
    ],
    ids=kind_of,
)
async def test_a_terminal_shows_what_it_can_and_the_model_is_told(
    world: World, wish: dict[str, Any], lines: Sequence[str], note: str | None
) -> None:
    world.install("notes")
    world.model.calls(CallPart("msg", wish))
    world.model.say("final")
    async with world.running() as bot:
        said_there, leave = bot.app.terminal.watch("local")
        await bot.app.inbox.submit(_terminal_inbound("local", "go"))
        seen = [(await said_there.get())["text"] for _ in (*lines, "final")]
        leave()
        await settled(bot)

    assert seen == [*lines, "final"]
    (result,) = results(world)
    assert (result["ok"], result.get("note")) == (True, note)


@pytest.mark.parametrize(
    ("answer", "preview"),
    [
        ("I changed README.md, main.go and backup.sh.", {"is_disabled": True}),
        ("See README.md and https://example.org/a.", {"url": "https://example.org/a"}),
        ("See [the map](https://example.org/b) or https://c.org", {"url": "https://example.org/b"}),
        ("Ask www.example.org, please", {"url": "www.example.org"}),
        ("Nothing", {"is_disabled": True}),
    ],
)
async def test_only_an_address_that_stands_there_as_one_has_a_preview(
    world: World, answer: str, preview: dict[str, object]
) -> None:
    world.install("notes")
    world.model.say(answer)
    async with world.running() as bot:
        await bot.ask("go")
        await settled(bot)
        calls = [*await bot.people.calls("sendMessage"), *await bot.people.calls("editMessageText")]

    assert calls[-1]["params"]["link_preview_options"] == preview


async def test_the_status_line_has_no_preview(world: World) -> None:
    """A tool's name may look like an address."""
    world.clock = FastClock(speed=SPEED)
    world.model.stall(after_chunks=0, text="see https://example.org")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="Thinking…")
        world.model.release.set()
        await said(world, "see https://example.org")
        (status,) = await bot.people.calls("sendMessage")
        *_, final = await bot.people.calls("editMessageText")

    assert status["params"]["link_preview_options"] == {"is_disabled": True}
    assert final["params"]["link_preview_options"] == {"url": "https://example.org"}


async def test_typing_is_shown_in_the_topic_of_the_question_every_few_seconds(
    world: World,
) -> None:
    """An action is seen for five seconds."""
    world.install("notes")
    world.clock = FastClock(speed=0.001)
    world.model.stall(after_chunks=0, text="done")

    async def over(found: Calls) -> bool:
        return len(found) >= 4

    async with world.running() as bot:
        await bot.people.say(ADA, HOUSEHOLD, "go", thread=NOTES)
        came_s = await come_at_s(world, "sendChatAction", 0.25, over)
        typing = await bot.people.calls("sendChatAction")
        world.model.release.set()

    assert {call["params"]["message_thread_id"] for call in typing} == {NOTES}
    assert {call["params"]["action"] for call in typing} == {"typing"}
    assert all(3.5 < later_s - before_s <= 5 for before_s, later_s in pairwise(came_s))
