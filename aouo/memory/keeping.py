"""Changes memory files; each change has a version with its cause, and can be undone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias
from weakref import WeakValueDictionary

from aouo.facts.errors import Refused, ToolFailed
from aouo.facts.ids import ulid
from aouo.facts.ports import Clock, stamp
from aouo.facts.records import Cause, Source, Version
from aouo.memory.edits import digest
from aouo.memory.files import MemoryFiles, holds_nothing
from aouo.plumbing.waiting import finish
from aouo.store import memory_versions as versions
from aouo.store.database import Database, Tx

_FilesOf: TypeAlias = Callable[[str, str], MemoryFiles]
"""Gives the memory files of a pack, "" = of none, for a tenant."""
_TRIES = 5


class ChangedMeanwhile(Refused):
    """The file holds another text than the person has read; nothing was changed."""


@dataclass(slots=True, eq=False, kw_only=True)
class Keeping:
    """Stores each change as an intent before it is made, and settles it after.

    `files` gives the files themselves, for reading. After a kill in between, the file tells whether
    the change was made: `settle_open` settles it before the next change, and before a person is
    shown the files.
    """

    database: Database
    clock: Clock
    files: _FilesOf
    _locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = field(
        init=False, default_factory=WeakValueDictionary[tuple[str, str], asyncio.Lock]
    )

    async def append(
        self, pack: str, tenant: str, name: str, content: str, *, turn_id: str, call_id: str
    ) -> None:
        """Add an entry; idempotent by `call_id`.

        Raises:
            ToolFailed: nothing was changed; says what to do instead.
        """
        files = self.files(pack, tenant)

        def make(before: str) -> str:
            return files.appended(name, before, content)

        await self._change(pack, tenant, name, make, _of_call(turn_id, call_id), call_id)

    async def replace(
        self, pack: str, tenant: str, name: str, content: str, *, turn_id: str, call_id: str
    ) -> None:
        """Replace the file's text by `content`; otherwise as `append`."""
        after = self.files(pack, tenant).replaced(name, content)
        cause = _of_call(turn_id, call_id)
        await self._change(pack, tenant, name, lambda before: after, cause, call_id)

    async def edit(
        self,
        pack: str,
        tenant: str,
        name: str,
        make: Callable[[str], tuple[str, tuple[Source, ...]]],
        *,
        turn_id: str,
        call_id: str,
    ) -> bool:
        """Make what `make` makes of the file's text, from the journal; False = it is as it was.

        `make` returns the new text and its sources; what it raises changes nothing. Otherwise as
        `append`.
        """
        files, sources = self.files(pack, tenant), list[Source]()

        def change(before: str) -> str:
            after, sources[:] = make(before)
            return before if after == before else files.replaced(name, after)

        def cause(tx: Tx) -> Cause:
            return Cause("consolidate", turn_id, sources=tuple(sources))

        return await self._change(pack, tenant, name, change, cause, call_id)

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
        files = self.files(pack, tenant)
        after = files.replaced(name, content)

        def make(before: str) -> str:
            if before != after and digest(before) != read:
                raise ChangedMeanwhile(f"{files.file(name)} was changed meanwhile.")
            return after

        return await self._change(pack, tenant, name, make, lambda tx: cause, ulid())

    async def undo(
        self, pack: str, tenant: str, cause: Cause, *, call_id: str, wanted: int = 0
    ) -> tuple[str, tuple[str, ...]]:
        """Undo the newest change; idempotent by `call_id`.

        `wanted` is the version that the person saw, 0 = whichever is the newest.

        Returns:
            The file whose change was undone, "" = none was: no version can be undone, or the wanted
            one is not the newest any more. Then the files that were edited by hand: nothing was
            undone because of them, and each edit is a version now.
        """
        async with self._alone(pack, tenant):
            return await finish(self._undo(pack, tenant, cause, call_id, wanted))

    async def undoable(self, pack: str, tenant: str, call_id: str) -> bool | None:
        """Whether a file is as a call left it, None = the call changed none."""
        done = await self._made(pack, tenant, call_id)
        return None if done is None else self._holds(pack, tenant, done)

    async def put_back(
        self, pack: str, tenant: str, call_id: str, cause: Cause, *, by: str
    ) -> bool:
        """Undo what one call changed, as the call `by`, which can be undone in the same way; twice
        is once. False = the file was changed since."""

        async def change() -> bool:
            await self._settle_open(pack, tenant)
            done = await self._made(pack, tenant, call_id)
            if done is None or await self._made(pack, tenant, by):
                return done is not None
            texts = (done.after, done.before)
            return self._holds(pack, tenant, done) and await self._put(
                pack, tenant, done.file, texts, lambda tx: cause, by, undoes=done.id
            )

        async with self._alone(pack, tenant):
            return await finish(change())

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
        """Return whether this call changed the file, now or before."""
        files = self.files(pack, tenant)
        file = files.file(name)

        async def change() -> bool:
            await self._settle_open(pack, tenant)
            if await self._made(pack, tenant, call_id):
                return True
            for _ in range(_TRIES):
                before = files.text(file)
                after = make(before)
                if after == before:
                    return False
                if await self._put(pack, tenant, file, (before, after), cause_of, call_id):
                    return True
            raise ToolFailed(f"{file} is being changed by other hands just now. Call again.")

        async with self._alone(pack, tenant):
            return await finish(change())

    async def _undo(
        self, pack: str, tenant: str, cause: Cause, call_id: str, wanted: int
    ) -> tuple[str, tuple[str, ...]]:
        await self._settle_open(pack, tenant)
        if done := await self._made(pack, tenant, call_id):
            return done.file, ()
        if edited := await self._note_hands(pack, tenant):
            return "", edited
        last = await self.database.read(lambda tx: versions.undoable(tx, pack, tenant))
        if last is None or (wanted and last.id != wanted):
            return "", ()
        files, file = self.files(pack, tenant), last.file
        if file not in files.names or not files.is_readable(file):
            return "", ()
        if await self._put(
            pack, tenant, file, (last.after, last.before), lambda tx: cause, call_id, undoes=last.id
        ):
            return file, ()
        return "", await self._note_hands(pack, tenant)

    async def _made(self, pack: str, tenant: str, call_id: str) -> Version | None:
        """Return the change that a call made before."""
        return await self.database.read(lambda tx: versions.of_call(tx, pack, tenant, call_id))

    async def _put(
        self,
        pack: str,
        tenant: str,
        file: str,
        texts: tuple[str, str],
        cause_of: Callable[[Tx], Cause],
        call_id: str,
        *,
        undoes: int = 0,
    ) -> bool:
        """Store the intent, swap the file's text before for that after, settle: each is on disk
        before the next."""
        files, (before, after), now = self.files(pack, tenant), texts, stamp(self.clock)

        def intend(tx: Tx) -> int:
            versions.note_hand(tx, pack, tenant, file, before, now)
            cause = cause_of(tx)
            return versions.intend(
                tx, pack, tenant, file, before, after, cause, now, call_id=call_id, undoes=undoes
            )

        version = await self.database.transact(intend, durable=True)
        swapped = await asyncio.to_thread(files.swap, file, before, after)
        settle = versions.settle if swapped else versions.drop
        await self.database.transact(lambda tx: settle(tx, version))
        return swapped

    async def _note_hands(self, pack: str, tenant: str) -> tuple[str, ...]:
        """Store a version of each file that was edited by hand; return these files."""
        now, files = stamp(self.clock), self.files(pack, tenant)

        def note(tx: Tx) -> tuple[str, ...]:
            return tuple(
                file
                for file in files.names
                if files.is_readable(file)
                and versions.note_hand(tx, pack, tenant, file, files.text(file), now)
            )

        return await self.database.transact(note)

    async def _settle_open(self, pack: str, tenant: str) -> None:
        if not await self.database.read(lambda tx: versions.intents(tx, pack, tenant)):
            return

        def settle(tx: Tx) -> None:
            for version in versions.intents(tx, pack, tenant):
                holds = self._holds(pack, tenant, version)
                (versions.settle if holds else versions.drop)(tx, version.id)

        await self.database.transact(settle)

    def _holds(self, pack: str, tenant: str, version: Version) -> bool:
        """Whether a file is as a change left it."""
        files, file = self.files(pack, tenant), version.file
        there = file in files.names and files.is_readable(file)
        return there and files.text(file) == version.after

    def _alone(self, pack: str, tenant: str) -> asyncio.Lock:
        return self._locks.setdefault((pack, tenant), asyncio.Lock())


def _of_call(turn_id: str, call_id: str) -> Callable[[Tx], Cause]:
    return lambda tx: versions.cause_of_call(tx, turn_id, call_id)
