"""Messages as the emulator stores them: frozen values, replaced by an edit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from aouo.emulator.entities import Formatted

MediaKind: TypeAlias = Literal[
    "photo", "audio", "voice", "document", "video", "video_note", "animation", "sticker"
]
Keyboard: TypeAlias = tuple[tuple[Mapping[str, Any], ...], ...]


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a message; `detail` is the JSON of its Audio, Voice, Document or PhotoSize list."""

    kind: MediaKind
    file_id: str
    detail: Any


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `content` is the caption if there is an attachment.

    `service` holds the fields of a service message, `other` those of further kinds.
    """

    id: int
    chat_id: int
    sender_id: int
    date: int
    content: Formatted = field(default_factory=lambda: Formatted(""))
    thread_id: int | None = None
    reply_to: int | None = None
    quote: str = ""
    keyboard: Keyboard = ()
    attachment: Attachment | None = None
    service: Mapping[str, Any] = field(default_factory=dict[str, Any])
    other: Mapping[str, Any] = field(default_factory=dict[str, Any])
    edited_at: int | None = None
    album: str = ""
    reactions: Mapping[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
