"""Reads where a message belongs, and checks the types of facts.

python-telegram-bot passes on what stood in an update: a text may be a number, an id a list.

Source: core.telegram.org/bots/api#message.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import telegram

from aouo.facts import events
from aouo.facts.address import ConversationAddress

_LARGEST = 2**63 - 1
"""The largest integer that a column holds."""
_ID = re.compile(r"-?[0-9]{1,19}")


def check(inbound: events.Inbound) -> None:
    """Check that the fact can be stored, read again and answered.

    Raises:
        ValueError: a field has a wrong type, or an id is no number; names the type and the field.
    """
    if fault := _fault(inbound, events.Inbound, "Inbound"):
        raise ValueError(fault)
    address, content = inbound.address, inbound.content
    if not (_is_chat(address) and _is_id(inbound.person.id)):
        raise ValueError("Inbound: an id that is no number")
    if isinstance(content, events.Migrated) and not _is_id(content.new_chat_id):
        raise ValueError("Migrated.new_chat_id")


def text_or_nothing(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_chat(address: ConversationAddress) -> bool:
    return _is_id(address.chat_id) and (not address.thread_id or _is_id(address.thread_id))


def _is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None and abs(int(text)) <= _LARGEST


def _fault(value: object, hint: Any, path: str) -> str:
    """Return the path of the first value that does not match `hint`, "" = all do."""
    origin = get_origin(hint)
    if origin is UnionType or origin is Union:
        kinds = get_args(hint)
        kind = type(value) if type(value) in kinds else next(iter(kinds))
        return _fault(value, kind, path)
    if origin is Literal:
        return "" if value in get_args(hint) else path
    if origin is tuple:
        if not isinstance(value, tuple):
            return path
        inner = get_args(hint)[0]
        items = cast("tuple[object, ...]", value)
        return next(filter(None, (_fault(item, inner, path) for item in items)), "")
    if is_dataclass(hint):
        return _fault_inside(value, cast("type[Any]", hint))
    if hint is int:
        fits = type(value) is int and abs(value) <= _LARGEST
        return "" if fits else path
    return "" if isinstance(value, hint) else path


def _fault_inside(value: object, kind: type[Any]) -> str:
    if type(value) is not kind:
        return kind.__name__
    faults = (
        _fault(getattr(value, name), hint, f"{kind.__name__}.{name}")
        for name, hint in _hints(kind).items()
    )
    return next(filter(None, faults), "")


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


_GENERAL = 1
"""The topic that every forum has; it is the forum itself, and a send must not name it."""

UNKNOWN = "messages of this kind"
"""The name of what is newer than the library, or not as Telegram documents it."""


def bare(message: Any) -> telegram.Message:
    """Return the sender and the chat of a message that cannot be read otherwise.

    Raises: any error of these fields.
    """
    kept = ("chat", "from", "message_thread_id", "is_topic_message")
    fields = {name: message[name] for name in kept if name in message}
    return telegram.Message.de_json({**fields, "message_id": 0, "date": 0}, None)


def thread(message: telegram.Message) -> str:
    """Return the message's topic id, "" = none; a reply chain has a thread id without a topic."""
    if not message.is_topic_message or not message.message_thread_id:
        return ""
    if message.chat.type != "private" and (
        not message.chat.is_forum or message.message_thread_id == _GENERAL
    ):
        return ""
    return str(message.message_thread_id)


def topic_title(message: telegram.Message) -> str:
    """Return the topic's title from the implicit reply to its first message, "" = unknown."""
    replied = message.reply_to_message
    created = replied.forum_topic_created if replied else None
    return created.name if created else ""


def topic_event(message: telegram.Message) -> events.TopicNamed | events.TopicShut | None:
    """Return the event that a service message reports about its topic, None = none."""
    if message.forum_topic_created:
        return events.TopicNamed(message.forum_topic_created.name)
    if message.forum_topic_edited and message.forum_topic_edited.name:
        return events.TopicNamed(message.forum_topic_edited.name)
    if message.forum_topic_closed or message.forum_topic_reopened:
        return events.TopicShut(closed=message.forum_topic_closed is not None)
    return None


def migration(message: telegram.Message) -> tuple[str, str] | None:
    """Return (old id, new id) of a group that became a supergroup; both chats report it.

    Raises ValueError: an id is a person's, that is, not negative.
    """
    here, to, origin = message.chat.id, message.migrate_to_chat_id, message.migrate_from_chat_id
    old, new = (here, to) if to else (origin, here)
    if not (old and new) or message.chat.type not in ("group", "supergroup"):
        return None
    if old > 0 or new > 0:
        raise ValueError("a person's chat that moves")
    return str(old), str(new)


def as_chat(message: telegram.Message) -> events.AsChat:
    """Return whether the sender hides behind the group or a channel, "" = neither."""
    sender = message.sender_chat
    if sender is None:
        return ""
    return "group" if sender.id == message.chat.id else "channel"


def chat_kind(chat: telegram.Chat) -> events.ChatKind:
    if chat.type == "private":
        return "private"
    return "forum" if chat.is_forum else "group"


def label(message: telegram.Message, data: str) -> str:
    """Return the text of the button that sends `data`."""
    rows = message.reply_markup.inline_keyboard if message.reply_markup else ()
    return next((item.text for row in rows for item in row if item.callback_data == data), "")


def emoji(reaction: telegram.ReactionType) -> str:
    match reaction:
        case telegram.ReactionTypeEmoji():
            return reaction.emoji
        case telegram.ReactionTypePaid():
            return "⭐"
        case _:
            return "(a custom emoji)"


def standing(member: telegram.ChatMember) -> events.Standing:
    """Return what a chat member's status means for the bot.

    Source: core.telegram.org/bots/api#chatmember.
    """
    match member:
        case telegram.ChatMemberBanned() | telegram.ChatMemberLeft():
            return events.Standing(f"the bot is {member.status} there")
        case telegram.ChatMemberRestricted(can_send_messages=False):
            return events.Standing("the bot may not write there", muted=True)
        case _:
            return events.Standing("")
