"""Files that people send: what a platform tells of one before anybody has it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["voice", "audio", "video_note", "photo", "document", "video", "animation"]

_NAMES: dict[Kind, str] = {
    "voice": "voice.ogg",
    "audio": "audio.mp3",
    "video_note": "video-message.mp4",
    "photo": "photo.jpg",
    "document": "file",
    "video": "video.mp4",
    "animation": "animation.mp4",
}
_IN_WORDS: dict[Kind, str] = {
    "voice": "voice message",
    "audio": "audio file",
    "video_note": "video message",
    "photo": "picture",
    "document": "file",
    "video": "video",
    "animation": "animation",
}
_HEARD = frozenset[Kind]({"voice", "audio", "video_note"})
PICTURES = frozenset({"image/jpeg", "image/png", "image/webp"})
"""What every service that sees takes in."""
NAME_BYTES = 120
_UNSAFE = re.compile(r"[^\w .()+,=@-]")


@dataclass(frozen=True, slots=True)
class Attachment:
    """One file of a message; `file_id` is how the platform finds it.

    `name` is the sender's, "" = it has none; `size_bytes` and `duration_s` are 0 where the
    platform does not say. `caption` is what the sender wrote under it. `unique_id` is the same
    whenever it is the same file, `message_id` the message that it came with. `referred`: it came
    earlier, and this message only replies to it; what cannot be had of it is done without.
    """

    kind: Kind
    file_id: str
    name: str = ""
    mime_type: str = ""
    size_bytes: int = 0
    duration_s: int = 0
    caption: str = ""
    unique_id: str = ""
    message_id: int = 0
    referred: bool = False

    @property
    def is_heard(self) -> bool:
        """Whether it says something that can be written down."""
        return self.kind in _HEARD

    @property
    def is_picture(self) -> bool:
        """Whether a model that sees can look at it; a picture may also come as a file."""
        return self.kind == "photo" or (
            self.kind == "document" and self.mime_type.lower() in PICTURES
        )

    @property
    def in_words(self) -> str:
        """What a person calls it."""
        return _IN_WORDS[self.kind]

    @property
    def file_name(self) -> str:
        """A name that is safe to store and to show: one line, no folders, at most 120 bytes."""
        return safe_name(self.name) or _NAMES[self.kind]


def safe_name(name: str) -> str:
    """Letters, digits and a few signs of `name`, its ending kept; "" when nothing is left."""
    plain = unicodedata.normalize("NFC", name.encode("utf-8", "ignore").decode())
    plain = _UNSAFE.sub("_", plain.replace("\\", "/").rpartition("/")[2])
    plain = plain.strip(" ._")
    if len(plain.encode()) <= NAME_BYTES:
        return plain
    ending = PurePosixPath(plain).suffix
    ending = ending if len(ending.encode()) <= 16 else ""
    room = NAME_BYTES - len(ending.encode())
    return plain.encode()[:room].decode("utf-8", "ignore").rstrip(" ._") + ending
