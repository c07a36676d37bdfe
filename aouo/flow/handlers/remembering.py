"""Obeys /memory and its buttons: shows what a pack remembers here, and takes changes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo

from aouo.facts.commands import Words
from aouo.facts.errors import ToolFailed
from aouo.facts.ports import Rendered, stamp
from aouo.facts.records import Cause, Version
from aouo.facts.taps import number_in
from aouo.facts.work import Job
from aouo.flow.commands.builtin import pack_here, pick
from aouo.flow.commands.registry import CommandCall, Result
from aouo.flow.replies import Replies
from aouo.memory.keeping import Keeping
from aouo.plumbing.web.envelope import told_from
from aouo.store import memory_versions as versions
from aouo.store.chats import tenant_of
from aouo.store.database import Tx
from aouo.words import memory
from aouo.words.catalogue import say, text

_CHANGES = 3
_USAGE = "/memory, /memory undo, or /memory empty USER.md"


@dataclass(slots=True, eq=False, kw_only=True)
class Remembering:
    """Acts on the memory of the pack that a conversation is with; `zone` is for times."""

    replies: Replies
    keeping: Keeping
    zone: Callable[[], tzinfo | None]

    async def run(self, job: Job, words: Words) -> None:
        """`/memory`, `/memory undo [id]`, `/memory show <file>` and `/memory empty <file>`."""
        match (*(word.lower() for word in words.args), *words.flags):
            case ("undo",):
                await self._undo(job, 0)
            case ("undo", word) if (number := number_in(word)) is not None:
                await self._undo(job, number)
            case ("show", name):
                await self._show(job, name)
            case ():
                if where := await self._where(job):
                    await self.keeping.settle_open(*where)
                    await self._answer(job, lambda tx, call: self._card(tx, call, *where))
            case ("empty", name):
                await self._empty(job, name)
            case _:
                await self.replies.answer(job, say("commands.usage", line=_USAGE))

    async def _show(self, job: Job, name: str) -> None:
        """Show a whole file."""
        if not (where := await self._where(job)):
            return
        files = self.keeping.files(*where)

        def show(tx: Tx, call: CommandCall) -> Rendered:
            try:
                return memory.whole(files.file(name), told_from(files.shown(name)))
            except ToolFailed:
                return say("turns.unknown-button")

        await self._answer(job, show)

    async def _undo(self, job: Job, wanted: int) -> None:
        """Take the change `wanted` back, 0 = the newest that can be."""
        if not (where := await self._where(job, changes=True)):
            return
        cause = Cause("undo", person=job.inbound.person.id)
        undone, edited = await self.keeping.undo(
            *where, cause, call_id=f"undo:{job.id}", wanted=wanted
        )

        def show(tx: Tx, call: CommandCall) -> Rendered:
            if undone:
                return self._card(tx, call, *where, text("memory.undone", name=undone))
            by_hand = edited or self._edited(tx, *where)
            if by_hand:
                said = text("memory.not-undone-edited", names=", ".join(by_hand))
            elif versions.undoable(tx, *where):
                said = text("memory.not-undone-newer")
            else:
                said = text("memory.nothing-to-undo")
            return self._card(tx, call, *where, said, by_hand)

        await self._answer(job, show, beside=not undone)

    async def _empty(self, job: Job, name: str) -> None:
        """Take everything out of a file."""
        if not (where := await self._where(job, changes=True)):
            return
        cause, emptied = Cause("hand", person=job.inbound.person.id), False
        try:
            file = self.keeping.files(*where).file(name)
        except ToolFailed:
            await self.replies.answer(job, say("commands.usage", line=_USAGE))
            return
        with suppress(ToolFailed):  # it cannot be written, as the card shows
            emptied = await self.keeping.empty(*where, file, cause, call_id=f"empty:{job.id}")
        done = text("memory.emptied", name=file) if emptied else ""
        await self._answer(job, lambda tx, call: self._card(tx, call, *where, done))

    async def _where(self, job: Job, *, changes: bool = False) -> tuple[str, str] | None:
        """Return the pack here, and whose memory of it is meant; None = there is none to show or,
        off the record, to change, and the job is settled."""
        now, library = stamp(self.replies.clock), self.replies.library()

        def look(tx: Tx) -> tuple[str | None, str]:
            call = CommandCall(job.inbound, "", now, job.id)
            pack = pack_here(tx, call, library, self.replies.default())
            return pack, tenant_of(tx, job.inbound, pack or "")

        pack, tenant = await self.replies.database.read(look)
        if pack is None:
            await self.replies.command(job, lambda tx, call: pick(tx, call, library))
        elif changes and job.off_record:
            await self.replies.answer(job, say("memory.no-undo-off-record"))
        else:
            return pack, tenant
        return None

    async def _answer(
        self, job: Job, show: Callable[[Tx, CommandCall], Rendered], *, beside: bool = True
    ) -> None:
        """Answer with what `show` returns, `beside` the message whose button was tapped or in its
        place."""
        await self.replies.command(job, lambda tx, call: Result(show(tx, call), beside=beside))

    def _card(
        self,
        tx: Tx,
        call: CommandCall,
        pack: str,
        tenant: str,
        outcome: str = "",
        edited: Sequence[str] = (),
    ) -> Rendered:
        """Return what the files hold now, the newest changes, and the one that can be undone."""
        files, zone, reader = self.keeping.files(pack, tenant), self.zone(), call.inbound.person.id
        newest = versions.newest(tx, pack, tenant, _CHANGES)
        undo = versions.undoable(tx, pack, tenant)
        changes = [
            memory.change(
                version,
                datetime.fromisoformat(version.at).astimezone(zone),
                versions.words_of(tx, version),
                reader,
            )
            for version in newest
        ]
        return memory.card(
            pack,
            {name: told_from(files.shown(name)) for name in files.names},
            changes,
            undo=undo.id if undo else 0,
            edited=edited or self._edited(tx, pack, tenant),
            outcome=outcome,
            replies_to=_message_here(call, newest[0]) if newest else 0,
        )

    def _edited(self, tx: Tx, pack: str, tenant: str) -> list[str]:
        """Return the files that were edited by hand since their newest version."""
        files = self.keeping.files(pack, tenant)
        return [
            name
            for name in files.names
            if files.is_readable(name)
            and versions.is_edited(tx, pack, tenant, name, files.text(name))
        ]


def _message_here(call: CommandCall, version: Version) -> int:
    """Return the message of this chat that the change came from, 0 = none, for the card's reply."""
    address, cause = call.inbound.address, version.cause
    here = (cause.platform, cause.chat_id) == (address.platform, address.chat_id)
    return cause.message_id if here and cause.origin == "tool" else 0
