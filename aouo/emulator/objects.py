"""Writes the world's values as Bot API objects."""

from aouo.emulator.entities import Formatted
from aouo.emulator.jsons import JsonObject
from aouo.emulator.messages import Message
from aouo.emulator.text import utf16_length
from aouo.emulator.world import World


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
