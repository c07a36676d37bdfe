"""Translates Telegram's errors into ours, by their class and their text.

Source: reference, "Outbound" and "Other errors"; a part of the text is matched, in any case.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from telegram import error as failed

from aouo.facts.errors import (
    ChatMoved,
    DeliveryRefused,
    DeliveryUnknown,
    FloodControl,
    NoPhoto,
    NoRight,
    NotOffered,
    NoTopics,
    NotSent,
    RecipientGone,
    TopicGone,
)
from aouo.telegram.http import NoAnswer, NotWritten

_GONE = ("chat not found", "group chat was deactivated")
_MUTED = (
    "not enough rights to send text messages",
    "have no rights to send a message",
    "chat_write_forbidden",
)
_TOPIC_GONE = ("message thread not found", "topic_deleted", "topic_id_invalid")
_NO_PHOTO = ("photo_invalid_dimensions", "too big for a photo")
"""Width and height together above 10,000, one over 20 times the other, or more than 10 MB.
Source: core.telegram.org/bots/api#sendphoto."""
_NO_TOPICS = ("the chat is not a forum", "bot_forum_create_forbidden")


@asynccontextmanager
async def translated(*, editing: bool = False, uploading: bool = False) -> AsyncGenerator[None]:
    """Translate the library's errors in the block into ours.

    The order matters: its `BadRequest` is a `NetworkError`.
    """
    try:
        yield
    except failed.RetryAfter as error:
        wait = error.retry_after
        seconds = wait if isinstance(wait, int | float) else wait.total_seconds()
        raise FloodControl(str(error), float(seconds)) from error
    except failed.ChatMigrated as error:
        raise ChatMoved(str(error.new_chat_id)) from error
    except failed.Forbidden as error:
        raise RecipientGone(str(error)) from error
    except failed.InvalidToken as error:
        if "method not found" in str(error).lower():
            raise NotOffered(str(error)) from error
        # The bot's token is at fault, not this chat: the message stays queued.
        raise NotSent(str(error)) from error
    except failed.BadRequest as error:
        if editing and "message is not modified" in str(error).lower():
            return
        if uploading and "(413)" in str(error):
            raise DeliveryRefused("the server takes no upload of this size (413)") from error
        raise _refusal(str(error)) from error
    except NotWritten as error:
        raise NotSent(str(error)) from error
    except NoAnswer as error:
        raise DeliveryUnknown(str(error)) from error
    except failed.NetworkError as error:
        raise NotSent(str(error)) from error
    except failed.TelegramError as error:
        # An unreadable 2xx answer: the call was carried out, but its result is unknown.
        raise DeliveryUnknown(str(error)) from error


def _refusal(text: str) -> DeliveryRefused | RecipientGone:
    lower = text.lower()
    if "topic_closed" in lower:
        return TopicGone(text, closed=True)
    if any(sign in lower for sign in _TOPIC_GONE):
        return TopicGone(text)
    if any(sign in lower for sign in _NO_PHOTO):
        return NoPhoto(text)
    if any(sign in lower for sign in _NO_TOPICS):
        return NoTopics(text)
    if any(sign in lower for sign in _GONE):
        return RecipientGone(text)
    if any(sign in lower for sign in _MUTED):
        return RecipientGone(text, muted=True)
    if "not enough rights" in lower:
        return NoRight(text)
    return DeliveryRefused(text)
