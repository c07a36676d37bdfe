"""What there is to say about installing packs in a chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class InstallUsage:
    """`/install` without anything; `bundled` are packs that come along and are not installed."""

    bundled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PackOffered:
    """A question to the owner; `card` is Markdown that says what the pack may do.

    `older`: it would take the place of a later version.
    """

    change: str
    card: str
    upgrade: bool
    older: bool = False


@dataclass(frozen=True, slots=True)
class PackInstalled:
    """`open_here`: it can be talked to in this chat, which has no topic for it."""

    pack: str
    version: str
    upgraded: bool = False
    open_here: bool = True


@dataclass(frozen=True, slots=True)
class InstalledAlready:
    pack: str
    version: str


@dataclass(frozen=True, slots=True)
class PackDeclined:
    pack: str


@dataclass(frozen=True, slots=True)
class NotInstalled:
    """`why` is whole sentences: what is wrong, and what helps."""

    why: str


InstallNotice: TypeAlias = (
    InstallUsage | PackOffered | PackInstalled | InstalledAlready | PackDeclined | NotInstalled
)
