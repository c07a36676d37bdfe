"""`memory`, `memory_edits`, `journal_…`: what a pack remembers, and its shadow journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from typing import Annotated, Any, Literal

from pydantic import Field

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.facts.errors import ToolFailed
from aouo.facts.people import CONSOLIDATE_TOOLS, JOURNAL_TOOLS
from aouo.facts.ports import Clock, iso
from aouo.facts.records import Basis, JournalLine, Source
from aouo.memory import edits as apply
from aouo.memory.files import ALWAYS
from aouo.memory.keeping import Keeping
from aouo.plumbing.web.envelope import of_others, source_in
from aouo.store import journal, memory_versions
from aouo.store.database import Database, Tx

NAME, _TARGET = "memory", "target"
_SHOWN: dict[str, Any] = {"enum": list(ALWAYS)}
"""The targets that a model is shown, unless its pack keeps more files (`turn.toolbox`)."""


class Memory(Arguments):
    target: Annotated[Literal["user", "memory", "soul", "state"], Field(json_schema_extra=_SHOWN)]
    action: Literal["read", "append", "replace"]
    content: str | None = None


def with_targets(parameters: Mapping[str, Any], targets: Sequence[str]) -> dict[str, Any]:
    """Return the tool's parameters for a pack that keeps these files."""
    properties = dict(parameters["properties"])
    properties[_TARGET] = {**properties[_TARGET], "enum": list(targets)}
    return {**parameters, "properties": properties}


def memory(keeping: Keeping) -> Tool:
    async def _run(wish: Memory, context: ToolContext, call_id: str) -> str:
        pack, tenant = context.facts.pack, context.facts.tenant
        if wish.action == "read":
            return keeping.files(pack, tenant).read(wish.target) or "(empty)"
        content = wish.content
        if content is None or (wish.action == "append" and not content.strip()):
            emptied = ' ("" empties the file)' if wish.action == "replace" else ""
            raise ToolFailed(f"memory {wish.action} needs content{emptied}.")
        content = of_others(content, context.sources())
        change = keeping.append if wish.action == "append" else keeping.replace
        await change(pack, tenant, wish.target, content, turn_id=context.facts.id, call_id=call_id)
        if content.strip():
            return "saved"
        file = keeping.files(pack, tenant).file(wish.target)
        return f"{file} is empty now. Say so; the person brings it back with /memory undo."

    return tool(
        NAME,
        "Lasting notes: user = facts about the person, memory = everything else.",
        Memory,
        _run,
        sink=lambda wish: "look" if wish.action == "read" else "persist",
        targets=lambda wish: {"content": wish.content or ""},
        mutates=lambda wish: wish.action != "read",
        read_only=True,
    )


_GROUP = "consolidate"
_FILE = "MEMORY.md"
(_EDITS,) = CONSOLIDATE_TOOLS


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
        newest = await database.read(lambda tx: journal.newest_consolidation(tx, pack, tenant))
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
                lambda text, line: files.appended(_FILE, text, of_others(line, context.sources())),
            )

        try:
            changed = await keeping.edit(
                pack, tenant, _FILE, make, turn_id=context.facts.id, call_id=call_id
            )
        except ToolFailed:
            if stale:
                await database.transact(lambda tx: journal.go_stale(tx, pack, tenant))
            raise
        return "done" if changed else "Nothing was changed: all of it stands there already."

    return tool(
        _EDITS,
        f"Change {_FILE}, all edits at once.",
        MemoryEdits,
        _run,
        sink="persist",
        targets=lambda wish: {"text": [one.text for one in wish.edits]},
        group=_GROUP,
        mutates=True,
    )


def _edits(wished: Sequence[OneEdit]) -> list[apply.Edit]:
    return [apply.Edit(one.do, tuple(one.sources), one.line, one.text) for one in wished]


GROUP = "journal"
_SEARCH, _ADD = JOURNAL_TOOLS
SHOWN = 10
_LINE_CHARS = 300


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
            lambda tx: journal.newest(tx, context.facts.pack, context.facts.tenant, journal.KEPT)
        )
        words = wish.query.casefold().split()
        found = [line for line in lines if any(word in line.text.casefold() for word in words)]
        return "\n".join(map(_told, found[:SHOWN])) or "Nothing is noted about that."

    return tool(
        _SEARCH,
        "Look for what is noted already.",
        Search,
        _run,
        sink="look",
        group=GROUP,
        read_only=True,
    )


def journal_add(database: Database, clock: Clock, zone: Callable[[], tzinfo]) -> Tool:
    """Make the tool that adds a line, with the message behind it."""

    async def _run(wish: Add, context: ToolContext, call_id: str) -> str:
        text = " ".join(wish.text.split())
        if not 0 < len(text) <= _LINE_CHARS:
            raise ToolFailed(f"{_ADD} needs one line of up to {_LINE_CHARS} characters.")
        now = clock.now()
        day = now.astimezone(zone()).date().isoformat()
        kept = of_others(text, context.sources())
        line = JournalLine(0, day, kept, wish.basis, wish.message)

        def write(tx: Tx) -> None:
            origin = journal.origin_of(tx, context.facts.id, wish.message)
            if origin is None:
                raise ToolFailed(f"There is no message {wish.message} above.")
            role, said, job_id = origin
            if wish.basis == "said" and (role != "user" or source_in(said)):
                raise ToolFailed(
                    f"The person did not say message {wish.message} in their own words: its "
                    "basis is inferred."
                )
            journal.add(
                tx, context.facts.pack, context.facts.tenant, line, job_id, call_id, iso(now)
            )

        await database.transact(write)
        return "noted"

    return tool(
        _ADD,
        "Note one thing that lasts, in one line.",
        Add,
        _run,
        sink="persist",
        targets=lambda wish: {"text": wish.text},
        group=GROUP,
        mutates=True,
    )


def _told(line: JournalLine) -> str:
    """Return a line as a model reads it."""
    return f"{line.day}, {line.basis}: {line.text}"
