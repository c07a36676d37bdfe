"""Reads where a Telegram message belongs, and what it refers to.

Source: core.telegram.org/bots/api#message.
"""

from __future__ import annotations

from typing import Any

import telegram

from aouo.facts.events import FORWARDED, AsChat, ChatKind, Standing, TopicNamed, TopicShut
from aouo.telegram import media

GENERAL = 1
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
        not message.chat.is_forum or message.message_thread_id == GENERAL
    ):
        return ""
    return str(message.message_thread_id)


def topic_title(message: telegram.Message) -> str:
    """Return the topic's title from the implicit reply to its first message, "" = unknown."""
    replied = message.reply_to_message
    created = replied.forum_topic_created if replied else None
    return created.name if created else ""


def topic_event(message: telegram.Message) -> TopicNamed | TopicShut | None:
    """Return the event that a service message reports about its topic, None = none."""
    if message.forum_topic_created:
        return TopicNamed(message.forum_topic_created.name)
    if message.forum_topic_edited and message.forum_topic_edited.name:
        return TopicNamed(message.forum_topic_edited.name)
    if message.forum_topic_closed or message.forum_topic_reopened:
        return TopicShut(closed=message.forum_topic_closed is not None)
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


def as_chat(message: telegram.Message) -> AsChat:
    """Return whether the sender hides behind the group or a channel, "" = neither."""
    sender = message.sender_chat
    if sender is None:
        return ""
    return "group" if sender.id == message.chat.id else "channel"


def chat_kind(chat: telegram.Chat) -> ChatKind:
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
        who = media.plain(who)
        words = replied.text or replied.caption or media.called(replied)
        lines.append(f'[in reply to {who}: "{_short(words)}"]')
    if message.forward_origin:
        origin = media.plain(_origin(message.forward_origin))
        lines.append(f"{FORWARDED}{origin}]")
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


def standing(member: telegram.ChatMember) -> Standing:
    """Return what a chat member's status means for the bot.

    Source: core.telegram.org/bots/api#chatmember.
    """
    match member:
        case telegram.ChatMemberBanned() | telegram.ChatMemberLeft():
            return Standing(f"the bot is {member.status} there")
        case telegram.ChatMemberRestricted(can_send_messages=False):
            return Standing("the bot may not write there", muted=True)
        case _:
            return Standing("")


def _short(text: str, limit: int = 1_000) -> str:
    """Return others' words as one line that cannot end the bracket or quotes around it."""
    text = " ".join(text.replace("[", "(").replace("]", ")").replace('"', "”").split())
    return text if len(text) <= limit else f"{text[:limit]}…"
