"""Notices about the memory of a pack, as facts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A memory file as it is now; `text` is "" when it holds nothing."""

    name: str
    size_bytes: int
    text: str


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """One change of a memory file, in the bot owner's local time.

    `added` and `removed` are lines; `words` is the message that it came from, "" = unknown;
    `by` names its writer where several people write; `emptied`: a person emptied the file here;
    `on_page`: a person edited it on the local page; `inferred`: what came from the journal was
    concluded, and nobody said it.
    """

    version: int
    file: str
    origin: Literal["tool", "summary", "hand", "undo", "consolidate"]
    at: datetime
    added: tuple[str, ...]
    removed: tuple[str, ...]
    words: str = ""
    by: str = ""
    emptied: bool = False
    inferred: bool = False
    on_page: bool = False


@dataclass(frozen=True, slots=True)
class MemoryShown:
    """The memory of a pack ("" = none) in this conversation, and its newest changes.

    `undo` is the version that a button undoes, 0 = there is none; `edited` are files changed
    outside the runtime since their newest version; `undone` is the file whose change was just
    undone, `emptied` the file just emptied, "" = none; `message_id` is the message of the newest
    change, 0 = none here.
    """

    pack: str
    files: tuple[MemoryFile, ...]
    changes: tuple[MemoryChange, ...] = ()
    undo: int = 0
    edited: tuple[str, ...] = ()
    undone: str = ""
    nothing_undone: bool = False
    message_id: int = 0
    emptied: str = ""


@dataclass(frozen=True, slots=True)
class MemoryFileShown:
    """The whole of one memory file."""

    file: MemoryFile


MemoryNotice: TypeAlias = MemoryShown | MemoryFileShown
