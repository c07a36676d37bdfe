"""Opens each pack's databases and memory files when they are first used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from aouo.facts.errors import PackError, ToolFailed
from aouo.facts.people import Owner
from aouo.facts.ports import Clock
from aouo.memory.files import ALWAYS, MemoryFiles
from aouo.packs.data.migrations import back_up, restore_database
from aouo.packs.data.storage import PackStore, rehearse
from aouo.packs.databases import databases_of, settle, tenant_in
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.plumbing.home import Home
from aouo.plumbing.logs import log
from aouo.plumbing.trees import remove

_KEPT_OPEN = 40
"""Databases whose files stay open; each takes up to six descriptors."""
_NO_PACK = "_general"  # no pack can have this name
_Note: TypeAlias = Callable[[Path, Path], None]
"""Is told that a database is about to change, and where its backup lies."""


def _unnoted(database: Path, backup: Path) -> None:
    """Note nothing: the change is not resumed after a kill."""


@dataclass(slots=True)
class _Opened:
    """An open database; `kept`: until the pack is released, and not only while it is lent."""

    store: PackStore
    pack: Pack
    lent: int = 0
    kept: bool = False


@dataclass(slots=True, eq=False)
class PackStores:
    """Opens what packs keep, once each; may be asked from any thread; all is closed together.

    A pack of scope `person` keeps a database and files for each tenant: the person in a private
    chat, the conversation in a group. Others share theirs, except memory (`databases.settle`);
    memory files of older times, which name nobody, are the `bot_owner`'s.
    """

    _home: Home
    _library: Callable[[], Library]
    _clock: Clock
    bot_owner: str = Owner().data_name
    _open: dict[tuple[str, str], _Opened] = field(
        init=False, default_factory=dict[tuple[str, str], _Opened]
    )
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _settling: threading.Lock = field(init=False, default_factory=threading.Lock)

    def open(self, pack: str, tenant: str) -> PackStore:
        """The pack's database for `tenant`, made or brought to the pack's schema if need be.

        Raises:
            ToolFailed: the pack is not loaded, or its schema does not fit what is there, which
                the log tells the owner too; nothing changed.
        """
        found, key = self._found(pack, tenant)
        with self._lock:
            opened = self._opened(found, key)
            opened.kept = True
            self._rest(key)
            return opened.store

    def _rest(self, key: tuple[str, str]) -> None:
        """Let the files go that were not used for longest; their stores open them when asked."""
        self._open[key] = self._open.pop(key)
        idle = [one for name, one in self._open.items() if name != key and not one.lent]
        for opened in idle[:-_KEPT_OPEN]:
            opened.store.rest()

    @contextmanager
    def lent(self, pack: str, tenant: str) -> Generator[PackStore]:
        """As `open`, and closed again unless it is open for others too: whoever looks at every
        tenant's database holds few of them.

        Raises:
            ToolFailed: as `open`.
        """
        found, key = self._found(pack, tenant)
        with self._lock:
            opened = self._opened(found, key)
            opened.lent += 1
        try:
            yield opened.store
        finally:
            with self._lock:
                opened.lent -= 1
                if not (opened.lent or opened.kept) and self._open.get(key) is opened:
                    self._open.pop(key).store.close()

    def release(self, pack: str) -> None:
        """Close the pack's files; the next use opens them anew."""
        with self.closed(pack):
            pass

    @contextmanager
    def closed(self, pack: str) -> Generator[None]:
        """Keep the pack's files closed, so that they can be replaced; other threads wait."""
        with self._lock:
            for key in [key for key in self._open if key[0] == pack]:
                self._open.pop(key).store.close()
            yield

    def check(self, pack: Pack) -> None:
        """Try on copies whether all databases there are could become `pack`'s.

        Raises:
            PackError: names the tenant and what stands in the way.
        """
        for file in databases_of(self._home, pack.name):
            try:
                rehearse(file, pack.manifest, pack.schema_sql, pack.migrations)
            except PackError as error:
                raise _of_tenant(pack, tenant_in(pack.name, file), error) from error

    def migrate_all(self, pack: Pack, note: _Note = _unnoted) -> dict[Path, Path | None]:
        """Bring all databases there are to `pack`'s schema, each backed up before.

        `note` hears of each that changes, when its backup is there and nothing has changed yet.

        Returns:
            The backup of each database, None where nothing was to change.

        Raises:
            PackError: one cannot be; names its tenant and why. Those that were changed are put
                back to what they were.
        """
        self.release(pack.name)
        done: dict[Path, Path | None] = {}
        for file in databases_of(self._home, pack.name):
            tenant = tenant_in(pack.name, file)
            try:
                store = self._prepare(pack, file, tenant, note)
            except PackError as error:
                self.restore(done)
                raise _of_tenant(pack, tenant, error) from error
            store.close()
            done[file] = store.backup
        return done

    def restore(self, migrated: Mapping[Path, Path | None]) -> None:
        """Undo `migrate_all`, which returned this: what was changed is what it was before."""
        for database, backup in migrated.items():
            if backup is not None:
                restore_database(backup, database)

    def close(self) -> None:
        with self._lock:
            for opened in self._open.values():
                opened.store.close()

    def keeps(self, pack: str) -> bool:
        """Whether there is anything that a pack of this name has kept."""
        folder = self._home.pack_folder(pack)
        return bool(databases_of(self._home, pack)) or (folder.is_dir() and any(folder.iterdir()))

    def purge(self, pack: str) -> None:
        """Delete all that a pack keeps: its databases and its folders, not the backups."""
        self.release(pack)
        for file in databases_of(self._home, pack):
            for part in (file, *(file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm"))):
                remove(part)
        home = self._home
        for folder in (home.store / pack, home.pack_folder(pack), home.private_folder(pack)):
            if not folder.is_symlink():  # the owner's own way elsewhere
                remove(folder)

    def file(self, pack: str, tenant: str) -> Path:
        """Where the pack's database for `tenant` lies; it may not be there yet."""
        return self._home.pack_database(pack, self._tenant_of(pack, tenant))

    def folder(self, pack: str, tenant: str) -> Path:
        """The data folder of a pack ("" = of no pack) for `tenant`; it may not be there yet."""
        tenant = self._tenant_of(pack, tenant)
        with self._settling:
            settle(self._home, pack, self.bot_owner, shared=not tenant)
        return self._home.pack_folder(pack or _NO_PACK, tenant)

    def private(self, pack: str, tenant: str) -> Path:
        """Return the tenant's memory folder: the data folder, or one beside a shared one."""
        folder = self.folder(pack, tenant)
        return folder if self._tenant_of(pack, tenant) else self._home.private_folder(pack, tenant)

    def _found(self, pack: str, tenant: str) -> tuple[Pack, tuple[str, str]]:
        """Return a loaded pack, and what its database for a tenant is known by."""
        found = self._library().get(pack)
        if found is None:
            raise ToolFailed(f"The pack {pack!r} is not loaded.")
        return found, (pack, tenant if found.manifest.schema.scope == "person" else "")

    def _opened(self, pack: Pack, key: tuple[str, str]) -> _Opened:
        """Return the open database; the caller holds the lock."""
        there = self._open.get(key)
        if there is not None and _same_storage(there.pack, pack):
            return there
        if there is not None:
            self._open.pop(key).store.close()
        name, tenant = key
        try:
            store = self._prepare(pack, self._home.pack_database(name, tenant), tenant)
        except PackError as error:
            log.error("pack_database_refused", pack=name, tenant=tenant, problem=str(error))
            raise ToolFailed(
                f"Nothing can be kept or read: {error.problem} Tell the person that whoever runs "
                "this bot has to mend the pack; their rows are safe."
            ) from error
        self._open[key] = opened = _Opened(store, pack)
        return opened

    def _prepare(self, pack: Pack, file: Path, tenant: str, note: _Note = _unnoted) -> PackStore:
        folder, now = self._home.backups / pack.name, self._clock.now

        def noted(backup: Path) -> Path:
            note(file, backup)
            return backup

        store = PackStore(
            file,
            pack.manifest,
            pack.schema_sql,
            migrations=pack.migrations,
            back_up=lambda connection: noted(back_up(connection, folder, tenant, now())),
        )
        if store.backup is not None:
            log.info(
                "pack_database_changed", pack=pack.name, tenant=tenant, backup=store.backup.name
            )
        return store

    def _tenant_of(self, pack: str, tenant: str) -> str:
        """Whose files these are, "" = everybody's."""
        found = self._library().get(pack)
        return tenant if found is None or found.manifest.schema.scope == "person" else ""


def _same_storage(old: Pack, new: Pack) -> bool:
    return old is new or (
        old.manifest == new.manifest
        and old.schema_sql == new.schema_sql
        and old.migrations == new.migrations
    )


def _of_tenant(pack: Pack, tenant: str, error: PackError) -> PackError:
    whose = f"of {tenant}" if tenant else "that everybody shares"
    return PackError(
        f"The database of {pack.name} {whose} stays as it was: {error.problem}", fix=error.fix
    )


@dataclass(slots=True, eq=False)
class Memories:
    """Opens memory files; `folder_of` tells where those of a pack lie for a tenant."""

    library: Callable[[], Library]
    folder_of: Callable[[str, str], Path]
    _open: dict[tuple[str, str], tuple[Pack | None, MemoryFiles]] = field(
        init=False, default_factory=dict[tuple[str, str], tuple[Pack | None, MemoryFiles]]
    )

    def files(self, pack: str, tenant: str) -> MemoryFiles:
        """The memory files of a pack ("" = of none) for `tenant`; made from its templates.

        They remember what they have read, so they are kept until their pack is another one.
        """
        found = self.library().get(pack)
        folder = self.folder_of(pack, tenant)
        made, files = self._open.get((pack, tenant), (None, None))
        if files is None or made is not found:
            files = self._made(found, folder)
            self._open[pack, tenant] = (found, files)
        return files

    def _made(self, found: Pack | None, folder: Path) -> MemoryFiles:
        if found is None:
            return MemoryFiles(folder)
        return MemoryFiles(
            folder,
            found.templates,
            targets=targets_of(found) or ALWAYS,
            max_bytes=found.manifest.memory.max_bytes,
        )

    def read(self, pack: str, tenant: str) -> Mapping[str, str]:
        """What a prompt holds, by file name."""
        files = self.files(pack, tenant)
        return {name: files.shown(name) for name in files.names}


def targets_of(pack: Pack) -> tuple[str, ...]:
    """What the `memory` tool may name in this pack, () = what it always may."""
    kept = pack.manifest.memory
    more = tuple(name for name, there in (("soul", kept.soul), ("state", kept.state)) if there)
    return (*ALWAYS, *more) if more else ()
