"""Changes memory files; each change has a version with its cause, and can be undone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakValueDictionary

from aouo.facts.errors import Refused, ToolFailed
from aouo.facts.history import Cause, Source
from aouo.facts.ids import ulid
from aouo.facts.ports import Clock, stamp
from aouo.memory.edits import Edited, digest
from aouo.memory.files import MemoryFiles, holds_nothing
from aouo.plumbing.shield import finish
from aouo.store import memory_versions as versions
from aouo.store.database import Database, Tx

FilesOf: TypeAlias = Callable[[str, str], MemoryFiles]
"""Gives the memory files of a pack, "" = of none, for a tenant."""
_TRIES = 5


class ChangedMeanwhile(Refused):
    """The file holds another text than the person has read; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The newest change was undone; it was of this file."""

    file: str


@dataclass(frozen=True, slots=True)
class EditedMeanwhile:
    """These files were edited by hand: nothing was undone, and each edit is a version now."""

    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NothingToUndo:
    """No version can be undone, or the wanted one is not the newest any more."""


Undoing: TypeAlias = Undone | EditedMeanwhile | NothingToUndo


class Keeping:
    """Stores each change as an intent before it is made, and settles it after.

    After a kill in between, the file tells whether the change was made: `settle_open` settles it
    before the next change, and before a person is shown the files.
    """

    def __init__(self, *, database: Database, clock: Clock, files_of: FilesOf) -> None:
        self._database = database
        self._clock = clock
        self._files_of = files_of
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    def files(self, pack: str, tenant: str) -> MemoryFiles:
        """Return the files themselves, for reading."""
        return self._files_of(pack, tenant)

    async def append(
        self, pack: str, tenant: str, name: str, content: str, *, turn_id: str, call_id: str
    ) -> None:
        """Add an entry; idempotent by `call_id`.

        Raises:
            ToolFailed: nothing was changed; says what to do instead.
        """
        files = self._files_of(pack, tenant)
        await self._change(
            pack,
            tenant,
            name,
            lambda before: files.appended(name, before, content),
            lambda tx: versions.cause_of_call(tx, turn_id, call_id),
            call_id,
        )

    async def replace(
        self, pack: str, tenant: str, name: str, content: str, *, turn_id: str, call_id: str
    ) -> None:
        """Replace the file's text by `content`; otherwise as `append`."""
        after = self._files_of(pack, tenant).replaced(name, content)
        await self._change(
            pack,
            tenant,
            name,
            lambda before: after,
            lambda tx: versions.cause_of_call(tx, turn_id, call_id),
            call_id,
        )

    async def edit(
        self,
        pack: str,
        tenant: str,
        name: str,
        make: Callable[[str], Edited],
        *,
        turn_id: str,
        call_id: str,
    ) -> bool:
        """Make what `make` makes of the file's text, from the journal; False = it is as it was.
        Otherwise as `append`; what `make` raises changes nothing."""
        files, found = self._files_of(pack, tenant), list[Source]()

        def change(before: str) -> str:
            edited = make(before)
            found[:] = edited.sources
            return before if edited.text == before else files.replaced(name, edited.text)

        return await self._change(
            pack,
            tenant,
            name,
            change,
            lambda tx: Cause("consolidate", turn_id, sources=tuple(found)),
            call_id,
        )

    async def empty(self, pack: str, tenant: str, name: str, cause: Cause, *, call_id: str) -> bool:
        """Empty a file for a person; False = it was empty already. Otherwise as `append`."""

        def make(before: str) -> str:
            return before if holds_nothing(before) else ""

        return await self._change(pack, tenant, name, make, lambda tx: cause, call_id)

    async def write(
        self, pack: str, tenant: str, name: str, content: str, read: str, cause: Cause
    ) -> bool:
        """Replace the file's text by a person's, who read the text with the digest `read`; False =
        it holds theirs already.

        Raises:
            ChangedMeanwhile: it holds another text than they read.
            ToolFailed: it cannot be written.
        """
        files = self._files_of(pack, tenant)
        after = files.replaced(name, content)

        def make(before: str) -> str:
            if before != after and digest(before) != read:
                raise ChangedMeanwhile(f"{files.file(name)} was changed meanwhile.")
            return after

        return await self._change(pack, tenant, name, make, lambda tx: cause, ulid())

    async def undo(
        self, pack: str, tenant: str, cause: Cause, *, call_id: str, wanted: int = 0
    ) -> Undoing:
        """Undo the newest change; idempotent by `call_id`.

        `wanted` is the version that the person saw, 0 = whichever is the newest.
        """
        async with self._alone(pack, tenant):
            return await finish(self._undo(pack, tenant, cause, call_id, wanted))

    async def settle_open(self, pack: str, tenant: str) -> None:
        """Settle the changes that a killed process was making."""
        async with self._alone(pack, tenant):
            await self._settle_open(pack, tenant)

    async def _change(
        self,
        pack: str,
        tenant: str,
        name: str,
        make: Callable[[str], str],
        cause_of: Callable[[Tx], Cause],
        call_id: str,
    ) -> bool:
        async with self._alone(pack, tenant):
            return await finish(self._make(pack, tenant, name, make, cause_of, call_id))

    async def _make(
        self,
        pack: str,
        tenant: str,
        name: str,
        make: Callable[[str], str],
        cause_of: Callable[[Tx], Cause],
        call_id: str,
    ) -> bool:
        """Return whether this call changed the file, now or before."""
        files = self._files_of(pack, tenant)
        file = files.file(name)
        await self._settle_open(pack, tenant)
        if await self._database.read(lambda tx: versions.of_call(tx, pack, tenant, call_id)):
            return True
        for _ in range(_TRIES):
            before = files.text(file)
            after = make(before)
            if after == before:
                return False
            now = stamp(self._clock)

            def intend(tx: Tx, before: str = before, after: str = after, now: str = now) -> int:
                versions.note_hand(tx, pack, tenant, file, before, now)
                return versions.intend(
                    tx, pack, tenant, file, before, after, cause_of(tx), now, call_id=call_id
                )

            if await self._put(files, file, before, after, intend):
                return True
        raise ToolFailed(f"{file} is being changed by other hands just now. Call again.")

    async def _undo(
        self, pack: str, tenant: str, cause: Cause, call_id: str, wanted: int
    ) -> Undoing:
        await self._settle_open(pack, tenant)
        files = self._files_of(pack, tenant)
        if done := await self._database.read(
            lambda tx: versions.of_call(tx, pack, tenant, call_id)
        ):
            return Undone(done.file)
        if edited := await self._note_hands(pack, tenant, files):
            return EditedMeanwhile(edited)
        target = await self._database.read(lambda tx: versions.undoable(tx, pack, tenant))
        if target is None or (wanted and target.id != wanted):
            return NothingToUndo()
        if target.file not in files.names or not files.is_readable(target.file):
            return NothingToUndo()
        now = stamp(self._clock)

        def intend(tx: Tx) -> int:
            return versions.intend(
                tx,
                pack,
                tenant,
                target.file,
                target.after,
                target.before,
                cause,
                now,
                call_id=call_id,
                undoes=target.id,
            )

        if await self._put(files, target.file, target.after, target.before, intend):
            return Undone(target.file)
        return EditedMeanwhile(await self._note_hands(pack, tenant, files))

    async def _put(
        self,
        files: MemoryFiles,
        file: str,
        before: str,
        after: str,
        intend: Callable[[Tx], int],
    ) -> bool:
        """Store the intent, swap the file, settle: each is on disk before the next."""
        version = await self._database.transact(intend, durable=True)
        swapped = await asyncio.to_thread(files.swap, file, before, after)
        settle = versions.settle if swapped else versions.drop
        await self._database.transact(lambda tx: settle(tx, version))
        return swapped

    async def _note_hands(self, pack: str, tenant: str, files: MemoryFiles) -> tuple[str, ...]:
        """Store a version of each file that was edited by hand; return these files."""
        now = stamp(self._clock)

        def note(tx: Tx) -> tuple[str, ...]:
            return tuple(
                file
                for file in files.names
                if files.is_readable(file)
                and versions.note_hand(tx, pack, tenant, file, files.text(file), now)
            )

        return await self._database.transact(note)

    async def _settle_open(self, pack: str, tenant: str) -> None:
        if not await self._database.read(lambda tx: versions.intents(tx, pack, tenant)):
            return
        files = self._files_of(pack, tenant)

        def settle(tx: Tx) -> None:
            for version in versions.intents(tx, pack, tenant):
                made = _holds(files, version.file, version.after)
                (versions.settle if made else versions.drop)(tx, version.id)

        await self._database.transact(settle)

    def _alone(self, pack: str, tenant: str) -> asyncio.Lock:
        return self._locks.setdefault((pack, tenant), asyncio.Lock())


def _holds(files: MemoryFiles, file: str, text: str) -> bool:
    return file in files.names and files.is_readable(file) and files.text(file) == text
