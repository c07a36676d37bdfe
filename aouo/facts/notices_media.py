"""Notices about files that people send, and about hearing and seeing, as facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from aouo.facts.errors import Refused

Trouble: TypeAlias = Literal[
    "busy", "used up", "late", "key", "money", "setting", "large", "refused", "silent", "broken"
]
"""Why a service failed, as far as a person can act on it."""

Lack: TypeAlias = Literal["unset", "not_installed", "no_model"]
"""Why speech is missing: it has no key or is switched off; it is to run on this machine, and its
packages are not installed, or the configured model is not there."""
VOICE_INSTALL = "scripts/setup voice"
"""The command that installs speech without a service."""


@dataclass(frozen=True, slots=True)
class FileTooLarge:
    """The file is larger than the server gives to bots; `what` is people's word for it."""

    what: str
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class FileIsGone:
    """The platform does not have the file any more."""

    what: str


@dataclass(frozen=True, slots=True)
class FileNotReached:
    """The file could not be downloaded, also after retries."""

    what: str


@dataclass(frozen=True, slots=True)
class FilesTookTooLong:
    """A turn used its whole time to wait for its files."""


@dataclass(frozen=True, slots=True)
class HearingNotSetUp:
    what: str
    lack: Lack = "unset"


@dataclass(frozen=True, slots=True)
class NotHeard:
    """Speech recognition failed."""

    what: str
    why: Trouble


@dataclass(frozen=True, slots=True)
class NothingHeard:
    """The recording has no words, or none that can be understood (`unclear`)."""

    what: str
    unclear: bool = False


@dataclass(frozen=True, slots=True)
class SeeingNotSetUp:
    """Neither the model nor another configured one can see."""


@dataclass(frozen=True, slots=True)
class NotSeen:
    """The model that describes pictures failed."""

    why: Trouble


@dataclass(frozen=True, slots=True)
class MediaRefused:
    """A limit was reached before the turn could begin."""

    error: Refused


MediaNotice: TypeAlias = (
    FileTooLarge
    | FileIsGone
    | FileNotReached
    | FilesTookTooLong
    | HearingNotSetUp
    | NotHeard
    | NothingHeard
    | SeeingNotSetUp
    | NotSeen
    | MediaRefused
)
