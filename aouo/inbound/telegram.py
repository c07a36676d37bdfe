"""Telegram's updates become facts; no `telegram.Update` gets past this module.

Source: core.telegram.org/bots/api#update.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import telegram

from aouo.address import ConversationAddress
from aouo.events import (
    Arrival,
    Button,
    ChatKind,
    Command,
    Content,
    Edited,
    Inbound,
    Intruder,
    Migrated,
    Person,
    Reacted,
    Text,
    TopicNamed,
    Unsupported,
)
from aouo.inbound.admission import admits

_MEDIA = {
    "voice": "voice messages",
    "audio": "audio files",
    "video_note": "video messages",
    "video": "videos",
    "photo": "pictures",
    "document": "files",
    "sticker": "stickers",
    "animation": "animations",
    "contact": "contacts",
    "location": "locations",
    "venue": "places",
    "poll": "polls",
    "dice": "dice",
    "story": "stories",
    "paid_media": "paid media",
    "game": "games",
    "checklist": "checklists",
}


_KINDS = ("message", "callback_query", "edited_message", "message_reaction")


@dataclass(frozen=True, slots=True)
class Bot:
    """Who we are on Telegram."""

    id: int
    username: str


class Normaliser:
    """Reads one raw update after the other; decides admission before anything else is looked at."""

    def __init__(
        self,
        *,
        bot: Bot,
        allowed_user_ids: Collection[int],
        all_group_messages: bool,
        parse_command: Callable[[str], Command | None],
    ) -> None:
        self._bot = bot
        self._allowed = frozenset(allowed_user_ids)
        self._all_group_messages = all_group_messages
        self._parse_command = parse_command

    def read(self, raw: Mapping[str, Any]) -> Arrival:
        """Never raises: what cannot be read is an arrival with nothing in it and a reason."""
        update_id = int(raw["update_id"])
        kind = next((key for key in raw if key != "update_id"), "nothing")
        text = json.dumps(raw, ensure_ascii=False, separators=(",", ":"))
        if kind not in _KINDS:
            return Arrival(update_id, text, None, why=kind, keep_raw=False)
        try:
            update = telegram.Update.de_json(dict(raw), None)
            inbound = self._inbound(update)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            return Arrival(update_id, text, None, why=f"{kind} we cannot read: {error!r}")
        if inbound is None:
            return Arrival(update_id, text, None, why=f"{kind} without content", keep_raw=False)
        # An edit's words replace others, also those that are not kept: the job has them alone.
        kept = not isinstance(inbound.content, Intruder | Edited | Reacted)
        return Arrival(update_id, text, inbound, keep_raw=kept)

    def _inbound(self, update: telegram.Update) -> Inbound | None:
        if (query := update.callback_query) is not None:
            return self._tap(query)
        if update.edited_message is not None:
            return self._edited(update.edited_message)
        if update.message_reaction is not None:
            return self._reacted(update.message_reaction)
        message = update.message
        if message is None:
            return None
        if message.from_user and message.from_user.id == self._bot.id:
            return self._own_service(message)
        inbound = self._message(message)
        if inbound is None or admits(self._allowed, _user_id(message.from_user)):
            return inbound
        if not inbound.addressed or message.from_user is None or message.from_user.is_bot:
            return None
        content = inbound.content
        asked = isinstance(content, Command) and content.name in ("id", "start")
        return _refused(inbound, Intruder(asked))

    def _tap(self, query: telegram.CallbackQuery) -> Inbound | None:
        message = query.message
        if message is None:
            return None
        thread = ""
        kind = _chat_kind(message.chat)
        label = ""
        if isinstance(message, telegram.Message):
            thread = _thread(message)
            label = _label(message, query.data or "")
        content = Button(query.data or "", label, query.id)
        address = ConversationAddress("tg", str(message.chat.id), thread)
        tapped = Inbound(address, _person(query.from_user), content, kind, message.message_id)
        if not admits(self._allowed, query.from_user.id):
            return _refused(tapped, Intruder())
        return tapped

    def _edited(self, message: telegram.Message) -> Inbound | None:
        """New words; whether the message was for us is known by whether we have it."""
        content = self._content(message)
        if not admits(self._allowed, _user_id(message.from_user)):
            return None
        match content:
            case Text(text, about):
                edited = Edited(text, about)
            case Command(raw=raw):
                edited = Edited(raw)
            case _:
                return None
        address = ConversationAddress("tg", str(message.chat.id), _thread(message))
        person, kind = _person(message.from_user), _chat_kind(message.chat)
        return Inbound(address, person, edited, kind, message.message_id)

    def _reacted(self, update: telegram.MessageReactionUpdated) -> Inbound | None:
        """Telegram does not say the topic: the message is found by its id in the chat."""
        if update.user is None or not admits(self._allowed, update.user.id):
            return None
        emoji = "".join(map(_emoji, update.new_reaction))
        address = ConversationAddress("tg", str(update.chat.id))
        person, kind = _person(update.user), _chat_kind(update.chat)
        return Inbound(address, person, Reacted(emoji), kind, update.message_id)

    def _message(self, message: telegram.Message) -> Inbound | None:
        content = self._content(message)
        if content is None:
            return None
        return Inbound(
            ConversationAddress("tg", str(message.chat.id), _thread(message)),
            _person(message.from_user),
            content,
            _chat_kind(message.chat),
            message.message_id,
            self._addressed(message, content),
            _topic_title(message),
        )

    def _content(self, message: telegram.Message) -> Content | None:
        if message.migrate_to_chat_id:
            return Migrated(str(message.migrate_to_chat_id))
        if (title := _renamed(message)) is not None:
            return TopicNamed(title)
        if message.text is not None:
            command = self._parse_command(message.text)
            if command and self._is_for_us(message.text):
                return command
            if command and message.chat.type != "private":
                return None  # another bot's, also where all talk is ours
            return Text(self._without_mention(message.text), tuple(_about(message)))
        for name, what in _MEDIA.items():
            if getattr(message, name, None):
                return Unsupported(what)
        # Service messages (pins, joins, titles, …) ask for nothing.
        return None

    def _own_service(self, message: telegram.Message) -> Inbound | None:
        """Our own messages do not come back, but the service messages that we cause do."""
        if (title := _renamed(message)) is None:
            return None
        address = ConversationAddress("tg", str(message.chat.id), _thread(message))
        return Inbound(address, _person(message.from_user), TopicNamed(title), "forum")

    def _addressed(self, message: telegram.Message, content: Content) -> bool:
        if message.chat.type == "private" or self._all_group_messages:
            return True
        if isinstance(content, TopicNamed | Migrated):
            return True
        if isinstance(content, Command):
            return self._is_for_us(content.raw)
        replied = message.reply_to_message
        if replied and replied.from_user and replied.from_user.id == self._bot.id:
            return replied.forum_topic_created is None
        return self._mentioned(message)

    def _is_for_us(self, text: str) -> bool:
        """`/name` and `/name@us` are ours, `/name@another_bot` is not."""
        name = text.split(maxsplit=1)[0]
        _, at, bot = name.partition("@")
        return not at or bot.casefold() == self._bot.username.casefold()

    def _mentioned(self, message: telegram.Message) -> bool:
        ours = f"@{self._bot.username}".casefold()
        found = message.parse_entities(["mention", "text_mention"]) | (
            message.parse_caption_entities(["mention", "text_mention"])
        )
        return any(
            text.casefold() == ours or (entity.user is not None and entity.user.id == self._bot.id)
            for entity, text in found.items()
        )

    def _without_mention(self, text: str) -> str:
        """A message that begins by calling us says nothing with the call itself."""
        ours = f"@{self._bot.username}"
        if text[: len(ours)].casefold() == ours.casefold() and text[len(ours) :].strip():
            return text[len(ours) :].lstrip(" ,:\n")
        return text


def _refused(inbound: Inbound, content: Intruder) -> Inbound:
    """What is left of somebody who is not on the list: where, and which id."""
    person = Person(inbound.person.id)
    return Inbound(inbound.address, person, content, inbound.chat_kind, inbound.message_id)


def _about(message: telegram.Message) -> list[str]:
    """What the text refers to, one bracketed line each."""
    lines: list[str] = []
    replied = message.reply_to_message
    if message.quote:
        lines.append(f'[about this part of an earlier message: "{_short(message.quote.text)}"]')
    elif replied and replied.forum_topic_created is None:
        who = replied.from_user.first_name if replied.from_user else "someone"
        words = replied.text or replied.caption or "a message without text"
        lines.append(f'[in reply to {who}: "{_short(words)}"]')
    if message.forward_origin:
        lines.append(f"[forwarded from {_origin(message.forward_origin)}]")
    return lines


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


def _emoji(reaction: telegram.ReactionType) -> str:
    match reaction:
        case telegram.ReactionTypeEmoji():
            return reaction.emoji
        case telegram.ReactionTypePaid():
            return "⭐"
        case _:
            return "(a custom emoji)"


def _short(text: str, limit: int = 1_000) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def _thread(message: telegram.Message) -> str:
    """A topic exists only when the message says so; reply chains carry a thread id too."""
    if not message.is_topic_message or not message.message_thread_id:
        return ""
    if message.chat.type != "private" and not message.chat.is_forum:
        return ""
    return str(message.message_thread_id)


def _topic_title(message: telegram.Message) -> str:
    """The topic's title, which an implicit reply to its first message carries."""
    replied = message.reply_to_message
    created = replied.forum_topic_created if replied else None
    return created.name if created else ""


def _renamed(message: telegram.Message) -> str | None:
    if message.forum_topic_created:
        return message.forum_topic_created.name
    if message.forum_topic_edited and message.forum_topic_edited.name:
        return message.forum_topic_edited.name
    return None


def _chat_kind(chat: telegram.Chat) -> ChatKind:
    if chat.type == "private":
        return "private"
    return "forum" if chat.is_forum else "group"


def _person(user: telegram.User | None) -> Person:
    if user is None:
        return Person("0", "someone")
    return Person(str(user.id), user.full_name, user.language_code or "")


def _user_id(user: telegram.User | None) -> int | None:
    return user.id if user else None


def _label(message: telegram.Message, data: str) -> str:
    """The text of the button that sends `data`."""
    rows = message.reply_markup.inline_keyboard if message.reply_markup else ()
    return next((item.text for row in rows for item in row if item.callback_data == data), "")
