"""What the runtime has to say, as facts; `outbound.wording` makes the sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Greeting:
    """Answer to /start: who we are, which pack answers here, what else there is."""

    packs: tuple[tuple[str, str], ...]
    active: str


@dataclass(frozen=True, slots=True)
class Help:
    """(name, description) of our commands and of the active pack's skills."""

    commands: tuple[tuple[str, str], ...]
    skills: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class YourId:
    id: str


@dataclass(frozen=True, slots=True)
class NotAuthorized:
    pass


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where this conversation stands; "" where nothing is chosen."""

    platform: str
    chat_id: str
    thread_id: str
    pack: str
    skill: str
    session: str
    installed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picker:
    """Choose a pack; `gone` is one that is not installed any more."""

    packs: tuple[tuple[str, str], ...]
    current: str = ""
    gone: str = ""
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    pack: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class NoSuchPack:
    name: str
    packs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoSuchSkill:
    name: str
    pack: str
    skills: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UsageOf:
    """How a command is written."""

    line: str


@dataclass(frozen=True, slots=True)
class FreshSession:
    """`kept`: there is something to go back to."""

    kept: bool


@dataclass(frozen=True, slots=True)
class Sessions:
    """Earlier sessions: (id, title, when, messages); the current one is marked."""

    items: tuple[tuple[str, str, str, int], ...]
    current: str


@dataclass(frozen=True, slots=True)
class SessionOpened:
    title: str


@dataclass(frozen=True, slots=True)
class NoSuchSession:
    pass


@dataclass(frozen=True, slots=True)
class Stopped:
    running: bool
    dropped: int


@dataclass(frozen=True, slots=True)
class NothingToRetry:
    pass


@dataclass(frozen=True, slots=True)
class OffRecord:
    """The conversation's mode has changed."""

    on: bool


@dataclass(frozen=True, slots=True)
class Erased:
    """Something said off the record that a restart left unanswered."""


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    name: str


@dataclass(frozen=True, slots=True)
class SkillOfOtherPack:
    name: str
    pack: str


@dataclass(frozen=True, slots=True)
class CannotTake:
    what: str


@dataclass(frozen=True, slots=True)
class UnknownButton:
    """A button of an earlier version."""


@dataclass(frozen=True, slots=True)
class EmptyMessage:
    pass


@dataclass(frozen=True, slots=True)
class SetAside:
    """A message that ended the process three times."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """The process was restarted in the middle of this turn."""


@dataclass(frozen=True, slots=True)
class Broken:
    """Something of ours failed before a turn could begin."""

    reference: str


Notice: TypeAlias = (
    Greeting
    | Help
    | YourId
    | NotAuthorized
    | Whereabouts
    | Picker
    | Bound
    | NoSuchPack
    | NoSuchSkill
    | UsageOf
    | FreshSession
    | Sessions
    | SessionOpened
    | NoSuchSession
    | Stopped
    | NothingToRetry
    | OffRecord
    | Erased
    | UnknownCommand
    | SkillOfOtherPack
    | CannotTake
    | UnknownButton
    | EmptyMessage
    | SetAside
    | Resumed
    | Broken
)
