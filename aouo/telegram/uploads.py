"""Builds the arguments of Telegram calls: entities, addresses, files, albums."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import telegram

from aouo.facts.errors import DeliveryRefused, NoPhoto, ToolFailed
from aouo.facts.ports import Entity, Media, Rendered
from aouo.guard.opening import opened
from aouo.guard.paths import looks_local
from aouo.telegram.bot_api import FileLimits

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


async def album_of(message: Rendered, limits: FileLimits, files: ExitStack) -> list[Item]:
    """Return the items of a message's album; the first has the caption. `files` closes the files.

    Raises:
        NoPhoto: a photo is too large for a photo.
        DeliveryRefused: an item is no file, or they are too large together.
    """
    items: list[Item] = []
    size = 0
    for number, media in enumerate(message.album):
        source = await source_of(media, limits, files, attached=True)
        size += size_of(source)
        if size > limits.upload:
            limit = f"{limits.upload:,}"
            raise DeliveryRefused(f"the files of an album may have {limit} bytes together")
        text = "" if number else message.text
        entities = entities_of(message.entities) if text else None
        items.append(_ITEMS[media.kind](source, caption=text or None, caption_entities=entities))
    return items


async def source_of(
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
    if media.kind == "photo" and size_of(source) > limits.photo:
        raise NoPhoto(f"{file.name} has more than the {limits.photo:,} bytes of a photo")
    return source


def size_of(source: str | telegram.InputFile) -> int:
    """Return the bytes to upload; 0 for an address."""
    if isinstance(source, str):
        return 0
    content = source.input_file_content
    return len(content) if isinstance(content, bytes) else os.fstat(content.fileno()).st_size


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
