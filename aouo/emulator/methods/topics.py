"""Methods that manage forum topics; the service messages they cause come back as updates."""

from dataclasses import replace
from typing import Any

from aouo.emulator.chats import ICON_COLORS, Chat
from aouo.emulator.jsons import JsonObject
from aouo.emulator.messages import Message
from aouo.emulator.objects import message_json
from aouo.emulator.parameters import Parameters
from aouo.emulator.refusal import bad_request
from aouo.emulator.start import add_topic
from aouo.emulator.world import World

MAX_NAME = 128


def create_forum_topic(world: World, params: Parameters, now: float) -> Any:
    chat = _forum(world, params, "create")
    name = params.text("name").strip()
    color = params.integer("icon_color", ICON_COLORS[0])
    if not 1 <= len(name) <= MAX_NAME:
        raise bad_request("topic name must be 1-128 characters long")
    if color not in ICON_COLORS:
        raise bad_request("invalid forum topic icon color specified")
    topic = add_topic(chat, world.bot.id, name, color, int(now))
    announce(world, chat, chat.messages[topic.id])
    return topic.as_json()


def edit_forum_topic(world: World, params: Parameters, now: float) -> bool:
    chat = _forum(world, params, "edit")
    name = params.text("name").strip()
    rename_topic(world, chat, world.bot.id, params.integer("message_thread_id"), name, now)
    return True


def close_forum_topic(world: World, params: Parameters, now: float) -> bool:
    return _set_closed(world, params, now, closed=True)


def reopen_forum_topic(world: World, params: Parameters, now: float) -> bool:
    return _set_closed(world, params, now, closed=False)


def delete_forum_topic(world: World, params: Parameters, now: float) -> bool:
    chat = _forum(world, params, "delete")
    delete_topic(chat, params.integer("message_thread_id"))
    return True


def rename_topic(
    world: World, chat: Chat, actor_id: int, thread_id: int, name: str, now: float
) -> Message:
    """Rename a topic and tell the chat."""
    topic = chat.topic(thread_id)
    if name == topic.name or not name:
        raise bad_request("TOPIC_NOT_MODIFIED")
    if len(name) > MAX_NAME:
        raise bad_request("topic name must be 1-128 characters long")
    chat.topics[thread_id] = replace(topic, name=name)
    return service(world, chat, actor_id, now, thread_id, {"forum_topic_edited": {"name": name}})


def set_topic_closed(
    world: World, chat: Chat, actor_id: int, thread_id: int, now: float, *, closed: bool
) -> Message:
    """Close or reopen a topic and tell the chat."""
    chat.close_topic(thread_id, closed=closed)
    kind = "forum_topic_closed" if closed else "forum_topic_reopened"
    return service(world, chat, actor_id, now, thread_id, {kind: {}})


def delete_topic(chat: Chat, thread_id: int) -> None:
    """Delete a topic with its messages; no update reports it."""
    chat.topic(thread_id)
    del chat.topics[thread_id]
    for message in list(chat.in_thread(thread_id)):
        del chat.messages[message.id]


def service(
    world: World,
    chat: Chat,
    actor_id: int,
    now: float,
    thread_id: int | None,
    fields: JsonObject,
) -> Message:
    """Store and deliver a service message, also to the bot that caused it."""
    message = chat.keep(
        Message(
            id=next(chat.ids),
            chat_id=chat.id,
            sender_id=actor_id,
            date=int(now),
            thread_id=thread_id,
            service=fields,
        )
    )
    announce(world, chat, message)
    return message


def announce(world: World, chat: Chat, message: Message) -> None:
    """Deliver a service message to the bot if it is in the chat."""
    if world.bot_status(chat).present:
        world.updates.push("message", message_json(world, message))


def _set_closed(world: World, params: Parameters, now: float, *, closed: bool) -> bool:
    chat = _forum(world, params, "close" if closed else "reopen")
    thread_id = params.integer("message_thread_id")
    set_topic_closed(world, chat, world.bot.id, thread_id, now, closed=closed)
    return True


def _forum(world: World, params: Parameters, verb: str) -> Chat:
    chat = world.chat_for_send(params.values["chat_id"])
    if not chat.is_forum:
        private = chat.kind == "private" and verb == "create"
        raise bad_request("BOT_FORUM_CREATE_FORBIDDEN" if private else "the chat is not a forum")
    mine = world.bot_status(chat)
    if chat.kind != "private" and not (mine.privileged and mine.manages_topics):
        raise bad_request(f"not enough rights to {verb} a topic")
    return chat
