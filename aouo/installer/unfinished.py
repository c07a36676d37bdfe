"""Tells the owner what a start or a reload has not ended; the bot runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import astuple, dataclass
from typing import TypeAlias

from aouo.facts.errors import SetupError
from aouo.facts.records import Change, ChangeKind
from aouo.plumbing.home import Home
from aouo.plumbing.logs import log
from aouo.store import installs
from aouo.store.opening import reading

AGAIN = "Mend what it says; each start tries again, such as `aouo restart`"
UNDONE = "What was there before is as it was; ask for it once more"
_DOING: dict[ChangeKind, str] = {
    "install": "Installing",
    "upgrade": "Upgrading",
    "remove": "Removing",
}


@dataclass(frozen=True, slots=True)
class Unfinished:
    """One unfinished change: what it is, why it is unfinished, and what the owner can do."""

    what: str
    why: str
    fix: str = AGAIN

    def __str__(self) -> str:
        return f"{self.what}: {self.why.rstrip('.')}. {self.fix}."


Taking: TypeAlias = Callable[[str], AbstractAsyncContextManager[None]]
"""Runs a block that does what it is given; tells of its failure, and lets the rest go on."""


class Takeover:
    """Collects what a start, or a reload, could not finish, so that no failure ends the rest."""

    def __init__(self) -> None:
        self.unfinished: list[Unfinished] = []

    def add(self, what: str, error: BaseException, *, fix: str = AGAIN) -> None:
        found = Unfinished(what, said(error), fix)
        log.error("not_taken_up", what=what, why=found.why)
        self.unfinished.append(found)

    @asynccontextmanager
    async def of(self, what: str) -> AsyncGenerator[None]:
        """Run the block; if it fails, add it to the unfinished ones and go on."""
        try:
            yield
        except SetupError as error:
            self.add(what, error)
        except Exception as error:
            log.exception("take_over_failed", what=what, error=repr(error))
            self.add(what, error)

    @property
    def told(self) -> list[tuple[str, str, str]]:
        return [astuple(item) for item in self.unfinished]


def doing(change: Change) -> str:
    """Word a change of a pack."""
    purge = " and all that it keeps" if change.purge else ""
    return f"{_DOING[change.kind]} {change.pack}{purge}"


def said(error: BaseException) -> str:
    """Word an error for the owner."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def unfinished(home: Home) -> list[Unfinished]:
    """Return what is unfinished in a home, whether its bot runs or not; raises as `reading`."""
    return [*_changes(home)]


def _changes(home: Home) -> Iterator[Unfinished]:
    if not home.database.exists():
        return
    with reading(home.database) as tx:
        found = installs.begun(tx)
    yield from (Unfinished(doing(one), one.why) for one in found if one.why)
