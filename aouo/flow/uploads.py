"""Stores files that are uploaded on the local page, for the messages that bring them.

media/web_<chat>/up_<id>_<name>
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
import re
import shutil
from collections.abc import AsyncIterable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import PICTURES, Attachment, Kind, safe_name
from aouo.facts.errors import FileNotFetched
from aouo.facts.ids import ulid

UPLOAD_BYTES = 20 * 1024 * 1024
"""The most that one file may have; as much as bots get of Telegram's own server."""
_PICTURE_BYTES = 4_000_000
"""A larger picture is taken as a file, which a model reads with a tool and does not see."""
_UNSAID_MAX = 40
"""The most files of all chats that wait for their message; above it the oldest goes."""
_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
_MAGIC = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"%PDF-", "application/pdf"),
)
_WEBM_TRACKS = re.compile(rb"\x86[\x82-\x9f]([AV])_")
"""The names of the codecs of sound and of pictures, as Matroska writes them."""
_HEAD_BYTES = 64 * 1024


@dataclass(slots=True, eq=False)
class Uploads:
    """The uploaded files of all chats, below the home's `media` folder.

    It hands them to the jobs of the messages that bring them. What is
    never said is bounded here; what an earlier process left of it, as all media daily.
    """

    media: Path
    _unsaid: dict[str, Path] = field(init=False, default_factory=dict[str, Path])

    def place(self, address: ConversationAddress) -> Path:
        """Return the folder of a chat's files."""
        return self.media / address.folder

    async def take(
        self, address: ConversationAddress, name: str, content: AsyncIterable[bytes]
    ) -> str:
        """Store a file, whole or not at all; return its id, to be said with a message.

        Raises:
            FileNotFetched: it has more than `UPLOAD_BYTES`, or cannot be stored.
        """
        file_id, folder = ulid(), self.place(address)
        target = folder / f"up_{file_id}_{safe_name(name) or 'file'}"
        part = target.with_name(f".{target.name}")
        try:
            await asyncio.to_thread(folder.mkdir, 0o700, parents=True, exist_ok=True)
            size = 0
            with part.open("wb") as file:
                part.chmod(0o600)
                async for chunk in content:
                    size += len(chunk)
                    if size > UPLOAD_BYTES:
                        raise FileNotFetched(
                            f"{UPLOAD_BYTES} bytes at most", limit_bytes=UPLOAD_BYTES
                        )
                    await asyncio.to_thread(file.write, chunk)
            self._unsaid[file_id] = target
            await asyncio.to_thread(part.replace, target)
            while len(self._unsaid) > _UNSAID_MAX:
                self._unsaid.pop(next(iter(self._unsaid))).unlink(missing_ok=True)
        except OSError as error:
            raise FileNotFetched(str(error)) from error
        finally:
            part.unlink(missing_ok=True)
        return file_id

    def said(self, file_ids: Iterable[str]) -> None:
        """Note that a message has brought these files, which stay as long as it does."""
        for file_id in file_ids:
            self._unsaid.pop(file_id, None)

    def attachment(
        self, address: ConversationAddress, file_id: str, caption: str = ""
    ) -> Attachment | None:
        """Return an uploaded file as one of a message, None = it is not there."""
        if not _ID.fullmatch(file_id):
            return None
        for file in self.place(address).glob(f"up_{file_id}_*"):
            mime_type, size = type_of(file), file.stat().st_size
            return Attachment(
                _kind_of(mime_type, size),
                f"{address.folder}/{file.name}",
                file.name.removeprefix(f"up_{file_id}_"),
                mime_type,
                size,
                caption=caption,
                unique_id=file_id,
            )
        return None

    async def fetch(self, item: Attachment, to: Path) -> int:
        """See `Fetch`: the job has the file under a name of its own."""
        try:
            return await asyncio.to_thread(_share, self.media / item.file_id, to)
        except FileNotFoundError as error:
            raise FileNotFetched(str(error), gone=True) from error
        except OSError as error:
            raise FileNotFetched(str(error)) from error


def _share(source: Path, to: Path) -> int:
    part = to.with_name(f".{to.name}")
    part.unlink(missing_ok=True)
    try:
        os.link(source, part, follow_symlinks=False)
    except OSError:  # a file system without hard links
        with suppress(FileNotFoundError):
            shutil.copyfile(source, part, follow_symlinks=False)
    part.replace(to)
    return to.stat().st_size


def type_of(file: Path) -> str:
    """Return the type of a file by its first bytes; the name decides where they say nothing."""
    with file.open("rb") as content:
        start = content.read(_HEAD_BYTES)
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    for magic, mime_type in _MAGIC:
        if start.startswith(magic):
            return mime_type
    guessed = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    if guessed == "video/webm" and {track[1] for track in _WEBM_TRACKS.finditer(start)} == {b"A"}:
        return "audio/webm"  # as browsers record a voice
    return "application/octet-stream" if guessed in PICTURES else guessed


def _kind_of(mime_type: str, size: int) -> Kind:
    if mime_type in PICTURES:
        return "photo" if size <= _PICTURE_BYTES else "document"
    if mime_type.startswith("audio/"):
        return "audio"
    return "video" if mime_type.startswith("video/") else "document"
