"""The handlers of commands that need no model and no flow, and that none of them is missing.

A handler runs inside the transaction that settles its job and queues its reply, so a command
takes effect exactly once, and a turn never races it. What only looks something up does so before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from aouo.facts.commands import Runs, check_handled
from aouo.facts.events import Inbound
from aouo.facts.notices import Notice
from aouo.facts.work import Route
from aouo.packs.library import Library
from aouo.store.database import Tx
from aouo.store.snapshots import Snapshot


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One command as it reached its lane; `now` is the stored form of the time, `job` its job."""

    inbound: Inbound
    rest: str
    now: str
    job: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What to say, and what the lane has to do once the transaction is committed."""

    notice: Notice
    replay: bool = False  # messages that waited for a pack can go on
    stopped: int = 0  # the job at work that ends without an answer, 0 = none
    dropped: tuple[int, ...] = ()  # jobs that are over, by id


Handler: TypeAlias = Callable[[Tx, CommandCall, Library], Result]
Look: TypeAlias = Callable[[Snapshot, CommandCall, Route | None], Awaitable[Notice]]
"""What looks before the transaction that settles its job."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The handlers of `facts.commands` that need nothing of the flow, by the name of the command.

    Raises:
        ValueError: one is missing, or handles no such command; found at start.
    """

    handlers: Mapping[str, Handler]
    lookups: Mapping[str, Look]

    def __post_init__(self) -> None:
        check_handled(self.handlers, Runs.TRANSACTION, Runs.OFF_RECORD)
        check_handled(self.lookups, Runs.LOOKUP)
