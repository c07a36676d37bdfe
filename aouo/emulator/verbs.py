"""The verbs of the control API, for people and tests, and one person's view for the page."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from aouo.emulator import acts
from aouo.emulator.chats import ICON_COLORS, Chat, Membership, Message, Person
from aouo.emulator.description import JsonObject, Upload, as_array
from aouo.emulator.methods import bot
from aouo.emulator.methods.bot import delete_topic, rename_topic, set_topic_closed
from aouo.emulator.objects import message_json
from aouo.emulator.refusals import bad_request
from aouo.emulator.world import Shown, World, add_topic, newest

_PREVIEW = 80


def _conversation_view(
    world: World, now: float, *, user: int, chat: int | None = None, thread: int | None = None
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
        "about": world.descriptions.get(("long", ""), ""),
        "banner": world.banner,
        "gift": world.gift.name if world.gift else "",
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
        "messages": [_shown_message(world, one) for one in chat.in_thread(thread)],
        "typing": {"action": typing.text, "for_s": typing.until - now} if typing else None,
        "draft": _draft(draft, now) if draft else None,
    }


def _draft(draft: Shown, now: float) -> JsonObject:
    return {"text": draft.text, "for_s": draft.until - now, "can_stop": draft.stops != 0}


def _shown_message(world: World, message: Message) -> JsonObject:
    """Return a Message object with reactions and an attachment's address for the page."""
    item = message_json(world, message)
    item["reactions"] = [emoji for one in message.reactions.values() for emoji in one]
    attachment = message.attachment
    source = world.files[attachment.file_id] if attachment is not None else None
    return item | ({"media_url": source} if isinstance(source, str) else {})


_WIDE = ("default", "all_private_chats", "all_group_chats")


def _commands(world: World) -> list[JsonObject]:
    """Return the commands of the wide scopes together; the page does not distinguish scopes."""
    found: dict[str, JsonObject] = {}
    for (scope, language), commands in world.commands.items():
        if not language and json.loads(scope)["type"] in _WIDE:
            found |= {str(command["command"]): command for command in commands}
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything that the verbs work on."""

    world: World
    clock: Callable[[], float]

    @property
    def now(self) -> float:
        return self.clock()

    def shown(self, message: Message) -> JsonObject:
        return message_json(self.world, message) | {
            "reactions": {str(who): list(one) for who, one in message.reactions.items()}
        }


Verb: TypeAlias = Callable[[Desk, JsonObject], Any]

# Verbs without changes to wait for.
READS = frozenset({"view", "messages"})


def _send_file(desk: Desk, arguments: JsonObject) -> Any:
    content = base64.b64decode(arguments.pop("content"))
    upload = Upload(arguments.pop("name"), arguments.pop("mime"), content)
    return desk.shown(acts.send_file(desk.world, desk.now, upload=upload, **arguments))


def _introduce(desk: Desk, arguments: JsonObject) -> None:
    """Let the page say something above the chat, and offer a file to send."""
    desk.world.banner = str(arguments["banner"])
    if arguments.get("gift"):
        content = base64.b64decode(arguments["content"])
        desk.world.gift = Upload(str(arguments["gift"]), "application/octet-stream", content)


def _give(desk: Desk, arguments: JsonObject) -> Any:
    gift = desk.world.gift
    if gift is None:
        raise bad_request("there is nothing to give")
    sent = acts.send_file(desk.world, desk.now, upload=gift, kind="document", **arguments)
    return desk.shown(sent)


def _tap(desk: Desk, arguments: JsonObject) -> Any:
    return {"query_id": acts.tap(desk.world, desk.now, **arguments)}


def _create_user(desk: Desk, arguments: JsonObject) -> Any:
    started = arguments.pop("started", True)
    person = Person(id=arguments.pop("id", 0) or newest(desk.world.chats) + 1, **arguments)
    return desk.world.add_person(person, started=started).as_json()


def _create_chat(desk: Desk, arguments: JsonObject) -> Any:
    kind = arguments["kind"]
    if kind not in ("group", "supergroup", "forum"):
        raise bad_request(f"a chat is a group, a supergroup or a forum, not {kind!r}")
    people: list[int] = as_array(arguments["members"]) or []
    chat = desk.world.add_chat(
        "group" if kind == "group" else "supergroup",
        str(arguments["title"]),
        is_forum=kind == "forum",
    )
    for index, person_id in enumerate(people):
        desk.world.person(person_id)
        chat.members[person_id] = Membership("member" if index else "creator")
    status = arguments.get("bot_status", "administrator")
    if status != "left":
        bot.welcome_bot(desk.world, chat, people[0], desk.now)
    if status == "administrator":
        membership = Membership("administrator", arguments.get("manages_topics", True))
        bot.set_bot_status(desk.world, desk.now, user=people[0], chat=chat.id, status=membership)
    return chat.as_json()


def _topic_created(desk: Desk, arguments: JsonObject) -> Any:
    chat = desk.world.chats[arguments["chat"]]
    if not chat.is_forum:
        raise bad_request("the chat is not a forum")
    color = ICON_COLORS[len(chat.topics) % len(ICON_COLORS)]
    name = str(arguments["name"]).strip()
    if not name:
        raise bad_request("a topic needs a name")
    topic = add_topic(chat, arguments["user"], name, color, int(desk.now))
    bot.tell_topic_created(desk.world, chat, topic.id)
    return topic.as_json()


def _topic_renamed(desk: Desk, arguments: JsonObject) -> Any:
    chat = desk.world.chats[arguments["chat"]]
    user, thread, name = arguments["user"], arguments["thread"], arguments["name"]
    return desk.shown(rename_topic(desk.world, chat, user, thread, name, desk.now))


def _topic_closed(desk: Desk, arguments: JsonObject) -> Any:
    chat = desk.world.chats[arguments["chat"]]
    closed: bool = arguments.get("closed", True)
    user, thread = arguments["user"], arguments["thread"]
    return desk.shown(set_topic_closed(desk.world, chat, user, thread, desk.now, closed=closed))


def _topic_deleted(desk: Desk, arguments: JsonObject) -> None:
    delete_topic(desk.world.chats[arguments["chat"]], arguments["thread"])


def _messages(desk: Desk, arguments: JsonObject) -> Any:
    chat = desk.world.chats[arguments["chat"]]
    if "thread" not in arguments:
        return [desk.shown(message) for message in chat.messages.values()]
    thread = chat.thread_of(arguments["thread"])
    return [desk.shown(message) for message in chat.in_thread(thread)]


def _view(desk: Desk, arguments: JsonObject) -> Any:
    return _conversation_view(desk.world, desk.now, **arguments)


def _shown(act: Callable[..., Message]) -> Verb:
    """Return the verb of an act that makes or changes a message."""
    return lambda desk, arguments: desk.shown(act(desk.world, desk.now, **arguments))


VERBS: dict[str, Verb] = {
    "say": _shown(acts.say),
    "edit": _shown(acts.edit),
    "react": _shown(acts.react),
    "stop_draft": lambda desk, arguments: acts.stop_draft(desk.world, **arguments),
    "send_file": _send_file,
    "introduce": _introduce,
    "give": _give,
    "tap": _tap,
    "create_user": _create_user,
    "create_chat": _create_chat,
    "topic_created": _topic_created,
    "topic_renamed": _topic_renamed,
    "topic_closed": _topic_closed,
    "topic_deleted": _topic_deleted,
    "messages": _messages,
    "view": _view,
}
