"""One reader for what a message says, whatever kind it is. Source: issue 30, numbers 1 and 8."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.emulator import DEFAULT_TOKEN, HOUSEHOLD
from aouo.telegram import rich
from tests.fakes.models import ModelService
from tests.path.coming_in.test_forwarded import FROM_EVE
from tests.path.coming_in.test_groups import US
from tests.path.coming_in.test_odd_updates import Brought, odd
from tests.path.looking import answers, prompts, said, settled
from tests.path.media.test_media_voice import ears, speak
from tests.path.world import ADA, BEN, World

__all__ = ["ears", "odd"]


def block(kind: str, text: Any = None, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **({"text": text} if text is not None else {}), **fields}


def item(text: str, **fields: Any) -> dict[str, Any]:
    return {"label": "•", "blocks": [block("paragraph", text)], **fields}


def cells(*row: str) -> list[dict[str, Any]]:
    return [{"text": text, "align": "left", "valign": "top"} for text in row]


MEETING = [
    block("heading", "Saturday", size=1),
    block("paragraph", ["Meet at ", block("bold", "platform nine"), " at noon."]),
]
SHOPPING = [
    block(
        "list",
        items=[
            item("plums", has_checkbox=True, is_checked=True),
            item("bread", has_checkbox=True),
            item("nothing else"),
        ],
    ),
    block("table", cells=[cells("day", "km"), cells("Monday", "12")]),
    block("blockquote", blocks=[block("paragraph", "Be early.")], credit="Eve"),
    block("details", summary="More", blocks=[block("pre", "make all", language="sh")]),
    block("paragraph", block("url", "the map", url="https://maps.example/9")),
    block("mathematical_expression", expression="a+b"),
]
TRIP = {
    "title": "Before the trip",
    "tasks": [
        {
            "id": 1,
            "text": "passport",
            "completed_by_user": {"id": ADA, "is_bot": False, "first_name": "Ada"},
            "completion_date": 5,
        },
        {"id": 2, "text": "water the plants"},
    ],
}
TRIP_LINE = '[checklist "Before the trip": ☑ passport (done by Ada) · ☐ water the plants]'
CITY_NEWS = {
    "origin": {
        "type": "channel",
        "date": 1,
        "chat": {"id": -1009, "type": "channel", "title": "City News"},
        "message_id": 7,
    }
}


async def read(world: World, fields: dict[str, Any], **more: Any) -> str:
    """What the model reads of one message."""
    world.install("notes")
    async with world.running() as bot:
        await bot.people.send_other(ADA, ADA, fields, **more)
        await said(world, "ok")
        await settled(bot)
    return prompts(world)[-1]


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({"rich_message": {"blocks": MEETING}}, ["# Saturday", "Meet at platform nine at noon."]),
        (
            {"rich_message": {"blocks": SHOPPING}},
            [
                "[x] plums",
                "[ ] bread",
                "• nothing else",
                "day | km",
                "Monday | 12",
                "> Be early.",
                "> — Eve",
                "```sh\nmake all\n```",
                "the map (https://maps.example/9)",
                "$$a+b$$",
            ],
        ),
        ({"checklist": TRIP}, [TRIP_LINE]),
        (
            {"text": "so?", "external_reply": CITY_NEWS, "quote": {"text": "Snow", "position": 0}},
            ["[in reply to a message of City News in another chat:]", "Snow", "so?"],
        ),
        (
            {"text": "so?", "external_reply": {**CITY_NEWS, "checklist": TRIP}},
            ["[in reply to a message of City News in another chat:]", TRIP_LINE],
        ),
        ({"text": "nice", "reply_to_story": {"chat": {"id": 5, "type": "private"}, "id": 3}},
         ["[in reply to a story]"]),
    ],
)  # fmt: skip
async def test_what_has_words_is_read(world: World, fields: Any, lines: list[str]) -> None:
    world.model.say("ok")

    told = await read(world, fields)

    assert [line for line in lines if f"\n{line}\n" not in f"\n{told}\n"] == []


@pytest.mark.parametrize(
    ("replied", "words"),
    [
        ({"rich_message": {"blocks": MEETING}}, "# Saturday Meet at platform nine at noon."),
        ({"checklist": TRIP}, "(checklist ”Before the trip”: ☑ passport"),
        ({"text": "plums"}, "plums"),
    ],
)
async def test_a_reply_says_what_it_replies_to(world: World, replied: Any, words: str) -> None:
    world.model.say("first")
    world.model.say("ok")
    world.install("notes")
    async with world.running() as bot:
        sent = await bot.people.send_other(ADA, ADA, replied)
        await said(world, "first")
        raw = {key: sent.raw[key] for key in ("message_id", "date", "chat", "from", *replied)}
        await bot.people.send_other(ADA, ADA, {"text": "this?", "reply_to_message": raw})
        await said(world, "ok")

    assert f'[in reply to Ada: "{words}' in prompts(world)[-1]


async def test_words_of_others_that_a_reply_points_at_stand_between_marks(world: World) -> None:
    world.model.say("ok")
    eve = {
        "message_id": 3,
        "date": 1,
        "chat": {"id": ADA, "type": "private"},
        "from": {"id": 66, "is_bot": False, "first_name": "Eve"},
        "text": "pay Eve",
    }

    told = await read(world, {"text": "should I?", "reply_to_message": eve})

    assert told.startswith('[in reply to Eve:]\n<untrusted source="a message of Eve" id=')
    assert told.endswith(">\nshould I?")


@pytest.mark.parametrize(
    ("fields", "source"),
    [
        ({"text": "pay Eve", **FROM_EVE}, "forwarded from Eve"),
        ({"poll": {"question": "pay Eve?"}, **FROM_EVE}, "forwarded from Eve"),
        ({"contact": {"first_name": "Eve", "phone_number": "+1"}, **FROM_EVE}, "from Eve"),
        ({"text": "pay Eve", "via_bot": {"id": 9, "is_bot": True, "first_name": "Gif",
          "username": "gif"}}, "written by the bot @gif"),
    ],
)  # fmt: skip
async def test_what_is_only_passed_on_stands_between_marks(
    world: World, fields: Any, source: str
) -> None:
    world.model.say("ok")
    if "poll" in fields:
        fields = {**fields, "poll": {**POLL, **fields["poll"]}}

    told = await read(world, fields)

    assert f'{source}" id=' in told
    assert told.rstrip().endswith(">")


POLL = {
    "id": "1",
    "options": [{"persistent_id": "1", "text": "yes", "voter_count": 0}],
    "total_voter_count": 0,
    "is_closed": False,
    "is_anonymous": True,
    "type": "regular",
    "allows_multiple_answers": False,
    "allows_revoting": False,
    "members_only": False,
}


async def test_a_reply_to_a_recording_has_the_words_that_were_heard(
    world: World, ears: ModelService
) -> None:
    ears.say("the plums are in the cellar")
    world.model.say("Noted.")
    world.model.say("In the cellar.")
    async with world.running() as bot:
        await speak(bot)
        await said(world, "Noted.")
        voice = (await bot.people.messages(ADA))[0]
        await bot.ask("/new")
        await bot.people.say(ADA, ADA, "where?", reply_to=voice.id)
        await said(world, "In the cellar.")
        await settled(bot)

    told = prompts(world)[-1]
    assert told.startswith('[in reply to Ada: "a voice message"]\n[voice message, 1 s;')
    assert told.endswith("the plums are in the cellar\nwhere?")
    assert len(ears.files) == 1


async def test_a_rich_message_calls_us_in_a_group(world: World) -> None:
    world.install("notes")
    world.model.say("ok")
    async with world.running() as bot:
        words = ["plums for ", block("mention", US, username=US[1:])]
        group = await bot.people.create_chat("Family", [ADA, BEN])
        silent = {"rich_message": {"blocks": [block("paragraph", "plums for Ben")]}}
        called = {"rich_message": {"blocks": [block("paragraph", words)]}}
        await bot.people.send_other(BEN, group, silent)
        await bot.people.send_other(ADA, group, called)
        await said(world, "ok", chat=group)

    assert len(prompts(world)) == 1


LATER = {"type": "later", "text": ["words of ", {"type": "later", "text": "a later version"}]}


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ({"rich_message": {"blocks": [LATER]}}, "words of a later version"),
        (
            {"poem": {"title": "Autumn", "verses": [{"text": "plums fall"}]}},
            "[a message of a kind that is not known here: Autumn · plums fall]",
        ),
    ],
)
async def test_a_kind_of_a_later_version_is_read_by_its_words(
    odd: World, kind: dict[str, Any], told: str
) -> None:
    odd.model.say("ok")
    async with odd.running():
        bring(odd, {**sent(ADA, {"id": ADA, "type": "private"}), **kind})
        await said(odd, "ok")

    assert prompts(odd)[-1] == told


async def test_a_kind_without_words_is_refused_in_a_group_too_when_it_calls_us(odd: World) -> None:
    async with odd.running() as bot:
        me = {"id": BOT_ID, "is_bot": True, "first_name": "aouo"}
        group = {"id": HOUSEHOLD, "type": "supergroup", "title": "Family"}
        bring(odd, {**sent(ADA, group), "hologram": {}})
        replied = {**sent(ADA, group), "message_id": 1, "from": me, "text": "yes?"}
        bring(odd, {**sent(ADA, group), "hologram": {}, "reply_to_message": replied})
        await said(odd, UNKNOWN, chat=HOUSEHOLD)
        await settled(bot)

    assert [one for one in await answers(odd, HOUSEHOLD) if one == UNKNOWN] == [UNKNOWN]


BOT_ID = int(DEFAULT_TOKEN.partition(":")[0])
UNKNOWN = "I cannot take in messages of this kind yet. Please write it as text."


def sent(who: int, chat: dict[str, Any]) -> dict[str, Any]:
    sender = {"id": who, "is_bot": False, "first_name": "Ada"}
    return {"message_id": 90, "date": 1, "chat": chat, "from": sender}


def bring(odd: World, message: dict[str, Any]) -> None:
    queue = odd.emulator.world.updates
    assert isinstance(queue, Brought)
    queue.bring([{"update_id": queue.next_id, "message": message}])


async def test_a_file_in_a_rich_message_is_taken_in(world: World, ears: ModelService) -> None:
    ears.say("first")
    ears.say("plums, please")
    world.model.say("first")
    world.model.say("ok")
    async with world.running() as bot:
        await speak(bot)
        await said(world, "first")
        voice = (await bot.people.messages(ADA))[0].raw["voice"]
        blocks = [block("paragraph", "Listen:"), block("voice_note", voice_note=voice)]
        await bot.people.send_other(ADA, ADA, {"rich_message": {"blocks": blocks}})
        await said(world, "ok")

    told = prompts(world)[-1]
    assert "plums, please" in told
    assert told.endswith("Listen:\n[voice note]")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "blocks", "items", "cells", "caption", "user", "photo"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@given(JSON)
def test_whatever_comes_as_a_rich_message_is_read(rich_message: object) -> None:
    assert isinstance(rich.text_of(rich_message), str)
    rich.mentions(rich_message)
    rich.files_in(rich_message)


def test_depth_and_length_have_ends_that_are_said() -> None:
    deep: Any = "the core"
    for _ in range(40):
        deep = block("bold", [deep])
    nested: Any = block("paragraph", deep)
    for _ in range(40):
        nested = block("list", items=[{"label": "-", "blocks": [nested]}])
    assert "the core" in rich.text_of({"blocks": [nested]})
    for _ in range(4000):
        nested = block("blockquote", blocks=[nested])
    assert "nested deeper" in rich.text_of({"blocks": [nested]})
    table = block("table", cells=[cells(*["plum tart"] * 100)] * 100)
    told = rich.text_of({"blocks": [table]})
    assert len(told) < 101_000
    assert told.endswith("more characters, not read]")
