"""/memory and its buttons: showing whole files, and taking changes back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo

from aouo.commands import memory
from aouo.commands.builtin import pack_here, pick
from aouo.commands.registry import Call, Result
from aouo.facts import notices
from aouo.facts.errors import ToolFailed
from aouo.facts.events import Button
from aouo.facts.history import Cause
from aouo.facts.ports import Clock, stamp
from aouo.facts.work import Job
from aouo.flow.desk import Desk
from aouo.memory.keeping import EditedMeanwhile, Keeping, NothingToUndo, Undoing, Undone
from aouo.store.database import Database, Tx
from aouo.store.owners import owner_of

_USAGE = notices.UsageOf("/memory, /memory undo, or /memory empty USER.md")


class Remembering:
    """Acts on the memory of the pack that a conversation is with; `zone` is for times."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        desk: Desk,
        keeping: Keeping,
        zone: Callable[[], tzinfo | None],
    ) -> None:
        self._database = database
        self._clock = clock
        self._desk = desk
        self._keeping = keeping
        self._zone = zone

    async def run(self, job: Job, rest: str) -> None:
        """`/memory`, `/memory undo` and `/memory empty <file>`."""
        match rest.lower().split():
            case ["undo"]:
                await self.undo(job, 0)
            case []:
                await self._settle_open(job)
                await self._desk.command(job, self._card)
            case ["empty", name]:
                await self.empty(job, name)
            case _:
                await self._desk.answer(job, _USAGE)

    def _card(self, tx: Tx, call: Call) -> Result:
        pack = pack_here(tx, call, self._desk.library)
        if pack is None:
            return pick(tx, call, self._desk.library)
        files = self._keeping.files(pack, owner_of(tx, call.inbound))
        return Result(memory.card(tx, call, pack, files, self._zone()))

    async def show(self, job: Job, name: str) -> None:
        """Show a whole file."""

        def show(tx: Tx, call: Call) -> Result:
            pack = pack_here(tx, call, self._desk.library)
            if pack is None:
                return pick(tx, call, self._desk.library)
            files = self._keeping.files(pack, owner_of(tx, call.inbound))
            try:
                return Result(notices.MemoryFileShown(memory.kept(files, name)))
            except ToolFailed:
                return Result(notices.UnknownButton())

        await self._desk.command(job, show)

    async def undo(self, job: Job, wanted: int) -> None:
        """Take the change `wanted` back, 0 = the newest that can be."""
        pack, owner = await self._where(job)
        undoing: Undoing = NothingToUndo()
        off_record = job.off_record
        if pack is not None and not off_record:
            cause = Cause("undo", person=job.inbound.person.id)
            undoing = await self._keeping.undo(
                pack, owner, cause, call_id=f"undo:{job.id}", wanted=wanted
            )

        def show(tx: Tx, call: Call) -> Result:
            if pack is None:
                return pick(tx, call, self._desk.library)
            if off_record:
                return Result(notices.NoUndoOffRecord())
            return Result(
                memory.card(
                    tx,
                    call,
                    pack,
                    self._keeping.files(pack, owner),
                    self._zone(),
                    undone=undoing.file if isinstance(undoing, Undone) else "",
                    nothing_undone=not isinstance(undoing, Undone),
                    edited=undoing.files if isinstance(undoing, EditedMeanwhile) else (),
                )
            )

        tapped = isinstance(job.inbound.content, Button) and isinstance(undoing, Undone)
        await self._desk.command(job, show, instead_of=job.inbound.message_id if tapped else 0)

    async def empty(self, job: Job, name: str) -> None:
        """Take everything out of a file."""
        pack, owner = await self._where(job)
        file, emptied, off_record = "", False, job.off_record
        if pack is not None and not off_record:
            cause = Cause("hand", person=job.inbound.person.id)
            try:
                file = self._keeping.files(pack, owner).file(name)
                emptied = await self._keeping.empty(
                    pack, owner, file, cause, call_id=f"empty:{job.id}"
                )
            except ToolFailed:  # no such file, or one that cannot be written, as the card shows
                pass

        def show(tx: Tx, call: Call) -> Result:
            if pack is None:
                return pick(tx, call, self._desk.library)
            if off_record:
                return Result(notices.NoUndoOffRecord())
            if not file:
                return Result(_USAGE)
            files, done = self._keeping.files(pack, owner), file if emptied else ""
            return Result(memory.card(tx, call, pack, files, self._zone(), emptied=done))

        await self._desk.command(job, show)

    async def _settle_open(self, job: Job) -> None:
        pack, owner = await self._where(job)
        if pack is not None:
            await self._keeping.settle_open(pack, owner)

    async def _where(self, job: Job) -> tuple[str | None, str]:
        now = stamp(self._clock)

        def look(tx: Tx) -> tuple[str | None, str]:
            call = Call(job.inbound, "", now, job.id)
            return pack_here(tx, call, self._desk.library), owner_of(tx, job.inbound)

        return await self._database.read(look)
