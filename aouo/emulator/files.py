"""Files: what was uploaded, by whom ever, under an id and a path of the server."""

import struct
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
"""Width and height together."""
MAX_PHOTO_RATIO = 20
_FOLDERS = {"audio": "music", "voice": "voice", "photo": "photos", "document": "documents"}
_IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM")
_UNKNOWN_SIZE = (640, 480)  # of an image whose header says nothing we read


def attach(world: World, kind: MediaKind, source: Upload | str, params: Parameters) -> Attachment:
    """Store `source` (or find it, or note its address) and describe it as a `kind`.

    An address is kept as it is: the emulator fetches nothing.
    """
    if isinstance(source, str) and source in world.files:
        file_id = source
    elif isinstance(source, str) and not source.startswith(("http://", "https://")):
        raise bad_request("wrong file identifier/HTTP URL specified")
    else:
        _check(kind, source)
        file_id = world.serial(f"{kind}-")
        world.files[file_id] = source
    return Attachment(kind, file_id, _detail(kind, file_id, world.files[file_id], params))


def file_json(world: World, file_id: str) -> JsonObject:
    """The File object that getFile answers."""
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
    """The file under a path of the server; its name and type are not kept there."""
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


def _detail(kind: MediaKind, file_id: str, source: Upload | str, params: Parameters) -> Any:
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
            return [item | area]
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


def image_size(content: bytes) -> tuple[int, int]:
    """Width and height of a PNG, GIF or JPEG."""
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
