"""Reads what a Telegram message holds besides text: its file, or one line that describes it.

Source: core.telegram.org/bots/api#message.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import telegram

from aouo.facts.attachments import Attachment, Kind

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
        return f"[contact: {plain(name)}, {plain(contact.phone_number)}]"
    if message.venue:
        venue = message.venue
        where = plain(f"{venue.title}, {venue.address}")
        return f"[place: {where} ({_degrees(venue.location)})]"
    if message.location:
        live = ", shared live" if message.location.live_period else ""
        return f"[location: {_degrees(message.location)}{live}]"
    if message.poll:
        options = " · ".join(plain(option.text) for option in message.poll.options)
        return f'[poll: "{plain(message.poll.question)}", options: {options}]'
    if message.dice:
        return f"[dice {message.dice.emoji}: {message.dice.value}]"
    return ""


def unsupported(message: telegram.Message) -> str:
    """Return the plural name of an unsupported kind; "" = there is nothing to answer."""
    return next((what for name, what in _UNSUPPORTED.items() if getattr(message, name, None)), "")


def called(message: telegram.Message) -> str:
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


def plain(text: str) -> str:
    """Return `text` as one line without square brackets, shortened."""
    shown = " ".join(text.replace("[", "(").replace("]", ")").split())
    return shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}…"
