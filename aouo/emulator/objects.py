"""Writes the world's values as Bot API objects, and as people see them."""

from __future__ import annotations

from dataclasses import dataclass

from aouo.emulator.chats import Keyboard, Message
from aouo.emulator.description import JsonObject, as_array, as_object
from aouo.emulator.entities import Formatted, link_target, utf16_length
from aouo.emulator.refusals import bad_request
from aouo.emulator.world import World

_MAX_BUTTONS = 100
_MAX_CALLBACK_BYTES = 64

_ACTIONS = [
    *("url", "callback_data", "web_app", "login_url", "switch_inline_query"),
    *("switch_inline_query_current_chat", "switch_inline_query_chosen_chat"),
    *("copy_text", "callback_game", "pay"),
]


def inline_keyboard(markup: JsonObject | None) -> Keyboard:
    """Return the rows of an inline keyboard without empty ones; other markup has no rows."""
    rows = as_array((markup or {}).get("inline_keyboard")) or []
    keyboard = tuple(
        tuple(_button(button) for button in as_array(row) or []) for row in rows if as_array(row)
    )
    if sum(len(row) for row in keyboard) > _MAX_BUTTONS:
        raise bad_request("reply markup is too long")
    return keyboard


def _button(raw: object) -> JsonObject:
    button = as_object(raw) or {}
    if not str(button.get("text", "")).strip():
        raise bad_request(
            'can\'t parse inline keyboard button: Field "text" must be a non-empty String'
        )
    actions = [name for name in _ACTIONS if name in button]
    if not actions:
        raise bad_request(
            "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"
        )
    if len(actions) > 1:
        raise bad_request(
            "can't parse inline keyboard button: exactly one action is allowed, "
            f"not {' and '.join(actions)}"
        )
    if "callback_data" in button:
        size = len(str(button["callback_data"]).encode())
        if not 1 <= size <= _MAX_CALLBACK_BYTES:
            raise bad_request("BUTTON_DATA_INVALID")
    if "url" in button and link_target(str(button["url"])) is None:
        raise bad_request(
            f"inline keyboard button URL '{button['url']}' is invalid: Wrong HTTP URL"
        )
    return button


def message_json(world: World, message: Message, *, with_reply: bool = True) -> JsonObject:
    """Return a Message object; the replied message is shown without its own reply."""
    chat = world.chats[message.chat_id]
    item: JsonObject = {
        "message_id": message.id,
        "from": world.person(message.sender_id).as_json(),
        "chat": chat.as_json(),
        "date": message.date,
    }
    if message.thread_id is not None:
        item |= {"message_thread_id": message.thread_id, "is_topic_message": True}
    elif (root := _thread_root(world, message)) is not None:
        item["message_thread_id"] = root
    if message.edited_at is not None:
        item["edit_date"] = message.edited_at
    if message.album:
        item["media_group_id"] = message.album
    if message.keyboard:
        rows = [[dict(button) for button in row] for row in message.keyboard]
        item["reply_markup"] = {"inline_keyboard": rows}
    item |= message.service
    item |= message.other
    item |= _content(message)
    return item | (_reply(world, message) if with_reply else {})


def _content(message: Message) -> JsonObject:
    attachment = message.attachment
    if attachment is None:
        return _formatted("text", "entities", message.content)
    item: JsonObject = {attachment.kind: attachment.detail}
    return item | _formatted("caption", "caption_entities", message.content)


def _formatted(text: str, entities: str, content: Formatted) -> JsonObject:
    item: JsonObject = {}
    if content.text:
        item[text] = content.text
    if content.entities:
        item[entities] = [entity.as_json() for entity in content.entities]
    return item


def _reply(world: World, message: Message) -> JsonObject:
    """Return the fields of a reply; a message in a topic replies to the one that created it."""
    chat = world.chats[message.chat_id]
    implicit = message.thread_id if chat.kind == "supergroup" and chat.is_forum else None
    target = chat.messages.get(message.reply_to or implicit or 0)
    if target is None or target.id == message.id:
        return {}
    item: JsonObject = {"reply_to_message": message_json(world, target, with_reply=False)}
    if message.quote:
        before = target.content.text.partition(message.quote)[0]
        quote = {"text": message.quote, "position": utf16_length(before), "is_manual": True}
        item["quote"] = quote
    return item


def _thread_root(world: World, message: Message) -> int | None:
    """Return the first message of a chain of replies in a plain supergroup, which is no topic."""
    chat = world.chats[message.chat_id]
    if chat.kind != "supergroup" or chat.is_forum or message.reply_to is None:
        return None
    root = message.reply_to
    while (target := chat.messages.get(root)) is not None and target.reply_to is not None:
        root = target.reply_to
    return root


def inaccessible_json(world: World, chat_id: int, message_id: int) -> JsonObject:
    """Return the object for a deleted message."""
    return {"chat": world.chats[chat_id].as_json(), "message_id": message_id, "date": 0}


@dataclass(frozen=True, slots=True)
class Button:
    """An inline button; `data` is "" if it opens `url`."""

    text: str
    data: str
    url: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message as people see it; `raw` is the Message object of the Bot API."""

    id: int
    chat_id: int
    thread_id: int | None
    sender_id: int
    from_bot: bool
    text: str
    buttons: tuple[Button, ...]
    edited: bool
    reply_to: int | None
    reactions: tuple[str, ...]
    raw: JsonObject

    @staticmethod
    def of(raw: JsonObject) -> ChatMessage:
        rows: list[list[JsonObject]] = raw.get("reply_markup", {}).get("inline_keyboard", [])
        reactions: dict[str, list[str]] = raw.get("reactions", {})
        buttons = (
            Button(one["text"], one.get("callback_data", ""), one.get("url", ""))
            for row in rows
            for one in row
        )
        return ChatMessage(
            id=raw["message_id"],
            chat_id=raw["chat"]["id"],
            thread_id=raw.get("message_thread_id"),
            sender_id=raw["from"]["id"],
            from_bot=raw["from"]["is_bot"],
            text=raw.get("text", raw.get("caption", "")),
            buttons=tuple(buttons),
            edited="edit_date" in raw,
            reply_to=raw.get("reply_to_message", {}).get("message_id"),
            reactions=tuple(emoji for one in reactions.values() for emoji in one),
            raw=raw,
        )
