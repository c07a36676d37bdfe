"""Messages, topics, buttons and files as the bot and people see them."""

import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from aiohttp import ClientSession, FormData

from aouo.emulator import ADA, BEN, FAMILY, HOUSEHOLD, NOTES
from aouo.emulator.description import check
from aouo.emulator.files import _image_size
from aouo.emulator.world import CALLBACK_DEADLINE_S
from tests.fakes.telegram import LocalTelegram

Ask: TypeAlias = Callable[..., Coroutine[Any, Any, dict[str, Any]]]

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000000000500012b8c5a3f0000000049454e44ae426082"
)
KEYBOARD = {"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]}


async def result(ask: Ask, method: str, **params: Any) -> Any:
    answer = await ask(method, **params)
    assert answer["ok"], answer
    return answer["result"]


async def test_every_kind_of_update_and_answer_fits_the_description(
    emu: LocalTelegram, ask: Ask
) -> None:
    people = emu.client
    everything = ["message_reaction", "chat_member", "message", "edited_message"]
    everything += ["callback_query", "my_chat_member"]
    await ask("getUpdates", allowed_updates=everything)
    said = await people.say(ADA, ADA, "hello /start")
    await people.edit(ADA, ADA, said.id, "hello again")
    await people.send_file(ADA, ADA, "photo", PIXEL, name="a.png", mime="image/png", caption="see")
    await people.send_file(ADA, ADA, "voice", b"OggS", mime="audio/ogg")
    for kind in ("audio", "document", "video", "video_note", "animation", "sticker"):
        await people.send_file(ADA, ADA, kind, b"bytes", name="a.bin")
    await people.send_other(ADA, ADA, {"location": {"latitude": 1.5, "longitude": 2.5}})
    sent = await result(ask, "sendMessage", chat_id=ADA, text="?", reply_markup=KEYBOARD)
    await people.act("tap", user=ADA, chat=ADA, message_id=sent["message_id"], data="y")
    await people.act("tap", user=ADA, chat=ADA, message_id=999, data="y")
    await people.react(ADA, ADA, sent["message_id"], "👍")
    topic = await people.topic_created(ADA, HOUSEHOLD, "music")
    await people.say(BEN, HOUSEHOLD, "la", thread=topic)
    await people.topic_renamed(ADA, HOUSEHOLD, topic, "songs")
    await people.topic_closed(ADA, HOUSEHOLD, topic)
    await people.topic_closed(ADA, HOUSEHOLD, topic, closed=False)
    await people.leave(BEN, FAMILY)
    await people.join(BEN, FAMILY)
    await people.upgrade(ADA, FAMILY)
    await people.create_chat("Club", [ADA, BEN], kind="forum")
    await people.block(BEN)
    await people.say(BEN, BEN, "back")

    updates = await result(ask, "getUpdates")

    kinds = {kind for update in updates for kind in update if kind != "update_id"}
    assert kinds == set(everything)
    assert [str(one) for update in updates for one in check(("Update",), update, "Update")] == []
    assert await people.violations() == []


async def test_a_photo_comes_in_several_sizes_smallest_first_each_a_file_of_its_own(
    emu: LocalTelegram, ask: Ask, http: ClientSession
) -> None:
    """As Telegram makes them: core.telegram.org/api/files#image-thumbnail-types."""
    sent = PIXEL[:16] + (1000).to_bytes(4, "big") + (500).to_bytes(4, "big") + PIXEL[24:]
    await emu.client.send_file(ADA, ADA, "photo", sent, name="a.png", mime="image/png")

    (update,) = await result(ask, "getUpdates")
    sizes = update["message"]["photo"]
    contents: list[bytes] = []
    for size in sizes:
        path = (await result(ask, "getFile", file_id=size["file_id"]))["file_path"]
        async with http.get(f"{emu.base_url}/file/bot{emu.token}/{path}") as response:
            contents.append(await response.read())
    again = await result(ask, "sendPhoto", chat_id=ADA, photo=sizes[0]["file_id"])

    assert [(size["width"], size["height"]) for size in sizes] == [
        (90, 45),
        (320, 160),
        (800, 400),
        (1000, 500),
    ]
    assert [_image_size(content) for content in contents[:-1]] == [(90, 45), (320, 160), (800, 400)]
    assert contents[-1] == sent
    assert [size["file_size"] for size in sizes] == [len(content) for content in contents]
    assert len({size["file_unique_id"] for size in sizes}) == 4
    assert again["photo"] == sizes


async def test_every_implemented_method_answers_what_the_description_says(
    emu: LocalTelegram, ask: Ask
) -> None:
    """The emulator checks each answer itself; a difference would be a violation."""
    document = await result(ask, "sendDocument", chat_id=ADA, document="https://a.example/b.pdf")
    sent = await result(ask, "sendMessage", chat_id=HOUSEHOLD, text="a", message_thread_id=NOTES)
    where = {"chat_id": HOUSEHOLD, "message_id": sent["message_id"]}
    await result(ask, "editMessageText", **where, text="b", reply_markup=KEYBOARD)
    await result(ask, "editMessageReplyMarkup", **where)
    await result(ask, "setMessageReaction", **where, reaction=[{"type": "emoji", "emoji": "👍"}])
    await result(ask, "deleteMessage", **where)
    await result(ask, "deleteMessages", chat_id=HOUSEHOLD, message_ids=[1, 2, 3])
    await result(
        ask,
        "editMessageCaption",
        chat_id=ADA,
        message_id=document["message_id"],
        caption="c",
    )
    for kind in ("photo", "audio", "voice", "video", "animation"):
        await result(ask, f"send{kind}", chat_id=ADA, **{kind: "https://a.example/x"})
    media = [{"type": "photo", "media": "https://a.example/x", "caption": "c"}] * 2
    await result(ask, "sendMediaGroup", chat_id=ADA, media=media)
    await result(ask, "sendMessageDraft", chat_id=ADA, draft_id=1, text="…")
    topic = await result(ask, "createForumTopic", chat_id=HOUSEHOLD, name="t")
    thread = {"chat_id": HOUSEHOLD, "message_thread_id": topic["message_thread_id"]}
    await result(ask, "editForumTopic", **thread, name="u")
    await result(ask, "closeForumTopic", **thread)
    await result(ask, "reopenForumTopic", **thread)
    await result(ask, "deleteForumTopic", **thread)
    commands = [{"command": "start", "description": "Begin"}]
    await result(ask, "setMyCommands", commands=commands, language_code="de")
    assert await result(ask, "getMyCommands", language_code="de") == commands
    await result(ask, "deleteMyCommands", language_code="de")
    for person in (ADA, emu.world.bot.id):
        await result(ask, "getChatMember", chat_id=HOUSEHOLD, user_id=person)
    for method in ("getChat", "getChatAdministrators", "getChatMemberCount", "leaveChat"):
        await result(ask, method, chat_id=FAMILY)
    for method in ("getMe", "getWebhookInfo", "deleteWebhook", "close", "logOut"):
        await result(ask, method)

    assert await emu.client.violations() == []


async def test_message_ids_are_shared_by_private_chats_and_groups_but_not_supergroups(
    emu: LocalTelegram, ask: Ask
) -> None:
    ids = [
        (await result(ask, "sendMessage", chat_id=chat, text="a"))["message_id"]
        for chat in (ADA, FAMILY, BEN, HOUSEHOLD, HOUSEHOLD)
    ]

    assert ids == [1, 2, 3, 4, 5]


async def test_a_message_in_a_topic_answers_its_creation_implicitly(
    emu: LocalTelegram, ask: Ask
) -> None:
    await emu.client.say(ADA, HOUSEHOLD, "milk", thread=NOTES)
    await emu.client.say(ADA, HOUSEHOLD, "bread")

    noted, general = [update["message"] for update in await result(ask, "getUpdates")]

    assert (noted["message_thread_id"], noted["is_topic_message"]) == (NOTES, True)
    assert noted["reply_to_message"]["forum_topic_created"]["name"] == "notes"
    assert not {"message_thread_id", "is_topic_message", "reply_to_message"} & general.keys()


async def test_a_reply_without_a_thread_lands_in_the_topic_it_answers(
    emu: LocalTelegram, ask: Ask
) -> None:
    asked = await emu.client.say(ADA, HOUSEHOLD, "milk?", thread=NOTES)

    sent = await result(
        ask,
        "sendMessage",
        chat_id=HOUSEHOLD,
        text="yes",
        reply_parameters={"message_id": asked.id, "quote": "milk"},
    )

    assert sent["message_thread_id"] == NOTES
    assert sent["reply_to_message"]["message_id"] == asked.id


async def test_a_reply_chain_of_a_plain_supergroup_is_no_topic(
    emu: LocalTelegram, ask: Ask
) -> None:
    club = await emu.client.create_chat("Club", [ADA, BEN], kind="supergroup")
    root = await emu.client.say(ADA, club, "a 😀 question")
    await emu.client.say(BEN, club, "an answer", reply_to=root.id)
    second = await emu.client.say(BEN, club, "this", reply_to=root.id, quote="question")
    await emu.client.say(ADA, club, "thanks", reply_to=second.id)

    updates = await result(ask, "getUpdates", offset=-2)

    first, last = [update["message"] for update in updates]
    assert [one["message_thread_id"] for one in (first, last)] == [root.id, root.id]
    assert "is_topic_message" not in last
    assert first["quote"] == {"text": "question", "position": 5, "is_manual": True}


async def test_private_chats_have_topics_if_the_bot_has_them_switched_on(
    http: ClientSession,
) -> None:
    async with LocalTelegram(private_topics=True) as emu:
        thread = await emu.client.topic_created(ADA, ADA, "work")
        said = await emu.client.say(ADA, ADA, "a", thread=thread)
        params = {"chat_id": ADA, "message_thread_id": thread, "text": "b"}
        async with http.post(f"{emu.bot_url}/sendMessage", json=params) as response:
            sent = (await response.json())["result"]
        async with http.post(f"{emu.bot_url}/getMe") as response:
            me = (await response.json())["result"]

    assert me["has_topics_enabled"]
    assert (said.thread_id, said.reply_to) == (thread, None)
    assert (sent["message_thread_id"], sent["is_topic_message"]) == (thread, True)


async def test_a_missing_reply_target_can_be_allowed(ask: Ask) -> None:
    reply = {"message_id": 99, "allow_sending_without_reply": True}

    sent = await result(ask, "sendMessage", chat_id=ADA, text="a", reply_parameters=reply)

    assert "reply_to_message" not in sent


async def test_an_edit_without_markup_takes_the_keyboard_away(emu: LocalTelegram, ask: Ask) -> None:
    sent = await result(ask, "sendMessage", chat_id=ADA, text="a", reply_markup=KEYBOARD)
    await result(ask, "editMessageText", chat_id=ADA, message_id=sent["message_id"], text="b")

    [message] = await emu.client.messages(ADA)

    assert (message.text, message.buttons, message.edited) == ("b", (), True)


async def test_a_tapped_button_is_answered_once_and_in_time(
    emu: LocalTelegram, ask: Ask, clock: Any
) -> None:
    sent = await result(ask, "sendMessage", chat_id=ADA, text="a", reply_markup=KEYBOARD)
    tap = {"user": BEN, "chat": ADA, "message_id": sent["message_id"], "data": "y"}
    first = await emu.client.act("tap", **tap)
    late = await emu.client.act("tap", **tap)
    answer = {"callback_query_id": first["query_id"], "text": "done", "show_alert": True}

    assert await result(ask, "answerCallbackQuery", **answer)
    assert not (await ask("answerCallbackQuery", **answer))["ok"]
    clock.now += CALLBACK_DEADLINE_S + 1
    assert not (await ask("answerCallbackQuery", callback_query_id=late["query_id"]))["ok"]

    shown = await emu.client.act("answer", query_id=first["query_id"])
    assert shown == {"text": "done", "show_alert": True}


async def test_in_a_group_an_ordinary_bot_sees_only_what_concerns_it(
    emu: LocalTelegram, ask: Ask
) -> None:
    people = emu.client
    await people.set_bot_status(ADA, FAMILY, "member")
    mine = await result(ask, "sendMessage", chat_id=FAMILY, text="hello")
    await people.say(BEN, FAMILY, "among us")
    await people.say(BEN, FAMILY, "/start")
    await people.say(BEN, FAMILY, "/start@other_bot")
    await people.say(BEN, FAMILY, "hey @aouo_try_bot")
    await people.say(BEN, FAMILY, "you", reply_to=mine["message_id"])

    updates = await result(ask, "getUpdates", offset=-3)

    texts = [update["message"]["text"] for update in updates]
    assert texts == ["/start", "hey @aouo_try_bot", "you"]


async def test_an_uploaded_file_comes_back_under_its_path(
    emu: LocalTelegram, http: ClientSession, ask: Ask
) -> None:
    form = FormData()
    form.add_field("chat_id", str(ADA))
    form.add_field("document", b"words", filename="words.txt", content_type="text/plain")
    async with http.post(f"{emu.bot_url}/sendDocument", data=form) as response:
        document = (await response.json())["result"]["document"]

    found = await result(ask, "getFile", file_id=document["file_id"])
    async with http.get(f"{emu.base_url}/file/bot{emu.token}/{found['file_path']}") as response:
        content = await response.read()

    assert (content, document["file_name"], document["file_size"]) == (b"words", "words.txt", 5)
    assert found["file_path"].startswith("documents/")


async def test_an_album_takes_its_files_from_the_other_parts(
    emu: LocalTelegram, http: ClientSession
) -> None:
    form = FormData()
    form.add_field("chat_id", str(ADA))
    media = [{"type": "photo", "media": f"attach://file{at}"} for at in range(2)]
    form.add_field("media", json.dumps(media))
    for at in range(2):
        form.add_field(f"file{at}", PIXEL, filename="a.png", content_type="image/png")

    async with http.post(f"{emu.bot_url}/sendMediaGroup", data=form) as response:
        messages = (await response.json())["result"]

    assert len({message["media_group_id"] for message in messages}) == 1
    assert [message["photo"][0]["width"] for message in messages] == [1, 1]
    assert await emu.client.violations() == []


async def test_pictures_and_videos_go_together_and_nothing_else_does(
    emu: LocalTelegram, ask: Ask
) -> None:
    def items(*kinds: str) -> list[dict[str, str]]:
        return [{"type": kind, "media": "https://a.example/x"} for kind in kinds]

    mixed = await result(ask, "sendMediaGroup", chat_id=ADA, media=items("photo", "video"))
    refused = await ask("sendMediaGroup", chat_id=ADA, media=items("photo", "document"))

    assert ["photo" in mixed[0], "video" in mixed[1]] == [True, True]
    assert "can't use the media of the specified type" in refused["description"]
    assert await emu.client.violations() == []


async def test_what_breaks_the_description_is_noted(emu: LocalTelegram, ask: Ask) -> None:
    await result(ask, "sendMessage", chat_id=ADA, text="a", thread=1, parse_mode="HTML")

    assert [one["problem"] for one in await emu.client.violations()] == [
        "thread: sendMessage has no such parameter",
        "parse_mode: the emulator parses no markup",
    ]
