"""Notices about what begins by itself and what is at work, as facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

PAGE = 8
"""How many schedules one message shows."""


@dataclass(frozen=True, slots=True)
class ScheduleLine:
    """One schedule: `when`, `due` and `last_at` in words ("" = off or over; never); `paused` and
    `last_state` as they are stored. `proposed`: it comes with its pack, so it cannot be removed."""

    id: str
    name: str
    pack: str
    when: str
    due: str
    paused: str
    last_at: str = ""
    last_state: str = ""
    proposed: bool = False


@dataclass(frozen=True, slots=True)
class Schedules:
    """The schedules of a conversation; `forbidden` names its pack if that may not use them.

    `page` counts from 0. `said` is a sentence above the list: what was done, or why it was not.
    `off`: the owner has switched all schedules off.
    """

    lines: tuple[ScheduleLine, ...]
    forbidden: str = ""
    page: int = 0
    said: str = ""
    off: bool = False


@dataclass(frozen=True, slots=True)
class ScheduleMade:
    """A schedule was made; `times` are its next ones in words, in the zone that is named.

    `off`: the owner has switched all schedules off.
    """

    line: ScheduleLine
    times: tuple[str, ...]
    zone: str
    off: bool = False


@dataclass(frozen=True, slots=True)
class ScheduleRefusal:
    """A schedule was not made or changed; `why` is one sentence."""

    why: str


@dataclass(frozen=True, slots=True)
class RemovalAsked:
    """The question whether to remove a schedule."""

    line: ScheduleLine


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run: when it was due, in words, how it ended, and why."""

    at: str
    state: str
    why: str = ""
    tries: int = 0
    missed: int = 0


@dataclass(frozen=True, slots=True)
class ScheduleHistory:
    """The newest runs of a schedule, newest first."""

    line: ScheduleLine
    runs: tuple[PastRun, ...]


@dataclass(frozen=True, slots=True)
class WorkLine:
    """One job at work: the run of a schedule `name`, or an answer to the person of that name.

    `since` is a time of day. `where` names its conversation if that is another one. `may_stop`:
    whoever asks may stop it.
    """

    job_id: int
    name: str
    is_run: bool
    since: str
    where: str = ""
    may_stop: bool = True


@dataclass(frozen=True, slots=True)
class AtWork:
    """What is at work, how much waits, and what comes next (name, when), in words.

    `kept` results wait for the digest of `kept_until`. `asked`: one of them was to be stopped; what
    became of that.
    """

    works: tuple[WorkLine, ...]
    waiting: int
    upcoming: tuple[tuple[str, str], ...]
    asked: Literal["", "stopped", "over", "not yours"] = ""
    kept: int = 0
    kept_until: str = ""


ScheduleNotice: TypeAlias = (
    Schedules | ScheduleMade | ScheduleRefusal | RemovalAsked | ScheduleHistory | AtWork
)
