"""`undo`: puts back what a call changed, whatever that was, so that it can be put back itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from aouo.agent.tools.kept_files import CHANGED_SINCE, KeptFiles
from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.agent.tools.reminders import Reminders
from aouo.facts.errors import ToolFailed
from aouo.facts.ports import Clock, iso, stamp
from aouo.facts.records import AuditEntry, Cause, Effect
from aouo.facts.work import Job
from aouo.guard.prepared import digest
from aouo.memory.keeping import Keeping
from aouo.packs.data.storage import PackStore
from aouo.plumbing.logs import log
from aouo.schedules.service import ScheduleRefused, Schedules
from aouo.store import audit, kept_changes, schedules, turns
from aouo.store.chats import tenant_of
from aouo.store.database import Database, Tx
from aouo.store.kept_changes import Kept
from aouo.words.catalogue import text

UNDO = "undo"
"""The name of the tool, and its group: no model is told of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoing:
    """Knows what each kind of change takes to be put back: rows of packs, reminders, memory, files,
    schedules. `is_loaded` tells whether there is a pack."""

    database: Database
    clock: Clock
    open_store: Callable[[str, str], PackStore]
    is_loaded: Callable[[str], bool]
    keeping: Keeping
    files: KeptFiles
    reminders: Reminders
    schedules: Schedules

    async def undoable(self, call_id: str) -> bool:
        """Whether a call changed something, and all of it can be put back as things are."""
        if (where := await self._where(call_id)) is None:
            return False
        with suppress(ToolFailed):
            rows: bool | None = None
            if self.is_loaded(where[0]):
                store = await asyncio.to_thread(self.open_store, *where)
                rows = await asyncio.to_thread(store.undoable, call_id) or None
            found = (
                rows,
                await self.keeping.undoable(*where, call_id),
                await self.files.undoable(call_id),
                await self.database.read(lambda tx: _stand(tx, call_id)),
            )
            return any(found) and False not in found
        return False

    async def has_lost(self, call_id: str) -> bool:
        """Whether how a call's rows were before is not known, or does not fit any more."""
        where = await self._where(call_id)
        if where is None or not self.is_loaded(where[0]):
            return where is None
        with suppress(ToolFailed):
            store = await asyncio.to_thread(self.open_store, *where)
            return await asyncio.to_thread(store.has_lost, call_id)
        return True

    async def put_back(self, call_id: str, by: str, cause: Cause) -> None:
        """Put back what a call changed, as the call `by`; twice is once.

        Raises:
            ToolFailed: it changed nothing that is known, or that was changed since.
        """
        if (where := await self._where(call_id)) is None:
            raise ToolFailed("There is no such call any more.")
        found = [
            await self.keeping.undoable(*where, call_id) is not None
            and await self._memory(*where, call_id, by, cause),
            await self.files.put_back(call_id, by),
            await self.database.transact(lambda tx: self._schedule(tx, call_id, by), durable=True),
            self.is_loaded(where[0]) and await self._rows(*where, call_id, by),
        ]
        if not any(found):
            raise ToolFailed("There is nothing of it that could be put back.")

    async def with_replaced(self, call_id: str) -> list[str]:
        """Return the calls to be put back with one: also that which put back what it replaced."""
        undone = await self.database.read(lambda tx: turns.undone_before(tx, call_id))
        return [call_id, undone] if undone else [call_id]

    async def take_back(self, effect: Effect, job: Job) -> None:
        """Put back what a call changed, since a person's tap that is this job wants it.

        Raises:
            ToolFailed: as `put_back`.
        """
        for call_id in await self.with_replaced(effect.id):
            cause = Cause("undo", person=job.inbound.person.id)
            await self.put_back(call_id, f"{call_id}/{job.id}", cause)
        number, given = f"{effect.id}/{job.id}", digest(UNDO, {"call": effect.id})
        said = job.inbound.origin, given, "a person's tap put it back"
        row = AuditEntry("EXECUTED", "", number, number, UNDO, effect.pack, *said, sink="own")
        await self.database.transact(lambda tx: audit.append(tx, row, iso(self.clock.now())))

    async def _memory(self, pack: str, tenant: str, call_id: str, by: str, cause: Cause) -> bool:
        if not await self.keeping.put_back(pack, tenant, call_id, cause, by=by):
            raise ToolFailed(CHANGED_SINCE)
        return True

    async def _rows(self, pack: str, tenant: str, call_id: str, by: str) -> bool:
        """Put back the rows, and what was done with reminders, which cannot be done once more."""
        store = await asyncio.to_thread(self.open_store, pack, tenant)
        elsewhere = await asyncio.to_thread(store.noted, call_id)
        if elsewhere:
            await self.reminders.put_back(elsewhere)
        if not elsewhere and not await asyncio.to_thread(store.knows, call_id):
            return False
        now, by = stamp(self.clock), "" if elsewhere else by
        await asyncio.to_thread(lambda: store.undo(call_id, now, by=by))
        return True

    def _schedule(self, tx: Tx, call_id: str, by: str) -> bool:
        kept = _schedules(tx, call_id)
        if not kept or _schedules(tx, by):
            return bool(kept)
        now = self.clock.now()
        for one in kept:
            if schedules.written(tx, one.name) != one.after:
                raise ToolFailed(CHANGED_SINCE)
            before = (one.before or b"").decode()
            try:
                self.schedules.put_back(tx, one.name, before, now)
            except ScheduleRefused as error:
                raise ToolFailed(str(error)) from error
            held = one.after.encode() if one.after else None
            after = schedules.written(tx, one.name)
            kept_changes.keep(tx, by, Kept("schedule", one.name, held, after), iso(now))
        return True

    async def _where(self, call_id: str) -> tuple[str, str] | None:
        """Return the pack and the tenant of a call's turn."""

        def look(tx: Tx) -> tuple[str, str] | None:
            found = turns.asked_for(tx, call_id)
            if found is None:
                return None
            pack, tenant, asked = found
            return pack, tenant or tenant_of(tx, asked, pack)

        return await self.database.read(look)


def _schedules(tx: Tx, call_id: str) -> list[Kept]:
    return [one for one in kept_changes.of_call(tx, call_id) if one.kind == "schedule"]


def _stand(tx: Tx, call_id: str) -> bool | None:
    """Whether the schedules that a call changed are as it left them, None = it changed none."""
    kept = _schedules(tx, call_id)
    return all(schedules.written(tx, one.name) == one.after for one in kept) if kept else None


class _Undo(Arguments):
    call: str
    """The id of the call, or of several, the newest first."""
    what: str = ""
    """What that was, for whoever did not say it, "" = nobody has to be told."""
    again: bool = False
    """Whether it is an undo itself that is put back, so that what it undid stands again."""


def undo(undoing: Undoing) -> Tool:
    """Make the tool."""

    async def run(wish: _Undo, context: ToolContext, call_id: str) -> str:
        calls = wish.call.split()
        cause = Cause("undo", context.facts.id, context.facts.person.id)
        for number, call in enumerate(calls):
            by = call_id if len(calls) == 1 else f"{call_id}.{number}"
            try:
                await undoing.put_back(call, by, cause)
            except ToolFailed as error:
                log.info("not_undone", call=call, why=str(error))
                lost = await undoing.has_lost(call)
                raise ToolFailed(
                    text("actions.not-kept" if lost else "actions.not-undone")
                ) from error
        if wish.what:
            return text("actions.undone-named", what=wish.what)
        return text("actions.redone" if wish.again else "actions.undone")

    return tool(
        UNDO, "Put back what a call changed.", _Undo, run, sink="own", group=UNDO, mutates=True
    )
