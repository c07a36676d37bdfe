"""Turns Telegram's updates into facts; no `telegram.Update` gets past this module.

Source: core.telegram.org/bots/api#update.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import telegram

from aouo.facts import events
from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import Attachment
from aouo.facts.errors import place_of
from aouo.facts.people import Admission
from aouo.telegram import reading, words

_STOPPED = "stopped_message_generation"
_KINDS = (
    "message",
    "callback_query",
    "edited_message",
    "message_reaction",
    "my_chat_member",
    _STOPPED,
)
_NAME = re.compile(r"[a-z_]{1,64}")
"""The form of a kind's name; other texts do not get into the log."""


@dataclass(slots=True, eq=False)
class Normaliser:
    """Reads one raw update after another, and keeps nothing of people who are not admitted.

    `bot_id` and `username` are the bot's own on Telegram.
    """

    bot_id: int
    username: str
    admission: Callable[[], Admission]
    parse_command: Callable[[str], events.Command | None]

    def read(self, raw: Mapping[str, Any]) -> events.Arrival:
        """Return the arrival of a raw update that has an id (`poller.is_update`); never raises.

        An unreadable update gives an arrival with its id and a reason, without its content.
        """
        update_id: int = raw["update_id"]
        kind = _kind(raw)
        try:
            return self._read(update_id, kind, *_legible(raw))
        except Exception as error:  # noqa: BLE001 - Telegram would bring the same again for ever
            told = self._unread(raw.get("message"))
            return events.Arrival(
                update_id, "", told, why=f"{kind}: {place_of(error)}", unreadable=True
            )

    def _read(self, update_id: int, kind: str, raw: Mapping[str, Any], text: str) -> events.Arrival:
        if kind not in _KINDS:
            return events.Arrival(update_id, text, None, why=kind, keep_raw=False)
        update = telegram.Update.de_json(dict(raw), None)
        stopped = raw[_STOPPED] if kind == _STOPPED else None  # newer than the library
        inbound = self._stopped(stopped) if stopped else self._inbound(update)
        query = update.callback_query
        if inbound is None:
            why = f"{kind} without content"
            tap = reading.text_or_nothing(query.id) if query else ""
            return events.Arrival(update_id, text, None, why=why, keep_raw=False, lost_tap=tap)
        reading.check(inbound)
        if query and isinstance(inbound.content, events.Intruder):
            return events.Arrival(
                update_id,
                text,
                None,
                why="a tap of somebody who is not on the list",
                keep_raw=False,
                refused_tap=reading.text_or_nothing(query.id),
                refused_person=inbound.person.id,
            )
        # An edit's words replace others, also those that are not kept: the job has them alone.
        kept = not isinstance(
            inbound.content,
            events.Intruder
            | events.Edited
            | events.Reacted
            | events.DraftStopped
            | events.Standing
            | events.Migrated,
        )
        return events.Arrival(update_id, text, inbound, keep_raw=kept)

    def _unread(self, message: Any) -> events.Inbound | None:
        """Return a fact to tell an admitted person that their message is unreadable.

        None in a group, or where not even its sender can be read.
        """
        with suppress(Exception):
            bare = reading.bare(message)
            if bare.chat.type != "private" or not self.admission().admits(_user_id(bare.from_user)):
                return None
            address = ConversationAddress("tg", str(bare.chat.id), reading.thread(bare))
            person = events.Person(str(_user_id(bare.from_user)))
            told = events.Inbound(address, person, events.Unsupported(reading.UNKNOWN))
            reading.check(told)
            return told
        return None

    def _inbound(self, update: telegram.Update) -> events.Inbound | None:
        if (query := update.callback_query) is not None:
            return self._tap(query)
        if update.edited_message is not None:
            return self._edited(update.edited_message)
        if update.message_reaction is not None:
            return self._reacted(update.message_reaction)
        if update.my_chat_member is not None:
            return self._stands(update.my_chat_member)
        message = update.message
        if message is None or message.is_automatic_forward:
            return None  # a channel's post below which its readers comment is said to them
        if moved := reading.migration(message):
            return _migrated(*moved)
        if message.from_user and message.from_user.id == self.bot_id:
            return self._own_service(message)
        inbound = self._message(message)
        if inbound is None or self.admission().admits(_user_id(message.from_user)):
            return inbound
        if isinstance(inbound.content, events.TopicNamed | events.TopicShut):
            return None  # not said to us: no answer is due
        as_chat = reading.as_chat(message)
        if message.from_user is None or (message.from_user.is_bot and not as_chat):
            return None
        content = inbound.content
        if message.chat.type != "private" and not self._called(message, content):
            return None  # a stranger who does not address us; no answer is due
        asked = isinstance(content, events.Command) and content.name in ("id", "start")
        if as_chat and message.sender_chat:
            inbound = replace(inbound, person=events.Person(str(message.sender_chat.id)))
        return _refused(inbound, events.Intruder(asked, as_chat))

    def _tap(self, query: telegram.CallbackQuery) -> events.Inbound | None:
        message = query.message
        if message is None:
            return None
        thread = ""
        kind = reading.chat_kind(message.chat)
        label = ""
        if isinstance(message, telegram.Message):
            thread = reading.thread(message)
            label = reading.label(message, query.data or "")
        content = events.Button(query.data or "", label, query.id)
        address = ConversationAddress("tg", str(message.chat.id), thread)
        person, group = _person(query.from_user), message.chat.title or ""
        tapped = events.Inbound(address, person, content, kind, message.message_id, group=group)
        if not self.admission().admits(query.from_user.id):
            return _refused(tapped, events.Intruder())
        return tapped

    def _edited(self, message: telegram.Message) -> events.Inbound | None:
        """Read an edit; whether it is for us depends on whether we have the message."""
        content = self._content(message)
        if not self.admission().admits(_user_id(message.from_user)):
            return None
        match content:
            case events.Text(text, about):
                edited = events.Edited(text, about, theirs=content.theirs)
            case events.Command(raw=raw):
                edited = events.Edited(raw)
            case events.Attached(item, about) | events.Album(items=(item, *_), about=about):
                edited = events.Edited(item.caption, about, item)
            case events.Shown(line, about) if message.checklist:
                edited = events.Edited(line, about, theirs=content.theirs)
            case _:
                return None
        address = ConversationAddress("tg", str(message.chat.id), reading.thread(message))
        person, kind = _person(message.from_user), reading.chat_kind(message.chat)
        return events.Inbound(address, person, edited, kind, message.message_id)

    def _reacted(self, update: telegram.MessageReactionUpdated) -> events.Inbound | None:
        """Read a reaction; it names no topic, so the message is found by its id in the chat."""
        if update.user is None or not self.admission().admits(update.user.id):
            return None
        emoji = "".join(map(reading.emoji, update.new_reaction))
        address = ConversationAddress("tg", str(update.chat.id))
        person, kind = _person(update.user), reading.chat_kind(update.chat)
        return events.Inbound(address, person, events.Reacted(emoji), kind, update.message_id)

    def _stopped(self, raw: Mapping[str, Any]) -> events.Inbound | None:
        """Read a tap on *Stop* below a draft: it names the chat, which in private is the person.
        Source: core.telegram.org/bots/api/types/messagegenerationstopped.
        """
        chat = telegram.Chat.de_json(raw["chat"], None)
        if chat.type != "private" or not self.admission().admits(chat.id):
            return None
        address = ConversationAddress("tg", str(chat.id), str(raw.get("message_thread_id") or ""))
        person = events.Person(str(chat.id), chat.full_name or "")
        return events.Inbound(address, person, events.DraftStopped(raw["draft_id"]))

    def _stands(self, change: telegram.ChatMemberUpdated) -> events.Inbound | None:
        """Read a change of the bot's membership, whoever made it; nothing of them is kept.

        The bot also leaves a basic group when it becomes a supergroup, which `_migrated` reads.
        """
        standing = reading.standing(change.new_chat_member)
        if change.new_chat_member.status == "left" and change.chat.type == "group":
            return None
        address = ConversationAddress("tg", str(change.chat.id))
        return events.Inbound(address, events.Person("0"), standing, reading.chat_kind(change.chat))

    def _message(self, message: telegram.Message) -> events.Inbound | None:
        content = self._content(message)
        if content is None:
            return None
        return events.Inbound(
            ConversationAddress("tg", str(message.chat.id), reading.thread(message)),
            _person(message.from_user),
            content,
            reading.chat_kind(message.chat),
            message.message_id,
            self._addressed(message, content),
            reading.topic_title(message),
            sent_s=int(message.date.timestamp()),
            group=message.chat.title or "",
        )

    def _content(self, message: telegram.Message) -> events.Content | None:
        if event := reading.topic_event(message):
            return event
        text, caption = words.text_of(message), message.caption or ""
        command = self.parse_command(caption if text is None else text)
        if command and not self._is_for_us(command.raw):
            command = None
            if message.chat.type != "private":
                return None  # another bot's, also where all talk is ours
        said = words.without_call(caption if text is None else text, self.username)
        about = tuple(words.about(message, self.bot_id))
        whose = words.theirs(message)
        if items := words.attachments(message, said):
            return _sent(message, items, about, command)
        if text is not None:
            if item := words.referred(message, said, self.bot_id):
                return events.Attached(item, about, command)
            return command or events.Text(said, about, theirs=whose)
        if line := words.line(message):
            return events.Shown(line, about, whose)
        # Service messages (pins, joins, titles, …) ask for nothing.
        what = words.unsupported(message)
        if not what and message.api_kwargs and self._calls(message):
            # newer than the library: silence would look like a bot that is down
            if line := words.unknown(message):
                return events.Shown(line, about, whose)
            what = reading.UNKNOWN
        return events.Unsupported(what) if what else None

    def _own_service(self, message: telegram.Message) -> events.Inbound | None:
        """Read a service message that the bot caused; its own messages do not come back."""
        if (event := reading.topic_event(message)) is None:
            return None
        address = ConversationAddress("tg", str(message.chat.id), reading.thread(message))
        kind = reading.chat_kind(message.chat)
        return events.Inbound(address, _person(message.from_user), event, kind)

    def _addressed(self, message: telegram.Message, content: events.Content) -> bool:
        if message.chat.type == "private" or self.admission().all_group_messages:
            return True
        return isinstance(content, events.TopicNamed | events.TopicShut) or self._called(
            message, content
        )

    def _called(self, message: telegram.Message, content: events.Content) -> bool:
        """Whether a message in a group addresses the bot: by a command, a reply or a mention."""
        if isinstance(content, events.Command):
            return self._is_for_us(content.raw)
        if isinstance(content, events.Attached | events.Album) and content.command:
            return True
        return self._calls(message)

    def _calls(self, message: telegram.Message) -> bool:
        """Whether it is said in private, replies to the bot or mentions it."""
        replied = message.reply_to_message
        if replied and replied.from_user and replied.from_user.id == self.bot_id:
            return replied.forum_topic_created is None
        return message.chat.type == "private" or self._mentioned(message)

    def _is_for_us(self, text: str) -> bool:
        """Whether a command is for us: `/name` and `/name@us` are, `/name@another_bot` is not."""
        name = text.split(maxsplit=1)[0]
        _, at, bot = name.partition("@")
        return not at or bot.casefold() == self.username.casefold()

    def _mentioned(self, message: telegram.Message) -> bool:
        ours = f"@{self.username}".casefold()
        found = message.parse_entities(["mention", "text_mention"]) | (
            message.parse_caption_entities(["mention", "text_mention"])
        )
        return any(
            text.casefold() == ours or (entity.user is not None and entity.user.id == self.bot_id)
            for entity, text in found.items()
        ) or not {ours[1:], str(self.bot_id)}.isdisjoint(words.mentions(message))


def _sent(
    message: telegram.Message,
    items: tuple[Attachment, ...],
    about: tuple[str, ...],
    command: events.Command | None,
) -> events.Attached | events.Album:
    match items:
        case (item,) if not message.media_group_id:
            return events.Attached(item, about, command)
        case _:
            album = message.media_group_id or f"rich{message.message_id}"
            return events.Album(album, items, about, command)


def _kind(raw: Mapping[str, Any]) -> str:
    """Return the kind of an update; a known one if it has several."""
    kinds = [key for key in raw if key != "update_id"]
    kind = next((key for key in kinds if key in _KINDS), kinds[0] if kinds else "nothing")
    return kind if _NAME.fullmatch(kind) else "something without a name"


def _legible(raw: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the update and its JSON text without lone surrogates, which UTF-8 cannot encode.

    Raises ValueError: it holds NaN or infinity, which are no JSON, so no query could read it.
    """
    text = json.dumps(raw, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    legible = text.encode("utf-8", "replace").decode()
    return (raw, text) if legible == text else (json.loads(legible), legible)


def _migrated(old: str, new: str) -> events.Inbound:
    """Return the fact that a group's id changed; it needs no admission and names no person."""
    return events.Inbound(
        ConversationAddress("tg", old), events.Person("0"), events.Migrated(new), "group"
    )


def _refused(inbound: events.Inbound, content: events.Intruder) -> events.Inbound:
    """Return a fact about a person who is not admitted: who they are and where, not what."""
    person = events.Person(inbound.person.id, inbound.person.name)
    return events.Inbound(inbound.address, person, content, inbound.chat_kind, inbound.message_id)


def _person(user: telegram.User | None) -> events.Person:
    if user is None:
        return events.Person("0", "someone")
    return events.Person(str(user.id), user.full_name, user.language_code or "")


def _user_id(user: telegram.User | None) -> int | None:
    return user.id if user else None
