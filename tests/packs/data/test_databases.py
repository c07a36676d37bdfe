"""All databases of a pack through an upgrade: backed up, changed together or not at all."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.facts.errors import PackError, ToolFailed
from aouo.packs.data.migrations import _KEPT, back_up, backups, restore_database
from aouo.packs.data.opening import open_database
from aouo.packs.data.schema import apply_schema
from aouo.packs.data.schema_guard import Guard
from aouo.packs.databases import databases_of
from aouo.packs.library import EMPTY, Library
from aouo.packs.load import Pack, load_pack
from aouo.packs.stores import PackStores
from aouo.plumbing.home import Home
from tests.packs.writing import MakePack

MANIFEST = "name: lab\nversion: {}\ndisplay_name: Lab\nschema: {{scope: person}}\n"
OLD = "CREATE TABLE IF NOT EXISTS words (word TEXT PRIMARY KEY, n INTEGER);\n"
NEW = "CREATE TABLE IF NOT EXISTS words (term TEXT PRIMARY KEY, n INTEGER);\n"
RENAME = "ALTER TABLE words RENAME COLUMN word TO term;\n"
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


class StillClock:
    """A clock that stands; see `ports.Clock`."""

    def now(self) -> datetime:
        return NOW

    def monotonic_s(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class Lab:
    """A home with one pack in it, of which there can be several versions."""

    def __init__(self, folder: Path, make_pack: MakePack) -> None:
        self.home = Home(folder / "home")
        self.home.create()
        self._make = make_pack
        self.library = EMPTY
        self.stores = PackStores(self.home, lambda: self.library, StillClock())

    def version(self, number: str, schema: str, **migrations: str) -> Pack:
        files: dict[str, str | None] = {
            "pack.yml": MANIFEST.format(number),
            "schema.sql": schema,
            "skills/hello/SKILL.md": None,
            **{f"migrations/{name}.sql": text for name, text in migrations.items()},
        }
        loaded = load_pack(self._make("lab", files, root=number))
        assert loaded.pack is not None, loaded.problems
        return loaded.pack

    def install(self, pack: Pack) -> None:
        self.library = Library({"lab": pack}, {}, {})

    def save(self, tenant: str, word: str, column: str = "word") -> None:
        store = self.stores.open("lab", tenant)
        arguments = {"data": {column: word}}
        store.run(
            "save", arguments, call_id=f"{tenant} {word}", session_key="s", now=NOW.isoformat()
        )

    def words(self, tenant: str) -> list[object]:
        found = self.stores.open("lab", tenant).read("SELECT * FROM words")
        return [next(iter(row.values())) for row in found]

    def backups(self, tenant: str) -> list[Path]:
        return backups(self.home.backups / "lab", tenant)


@pytest.fixture
def lab(tmp_path: Path, make_pack: MakePack) -> Generator[Lab]:
    lab = Lab(tmp_path, make_pack)
    lab.install(lab.version("1.0.0", OLD))
    for owner, word in (("ada", "Baum"), ("ben", "Haus"), ("telegram_-100_5", "Stern")):
        lab.save(owner, word)
    yield lab
    lab.stores.close()


OWNERS = ["ada", "ben", "telegram_-100_5"]


def test_an_upgrade_brings_every_owners_database_along(lab: Lab) -> None:
    pack = lab.version("2.0.0", NEW, **{"0001_term": RENAME})

    old = lab.stores.open("lab", "ada")
    lab.stores.check(pack)
    done = lab.stores.migrate_all(pack)
    with pytest.raises(ToolFailed, match="closed"):
        old.read("SELECT 1")
    lab.install(pack)

    assert [file.stem for file in done] == OWNERS
    assert [*done] == databases_of(lab.home, "lab")
    assert [lab.words(owner) for owner in OWNERS] == [["Baum"], ["Haus"], ["Stern"]]
    for backup in done.values():
        assert backup is not None
        assert backup.stat().st_mode & 0o777 == 0o600
        with closing(sqlite3.connect(backup)) as connection:
            assert len(connection.execute("SELECT word FROM words").fetchall()) == 1
    lab.save("ada", "neu", column="term")
    assert lab.words("ada") == ["Baum", "neu"]


def test_migrating_twice_changes_nothing(lab: Lab) -> None:
    pack = lab.version("2.0.0", NEW, **{"0001_term": RENAME})
    lab.stores.migrate_all(pack)

    again = lab.stores.migrate_all(pack)

    assert [*again.values()] == [None, None, None]
    assert len(lab.backups("ada")) == 1


def test_a_failed_upgrade_puts_the_other_databases_back(lab: Lab) -> None:
    """Ben alone has a row that the new version does not take."""
    lab.save("ben", "Baum!")
    only = "CREATE UNIQUE INDEX one_each ON words (substr(word, 1, 0));"
    pack = lab.version("2.0.0", OLD + "-- one each", **{"0001_one": only})

    with pytest.raises(PackError, match=r"of ben stays as it was.*UNIQUE"):
        lab.stores.check(pack)
    assert lab.backups("ada") == []
    with pytest.raises(PackError, match="The database of lab of ben stays as it was"):
        lab.stores.migrate_all(pack)

    assert [lab.words(owner) for owner in OWNERS] == [["Baum"], ["Haus", "Baum!"], ["Stern"]]
    with closing(sqlite3.connect(lab.home.pack_database("lab", "ada"))) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'one_%'")
        assert tables.fetchall() == []
        assert connection.execute("SELECT count(*) FROM _aouo_migrations").fetchone() == (0,)


def test_a_database_that_is_opened_under_a_new_version_is_backed_up_first(lab: Lab) -> None:
    """A pack edited in its folder, or of an owner who comes back after months."""
    lab.install(lab.version("1.1.0", OLD + "CREATE TABLE IF NOT EXISTS more (x);"))

    assert lab.words("ada") == ["Baum"]
    assert (len(lab.backups("ada")), len(lab.backups("ben"))) == (1, 0)


def test_a_version_that_does_not_fit_is_refused_and_the_old_rows_wait(lab: Lab) -> None:
    lab.install(lab.version("2.0.0", NEW))
    with pytest.raises(ToolFailed, match=r"words\.word is gone"):
        lab.words("ada")

    lab.install(lab.version("1.0.1", OLD))
    assert lab.words("ada") == ["Baum"]


def test_a_released_database_can_be_replaced_and_is_opened_anew(lab: Lab) -> None:
    file = lab.home.pack_database("lab", "ada")
    with closing(sqlite3.connect(file)) as connection:
        backup = back_up(connection, lab.home.backups / "lab", "ada", NOW)
    lab.save("ada", "later")
    old = lab.stores.open("lab", "ada")

    lab.stores.release("lab")
    restore_database(backup, file)

    assert lab.words("ada") == ["Baum"]
    with pytest.raises(ToolFailed, match="closed"):
        old.read("SELECT 1")


def test_the_newest_backups_of_each_owner_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    with closing(open_database(str(tmp_path / "a.db"))) as connection:
        for owner in ("", "ada", "da-ada"):
            for number in range(_KEPT + 2):
                connection.execute(f"PRAGMA user_version = {number + 1}").fetchall()
                back_up(connection, folder, owner, NOW + timedelta(seconds=number // 2))
    kept = [backups(folder, owner) for owner in ("", "ada", "da-ada")]

    assert [len(files) for files in kept] == [_KEPT] * 3
    assert sorted(folder.iterdir()) == sorted(file for files in kept for file in files)
    assert kept[1][-1].name == "20260302T120003000000Z-ada.db"


def test_a_change_that_fails_again_and_again_pushes_no_backup_out(lab: Lab) -> None:
    lab.install(lab.version("1.1.0", OLD + "CREATE TABLE IF NOT EXISTS more (x);"))
    lab.words("ada")
    (older,) = lab.backups("ada")
    lab.install(lab.version("2.0.0", NEW))
    for _ in range(_KEPT + 1):
        with pytest.raises(ToolFailed, match=r"words\.word is gone"):
            lab.words("ada")

    assert lab.backups("ada")[0] == older
    assert len(lab.backups("ada")) == 2


def test_a_backup_that_cannot_be_written_keeps_the_change_from_happening(lab: Lab) -> None:
    lab.home.backups.write_text("in the way")
    lab.install(lab.version("1.1.0", OLD + "CREATE TABLE IF NOT EXISTS more (x);"))

    with pytest.raises(ToolFailed, match="No backup can be written"):
        lab.words("ada")
    with closing(sqlite3.connect(lab.home.pack_database("lab", "ada"))) as connection:
        assert (
            connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'more'").fetchall() == []
        )


def test_what_is_no_backup_is_not_put_in_the_place_of_a_database(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "wrong.db").write_text("hello " * 1000)
    lab.stores.release("lab")

    with pytest.raises(PackError, match="cannot be put back"):
        restore_database(tmp_path / "wrong.db", lab.home.pack_database("lab", "ada"))
    assert lab.words("ada") == ["Baum"]


@pytest.mark.parametrize("kill_at", [1, 2])
def test_a_process_killed_around_its_commit_leaves_the_old_or_the_new_database(
    tmp_path: Path, kill_at: int
) -> None:
    path = tmp_path / "a.db"
    with closing(open_database(str(path))) as connection:
        apply_schema(connection, Guard(connection), OLD, {})
        connection.execute("INSERT INTO words (word) VALUES ('Baum')")
    code = (
        "import sys; from aouo.packs.data.migrations import Migration;"
        "from aouo.packs.data.schema import apply_schema;"
        "from aouo.packs.data.opening import open_database;"
        "from aouo.packs.data.schema_guard import Guard;"
        "c = open_database(sys.argv[1]); m = Migration('0001_term.sql', sys.argv[3]);"
        "apply_schema(c, Guard(c), sys.argv[2], {}, [m])"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, str(path), NEW, RENAME],
        env={**os.environ, "AOUO_KILL_AT": str(kill_at)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert "a pack's schema commit" in killed.stderr
    with closing(sqlite3.connect(path)) as connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(words)")]
        assert names == [["word", "n"], ["term", "n"]][kill_at - 1]
        assert connection.execute("SELECT count(*) FROM words").fetchone() == (1,)


COLUMNS = ("a", "b", "c", "d")
VERSIONS = st.lists(
    st.lists(st.sampled_from(COLUMNS), unique=True, min_size=1, max_size=4), min_size=1, max_size=5
)


@settings(deadline=None, max_examples=40)
@given(VERSIONS, st.lists(st.booleans(), min_size=5, max_size=5), st.booleans())
def test_any_way_through_growing_versions_ends_at_the_last_one_with_all_rows(
    additions: list[list[str]], opened: list[bool], tables_too: bool
) -> None:
    """Each version has what those before it had; a person opens some and skips others."""
    versions: list[str] = []
    so_far: list[str] = []
    for number, added in enumerate(additions):
        so_far += [name for name in added if name not in so_far]
        columns = ", ".join(f"{name} INTEGER NOT NULL DEFAULT {ord(name)}" for name in so_far)
        more = f"CREATE TABLE IF NOT EXISTS more{number} (x);" * tables_too
        versions.append(
            f"CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, {columns});"
            + "".join(versions[-1].partition(";")[2:] if versions else "")
            + more
        )
    with closing(open_database(":memory:")) as connection:
        guard, rows = Guard(connection), 0
        for version, here in zip(versions, opened, strict=False):
            if here or version == versions[-1]:
                apply_schema(connection, guard, version, {})
                assert not apply_schema(connection, guard, version, {})
                connection.execute("INSERT INTO t DEFAULT VALUES")
                rows += 1

        found = connection.execute("SELECT * FROM t").fetchall()
        names = [row[1] for row in connection.execute("PRAGMA table_info(t)")]
        assert names == ["id", *so_far]
        assert [row[1:] for row in found] == [tuple(map(ord, so_far))] * rows


def test_a_database_that_is_only_lent_is_closed_again_unless_others_have_it(lab: Lab) -> None:
    lab.stores.release("lab")
    with lab.stores.lent("lab", "ada") as outer:
        with lab.stores.lent("lab", "ada") as inner:
            assert inner is outer
        assert outer.read("SELECT word FROM words") == [{"word": "Baum"}]
    with pytest.raises(ToolFailed, match="closed"):
        outer.read("SELECT 1")
    with lab.stores.lent("lab", "ada") as lent:
        kept = lab.stores.open("lab", "ada")
    assert kept is lent
    assert kept.read("SELECT word FROM words") == [{"word": "Baum"}]
    with lab.stores.lent("lab", "ben") as lent:
        lab.stores.release("lab")

    assert lab.words("ben") == ["Haus"]
