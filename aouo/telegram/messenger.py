"""Implements `Messenger` and `Topics` by Bot API calls and their arguments."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import aiohttp
import telegram

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import DeliveryRefused, NoPhoto, ToolFailed, TopicGone
from aouo.facts.ports import ButtonSpec, Entity, Media, Rendered, Rights
from aouo.guard.paths import looks_local, opened
from aouo.plumbing.logs import log
from aouo.telegram.api import FileLimits, limits_of
from aouo.telegram.http import AiohttpRequest, translated

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


async def _album_of(message: Rendered, limits: FileLimits, files: ExitStack) -> list[_Item]:
    """Return the items of a message's album; the first has the caption. `files` closes the files.

    Raises:
        NoPhoto: a photo is too large for a photo.
        DeliveryRefused: an item is no file, or they are too large together.
    """
    items: list[_Item] = []
    size = 0
    for number, media in enumerate(message.album):
        source = await _source_of(media, limits, files, attached=True)
        size += _size_of(source)
        if size > limits.upload:
            limit = f"{limits.upload:,}"
            raise DeliveryRefused(f"the files of an album may have {limit} bytes together")
        text = "" if number else message.text
        entities = _entities_of(message.entities) if text else None
        items.append(_ITEMS[media.kind](source, caption=text or None, caption_entities=entities))
    return items


async def _source_of(
    media: Media, limits: FileLimits, files: ExitStack, *, attached: bool = False
) -> str | telegram.InputFile:
    """Return the address or the file for Telegram; the files of an album are `attached`.

    A file is read while it is sent, and `files` closes it.

    Raises:
        NoPhoto: it is larger than a photo may be.
        DeliveryRefused: it is missing, no file, or larger than a bot may upload.
    """
    if media.text:
        return telegram.InputFile(media.text.encode(), filename=media.name, attach=attached)
    if not looks_local(media.source):
        address = media.source.strip()
        if ".." in address.split("/"):
            # The library uploads a file if the text is its path, and `..` could lead anywhere.
            raise DeliveryRefused("an address does not go up with `..`")
        return address
    file = Path(media.source)
    try:
        content = files.enter_context(await asyncio.to_thread(_content, file, limits.upload))
    except (ToolFailed, OSError, ValueError) as error:
        raise DeliveryRefused(f"{file.name} cannot be read: {error}") from error
    source = telegram.InputFile(
        content, filename=media.name or file.name, attach=attached, read_file_handle=False
    )
    if media.kind == "photo" and _size_of(source) > limits.photo:
        raise NoPhoto(f"{file.name} has more than the {limits.photo:,} bytes of a photo")
    return source


def _size_of(source: str | telegram.InputFile) -> int:
    """Return the bytes to upload; 0 for an address."""
    if isinstance(source, str):
        return 0
    content = source.input_file_content
    return len(content) if isinstance(content, bytes) else os.fstat(content.fileno()).st_size


def _preview(message: Rendered) -> telegram.LinkPreviewOptions:
    """Return the preview of the first address that stands in a message as one, or none.

    Telegram itself also takes names such as `README.md` for addresses, and would show the page
    of whoever owns that domain.
    """
    links = [(one.offset, one.url) for one in message.entities if one.url.startswith("http")]
    if found := _ADDRESS.search(message.text):
        offset = len(message.text[: found.start()].encode("utf-16-le")) // 2
        links.append((offset, found[0].rstrip(".,;:!?)]}\"'”’»")))
    if not (links and message.preview):
        return _NO_PREVIEW
    return telegram.LinkPreviewOptions(url=min(links)[1])


def _entities_of(entities: Sequence[Entity]) -> list[telegram.MessageEntity]:
    found: list[telegram.MessageEntity] = []
    for item in entities:
        extra: dict[str, Any] = {}
        if item.url:
            extra["url"] = item.url
        if item.language:
            extra["language"] = item.language
        found.append(telegram.MessageEntity(item.type, item.offset, item.length, **extra))
    return found


def _content(file: Path, limit: int) -> BinaryIO:
    """Open a file that the guard allowed when the message was written.

    Raises:
        DeliveryRefused: it is larger than a bot may upload.
        ToolFailed: it is missing, or no file any more.
    """
    if not file.is_absolute():
        raise ToolFailed("it has no absolute path")
    with opened(file) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > limit:
            raise DeliveryRefused(f"{file.name} has {size:,} bytes; at most {limit:,} can be sent")
        return os.fdopen(os.dup(descriptor), "rb")


# Before its version 23 the library warns at each flood control unless this is set.
os.environ.setdefault("PTB_TIMEDELTA", "1")

_ADDRESS = re.compile(r"\b(?:https?://|www\.)[^\s<>]+", re.IGNORECASE)
_NO_PREVIEW = telegram.LinkPreviewOptions(is_disabled=True)


class TelegramMessenger:
    """See `ports.Messenger` and `ports.Topics`. Also registers the command menu."""

    def __init__(self, *, session: aiohttp.ClientSession, base_url: str, token: str) -> None:
        base = base_url.rstrip("/")
        self._limits = limits_of(base)
        self._bot = telegram.Bot(
            token,
            base_url=f"{base}/bot",
            base_file_url=f"{base}/file/bot",
            request=AiohttpRequest(session),
            get_updates_request=AiohttpRequest(session),
        )

    async def ready(self) -> None:
        """Return at once: it is ready from the beginning."""

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        if message.media:
            return await self._send_file(to, message, message.media)
        if message.album:
            return await self._send_album(to, message)
        async with translated():
            sent = await self._bot.send_message(
                int(to.chat_id),
                message.text,
                entities=_entities_of(message.entities),
                reply_markup=_keyboard(message.buttons),
                message_thread_id=_thread(to),
                reply_parameters=_reply(message),
                link_preview_options=_preview(message),
            )
        return sent.message_id

    async def _send_file(self, to: ConversationAddress, message: Rendered, media: Media) -> int:
        """Send a file; a photo that Telegram refuses as one is sent as a document."""
        try:
            return await self._send_as(to, message, media)
        except NoPhoto:
            log.info("photo_sent_as_file")
            return await self._send_as(to, message, replace(media, kind="document"))

    async def _send_as(self, to: ConversationAddress, message: Rendered, media: Media) -> int:
        """Send a file; Telegram fetches an address itself, a local file is uploaded."""
        calls = {
            "photo": self._bot.send_photo,
            "video": self._bot.send_video,
            "audio": self._bot.send_audio,
            "voice": self._bot.send_voice,
            "document": self._bot.send_document,
        }
        with ExitStack() as files:
            source = await _source_of(media, self._limits, files)
            async with translated(uploading=True):
                sent = await calls[media.kind](
                    int(to.chat_id),
                    source,
                    caption=message.text or None,
                    caption_entities=_entities_of(message.entities) if message.text else None,
                    reply_markup=_keyboard(message.buttons),
                    message_thread_id=_thread(to),
                    reply_parameters=_reply(message),
                )
        return sent.message_id

    async def _send_album(self, to: ConversationAddress, message: Rendered) -> int:
        """Send an album; if Telegram refuses a photo, send all of it as documents.

        Telegram does not say which photo, and documents may only be with documents.
        """
        try:
            return await self._send_group(to, message)
        except NoPhoto:
            log.info("photo_sent_as_file")
            as_files = tuple(replace(media, kind="document") for media in message.album)
            return await self._send_group(to, replace(message, album=as_files))

    async def _send_group(self, to: ConversationAddress, message: Rendered) -> int:
        with ExitStack() as files:
            items = await _album_of(message, self._limits, files)
            async with translated(uploading=True):
                sent = await self._bot.send_media_group(
                    int(to.chat_id),
                    items,
                    message_thread_id=_thread(to),
                    reply_parameters=_reply(message),
                )
        return sent[0].message_id

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        async with translated(editing=True):
            if message.media:
                await self._bot.edit_message_caption(
                    int(to.chat_id),
                    message_id,
                    caption=message.text,
                    caption_entities=_entities_of(message.entities),
                    reply_markup=_keyboard(message.buttons),
                )
                return
            await self._bot.edit_message_text(
                message.text,
                int(to.chat_id),
                message_id,
                entities=_entities_of(message.entities),
                reply_markup=_keyboard(message.buttons),
                link_preview_options=_preview(message),
            )

    async def draft(self, to: ConversationAddress, draft_id: int, message: Rendered) -> None:
        """See `ports.Messenger`. The draft has Telegram's own *Stop* button.

        A server before 10.3 ignores that; without the button some apps let the person send nothing
        while a draft is shown.
        Source: core.telegram.org/bots/api#sendmessagedraft; github.com/DrKLO/Telegram/pull/1961.
        """
        async with translated():
            await self._bot.send_message_draft(
                int(to.chat_id),
                draft_id,
                message.text,
                message_thread_id=_thread(to),
                entities=_entities_of(message.entities),
                api_kwargs={"can_stop": True},
            )

    async def delete(self, to: ConversationAddress, message_id: int) -> None:
        try:
            async with translated():
                await self._bot.delete_message(int(to.chat_id), message_id)
        except DeliveryRefused:
            return  # gone already, or too old to be deleted

    async def action(self, to: ConversationAddress, action: str) -> None:
        async with translated():
            await self._bot.send_chat_action(int(to.chat_id), action, message_thread_id=_thread(to))

    async def answer_tap(self, answer_id: str, text: str, *, alert: bool = False) -> None:
        try:
            async with translated():
                await self._bot.answer_callback_query(answer_id, text[:200], show_alert=alert)
        except DeliveryRefused:
            return  # too old: the person has moved on

    async def rights(self, chat: ConversationAddress) -> Rights:
        """See `ports.Topics`. An administrator sees every message, whatever the privacy mode."""
        private = not chat.chat_id.startswith("-")
        async with translated():
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
        async with translated():
            made = await self._bot.create_forum_topic(int(chat.chat_id), title)
        return str(made.message_thread_id)

    async def topic_exists(self, topic: ConversationAddress, title: str) -> bool:
        """See `ports.Topics`. Only calls that manage a topic fail when it is gone.

        For an open topic they fail as not modified; `sendChatAction` succeeds in either case.
        Source: reference, Outbound; a private chat's topics cannot be opened or closed.
        """
        chat_id, thread = int(topic.chat_id), int(topic.thread_id)
        try:
            async with translated():
                if chat_id < 0:
                    await self._bot.reopen_forum_topic(chat_id, thread)
                elif title:
                    await self._bot.edit_forum_topic(chat_id, thread, name=title)
        except TopicGone:
            return False
        except DeliveryRefused:
            return True
        return True

    async def set_commands(
        self,
        commands: Sequence[tuple[str, str]],
        language: str = "",
        about: tuple[str, str] | None = None,
    ) -> None:
        """Fill the command menu with (name, description) pairs, whose number Telegram limits, and
        the bot's description, long and short; for a language, "" = all others."""
        async with translated():
            menu = [telegram.BotCommand(name, text) for name, text in commands]
            await self._bot.set_my_commands(menu, language_code=language or None)
            if about:
                await self._bot.set_my_description(about[0], language or None)
                await self._bot.set_my_short_description(about[1], language or None)


def _reply(message: Rendered) -> telegram.ReplyParameters | None:
    if not message.reply_to:
        return None
    return telegram.ReplyParameters(message.reply_to, allow_sending_without_reply=True)


def _thread(to: ConversationAddress) -> int | None:
    return int(to.thread_id) if to.thread_id else None


def _keyboard(rows: Sequence[Sequence[ButtonSpec]]) -> telegram.InlineKeyboardMarkup | None:
    if not rows:
        return None
    return telegram.InlineKeyboardMarkup(
        [
            [telegram.InlineKeyboardButton(b.label, callback_data=b.data) for b in row]
            for row in rows
        ]
    )
