"""Makes one person's view for the chat page: the list of conversations and the open one."""

import json

from aouo.emulator.chats import Chat
from aouo.emulator.jsons import JsonObject
from aouo.emulator.messages import Message
from aouo.emulator.objects import message_json
from aouo.emulator.world import Shown, World, newest

_PREVIEW = 80


def conversation_view(
    world: World,
    now: float,
    *,
    user: int,
    chat: int | None = None,
    thread: int | None = None,
) -> JsonObject:
    """Return everything that the page draws; an opened conversation is marked as read."""
    world.forget_expired(now)
    place = world.chats.get(chat or 0)
    visible = place is not None and place.membership(user).present
    if place is not None and visible:
        world.seen[user, place.id, thread] = newest(one.id for one in place.in_thread(thread))
    return {
        "bot": world.bot.as_json(),
        "people": [person.as_json() for person in world.people.values() if not person.is_bot],
        "conversations": _conversations(world, user),
        "open": _open(world, place, thread, now) if place is not None and visible else None,
        "commands": _commands(world),
    }


def _conversations(world: World, user: int) -> list[JsonObject]:
    items: list[JsonObject] = []
    for chat in world.chats.values():
        if chat.migrated_to is not None or not chat.membership(user).present:
            continue
        title = world.bot.first_name if chat.kind == "private" else chat.title
        item: JsonObject = {
            "chat": chat.id,
            "kind": "forum" if chat.is_forum and chat.kind != "private" else chat.kind,
            "title": title,
            "members": sum(one.present for one in chat.members.values()),
            "has_topics": chat.is_forum,
            "topics": [
                topic.as_json() | {"closed": topic.closed} | _summary(world, chat, topic.id, user)
                for topic in chat.topics.values()
            ],
        }
        items.append(item | _summary(world, chat, None, user))
    return items


def _summary(world: World, chat: Chat, thread: int | None, user: int) -> JsonObject:
    messages = list(chat.in_thread(thread))
    seen = world.seen.get((user, chat.id, thread), 0)
    unread = sum(
        1 for one in messages if one.id > seen and one.sender_id != user and not one.service
    )
    last = messages[-1] if messages else None
    return {
        "unread": unread,
        "last_at": last.date if last else 0,
        "preview": _preview(last) if last else "",
    }


def _preview(message: Message) -> str:
    if message.content.text:
        return message.content.text[:_PREVIEW].replace("\n", " ")
    if message.attachment is not None:
        return message.attachment.kind
    return next(iter(message.service), "").removeprefix("forum_").replace("_", " ")


def _open(world: World, chat: Chat, thread: int | None, now: float) -> JsonObject:
    key = (chat.id, thread)
    typing = world.typing.get(key)
    draft = world.drafts.get(key)
    topic = chat.topics.get(thread or 0)
    return {
        "chat": chat.id,
        "thread": thread,
        "closed": topic.closed if topic is not None else False,
        "blocked": world.bot_status(chat).status == "kicked",
        "messages": [_shown(world, one) for one in chat.in_thread(thread)],
        "typing": {"action": typing.text, "for_s": typing.until - now} if typing else None,
        "draft": _draft(draft, now) if draft else None,
    }


def _draft(draft: Shown, now: float) -> JsonObject:
    return {"text": draft.text, "for_s": draft.until - now, "can_stop": draft.stops != 0}


def _shown(world: World, message: Message) -> JsonObject:
    """Return a Message object with reactions and an attachment's address for the page."""
    item = message_json(world, message)
    item["reactions"] = [emoji for one in message.reactions.values() for emoji in one]
    attachment = message.attachment
    source = world.files[attachment.file_id] if attachment is not None else None
    return item | ({"media_url": source} if isinstance(source, str) else {})


def _commands(world: World) -> list[JsonObject]:
    """Return the commands of the wide scopes together; the page does not distinguish scopes."""
    found: dict[str, JsonObject] = {}
    for (scope, _), commands in world.commands.items():
        if json.loads(scope)["type"] in ("default", "all_private_chats", "all_group_chats"):
            found |= {str(command["command"]): command for command in commands}
    return list(found.values())
