"""Opens packs' databases when they are first used; backs them up and migrates them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import structlog

from aouo.facts.errors import PackError, ToolFailed
from aouo.facts.ports import Clock
from aouo.packs.data.backup import back_up, restore_database
from aouo.packs.data.reading import has_rows
from aouo.packs.data.storage import PackStore, rehearse
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.plumbing.home import Home

log = structlog.get_logger()
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


class PackDatabases:
    """Each database of each pack, opened once; may be asked from any thread.

    A pack of scope `person` has one for each tenant: the person in a private chat, the
    conversation in a group. Others share theirs.
    """

    def __init__(self, home: Home, library: Callable[[], Library], clock: Clock) -> None:
        self._home = home
        self._library = library
        self._clock = clock
        self._open: dict[tuple[str, str], _Opened] = {}
        self._lock = threading.Lock()

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
            return opened.store

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

    def databases_of(self, pack: str) -> list[Path]:
        """The files there are: the shared one, then each tenant's."""
        return databases_of(self._home, pack)

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
        for file in self.databases_of(pack.name):
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
        for file in self.databases_of(pack.name):
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


def databases_of(home: Home, pack: str) -> list[Path]:
    """Return the files of a pack's databases: the shared one, then each tenant's."""
    shared = home.pack_database(pack)
    return [file for file in (shared,) if file.is_file()] + sorted(
        file for file in (home.store / pack).glob("*.db") if file.is_file()
    )


def unseen_rows(home: Home, pack: Pack) -> Path | None:
    """Return where rows lie that no tenant sees since `schema.scope` changed, None = none."""
    shared, tenant_folders = home.pack_database(pack.name), home.store / pack.name
    if pack.manifest.schema.scope == "person":
        return shared if shared.is_file() and has_rows(shared) else None
    return (
        tenant_folders
        if any(has_rows(file) for file in sorted(tenant_folders.glob("*.db")))
        else None
    )


def _same_storage(old: Pack, new: Pack) -> bool:
    return old is new or (
        old.manifest == new.manifest
        and old.schema_sql == new.schema_sql
        and old.migrations == new.migrations
    )


def tenant_in(pack: str, file: Path) -> str:
    """Whose database this is; "" = everybody's."""
    return file.stem if file.parent.name == pack else ""


def _of_tenant(pack: Pack, tenant: str, error: PackError) -> PackError:
    whose = f"of {tenant}" if tenant else "that everybody shares"
    return PackError(
        f"The database of {pack.name} {whose} stays as it was: {error.problem}", fix=error.fix
    )
