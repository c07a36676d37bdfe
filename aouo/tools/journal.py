"""`journal_search` and `journal_add`: all that the turns of the shadow journal may call."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo

from aouo.facts.errors import ToolFailed
from aouo.facts.history import Basis, JournalLine
from aouo.facts.origins import JOURNAL_TOOLS
from aouo.facts.ports import Clock, iso
from aouo.store import journal as store
from aouo.store.database import Database, Tx
from aouo.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.web.envelope import source_in

GROUP = "journal"
SEARCH, ADD = JOURNAL_TOOLS
SHOWN = 10
LINE_CHARS = 300


class Search(Arguments):
    query: str


class Add(Arguments):
    text: str
    basis: Basis
    message: int
    """The number of the message it comes from."""


def journal_search(database: Database) -> Tool:
    """Make the tool that looks through the journal of this pack and tenant."""

    async def _run(wish: Search, context: ToolContext, call_id: str) -> str:
        del call_id
        lines = await database.read(
            lambda tx: store.newest(tx, context.facts.pack, context.facts.tenant, store.KEPT)
        )
        words = wish.query.casefold().split()
        found = [line for line in lines if any(word in line.text.casefold() for word in words)]
        return "\n".join(map(told, found[:SHOWN])) or "Nothing is noted about that."

    return tool(
        SEARCH, "Look for what is noted already.", Search, _run, group=GROUP, read_only=True
    )


def journal_add(database: Database, clock: Clock, zone: Callable[[], tzinfo]) -> Tool:
    """Make the tool that adds a line, with the message behind it."""

    async def _run(wish: Add, context: ToolContext, call_id: str) -> str:
        text = " ".join(wish.text.split())
        if not 0 < len(text) <= LINE_CHARS:
            raise ToolFailed(f"{ADD} needs one line of up to {LINE_CHARS} characters.")
        now = clock.now()
        day = now.astimezone(zone()).date().isoformat()
        line = JournalLine(0, day, text, wish.basis, wish.message)

        def write(tx: Tx) -> None:
            origin = store.origin_of(tx, context.facts.id, wish.message)
            if origin is None:
                raise ToolFailed(f"There is no message {wish.message} above.")
            role, said, job_id = origin
            if wish.basis == "said" and (role != "user" or source_in(said)):
                raise ToolFailed(
                    f"The person did not say message {wish.message} in their own words: its "
                    "basis is inferred."
                )
            store.add(tx, context.facts.pack, context.facts.tenant, line, job_id, call_id, iso(now))

        await database.transact(write)
        return "noted"

    return tool(
        ADD, "Note one thing that lasts, in one line.", Add, _run, group=GROUP, mutates=True
    )


def told(line: JournalLine) -> str:
    """Return a line as a model reads it."""
    return f"{line.day}, {line.basis}: {line.text}"
