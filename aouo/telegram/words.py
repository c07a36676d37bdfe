"""Reads what a message says: its words, its files, and what it refers to.

Source: core.telegram.org/bots/api#message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeAlias

import telegram

from aouo.facts.attachments import Attachment, Kind
from aouo.plumbing.web.envelope import untrusted
from aouo.telegram import rich

_FILES: tuple[Kind, ...] = ("voice", "audio", "video_note", "animation", "video", "document")
"""The order matters: an animation comes with a document of the same file."""
_UNSUPPORTED = {
    "story": "stories",
    "paid_media": "paid media",
    "game": "games",
    "giveaway": "giveaways",
    "invoice": "invoices",
}
_SHOWN_CHARS = 300
_QUOTED_CHARS = 1_000
_RICH = "rich_message"
_Source: TypeAlias = telegram.Message | telegram.ExternalReplyInfo
_TYPE_CHARS = 100
_UNTYPICAL = re.compile(r"[^\w.+/;= -]", re.ASCII)
"""Characters that no media type holds; the sender chooses the text, and a model reads it."""


def text_of(message: telegram.Message) -> str | None:
    """Return the words that the message is, None = it is something else."""
    if message.text is not None:
        return _with_quotes(message.text, message.entities)
    found = message.api_kwargs.get(_RICH)
    return rich.text_of(found) if found else None


def _with_quotes(text: str, entities: Sequence[telegram.MessageEntity]) -> str:
    """Return a text with ">" before each line that its writer made a quote."""
    units = text.encode("utf-16-le")
    for entity in sorted(entities, key=lambda one: -one.offset):
        if entity.type.endswith("blockquote"):
            start, end = 2 * entity.offset, 2 * (entity.offset + entity.length)
            quoted = units[start:end].decode("utf-16-le", "replace").replace("\n", "\n> ")
            units = units[:start] + f"> {quoted}".encode("utf-16-le") + units[end:]
    return units.decode("utf-16-le", "replace")


def mentions(message: telegram.Message) -> set[str]:
    """Return whom a rich message mentions: names in lower case, and ids."""
    return rich.mentions(message.api_kwargs.get(_RICH))


def attachments(message: telegram.Message, caption: str) -> tuple[Attachment, ...]:
    """Return the files of the message, `caption` under the first: one, or those of a rich one."""
    if item := attachment(message, caption):
        return (item,)
    items: list[Attachment] = []
    for kind, value in rich.files_in(message.api_kwargs.get(_RICH)):
        fields = {"message_id": message.message_id, "date": 0, "chat": {"id": 0, "type": ""}}
        alone = telegram.Message.de_json({**fields, kind: value}, None)
        if item := attachment(alone, "" if items else caption):
            items.append(replace(item, theirs=theirs(message)))
    return tuple(items)


def attachment(message: _Source, caption: str) -> Attachment | None:
    """Return the message's file, the largest size of a photo; None = it has none. A live photo is
    its photo, or its video if that comes alone."""
    common: dict[str, Any] = {"caption": caption, "message_id": message.message_id or 0}
    if isinstance(message, telegram.Message):
        common["theirs"] = theirs(message)
    live = message.live_photo
    if sizes := message.photo or (live.photo if live else ()):
        photo = max(sizes, key=lambda size: size.width * size.height)
        return Attachment(
            "photo",
            photo.file_id,
            mime_type="image/jpeg",  # Telegram converts every photo to it
            size_bytes=photo.file_size or 0,
            unique_id=photo.file_unique_id,
            **common,
        )
    files: list[tuple[Kind, Any]] = [(kind, getattr(message, kind, None)) for kind in _FILES]
    files.append(("video", live))
    for kind, file in files:
        if file is not None:
            return Attachment(
                kind,
                file.file_id,
                name=getattr(file, "file_name", None) or _title(file),
                mime_type=_UNTYPICAL.sub("", getattr(file, "mime_type", None) or "")[:_TYPE_CHARS],
                size_bytes=file.file_size or 0,
                duration_s=_seconds(file),
                unique_id=file.file_unique_id,
                **common,
            )
    return None


def referred(message: telegram.Message, said: str, bot_id: int) -> Attachment | None:
    """Return the picture, document or recording that a text replies to; `said` is the text."""
    source = _replied(message)
    item = attachment(source, said) if source else None
    if source is None or item is None:
        return None
    if not (item.is_picture or item.is_heard or item.kind == "document"):
        return None
    if item.is_heard and _sender_id(source) == bot_id:
        return None  # its words are in the conversation
    of = item.message_id if isinstance(source, telegram.Message) else 0
    known = of and _is_known(message, source, bot_id)
    whose = "" if known else f"a message of {_plain(_sender(source))}"
    return replace(item, message_id=message.message_id, referred=True, came_with=of, theirs=whose)


def line(message: _Source) -> str:
    """Return a bracketed line for a sticker, contact, place, poll, checklist or dice; "" = none."""
    if message.checklist:
        tasks = " · ".join(map(_task, message.checklist.tasks))
        return f'[checklist "{_plain(message.checklist.title)}": {tasks}]'
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


def unknown(message: telegram.Message) -> str:
    """Return a line with the words of a kind that the library does not know, "" = it has none."""
    found = rich.words_in(dict(message.api_kwargs))
    return f"[a message of a kind that is not known here: {_short(found)}]" if found else ""


def unsupported(message: telegram.Message) -> str:
    """Return the plural name of an unsupported kind; "" = there is nothing to answer."""
    return next((what for name, what in _UNSUPPORTED.items() if getattr(message, name, None)), "")


def _task(task: telegram.ChecklistTask) -> str:
    who = task.completed_by_user
    done = f" (done by {_plain(who.first_name)})" if who else ""
    ticked = done or task.completion_date
    return f"{'☑' if ticked else '☐'} {_plain(task.text)}{done}"


def _called(source: _Source) -> str:
    """Return a phrase for a message without words that another message refers to."""
    if found := attachment(source, ""):
        return f"{'an' if found.in_words[0] in 'aeiou' else 'a'} {found.in_words}"
    return line(source) or "a message without text"


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


def theirs(message: telegram.Message) -> str:
    """Return whose words the message holds, "" = its sender's own.

    What is forwarded, or was made by another bot for its sender, was said by somebody else, and so
    were the names that a contact, a place and a poll bear.
    """
    if message.forward_origin:
        return f"forwarded from {_plain(_origin(message.forward_origin))}"
    if message.via_bot:
        return f"written by the bot @{_plain(message.via_bot.username or '')}"
    kinds = ("contact", "venue", "poll")  # their names are what somebody called them
    return next((f"passed on as a {kind}" for kind in kinds if getattr(message, kind)), "")


def about(message: telegram.Message, bot_id: int) -> list[str]:
    """Return one bracketed line for each thing that the text refers to; others' words that it
    points at follow between marks."""
    lines = _reference(message, bot_id)
    if message.reply_to_checklist_task_id or message.reply_to_poll_option_id:
        lines.append("[it replies to one entry of that]")
    if source := theirs(message):
        lines.append(f"[{source}]")
    return [*lines, *_hidden_links(message)]


def _reference(message: telegram.Message, bot_id: int) -> list[str]:
    """Return what the message replies to: the person's own words and the bot's in quotes."""
    source, quote = _replied(message), message.quote
    if source is None and quote is None:
        return ["[in reply to a story]"] if message.reply_to_story else []
    whose = _plain(_sender(source)) if source else ""
    words = quote.text if quote else _words_in(source)
    if source is message.external_reply:
        head = f"in reply to a message of {whose or 'somebody'} in another chat"
    elif quote:
        head = f"about this part of {f'a message of {whose}' if whose else 'an earlier message'}"
    else:
        head = f"in reply to {whose}"
    if not words:
        return [f'[{head}: "{_called(source)}"]'] if source else [f"[{head}]"]
    if source and _is_known(message, source, bot_id):
        return [f'[{head}: "{_short(words)}"]']
    return [f"[{head}:]\n{untrusted(_cut(words), f'a message of {whose}')}"]


def _replied(message: telegram.Message) -> _Source | None:
    """Return the message that this one replies to; a topic's first one is replied to by all."""
    replied = message.reply_to_message
    if replied and replied.forum_topic_created is None:
        return replied
    return message.external_reply


def _is_known(message: telegram.Message, source: _Source, bot_id: int) -> bool:
    """Whether whoever writes wrote that too, or the bot did."""
    if not isinstance(source, telegram.Message) or theirs(source):
        return False
    return _sender_id(source) in (_sender_id(message), bot_id)


def _sender_id(source: _Source | None) -> int:
    user = source.from_user if isinstance(source, telegram.Message) else None
    return user.id if user else 0


def _sender(source: _Source) -> str:
    if isinstance(source, telegram.Message):
        return source.from_user.first_name if source.from_user else "someone"
    return _origin(source.origin)


def _words_in(source: _Source | None) -> str:
    """Return the words of a message that is referred to; what it shows counts as well."""
    if not isinstance(source, telegram.Message):
        return line(source) if source else ""
    return text_of(source) or source.caption or line(source)


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


def _short(text: str) -> str:
    """Return words as one line that cannot end the bracket or quotes around it."""
    return _cut(" ".join(text.replace("[", "(").replace("]", ")").replace('"', "”").split()))


def _cut(text: str) -> str:
    return text if len(text) <= _QUOTED_CHARS else f"{text[:_QUOTED_CHARS]}…"
