"""Recognises pictures, sound and films by their bytes, whatever name and type they bear.

Source: the formats' own specifications; brands of ISO media files: mp4ra.org/registered-types.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import TypeAlias

_Bytes: TypeAlias = bytes | mmap.mmap
_STARTS = (
    (b"\x89PNG\r\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"#!AMR", "audio/amr"),
    (b"caff", "audio/x-caf"),
    *((bytes((0xFF, second)), "audio/mpeg") for second in (0xFB, 0xFA, 0xF3, 0xF2, 0xE3, 0xE2)),
    *((bytes((0xFF, second)), "audio/aac") for second in (0xF1, 0xF9)),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_BRANDS = {
    **dict.fromkeys((b"heic", b"heix", b"heim", b"hevc", b"msf1"), "image/heic"),
    **dict.fromkeys((b"avif", b"avis"), "image/avif"),
    **dict.fromkeys((b"M4A ", b"M4B "), "audio/mp4"),
}
_HEAD_BYTES = 4096
ENDINGS = {
    "audio/ogg": ".ogg",
    "audio/wav": ".wav",
    "audio/mpeg": ".mp3",
    "audio/mp4": ".m4a",
    "audio/flac": ".flac",
    "audio/webm": ".webm",
    "video/mp4": ".mp4",
}
"""Of sound, and of films with sound: the usual ending of a name."""


def type_of_file(file: Path) -> str:
    """Return the media type of a picture, sound or film, "" = it is none that is known.

    Raises OSError: it cannot be read.
    """
    with file.open("rb") as opened:
        if not file.stat().st_size:
            return ""
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return type_of(data)


def type_of(data: _Bytes) -> str:
    """Return the media type of a picture, sound or film by its content, "" = none is known."""
    head = data[:_HEAD_BYTES]
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12], "")
    if head[:4] == b"OggS":
        return "video/ogg" if b"theora" in head[:200] else "audio/ogg"
    if head[:4] == b"\x1aE\xdf\xa3":
        return "audio/webm" if b"A_" in head and b"V_" not in head else "video/webm"
    if head[4:8] == b"ftyp":
        return _iso_media(data, head)
    if head[:2] == b"BM" and head[6:10] == bytes(4) and len(head) > 25:
        return "image/bmp"
    return next((kind for start, kind in _STARTS if head.startswith(start)), "")


def _iso_media(data: _Bytes, head: bytes) -> str:
    """Tell apart what shares the container of MP4: by its brand, else by its tracks."""
    brand, brands = head[8:12], head[8 : int.from_bytes(head[:4], "big")]
    if brand == b"mif1":
        return "image/avif" if b"avif" in brands else "image/heic"
    if known := _BRANDS.get(brand):
        return known
    handlers = set[bytes]()
    at = data.find(b"hdlr")
    while at >= 0:
        handlers.add(data[at + 12 : at + 16])
        at = data.find(b"hdlr", at + 4)
    if b"soun" in handlers and b"vide" not in handlers:
        return "audio/mp4"
    return "video/quicktime" if brand == b"qt  " else "video/mp4"
