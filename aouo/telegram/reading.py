"""Reads where a message belongs and what it holds, and checks the types of facts.

python-telegram-bot passes on what stood in an update: a text may be a number, an id a list.

Source: core.telegram.org/bots/api#message.

Source: core.telegram.org/bots/api#message.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import telegram

from aouo.facts import events
from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import Attachment, Kind

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


_FILES: tuple[Kind, ...] = ("voice", "audio", "video_note", "animation", "video", "document")
"""The order matters: an animation comes with a document of the same file."""
_UNSUPPORTED = {
    "story": "stories",
    "paid_media": "paid media",
    "game": "games",
    "checklist": "checklists",
    "giveaway": "giveaways",
    "invoice": "invoices",
}
_SHOWN_CHARS = 300
_TYPE_CHARS = 100
_UNTYPICAL = re.compile(r"[^\w.+/;= -]", re.ASCII)
"""Characters that no media type holds; the sender chooses the text, and a model reads it."""


def attachment(message: telegram.Message, caption: str) -> Attachment | None:
    """Return the message's file, the largest size of a photo; None = it has none."""
    if message.photo:
        photo = max(message.photo, key=lambda size: size.width * size.height)
        return Attachment(
            "photo",
            photo.file_id,
            mime_type="image/jpeg",  # Telegram converts every photo to it
            size_bytes=photo.file_size or 0,
            caption=caption,
            unique_id=photo.file_unique_id,
            message_id=message.message_id,
        )
    for kind in _FILES:
        if (found := getattr(message, kind, None)) is not None:
            return Attachment(
                kind,
                found.file_id,
                name=getattr(found, "file_name", None) or _title(found),
                mime_type=_UNTYPICAL.sub("", getattr(found, "mime_type", None) or "")[:_TYPE_CHARS],
                size_bytes=found.file_size or 0,
                duration_s=_seconds(found),
                caption=caption,
                unique_id=found.file_unique_id,
                message_id=message.message_id,
            )
    return None


def referred(message: telegram.Message, said: str) -> Attachment | None:
    """Return the picture or document that a text replies to; `said` is the text."""
    replied = message.reply_to_message
    item = attachment(replied, said) if replied else None
    if item is None or not (item.is_picture or item.kind == "document"):
        return None
    return replace(item, message_id=message.message_id, referred=True)


def line(message: telegram.Message) -> str:
    """Return a bracketed line for a sticker, contact, place, poll or dice; "" = it is none."""
    if message.sticker:
        return f"[sticker {message.sticker.emoji or ''}]".replace(" ]", "]")
    if message.contact:
        contact = message.contact
        name = " ".join(filter(None, (contact.first_name, contact.last_name)))
        return f"[contact: {_plain(name)}, {_plain(contact.phone_number)}]"
    if message.venue:
        venue = message.venue
        where = _plain(f"{venue.title}, {venue.address}")
        return f"[place: {where} ({_degrees(venue.location)})]"
    if message.location:
        live = ", shared live" if message.location.live_period else ""
        return f"[location: {_degrees(message.location)}{live}]"
    if message.poll:
        options = " · ".join(_plain(option.text) for option in message.poll.options)
        return f'[poll: "{_plain(message.poll.question)}", options: {options}]'
    if message.dice:
        return f"[dice {message.dice.emoji}: {message.dice.value}]"
    return ""


def unsupported(message: telegram.Message) -> str:
    """Return the plural name of an unsupported kind; "" = there is nothing to answer."""
    return next((what for name, what in _UNSUPPORTED.items() if getattr(message, name, None)), "")


def _called(message: telegram.Message) -> str:
    """Return a phrase for a message without words that another message refers to."""
    found = attachment(message, "")
    return f"a {found.in_words}" if found else line(message) or "a message without text"


def _title(found: object) -> str:
    """Return a file name made of a song's performer and title; "" = it has neither."""
    parts = (getattr(found, "performer", None), getattr(found, "title", None))
    title = " - ".join(part for part in parts if part)
    return f"{title}.mp3" if title else ""


def _seconds(found: object) -> int:
    length: object = getattr(found, "duration", 0)
    if isinstance(length, timedelta):
        return round(length.total_seconds())
    return length if isinstance(length, int) else 0


def _degrees(place: telegram.Location) -> str:
    return f"{place.latitude:.6f}, {place.longitude:.6f}"


def _plain(text: str) -> str:
    """Return `text` as one line without square brackets, shortened."""
    shown = " ".join(text.replace("[", "(").replace("]", ")").split())
    return shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}…"


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


def about(message: telegram.Message) -> list[str]:
    """Return one bracketed line for each thing that the text refers to."""
    lines: list[str] = []
    replied = message.reply_to_message
    if message.quote:
        lines.append(f'[about this part of an earlier message: "{_short(message.quote.text)}"]')
    elif replied and replied.forum_topic_created is None:
        who = replied.from_user.first_name if replied.from_user else "someone"
        who = _plain(who)
        words = replied.text or replied.caption or _called(replied)
        lines.append(f'[in reply to {who}: "{_short(words)}"]')
    if message.forward_origin:
        origin = _plain(_origin(message.forward_origin))
        lines.append(f"{events.FORWARDED}{origin}]")
    return [*lines, *_hidden_links(message)]


def _hidden_links(message: telegram.Message) -> list[str]:
    """Return a line for each link behind words, which the text alone does not show."""
    units = (message.text or message.caption or "").encode("utf-16-le")
    lines: list[str] = []
    for entity in (*message.entities, *message.caption_entities):
        if entity.type == "text_link" and entity.url:
            start, end = 2 * entity.offset, 2 * (entity.offset + entity.length)
            words = units[start:end].decode("utf-16-le", "replace")
            lines.append(f'[behind "{_short(words)}" is the link {_short(entity.url)}]')
    return lines


def without_call(text: str, username: str) -> str:
    """Return the text without the mention of the bot that it begins with."""
    ours = f"@{username}"
    rest = text[len(ours) :]
    longer = rest[:1].isalnum() or rest[:1] == "_"  # another name that begins with ours
    if text[: len(ours)].casefold() == ours.casefold() and rest.strip() and not longer:
        return rest.lstrip(" ,:\n")
    return text


def _origin(origin: telegram.MessageOrigin) -> str:
    match origin:
        case telegram.MessageOriginUser():
            return origin.sender_user.full_name
        case telegram.MessageOriginHiddenUser():
            return origin.sender_user_name
        case telegram.MessageOriginChat():
            return origin.sender_chat.title or "a group"
        case telegram.MessageOriginChannel():
            return origin.chat.title or "a channel"
        case _:
            return "somewhere"


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


def _short(text: str, limit: int = 1_000) -> str:
    """Return others' words as one line that cannot end the bracket or quotes around it."""
    text = " ".join(text.replace("[", "(").replace("]", ")").replace('"', "”").split())
    return text if len(text) <= limit else f"{text[:limit]}…"
