"""Notices about installing packs in a chat, as facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class InstallUsage:
    """Answer to `/install` alone; `bundled` are packs that come with aouo, not yet installed."""

    bundled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PackOffered:
    """The question whether to install a pack; `card` is Markdown that says what it may do.

    `older`: it would replace a later version.
    """

    change: str
    card: str
    upgrade: bool
    older: bool = False


@dataclass(frozen=True, slots=True)
class PackInstalled:
    """A pack was installed; `open_here`: it can answer in this chat, which has no topic for it."""

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
    """A pack was not installed; `why` is whole sentences: what is wrong, and what helps."""

    why: str


InstallNotice: TypeAlias = (
    InstallUsage | PackOffered | PackInstalled | InstalledAlready | PackDeclined | NotInstalled
)
