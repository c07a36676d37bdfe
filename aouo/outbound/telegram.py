"""Telegram as a `Messenger`: one call each, every failure translated once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import telegram
from telegram import error as failed

from aouo.address import ConversationAddress
from aouo.errors import (
    ChatMoved,
    DeliveryRefused,
    DeliveryUnknown,
    FloodControl,
    MayNotWrite,
    NoRight,
    NoTopics,
    NotSent,
    RecipientGone,
    ToolFailed,
    TopicGone,
)
from aouo.guard.opening import opened
from aouo.guard.paths import looks_local
from aouo.outbound.telegram_http import AiohttpRequest, NoAnswer, NotWritten
from aouo.ports import ButtonSpec, Entity, Media, Rendered, Rights

# Until its version 23 the library warns at every flood control unless told which type we want.
os.environ.setdefault("PTB_TIMEDELTA", "1")

_GONE = ("chat not found", "group chat was deactivated")
_MUTED = (
    "not enough rights to send text messages",
    "have no rights to send a message",
    "chat_write_forbidden",
)
_TOPIC_GONE = ("message thread not found", "topic_deleted", "topic_id_invalid")
_NO_TOPICS = ("the chat is not a forum", "bot_forum_create_forbidden")
MAX_UPLOAD_BYTES = 50 * 1024 * 1024
"""Source, also of the next: core.telegram.org/bots/api#sending-files."""
MAX_PHOTO_BYTES = 10 * 1024 * 1024
_NO_PREVIEW = telegram.LinkPreviewOptions(is_disabled=True)
_Item: TypeAlias = (
    telegram.InputMediaPhoto
    | telegram.InputMediaVideo
    | telegram.InputMediaAudio
    | telegram.InputMediaDocument
)
_ITEMS: dict[str, type[_Item]] = {
    "photo": telegram.InputMediaPhoto,
    "video": telegram.InputMediaVideo,
    "audio": telegram.InputMediaAudio,
    "document": telegram.InputMediaDocument,
}


class TelegramMessenger:
    """See `ports.Messenger`. Also registers the command menu."""

    def __init__(self, *, session: aiohttp.ClientSession, base_url: str, token: str) -> None:
        base = base_url.rstrip("/")
        self._bot = telegram.Bot(
            token,
            base_url=f"{base}/bot",
            base_file_url=f"{base}/file/bot",
            request=AiohttpRequest(session),
            get_updates_request=AiohttpRequest(session),
        )

    async def ready(self) -> None:
        """From the beginning."""

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        if message.media:
            return await self._send_file(to, message, message.media)
        if message.album:
            return await self._send_album(to, message)
        async with _translated():
            sent = await self._bot.send_message(
                int(to.chat_id),
                message.text,
                entities=_entities(message.entities),
                reply_markup=_keyboard(message.buttons),
                message_thread_id=_thread(to),
                reply_parameters=_reply(message),
                link_preview_options=None if message.preview else _NO_PREVIEW,
            )
        return sent.message_id

    async def _send_file(self, to: ConversationAddress, message: Rendered, media: Media) -> int:
        """An address is fetched by Telegram; a local file is uploaded."""
        calls = {
            "photo": self._bot.send_photo,
            "video": self._bot.send_video,
            "audio": self._bot.send_audio,
            "voice": self._bot.send_voice,
            "document": self._bot.send_document,
        }
        source = await _source(media)
        async with _translated():
            sent = await calls[media.kind](
                int(to.chat_id),
                source,
                caption=message.text or None,
                caption_entities=_entities(message.entities) if message.text else None,
                reply_markup=_keyboard(message.buttons),
                message_thread_id=_thread(to),
                reply_parameters=_reply(message),
            )
        return sent.message_id

    async def _send_album(self, to: ConversationAddress, message: Rendered) -> int:
        items: list[_Item] = []
        size = 0
        for number, media in enumerate(message.album):
            source = await _source(media, attached=True)
            if isinstance(source, telegram.InputFile):
                content = source.input_file_content
                size += len(content) if isinstance(content, bytes) else 0
            if size > MAX_UPLOAD_BYTES:
                limit = f"{MAX_UPLOAD_BYTES:,}"
                raise DeliveryRefused(f"the files of an album may have {limit} bytes together")
            text = "" if number else message.text
            entities = _entities(message.entities) if text else None
            items.append(
                _ITEMS[media.kind](source, caption=text or None, caption_entities=entities)
            )
        async with _translated():
            sent = await self._bot.send_media_group(
                int(to.chat_id),
                items,
                message_thread_id=_thread(to),
                reply_parameters=_reply(message),
            )
        return sent[0].message_id

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        async with _translated(editing=True):
            if message.media:
                await self._bot.edit_message_caption(
                    int(to.chat_id),
                    message_id,
                    caption=message.text,
                    caption_entities=_entities(message.entities),
                    reply_markup=_keyboard(message.buttons),
                )
                return
            await self._bot.edit_message_text(
                message.text,
                int(to.chat_id),
                message_id,
                entities=_entities(message.entities),
                reply_markup=_keyboard(message.buttons),
                link_preview_options=None if message.preview else _NO_PREVIEW,
            )

    async def draft(self, to: ConversationAddress, draft_id: int, message: Rendered) -> None:
        async with _translated():
            await self._bot.send_message_draft(
                int(to.chat_id),
                draft_id,
                message.text,
                message_thread_id=_thread(to),
                entities=_entities(message.entities),
            )

    async def delete(self, to: ConversationAddress, message_id: int) -> None:
        try:
            async with _translated():
                await self._bot.delete_message(int(to.chat_id), message_id)
        except DeliveryRefused:
            return  # gone already, or too old to be taken away

    async def action(self, to: ConversationAddress, action: str) -> None:
        async with _translated():
            await self._bot.send_chat_action(int(to.chat_id), action, message_thread_id=_thread(to))

    async def answer_tap(self, answer_id: str, text: str, *, alert: bool = False) -> None:
        try:
            async with _translated():
                await self._bot.answer_callback_query(answer_id, text[:200], show_alert=alert)
        except DeliveryRefused:
            return  # too old: the person has moved on

    async def rights(self, chat: ConversationAddress) -> Rights:
        """See `ports.Topics`. An administrator is shown everything, whatever the privacy mode."""
        private = not chat.chat_id.startswith("-")
        async with _translated():
            me = await self._bot.get_me()
            mine = None if private else await self._bot.get_chat_member(int(chat.chat_id), me.id)
            has_topics = private or (await self._bot.get_chat(int(chat.chat_id))).is_forum
        if mine is None:
            enabled = bool(me.has_topics_enabled)
            return Rights(True, manages_topics=True, sees_all=True, has_topics=enabled)
        admin = mine.status in ("administrator", "creator")
        return Rights(
            admin,
            manages_topics=admin and bool(getattr(mine, "can_manage_topics", False)),
            sees_all=admin or bool(me.can_read_all_group_messages),
            has_topics=bool(has_topics),
        )

    async def create_topic(self, chat: ConversationAddress, title: str) -> str:
        """See `ports.Topics`."""
        async with _translated():
            made = await self._bot.create_forum_topic(int(chat.chat_id), title)
        return str(made.message_thread_id)

    async def topic_exists(self, topic: ConversationAddress, title: str) -> bool:
        """See `ports.Topics`. Only calls that manage a topic are refused when it is gone: an open
        one is refused as not modified, `sendChatAction` succeeds either way.

        Source: reference, Outbound; a private chat's topics cannot be opened or closed.
        """
        chat_id, thread = int(topic.chat_id), int(topic.thread_id)
        try:
            async with _translated():
                if chat_id < 0:
                    await self._bot.reopen_forum_topic(chat_id, thread)
                elif title:
                    await self._bot.edit_forum_topic(chat_id, thread, name=title)
        except TopicGone:
            return False
        except DeliveryRefused:
            return True
        return True

    async def set_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        """Fill the command menu; (name, description) pairs, as many as Telegram takes."""
        async with _translated():
            await self._bot.set_my_commands(
                [telegram.BotCommand(name, text) for name, text in commands]
            )


@asynccontextmanager
async def _translated(*, editing: bool = False) -> AsyncGenerator[None]:
    """Telegram's errors as ours. `BadRequest` is a `NetworkError` there: the order matters."""
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
        # The bot's own trouble, not this chat's: what waits stays queued.
        raise NotSent(str(error)) from error
    except failed.BadRequest as error:
        if editing and "message is not modified" in str(error).lower():
            return
        raise _refusal(str(error)) from error
    except NotWritten as error:
        raise NotSent(str(error)) from error
    except NoAnswer as error:
        raise DeliveryUnknown(str(error)) from error
    except failed.NetworkError as error:
        raise NotSent(str(error)) from error
    except failed.TelegramError as error:
        # A 2xx answer that cannot be read: it was carried out, we do not know as what.
        raise DeliveryUnknown(str(error)) from error


async def _source(media: Media, *, attached: bool = False) -> str | telegram.InputFile:
    """What Telegram is given: the address, or the file's bytes; those of an album are `attached`.

    Raises:
        DeliveryRefused: it is no file, not there, or larger than a bot may upload.
    """
    if media.text:
        return telegram.InputFile(media.text.encode(), filename=media.name, attach=attached)
    if not looks_local(media.source):
        address = media.source.strip()
        if ".." in address.split("/"):
            # The library uploads what it finds at a text's path, and this would lead anywhere.
            raise DeliveryRefused("an address does not go up with `..`")
        return address
    file = Path(media.source)
    limit = MAX_PHOTO_BYTES if media.kind == "photo" else MAX_UPLOAD_BYTES
    try:
        content = await asyncio.to_thread(_content, file, limit)
    except (ToolFailed, OSError, ValueError) as error:
        raise DeliveryRefused(f"{file.name} cannot be read: {error}") from error
    return telegram.InputFile(content, filename=file.name, attach=attached)


def _content(file: Path, limit: int) -> bytes:
    """The bytes of a file that the guard let through when the message was written.

    Raises:
        DeliveryRefused: it is larger than a bot may upload.
        ToolFailed: it is not there, or not a file any more.
    """
    if not file.is_absolute():
        raise ToolFailed("it has no absolute path")
    with opened(file) as descriptor, os.fdopen(os.dup(descriptor), "rb") as content:
        size = os.fstat(descriptor).st_size
        if size > limit:
            raise DeliveryRefused(f"{file.name} has {size:,} bytes; at most {limit:,} can be sent")
        return content.read(limit)


def _reply(message: Rendered) -> telegram.ReplyParameters | None:
    if not message.reply_to:
        return None
    return telegram.ReplyParameters(message.reply_to, allow_sending_without_reply=True)


def _refusal(text: str) -> DeliveryRefused | RecipientGone:
    lower = text.lower()
    if "topic_closed" in lower:
        return TopicGone(text, closed=True)
    if any(sign in lower for sign in _TOPIC_GONE):
        return TopicGone(text)
    if any(sign in lower for sign in _NO_TOPICS):
        return NoTopics(text)
    if any(sign in lower for sign in _GONE):
        return RecipientGone(text)
    if any(sign in lower for sign in _MUTED):
        return MayNotWrite(text)
    if "not enough rights" in lower:
        return NoRight(text)
    return DeliveryRefused(text)


def _thread(to: ConversationAddress) -> int | None:
    return int(to.thread_id) if to.thread_id else None


def _entities(entities: Sequence[Entity]) -> list[telegram.MessageEntity]:
    found: list[telegram.MessageEntity] = []
    for item in entities:
        extra: dict[str, Any] = {}
        if item.url:
            extra["url"] = item.url
        if item.language:
            extra["language"] = item.language
        found.append(telegram.MessageEntity(item.type, item.offset, item.length, **extra))
    return found


def _keyboard(rows: Sequence[Sequence[ButtonSpec]]) -> telegram.InlineKeyboardMarkup | None:
    if not rows:
        return None
    return telegram.InlineKeyboardMarkup(
        [
            [telegram.InlineKeyboardButton(b.label, callback_data=b.data) for b in row]
            for row in rows
        ]
    )
