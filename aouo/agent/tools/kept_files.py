"""Writes files for calls and keeps what was there before, so that a call can be put back."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import stat
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from aouo.facts.errors import ToolFailed
from aouo.facts.ports import Clock, stamp
from aouo.guard.paths import KEPT_BYTES, KEPT_FILES, failed, parent
from aouo.memory.files import NAMES
from aouo.plumbing import failpoint
from aouo.plumbing.logs import log
from aouo.plumbing.trees import TooMuch, new_file, open_file, remove, walk
from aouo.store import kept_changes
from aouo.store.database import Database, Tx
from aouo.store.kept_changes import Kept

CHANGED_SINCE = "What it changed has been changed again since."
_LEAST_FREE_BYTES = 100_000_000
"""Nothing is written to a disk with less space left, since our database may be on it."""


@dataclass(slots=True, eq=False)
class KeptFiles:
    """`copies` is where the folders are copied to in which tools are at work, one by call; `data`
    is the folder below which missing folders are made again."""

    database: Database
    clock: Clock
    copies: Path
    data: Path
    _at_work: dict[str, Path] = field(init=False, default_factory=dict[str, Path])
    _mixed: set[str] = field(init=False, default_factory=set[str])
    """Calls at work while another one wrote there: whose a change was, nobody can tell."""

    async def write(self, call_id: str, path: Path, content: bytes, root: Path | None) -> None:
        """Replace a file, and keep what it held unless that is too large; folders are made only
        below `root`. The same call again writes the same.

        Raises:
            ToolFailed: nothing was written; says why.
        """
        before, after = await asyncio.to_thread(_readable, path), _digest(content)
        kept = [Kept("file", str(path), before, after)]
        if before is not None and len(before) > KEPT_BYTES:
            kept = [Kept("folder", str(path), None, "")]
        if all(one.after != _digest(before) for one in await self._of(call_id)):
            await self._keep(call_id, kept)  # else it was made before a crash
        self._mixed |= {one for one, own in self._at_work.items() if path.is_relative_to(own)}
        await asyncio.to_thread(_write, path, content, root, draft=f".{call_id}.new")

    @asynccontextmanager
    async def watching(
        self, call_id: str, own: Path, others: Sequence[Path], *, labelled: bool
    ) -> AsyncGenerator[None]:
        """Keep a copy of a folder while a tool is at work in it, and then what the tool changed.

        Nothing of the call can be put back if the folder is too large for that, if the tool may
        change `others`, or if another call wrote there meanwhile. In a turn that is `labelled`
        memory files stay as they are: strangers' words in them would have no marks.
        """
        memory = [own / name for name in NAMES.values()] if labelled else []
        held = {path: await asyncio.to_thread(_readable, path) for path in memory}
        try:
            async with self._copying(call_id, own, others):
                yield
        finally:
            await asyncio.to_thread(_keep_as_they_were, held, call_id)

    @asynccontextmanager
    async def _copying(
        self, call_id: str, own: Path, others: Sequence[Path]
    ) -> AsyncGenerator[None]:
        manifest = None if others else await asyncio.to_thread(self._copied, call_id, own)
        note = None if manifest is None else json.dumps(manifest).encode()
        await self._keep(call_id, [Kept("folder", str(own), note, "")])
        if note is None:
            yield
            return
        beside = {one for one, folder in self._at_work.items() if folder == own}
        self._at_work[call_id] = own
        self._mixed |= beside | ({call_id} if beside else set())
        try:
            yield
        finally:
            del self._at_work[call_id]
            await self._settle(call_id, Kept("folder", str(own), note, ""))

    async def settle_open(self) -> None:
        """Find out what the tools changed that a killed process had at work; before any other
        begins."""
        for call_id, kept in await self.database.read(kept_changes.at_work):
            await self._settle(call_id, kept)
        await asyncio.to_thread(remove, self.copies)

    async def undoable(self, call_id: str) -> bool | None:
        """Whether all files that a call changed are as it left them; None = it changed none that
        is known of."""
        kept = await self._of(call_id)
        if not kept:
            return None
        if any(one.kind == "folder" for one in kept):
            return False
        return await asyncio.to_thread(lambda: all(_now(one) == one.after for one in kept))

    async def put_back(self, call_id: str, by: str) -> bool:
        """Put back the files that a call changed; the call `by`, which does so, can be put back in
        the same way. The same twice is once. False = it changed none that is known of.

        Raises:
            ToolFailed: one was changed since; nothing is changed then.
        """
        kept, begun = await self._of(call_id), await self._of(by)

        def reversed_() -> list[Kept]:
            found: list[Kept] = []
            for one in kept:
                held = _held(Path(one.name))
                if _digest(held) != one.after:
                    raise ToolFailed(CHANGED_SINCE)
                found.append(Kept("file", one.name, held, _digest(one.before)))
            return found

        if kept and not begun:
            await self._keep(by, await asyncio.to_thread(reversed_))
        await asyncio.to_thread(self._make, kept, by)
        return bool(kept)

    def _make(self, kept: Sequence[Kept], by: str) -> None:
        for one in kept:
            path = Path(one.name)
            root = self.data if path.is_relative_to(self.data) else None
            if one.before is not None:
                _write(path, one.before, root, draft=f".{by}.new")
            elif path.exists():
                with parent(path) as folder:
                    os.unlink(path.name, dir_fd=folder)
            failpoint.reached("after a file was put back, a copy was kept")

    async def _of(self, call_id: str) -> list[Kept]:
        kept = await self.database.read(lambda tx: kept_changes.of_call(tx, call_id))
        return [one for one in kept if one.kind != "schedule"]

    async def _keep(self, call_id: str, kept: Sequence[Kept]) -> None:
        now = stamp(self.clock)
        await self.database.transact(
            lambda tx: [kept_changes.keep(tx, call_id, one, now) for one in kept], durable=True
        )
        failpoint.reached("after a copy was kept")

    def _copied(self, call_id: str, own: Path) -> dict[str, str] | None:
        """Copy a folder; return the SHA-256 of each of its files, None = it is too large."""
        copy, room, manifest = self.copies / call_id, KEPT_BYTES, dict[str, str]()
        remove(copy)
        try:
            for found in walk(own, most=KEPT_FILES):
                if not found.is_file:
                    continue
                with open_file(own / found.path) as file:
                    content = file.read(room + 1)
                room -= len(content)
                if room < 0:
                    raise TooMuch("is too large")
                manifest[found.path] = _digest(content)
                with new_file(copy / found.path, make_below=self.data.parent) as out:
                    out.write(content)
        except (OSError, TooMuch):
            remove(copy)
            return None
        return manifest

    async def _settle(self, call_id: str, note: Kept) -> None:
        """Note each file that a call changed, in place of the note that it is at work."""
        changed = await asyncio.to_thread(self._changed, call_id, note)
        now, mixed = stamp(self.clock), call_id in self._mixed
        self._mixed.discard(call_id)
        if changed is None or mixed:
            changed = [Kept("folder", note.name, None, "")]

        def settle(tx: Tx) -> None:
            kept_changes.settle(tx, call_id)
            for one in changed:
                kept_changes.keep(tx, call_id, one, now)

        await self.database.transact(settle, durable=True)
        await asyncio.to_thread(remove, self.copies / call_id)

    def _changed(self, call_id: str, note: Kept) -> list[Kept] | None:
        """Return what differs from the copy, None = the copy cannot be trusted, or it is too
        much."""
        own, copy = Path(note.name), self.copies / call_id
        manifest: dict[str, str] = json.loads(note.before or b"{}")
        changed: list[Kept] = []
        try:
            there = {found.path for found in walk(own, most=2 * KEPT_FILES) if found.is_file}
            for path in sorted(there | manifest.keys()):
                now = _digest(_held(own / path)) if path in there else ""
                if now == manifest.get(path, ""):
                    continue
                before = _held(copy / path) if path in manifest else None
                if _digest(before) != manifest.get(path, ""):
                    return None
                changed.append(Kept("file", str(own / path), before, now))
        except (OSError, TooMuch, ToolFailed):
            return None
        return changed


def _keep_as_they_were(held: Mapping[Path, bytes | None], call_id: str) -> None:
    for path, before in held.items():
        is_whole = before is None or len(before) <= KEPT_BYTES
        if not is_whole or _readable(path) == before:
            continue
        log.warning("memory_kept", file=path.name, call=call_id)
        remove(path)
        if before is not None:
            _write(path, before, None, draft=f".{call_id}.new")


def _now(kept: Kept) -> str:
    try:
        return _digest(_held(Path(kept.name)))
    except ToolFailed:
        return "?"


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _readable(path: Path) -> bytes | None:
    """Return what a file holds; what cannot be read is as what is too large to be kept."""
    try:
        return _held(path)
    except ToolFailed:
        return bytes(KEPT_BYTES + 1)


def _held(path: Path) -> bytes | None:
    """Return what a file holds, None = there is none; of a larger one no more than is kept.

    Raises:
        ToolFailed: it is no file, or cannot be read.
    """
    try:
        with open_file(path) as file:
            return file.read(KEPT_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise failed(path, error) from error


def _write(path: Path, content: bytes, root: Path | None, *, draft: str) -> None:
    """Replace a file atomically; make new folders only below `root`.

    The draft is named by the call, so that a call that runs again after a crash cleans up.
    """
    with parent(path, make_below=root) as folder:
        mode = _mode_of(path, folder)
        disk = os.fstatvfs(folder)
        if disk.f_bavail * disk.f_frsize < _LEAST_FREE_BYTES + len(content):
            raise ToolFailed("The disk is nearly full, so nothing is written. Tell the person.")
        try:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(draft, flags, mode, dir_fd=folder), "wb") as out:
                os.fchmod(out.fileno(), mode)
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            os.replace(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise failed(path, error) from error


def _mode_of(path: Path, folder: int) -> int:
    """Return the file's permissions; a new one is for its owner only.

    Raises:
        ToolFailed: the path is no regular file.
    """
    try:
        there = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return 0o600
    except OSError as error:
        raise failed(path, error) from error
    if stat.S_ISDIR(there.st_mode):
        raise ToolFailed(f"{path} is a folder. Name a file in it.")
    if not stat.S_ISREG(there.st_mode):
        raise ToolFailed(f"{path} is not a file that can be written.")
    return there.st_mode & 0o777
