"""`memory_edits`: all that the turns of consolidation may call; it changes MEMORY.md once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from aouo.facts.errors import ToolFailed
from aouo.facts.history import Basis, Source
from aouo.facts.origins import CONSOLIDATE_TOOLS
from aouo.memory import edits as apply
from aouo.memory.keeping import Keeping
from aouo.store import consolidations, journal, memory_versions
from aouo.store.database import Database
from aouo.tools.registry import Arguments, Tool, ToolContext, tool

_GROUP = "consolidate"
_FILE = "MEMORY.md"
(NAME,) = CONSOLIDATE_TOOLS


class OneEdit(Arguments):
    do: Literal["add", "replace", "drop"]
    sources: list[int]
    """Numbers of journal lines."""
    line: int = 0
    """Number of the line of MEMORY.md."""
    text: str = ""


class MemoryEdits(Arguments):
    edits: list[OneEdit]


def memory_edits(database: Database, keeping: Keeping) -> Tool:
    """Make the tool. Edits of a file that was changed since it was shown change nothing."""

    async def _run(wish: MemoryEdits, context: ToolContext, call_id: str) -> str:
        pack, tenant = context.facts.pack, context.facts.tenant
        newest = await database.read(lambda tx: consolidations.newest(tx, pack, tenant))
        if newest is None:
            raise ToolFailed("There is nothing to work in.")
        upto, asked, shown = newest
        lines = await database.read(
            lambda tx: journal.oldest(tx, pack, tenant, journal.KEPT, after=upto)
        )
        known: dict[int, Basis] = {line.id: line.basis for line in lines if line.id <= asked}
        inferred = await database.read(lambda tx: memory_versions.inferred(tx, pack, tenant, _FILE))
        files = keeping.files(pack, tenant)
        stale = False

        def make(before: str) -> tuple[str, tuple[Source, ...]]:
            nonlocal stale
            if apply.digest(before) != shown:
                stale = True
                raise ToolFailed(
                    f"{_FILE} was changed meanwhile. Nothing was changed; answer DONE."
                )
            return apply.edited(
                before,
                _edits(wish.edits),
                known,
                inferred,
                lambda text, line: files.appended(_FILE, text, line),
            )

        try:
            changed = await keeping.edit(
                pack, tenant, _FILE, make, turn_id=context.facts.id, call_id=call_id
            )
        except ToolFailed:
            if stale:
                await database.transact(lambda tx: consolidations.go_stale(tx, pack, tenant))
            raise
        return "done" if changed else "Nothing was changed: all of it stands there already."

    return tool(
        NAME, f"Change {_FILE}, all edits at once.", MemoryEdits, _run, group=_GROUP, mutates=True
    )


def _edits(wished: Sequence[OneEdit]) -> list[apply.Edit]:
    return [apply.Edit(one.do, tuple(one.sources), one.line, one.text) for one in wished]
