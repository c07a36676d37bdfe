"""Obeys /memory and its buttons: shows whole files, and takes changes back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo

from aouo.commands import memory
from aouo.commands.builtin import pack_here, pick
from aouo.commands.registry import CommandCall, Result
from aouo.facts import notices
from aouo.facts.commands import Words
from aouo.facts.errors import ToolFailed
from aouo.facts.history import Cause
from aouo.facts.notices_memory import MemoryFileShown
from aouo.facts.ports import Clock, stamp
from aouo.facts.work import Job
from aouo.flow.replies import Replies
from aouo.memory.keeping import EditedMeanwhile, Keeping, NothingToUndo, Undoing, Undone
from aouo.store.database import Database, Tx
from aouo.store.tenants import tenant_of

_USAGE = notices.UsageOf("/memory, /memory undo, or /memory empty USER.md")


class Remembering:
    """Acts on the memory of the pack that a conversation is with; `zone` is for times."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        replies: Replies,
        keeping: Keeping,
        zone: Callable[[], tzinfo | None],
    ) -> None:
        self._database = database
        self._clock = clock
        self._replies = replies
        self._keeping = keeping
        self._zone = zone

    async def run(self, job: Job, words: Words) -> None:
        """`/memory`, `/memory undo [id]`, `/memory show <file>` and `/memory empty <file>`."""
        match (*(word.lower() for word in words.args), *words.flags):
            case ("undo",):
                await self._undo(job, 0)
            case ("undo", number) if number.isdecimal():
                await self._undo(job, int(number[:18]))
            case ("show", _):
                await self._show(job, words.args[1])
            case ():
                await self._settle_open(job)
                await self._replies.command(job, self._card)
            case ("empty", _):
                await self._empty(job, words.args[1])
            case _:
                await self._replies.answer(job, _USAGE)

    def _card(self, tx: Tx, call: CommandCall) -> Result:
        pack = pack_here(tx, call, self._replies.library)
        if pack is None:
            return pick(tx, call, self._replies.library)
        files = self._keeping.files(pack, tenant_of(tx, call.inbound))
        return Result(memory.card(tx, call, pack, files, self._zone()))

    async def _show(self, job: Job, name: str) -> None:
        """Show a whole file."""

        def show(tx: Tx, call: CommandCall) -> Result:
            pack = pack_here(tx, call, self._replies.library)
            if pack is None:
                return pick(tx, call, self._replies.library)
            files = self._keeping.files(pack, tenant_of(tx, call.inbound))
            try:
                return Result(MemoryFileShown(memory.kept(files, name)), beside=True)
            except ToolFailed:
                return Result(notices.Plain.UNKNOWN_BUTTON, beside=True)

        await self._replies.command(job, show)

    async def _undo(self, job: Job, wanted: int) -> None:
        """Take the change `wanted` back, 0 = the newest that can be."""
        pack, tenant = await self._where(job)
        undoing: Undoing = NothingToUndo()
        off_record = job.off_record
        if pack is not None and not off_record:
            cause = Cause("undo", person=job.inbound.person.id)
            undoing = await self._keeping.undo(
                pack, tenant, cause, call_id=f"undo:{job.id}", wanted=wanted
            )

        def show(tx: Tx, call: CommandCall) -> Result:
            if pack is None:
                return pick(tx, call, self._replies.library)
            if off_record:
                return Result(notices.Plain.NO_UNDO_OFF_RECORD)
            return Result(
                memory.card(
                    tx,
                    call,
                    pack,
                    self._keeping.files(pack, tenant),
                    self._zone(),
                    undone=undoing.file if isinstance(undoing, Undone) else "",
                    nothing_undone=not isinstance(undoing, Undone),
                    edited=undoing.files if isinstance(undoing, EditedMeanwhile) else (),
                ),
                beside=not isinstance(undoing, Undone),
            )

        await self._replies.command(job, show)

    async def _empty(self, job: Job, name: str) -> None:
        """Take everything out of a file."""
        pack, tenant = await self._where(job)
        file, emptied, off_record = "", False, job.off_record
        if pack is not None and not off_record:
            cause = Cause("hand", person=job.inbound.person.id)
            try:
                file = self._keeping.files(pack, tenant).file(name)
                emptied = await self._keeping.empty(
                    pack, tenant, file, cause, call_id=f"empty:{job.id}"
                )
            except ToolFailed:  # no such file, or one that cannot be written, as the card shows
                pass

        def show(tx: Tx, call: CommandCall) -> Result:
            if pack is None:
                return pick(tx, call, self._replies.library)
            if off_record:
                return Result(notices.Plain.NO_UNDO_OFF_RECORD)
            if not file:
                return Result(_USAGE)
            files, done = self._keeping.files(pack, tenant), file if emptied else ""
            card = memory.card(tx, call, pack, files, self._zone(), emptied=done)
            return Result(card, beside=True)

        await self._replies.command(job, show)

    async def _settle_open(self, job: Job) -> None:
        pack, tenant = await self._where(job)
        if pack is not None:
            await self._keeping.settle_open(pack, tenant)

    async def _where(self, job: Job) -> tuple[str | None, str]:
        now = stamp(self._clock)

        def look(tx: Tx) -> tuple[str | None, str]:
            call = CommandCall(job.inbound, "", now, job.id)
            return pack_here(tx, call, self._replies.library), tenant_of(tx, job.inbound)

        return await self._database.read(look)
