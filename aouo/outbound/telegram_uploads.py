"""What is put into a call to Telegram besides plain values: entities, addresses, files, albums."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import telegram

from aouo.errors import DeliveryRefused, ToolFailed
from aouo.guard.opening import opened
from aouo.guard.paths import looks_local
from aouo.ports import Entity, Media, Rendered

MAX_UPLOAD_BYTES = 50 * 1024 * 1024
"""Source, also of the next: core.telegram.org/bots/api#sending-files."""
MAX_PHOTO_BYTES = 10 * 1024 * 1024
Item: TypeAlias = (
    telegram.InputMediaPhoto
    | telegram.InputMediaVideo
    | telegram.InputMediaAudio
    | telegram.InputMediaDocument
)
_ITEMS: dict[str, type[Item]] = {
    "photo": telegram.InputMediaPhoto,
    "video": telegram.InputMediaVideo,
    "audio": telegram.InputMediaAudio,
    "document": telegram.InputMediaDocument,
}


async def album_of(message: Rendered) -> list[Item]:
    """The items of a message's album; the first has its words.

    Raises:
        DeliveryRefused: one of them is no file, or they are too large together.
    """
    items: list[Item] = []
    size = 0
    for number, media in enumerate(message.album):
        source = await source_of(media, attached=True)
        if isinstance(source, telegram.InputFile):
            content = source.input_file_content
            size += len(content) if isinstance(content, bytes) else 0
        if size > MAX_UPLOAD_BYTES:
            limit = f"{MAX_UPLOAD_BYTES:,}"
            raise DeliveryRefused(f"the files of an album may have {limit} bytes together")
        text = "" if number else message.text
        entities = entities_of(message.entities) if text else None
        items.append(_ITEMS[media.kind](source, caption=text or None, caption_entities=entities))
    return items


async def source_of(media: Media, *, attached: bool = False) -> str | telegram.InputFile:
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
    return telegram.InputFile(content, filename=media.name or file.name, attach=attached)


def entities_of(entities: Sequence[Entity]) -> list[telegram.MessageEntity]:
    found: list[telegram.MessageEntity] = []
    for item in entities:
        extra: dict[str, Any] = {}
        if item.url:
            extra["url"] = item.url
        if item.language:
            extra["language"] = item.language
        found.append(telegram.MessageEntity(item.type, item.offset, item.length, **extra))
    return found


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
