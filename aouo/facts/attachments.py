"""Files that people send: what the platform says of one before it is downloaded."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["voice", "audio", "video_note", "photo", "document", "video", "animation"]

Lack: TypeAlias = Literal["unset", "not_installed", "no_model"]
"""Why speech is missing: it has no key or is switched off; it is to run on this machine, and its
packages are not installed, or the configured model is not there."""
VOICE_INSTALL = "scripts/setup voice"
"""The command that installs speech without a service."""
_KINDS: dict[Kind, tuple[str, str]] = {
    "voice": ("voice.ogg", "voice message"),
    "audio": ("audio.mp3", "audio file"),
    "video_note": ("video-message.mp4", "video message"),
    "photo": ("photo.jpg", "picture"),
    "document": ("file", "file"),
    "video": ("video.mp4", "video"),
    "animation": ("animation.mp4", "animation"),
}
"""How a file is named that has no name, and what it is in words."""
_HEARD = frozenset[Kind]({"voice", "audio", "video_note"})
PICTURES = frozenset({"image/jpeg", "image/png", "image/webp"})
"""The picture formats that every service with a seeing model accepts."""
_NAME_BYTES = 120
_UNSAFE = re.compile(r"[^\w .()+,=@-]")


@dataclass(frozen=True, slots=True)
class Attachment:
    """One file of a message; `file_id` is the platform's id to download it by.

    `name` is the sender's, "" = it has none; `size_bytes` and `duration_s` are 0 where the
    platform does not say. `caption` is the sender's text under it. `unique_id` is the same for
    the same file in every message, `message_id` the message that it came with. `referred`: it
    came earlier, with the message `came_with` (0 = of another chat), and this one only replies to
    it; the turn goes on if it cannot be fetched. `theirs` says whose its words are, "" = the
    sender's.
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
    came_with: int = 0
    theirs: str = ""

    @property
    def is_heard(self) -> bool:
        """Whether it may hold speech that can be transcribed."""
        return self.kind in _HEARD

    @property
    def is_picture(self) -> bool:
        """Whether a seeing model can look at it; a picture may also come as a document."""
        return self.kind == "photo" or (
            self.kind == "document" and self.mime_type.lower() in PICTURES
        )

    @property
    def is_pack(self) -> bool:
        """Whether this is a pack's file, sent without a word: it is to be installed."""
        return self.name.casefold().endswith(".aouo") and not (self.caption or self.referred)

    @property
    def in_words(self) -> str:
        """The word that people use for this kind of file."""
        return _KINDS[self.kind][1]

    @property
    def file_name(self) -> str:
        """A name that is safe to store and to show: one line, no folders, at most 120 bytes."""
        return safe_name(self.name) or _KINDS[self.kind][0]


def safe_name(name: str) -> str:
    """Return `name` with letters, digits and a few signs only; "" when nothing is left.

    At most 120 bytes; its ending is kept.
    """
    plain = unicodedata.normalize("NFC", name.encode("utf-8", "ignore").decode())
    plain = _UNSAFE.sub("_", plain.replace("\\", "/").rpartition("/")[2])
    plain = plain.strip(" ._")
    if len(plain.encode()) <= _NAME_BYTES:
        return plain
    ending = PurePosixPath(plain).suffix
    ending = ending if len(ending.encode()) <= 16 else ""
    room = _NAME_BYTES - len(ending.encode())
    return plain.encode()[:room].decode("utf-8", "ignore").rstrip(" ._") + ending
