"""Stores files of people and the bot, and finds them by an id or a path of the server."""

import struct
import zlib
from pathlib import PurePosixPath
from typing import Any

from aouo.emulator.description import Upload
from aouo.emulator.jsons import JsonObject
from aouo.emulator.messages import Attachment, MediaKind
from aouo.emulator.parameters import Parameters
from aouo.emulator.refusal import bad_request
from aouo.emulator.world import World

MAX_DOWNLOAD_BYTES = 20_000_000
MAX_PHOTO_BYTES = 10_000_000
MAX_PHOTO_SIDES = 10_000
"""The greatest sum of width and height."""
MAX_PHOTO_RATIO = 20
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
        file_id = _whole(source) if kind == "photo" else source
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
    if size > MAX_DOWNLOAD_BYTES and not world.local:
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
    if kind == "photo" and size > MAX_PHOTO_BYTES:
        raise bad_request(
            f"file of size {size} bytes is too big for a photo; "
            f"the maximum size is {MAX_PHOTO_BYTES} bytes"
        )
    if kind == "photo" and not source.content.startswith(_IMAGES):
        raise bad_request("IMAGE_PROCESS_FAILED")
    if kind == "photo":
        sides = image_size(source.content)
        if sum(sides) > MAX_PHOTO_SIDES or max(sides) > MAX_PHOTO_RATIO * min(sides):
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
    width, height = image_size(source.content if isinstance(source, Upload) else b"")
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


def _whole(file_id: str) -> str:
    """Return the id of the photo that a size belongs to; any of its ids sends the whole photo."""
    return file_id.rstrip("".join(_SMALLER))


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


def image_size(content: bytes) -> tuple[int, int]:
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
