"""Methods about the bot itself, its chats and their topics; changes of membership."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from aouo.emulator.chats import ICON_COLORS, Chat, Membership, Message
from aouo.emulator.description import JsonObject
from aouo.emulator.files import Parameters, file_json
from aouo.emulator.objects import message_json
from aouo.emulator.refusals import bad_request
from aouo.emulator.world import World, add_topic

_MAX_COMMANDS = 100
_MAX_COMMANDS_BYTES = 7_987  # "about 7.8 KB": reported, not documented
_COMMAND = re.compile(r"^[a-z0-9_]{1,32}$")


def _get_me(world: World, params: Parameters, now: float) -> Any:
    return world.bot.as_json() | {
        "can_join_groups": True,
        "can_read_all_group_messages": not world.privacy,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
        "has_topics_enabled": world.private_topics,
        "allows_users_to_create_topics": world.private_topics,
    }


def _delete_webhook(world: World, params: Parameters, now: float) -> bool:
    world.webhook = {}
    if params.flag("drop_pending_updates"):
        world.updates.clear()
    return True


def _get_webhook_info(world: World, params: Parameters, now: float) -> Any:
    info: JsonObject = {
        "url": world.webhook.get("url", ""),
        "has_custom_certificate": False,
        "pending_update_count": len(world.updates),
    }
    for name in ("last_error_date", "last_error_message"):
        if name in world.webhook:
            info[name] = world.webhook[name]
    return info | ({"allowed_updates": world.updates.allowed} if world.updates.allowed else {})


def _set_my_commands(world: World, params: Parameters, now: float) -> bool:
    commands = params.objects("commands")
    size = len(json.dumps(commands, ensure_ascii=False).encode())
    if len(commands) > _MAX_COMMANDS or size > _MAX_COMMANDS_BYTES:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        name = str(command["command"]).removeprefix("/")
        if not _COMMAND.match(name):
            raise bad_request("BOT_COMMAND_INVALID")
        size = len(str(command["description"]))
        if size > 256:
            raise bad_request("command description length must not exceed 256")
        if size == 0:
            raise bad_request("command description must be non-empty")
    world.commands[_scope(params)] = [
        {
            "command": str(command["command"]).removeprefix("/"),
            "description": command["description"],
        }
        for command in commands
    ]
    return True


def _set_my_description(world: World, params: Parameters, now: float) -> bool:
    if len(params.text("description")) > 512:
        raise bad_request("description must not exceed 512 characters")
    world.descriptions["long", params.text("language_code")] = params.text("description")
    return True


def _set_my_short_description(world: World, params: Parameters, now: float) -> bool:
    if len(params.text("short_description")) > 120:
        raise bad_request("short description must not exceed 120 characters")
    world.descriptions["short", params.text("language_code")] = params.text("short_description")
    return True


def _get_file(world: World, params: Parameters, now: float) -> Any:
    return file_json(world, params.text("file_id"))


def _scope(params: Parameters) -> tuple[str, str]:
    scope = params.object("scope") or {"type": "default"}
    return json.dumps(scope, sort_keys=True), params.text("language_code")


_GIFTS = [
    "unlimited_gifts",
    "limited_gifts",
    "unique_gifts",
    "premium_subscription",
    "gifts_from_channels",
]


def _get_chat(world: World, params: Parameters, now: float) -> Any:
    chat = world.chat_of(params.values["chat_id"])
    return chat.as_json() | {
        "accent_color_id": abs(chat.id) % 7,
        "max_reaction_count": 11,
        "accepted_gift_types": dict.fromkeys(_GIFTS, False),
    }


def _get_chat_member(world: World, params: Parameters, now: float) -> Any:
    chat = world.chat_of(params.values["chat_id"])
    person_id = params.integer("user_id")
    if person_id not in world.people:
        raise bad_request("PARTICIPANT_ID_INVALID")
    return chat.membership(person_id).as_json(world.person(person_id))


_MAX_NAME = 128


def _create_forum_topic(world: World, params: Parameters, now: float) -> Any:
    chat = _forum(world, params, "create")
    name = params.text("name").strip()
    color = params.integer("icon_color", ICON_COLORS[0])
    if not 1 <= len(name) <= _MAX_NAME:
        raise bad_request("topic name must be 1-128 characters long")
    if color not in ICON_COLORS:
        raise bad_request("invalid forum topic icon color specified")
    topic = add_topic(chat, world.bot.id, name, color, int(now))
    _announce(world, chat, chat.messages[topic.id])
    return topic.as_json()


def _edit_forum_topic(world: World, params: Parameters, now: float) -> bool:
    chat = _forum(world, params, "edit")
    name = params.text("name").strip()
    rename_topic(world, chat, world.bot.id, params.integer("message_thread_id"), name, now)
    return True


def _reopen_forum_topic(world: World, params: Parameters, now: float) -> bool:
    return _set_closed(world, params, now, closed=False)


def rename_topic(
    world: World, chat: Chat, actor_id: int, thread_id: int, name: str, now: float
) -> Message:
    """Rename a topic and tell the chat."""
    topic = chat.topic(thread_id)
    if name == topic.name or not name:
        raise bad_request("TOPIC_NOT_MODIFIED")
    if len(name) > _MAX_NAME:
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
    world: World, chat: Chat, actor_id: int, now: float, thread_id: int | None, fields: JsonObject
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
    _announce(world, chat, message)
    return message


def _announce(world: World, chat: Chat, message: Message) -> None:
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


def unblock(world: World, now: float, *, user: int) -> None:
    """Unblock the bot in a person's private chat; nothing happens if it was not blocked."""
    if world.bot_status(world.chats[user]).status == "kicked":
        set_bot_status(world, now, user=user, chat=user, status=Membership("member"))


def set_bot_status(world: World, now: float, *, user: int, chat: int, status: Membership) -> None:
    """Add, promote, demote or remove the bot as a person."""
    change(world, now, world.chats[chat], user, world.bot.id, status)


def welcome_bot(world: World, chat: Chat, creator_id: int, now: float) -> None:
    """Send the updates that tell the bot of a new group with it."""
    change(world, now, chat, creator_id, world.bot.id, Membership("member"))
    kind = "group_chat_created" if chat.kind == "group" else "supergroup_chat_created"
    service(world, chat, creator_id, now, None, {kind: True})


def tell_topic_created(world: World, chat: Chat, thread_id: int) -> None:
    """Deliver the service message of a topic that a person created."""
    _announce(world, chat, chat.messages[thread_id])


def change(
    world: World, now: float, chat: Chat, actor_id: int, person_id: int, new: Membership
) -> None:
    """Change a membership, and tell the bot."""
    old = chat.membership(person_id)
    person = world.person(person_id)
    chat.members[person_id] = new
    kind = "my_chat_member" if person_id == world.bot.id else "chat_member"
    update: JsonObject = {
        "chat": chat.as_json(),
        "from": world.person(actor_id).as_json(),
        "date": int(now),
        "old_chat_member": old.as_json(person),
        "new_chat_member": new.as_json(person),
    }
    world.updates.push(kind, update)


METHODS = (
    _get_me,
    _delete_webhook,
    _get_webhook_info,
    _set_my_commands,
    _set_my_description,
    _set_my_short_description,
    _get_file,
    _get_chat,
    _get_chat_member,
    _create_forum_topic,
    _edit_forum_topic,
    _reopen_forum_topic,
)
