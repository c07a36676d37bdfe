"""The exact texts in which Telegram refuses; source: the team's notes on the real server."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest
from aiohttp import ClientSession

from aouo.emulator import ADA, FAMILY, HOUSEHOLD, NOTES, VOCAB
from tests.fakes.telegram import LocalTelegram

Ask: TypeAlias = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


def keyboard(**button: Any) -> dict[str, Any]:
    return {"inline_keyboard": [[button]]}


def bold(offset: int, length: int) -> list[dict[str, Any]]:
    return [{"type": "bold", "offset": offset, "length": length}]


SENDS: list[tuple[dict[str, Any], str]] = [
    ({"text": ""}, "message text is empty"),
    ({"text": " \n "}, "text must be non-empty"),
    ({"text": "a" * 4097}, "message is too long"),
    ({"text": "😀" * 2049}, "message is too long"),
    ({"text": "a" * 32_769}, "text is too long"),
    ({"text": "half \ud83d"}, "strings must be encoded in UTF-8"),
    ({"chat_id": 5}, "chat not found"),
    ({"chat_id": "@ada"}, "chat not found"),
    ({"chat_id": HOUSEHOLD, "message_thread_id": 1}, "message thread not found"),
    ({"chat_id": HOUSEHOLD, "message_thread_id": 99}, "message thread not found"),
    ({"message_thread_id": 2}, "message thread not found"),
    ({"reply_parameters": {"message_id": 99}}, "message to be replied not found"),
    ({"reply_markup": keyboard(text="A", callback_data="a" * 65)}, "BUTTON_DATA_INVALID"),
    ({"reply_markup": keyboard(text="A", callback_data="ж" * 33)}, "BUTTON_DATA_INVALID"),
    ({"reply_markup": keyboard(text="A", callback_data="")}, "BUTTON_DATA_INVALID"),
    (
        {"reply_markup": keyboard(text="A")},
        "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
    ),
    (
        {"reply_markup": keyboard(text="A", url="http://localhost/")},
        "inline keyboard button URL 'http://localhost/' is invalid: Wrong HTTP URL",
    ),
    (
        {"reply_markup": {"inline_keyboard": [[{"text": "A", "callback_data": "a"}] * 101]}},
        "reply markup is too long",
    ),
    (
        {"text": "ab", "entities": bold(0, 3)},
        "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 2",
    ),
    (
        {"text": "a😀", "entities": bold(2, 1)},
        "entity begins in a middle of a UTF-16 symbol at byte offset 5",
    ),
]


@pytest.mark.parametrize(("params", "text"), SENDS)
async def test_a_send_is_refused_in_telegrams_words(
    ask: Ask, params: dict[str, Any], text: str
) -> None:
    refused = await ask("sendMessage", **({"chat_id": ADA, "text": "hello"} | params))

    assert (refused["error_code"], refused["description"]) == (400, f"Bad Request: {text}")


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("editMessageText", {"message_id": 9, "text": "a"}, "message to edit not found"),
        ("editMessageText", {"message_id": 1, "text": "a"}, "message can't be edited"),
        (
            "editMessageText",
            {"message_id": 3, "text": "a"},
            "there is no text in the message to edit",
        ),
        (
            "editMessageCaption",
            {"message_id": 2, "caption": "a"},
            "there is no caption in the message to edit",
        ),
        (
            "editMessageText",
            {"message_id": 2, "text": " said \n"},
            "message is not modified: specified new message content and reply markup are exactly "
            "the same as a current content and reply markup of the message",
        ),
        ("editMessageText", {"text": "a"}, "message identifier is not specified"),
        ("deleteMessage", {"message_id": 9}, "message to delete not found"),
        ("sendChatAction", {"action": "dancing"}, "wrong parameter action in request"),
        ("setMessageReaction", {"message_id": 9}, "message to react not found"),
        (
            "setMessageReaction",
            {"message_id": 1, "reaction": [{"type": "emoji", "emoji": "🪵"}]},
            "REACTION_INVALID",
        ),
        ("sendMessageDraft", {"chat_id": FAMILY, "draft_id": 1}, "TEXTDRAFT_PEER_INVALID"),
        ("createForumTopic", {"chat_id": FAMILY, "name": "a"}, "the chat is not a forum"),
        ("createForumTopic", {"name": "a"}, "BOT_FORUM_CREATE_FORBIDDEN"),
        (
            "answerCallbackQuery",
            {"callback_query_id": "1"},
            "query is too old and response timeout expired or query ID is invalid",
        ),
        ("getFile", {"file_id": "x"}, "wrong file_id or the file is temporarily unavailable"),
        ("sendPhoto", {"photo": "x"}, "wrong file identifier/HTTP URL specified"),
    ],
)
async def test_other_methods_refuse_in_telegrams_words(
    emu: LocalTelegram, ask: Ask, method: str, params: dict[str, Any], text: str
) -> None:
    await emu.client.say(ADA, ADA, "hello")
    await ask("sendMessage", chat_id=ADA, text="said")
    await ask("sendDocument", chat_id=ADA, document="https://a.example/b.pdf")

    refused = await ask(method, **({"chat_id": ADA} | params))

    assert (refused["error_code"], refused["description"]) == (400, f"Bad Request: {text}")


async def test_commands_are_refused_in_telegrams_words(ask: Ask) -> None:
    def commands(count: int, name: str = "a", text: str = "x") -> list[dict[str, str]]:
        return [{"command": name, "description": text}] * count

    answers = [
        await ask("setMyCommands", commands=commands(101)),
        await ask("setMyCommands", commands=commands(1, name="No")),
        await ask("setMyCommands", commands=commands(1, text="x" * 257)),
    ]

    assert [answer["description"] for answer in answers] == [
        "Bad Request: BOT_COMMANDS_TOO_MUCH",
        "Bad Request: BOT_COMMAND_INVALID",
        "Bad Request: command description length must not exceed 256",
    ]


async def test_a_closed_topic_and_a_deleted_one_refuse_sends(emu: LocalTelegram, ask: Ask) -> None:
    await emu.client.topic_closed(ADA, HOUSEHOLD, NOTES)
    await emu.client.topic_deleted(ADA, HOUSEHOLD, VOCAB)

    closed = await ask("sendMessage", chat_id=HOUSEHOLD, message_thread_id=NOTES, text="a")
    deleted = await ask("sendMessage", chat_id=HOUSEHOLD, message_thread_id=VOCAB, text="a")

    assert closed["description"] == "Bad Request: TOPIC_CLOSED"
    assert deleted["description"] == "Bad Request: message thread not found"


async def test_a_chat_action_takes_general_and_gone_topics(ask: Ask) -> None:
    """Unlike a send: General needs the id 1 to show it, a deleted topic answers True."""
    for thread in (1, NOTES, 99):
        answer = await ask(
            "sendChatAction", chat_id=HOUSEHOLD, message_thread_id=thread, action="typing"
        )
        assert answer == {"ok": True, "result": True}


async def test_a_bot_is_told_that_it_may_not_write(emu: LocalTelegram, ask: Ask) -> None:
    people = emu.client
    await people.block(ADA)
    stranger = await people.create_user("Eve", started=False)
    known = await people.create_user("Cat", started=False)
    await people.join(known, FAMILY)
    kicked = await people.create_chat("Club", [ADA], kind="supergroup")
    await people.set_bot_status(ADA, kicked, "kicked")
    absent = await people.create_chat("Other", [ADA], bot_status="left")

    texts = [
        (await ask("sendMessage", chat_id=chat, text="a"))["description"]
        for chat in (ADA, stranger, known, kicked, absent)
    ]

    assert texts == [
        "Forbidden: bot was blocked by the user",
        "Bad Request: chat not found",
        "Forbidden: bot can't initiate conversation with a user",
        "Forbidden: bot was kicked from the supergroup chat",
        "Forbidden: bot is not a member of the group chat",
    ]


async def test_an_upgraded_group_names_its_new_id(emu: LocalTelegram, ask: Ask) -> None:
    new_id = await emu.client.upgrade(ADA, FAMILY)

    refused = await ask("sendMessage", chat_id=FAMILY, text="a")

    assert refused == {
        "ok": False,
        "error_code": 400,
        "description": "Bad Request: group chat was upgraded to a supergroup chat",
        "parameters": {"migrate_to_chat_id": new_id},
    }


async def test_a_bot_without_the_right_creates_no_topic(emu: LocalTelegram, ask: Ask) -> None:
    await emu.client.set_bot_status(ADA, HOUSEHOLD, "administrator", manages_topics=False)

    refused = await ask("createForumTopic", chat_id=HOUSEHOLD, name="a")

    assert refused["description"] == "Bad Request: not enough rights to create a topic"


async def test_tokens_and_methods_are_told_apart(emu: LocalTelegram, http: ClientSession) -> None:
    seen: list[tuple[int, str]] = []
    for path in (
        "bot4200:wrong/getMe",
        "botnonsense/getMe",
        f"bot{emu.token}/getNothing",
        f"bot{emu.token}/getUserProfilePhotos?user_id=1001",
    ):
        async with http.get(f"{emu.base_url}/{path}") as response:
            seen.append((response.status, (await response.json())["description"]))

    assert seen == [
        (401, "Unauthorized"),
        (404, "Not Found"),
        (404, "Not Found: method not found"),
        (501, "Not Implemented in the emulator: getUserProfilePhotos"),
    ]
