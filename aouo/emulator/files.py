"""Stores files of people and the bot, and reads the parameters of one call."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, cast

from aiohttp import BodyPartReader, hdrs, web

from aouo.emulator.chats import Attachment, MediaKind
from aouo.emulator.description import JsonObject, Upload, as_array, as_object
from aouo.emulator.refusals import Refusal, bad_request
from aouo.emulator.world import World

_MAX_UPLOAD_BYTES = 50_000_000
_MAX_LOCAL_UPLOAD_BYTES = 2_000_000_000
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Parameters:
    """Values checked against the description; a getter returns an empty value for a missing one.

    `uploads` are the multipart parts that `attach://name` refers to.
    """

    values: Mapping[str, Any]
    uploads: Mapping[str, Upload]

    def text(self, name: str) -> str:
        value = self.values.get(name, "")
        return value if isinstance(value, str) else str(value)

    def integer(self, name: str, default: int = 0) -> int:
        value = self.values.get(name, default)
        return value if isinstance(value, int) else default

    def flag(self, name: str) -> bool:
        return self.values.get(name) is True

    def object(self, name: str) -> JsonObject | None:
        return as_object(self.values.get(name))

    def objects(self, name: str) -> list[JsonObject]:
        return cast(list[JsonObject], as_array(self.values.get(name)) or [])

    def has(self, name: str) -> bool:
        return name in self.values

    def file(self, name: str) -> Upload | str:
        """Return the uploaded part, or the file id or address given as text."""
        value = self.values.get(name, "")
        if isinstance(value, Upload):
            return value
        return self.reference(str(value))

    def reference(self, value: str) -> Upload | str:
        """Return the part that `attach://name` names, or the text itself."""
        return self.uploads.get(value.removeprefix("attach://"), value)


async def read_parameters(request: web.Request, *, local: bool = False) -> JsonObject:
    """Raw values by name; files are `Upload`s, texts of a form are not decoded yet.

    `local`: the server is the bot's own.
    """
    values: JsonObject = dict(request.query)
    kind = request.content_type
    if request.method != hdrs.METH_POST:
        return values
    if kind == "application/json":
        return values | await _json_body(request)
    if kind == "multipart/form-data":
        return values | await _multipart(
            request, _MAX_LOCAL_UPLOAD_BYTES if local else _MAX_UPLOAD_BYTES
        )
    if kind == "application/x-www-form-urlencoded":
        form = await request.post()
        return values | {name: value for name, value in form.items() if isinstance(value, str)}
    return values


async def _json_body(request: web.Request) -> JsonObject:
    body = await request.read()
    if not body:
        return {}
    try:
        found = as_object(json.loads(body))
    except (ValueError, RecursionError):
        found = None
    if found is None:
        raise bad_request("can't parse request body: Object expected")
    return found


async def _multipart(request: web.Request, limit: int) -> JsonObject:
    values: dict[str, Any] = {}
    size = 0
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            continue
        chunks: list[bytes] = []
        while chunk := await part.read_chunk(_CHUNK_BYTES):
            size += len(chunk)
            if size <= limit:  # the rest is read too, or the answer might not be
                chunks.append(bytes(chunk))
        if size > limit:
            continue
        content = bytes(part.decode(b"".join(chunks)))
        if part.filename is None:
            values[part.name] = content.decode("utf-8", "replace")
        else:
            mime = part.headers.get(hdrs.CONTENT_TYPE, "application/octet-stream")
            values[part.name] = Upload(part.filename, mime, content)
    if size > limit:
        raise Refusal(413, "Request Entity Too Large")
    return values


_MAX_DOWNLOAD_BYTES = 20_000_000
_MAX_PHOTO_BYTES = 10_000_000
_MAX_PHOTO_SIDES = 10_000
"""The greatest sum of width and height."""
_MAX_PHOTO_RATIO = 20
_FOLDERS = {"audio": "music", "voice": "voice", "photo": "photos", "document": "documents"}
_IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM")
_UNKNOWN_SIZE = (640, 480)  # of an image whose header is not understood
_SMALLER = {"s": 90, "m": 320, "x": 800, "y": 1280}
"""The longest side of each smaller size of a photo, by its letter, which ends the id.

Source: core.telegram.org/api/files#image-thumbnail-types.
"""


def attach(world: World, kind: MediaKind, source: Upload | str, params: Parameters) -> Attachment:
    """Store `source`, an upload, a file id or an address, and describe it as a `kind`.

    An address is stored as it is: the emulator fetches nothing.
    """
    if isinstance(source, str) and source in world.files:
        file_id = source.rstrip("".join(_SMALLER)) if kind == "photo" else source
    elif isinstance(source, str) and not source.startswith(("http://", "https://")):
        raise bad_request("wrong file identifier/HTTP URL specified")
    else:
        _check(kind, source)
        file_id = world.serial(f"{kind}-")
        world.files[file_id] = source
    return Attachment(kind, file_id, _detail(world, kind, file_id, params))


def file_json(world: World, file_id: str) -> JsonObject:
    """Return the File object for getFile."""
    if file_id not in world.files:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    source = world.files[file_id]
    size = len(source.content) if isinstance(source, Upload) else 0
    if size > _MAX_DOWNLOAD_BYTES and not world.local:
        raise bad_request("file is too big")
    item = _ids(file_id) | {"file_size": size}
    kind = file_id.rpartition("-")[0]
    suffix = ".oga" if kind == "voice" else _suffix(source)
    return item | {"file_path": f"{_FOLDERS.get(kind, kind)}/{file_id}{suffix}"}


def file_at(world: World, path: str) -> Upload | None:
    """Return the file at a path of the server, None = there is none."""
    source = world.files.get(PurePosixPath(path).stem)
    return source if isinstance(source, Upload) else None


def _suffix(source: Upload | str) -> str:
    name = source.name if isinstance(source, Upload) else source.partition("?")[0]
    suffix = PurePosixPath(name).suffix
    return suffix if suffix.isascii() and suffix[1:].isalnum() and len(suffix) < 9 else ""


def _check(kind: MediaKind, source: Upload | str) -> None:
    if isinstance(source, str):
        return
    size = len(source.content)
    if size == 0:
        raise bad_request("file must be non-empty")
    if kind == "photo" and size > _MAX_PHOTO_BYTES:
        raise bad_request(
            f"file of size {size} bytes is too big for a photo; "
            f"the maximum size is {_MAX_PHOTO_BYTES} bytes"
        )
    if kind == "photo" and not source.content.startswith(_IMAGES):
        raise bad_request("IMAGE_PROCESS_FAILED")
    if kind == "photo":
        sides = _image_size(source.content)
        if sum(sides) > _MAX_PHOTO_SIDES or max(sides) > _MAX_PHOTO_RATIO * min(sides):
            raise bad_request("PHOTO_INVALID_DIMENSIONS")


def _ids(file_id: str) -> JsonObject:
    return {"file_id": file_id, "file_unique_id": f"u{file_id.rpartition('-')[2]}"}


def _detail(world: World, kind: MediaKind, file_id: str, params: Parameters) -> Any:
    source = world.files[file_id]
    size = len(source.content) if isinstance(source, Upload) else 0
    item = _ids(file_id) | {"file_size": size}
    named: JsonObject = {}
    if isinstance(source, Upload):
        named = {"file_name": source.name, "mime_type": source.mime}
    duration = {"duration": params.integer("duration", 1)}
    width, height = _image_size(source.content if isinstance(source, Upload) else b"")
    area = {"width": width, "height": height}
    match kind:
        case "photo":
            return [*_smaller(world, file_id, width, height), item | area]
        case "voice":
            return item | duration | {"mime_type": "audio/ogg"}
        case "audio":
            titles = {key: params.text(key) for key in ("title", "performer") if params.text(key)}
            return item | duration | named | titles
        case "document":
            return item | named
        case "video_note":
            return item | duration | {"length": 240}
        case "sticker":
            flags = {"type": "regular", "is_animated": False, "is_video": False, "emoji": "🙂"}
            return item | area | flags
        case "video" | "animation":
            return item | area | duration | named


def _smaller(world: World, file_id: str, width: int, height: int) -> list[JsonObject]:
    """Return a photo's smaller sizes, smallest first; each is a file with its own id."""
    sizes: list[JsonObject] = []
    longest = max(width, height)
    for letter, side in _SMALLER.items():
        if side < longest:
            area = (max(1, width * side // longest), max(1, height * side // longest))
            grey = Upload("smaller.png", "image/png", _grey(*area))
            world.files.setdefault(file_id + letter, grey)
            item = _ids(file_id + letter) | {"file_size": len(grey.content)}
            sizes.append(item | {"width": area[0], "height": area[1]})
    return sizes


def _grey(width: int, height: int) -> bytes:
    """Return a grey PNG of this size, since nothing here can scale pictures."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x80" * width) * height, 1)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


def _image_size(content: bytes) -> tuple[int, int]:
    """Return width and height of a PNG, GIF or JPEG, a usual size for others."""
    if content.startswith(b"\x89PNG") and len(content) >= 24:
        width, height = struct.unpack(">II", content[16:24])
        return width, height
    if content.startswith(b"GIF8") and len(content) >= 10:
        width, height = struct.unpack("<HH", content[6:10])
        return width, height
    at = 2
    while content.startswith(b"\xff\xd8") and at + 9 < len(content) and content[at] == 0xFF:
        marker, size = struct.unpack(">BH", content[at + 1 : at + 4])
        if 0xC0 <= marker <= 0xC3:
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        at += 2 + size
    return _UNKNOWN_SIZE
