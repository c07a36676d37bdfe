"""Holds the handlers of commands that need no model and no flow, and checks that none is missing.

A handler runs inside the transaction that settles its job and queues its reply, so a command
takes effect exactly once, and a turn never races it. A look-up runs before that transaction.
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
    """One command from its lane; `now` is the time as it is stored, `job` the id of its job."""

    inbound: Inbound
    rest: str
    now: str
    job: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What to say, and what has to be done after the commit."""

    notice: Notice
    replay: bool = False  # messages that waited for a pack can go on
    stopped: int = 0  # the job at work that ends without an answer, 0 = none
    dropped: tuple[int, ...] = ()  # jobs that are over, by id


Handler: TypeAlias = Callable[[Tx, CommandCall, Library], Result]
Look: TypeAlias = Callable[[Snapshot, CommandCall, Route | None], Awaitable[Notice]]
"""Looks something up before the transaction that settles its job."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The handlers of `facts.commands` that need nothing of the flow, by the name of the command.

    Raises:
        ValueError: a handler is missing, or handles no such command; raised at start.
    """

    handlers: Mapping[str, Handler]
    lookups: Mapping[str, Look]

    def __post_init__(self) -> None:
        check_handled(self.handlers, Runs.TRANSACTION, Runs.OFF_RECORD)
        check_handled(self.lookups, Runs.LOOKUP)
