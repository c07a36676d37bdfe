"""What a call changed can be put back, whatever the pack's own rules did besides. Source: issue
27: "what it changed in rows is kept"."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import ToolFailed
from aouo.packs.data.migrations import Migration
from aouo.packs.data.storage import PackStore
from aouo.packs.format.manifest import Manifest

SCHEMA = """
CREATE TABLE shelves (name TEXT PRIMARY KEY, books INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE books (
  id INTEGER PRIMARY KEY, title TEXT UNIQUE, cover BLOB, price REAL,
  shelf TEXT REFERENCES shelves (name) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE log (id INTEGER PRIMARY KEY, line TEXT);
CREATE TRIGGER counted AFTER INSERT ON books BEGIN
  UPDATE shelves SET books = books + 1 WHERE name = NEW.shelf; END;
CREATE TRIGGER uncounted AFTER DELETE ON books BEGIN
  UPDATE shelves SET books = books - 1 WHERE name = OLD.shelf;
  INSERT INTO log (line) VALUES ('gone: ' || OLD.title); END;
"""
STATEMENTS = (
    "INSERT INTO shelves (name) VALUES ('c')",
    "INSERT INTO books (title, shelf, cover) VALUES ('new ''quoted''', 'a', x'00ff')",
    "UPDATE books SET price = price * 1.1, title = title || '!'",
    "UPDATE books SET id = id + 10 WHERE shelf = 'a'",
    "UPDATE shelves SET name = 'z' WHERE name = 'a'",
    "DELETE FROM shelves WHERE name = 'a'",
    "DELETE FROM books",
    "DELETE FROM log",
    "INSERT OR REPLACE INTO books (title, shelf) VALUES ('one', 'b')",
    "INSERT OR REPLACE INTO books (id, title) VALUES (1, 'two')",
    "INSERT OR REPLACE INTO shelves VALUES ('a', 7)",
    "UPDATE OR REPLACE books SET title = 'two' WHERE title = 'one'",
    "UPDATE OR REPLACE shelves SET name = 'b' WHERE name = 'a'",
    "INSERT INTO books (title, price) VALUES ('one', 3) "
    "ON CONFLICT (title) DO UPDATE SET price = excluded.price",
    "INSERT OR IGNORE INTO books (title) VALUES ('one')",
    "UPDATE books SET cover = zeroblob(90000) WHERE title = 'one'",
)
LARGE = (
    "UPDATE books SET cover = zeroblob(600000) WHERE title = 'two'",
    "INSERT INTO log (line) VALUES (replace(hex(zeroblob(400000)), '0', char(39)))",
)
"""Rows too large to be kept: the change is done, and offered without Undo."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PackStore]:
    made = _store(tmp_path / "a.db")
    yield made
    made.close()


def _store(file: Path) -> PackStore:
    made = PackStore(file, Manifest("library", "1.0.0", "Library"), SCHEMA)
    made.act(
        [
            "INSERT INTO shelves (name) VALUES ('a'), ('b')",
            "INSERT INTO books (title, shelf, price) VALUES ('one', 'a', 0.1), ('two', 'b', 1e300)",
            "INSERT INTO log (line) VALUES ('begun')",
        ],
        {},
        call_id="first",
        now="n",
    )
    return made


def _rows(store: PackStore) -> list[list[dict[str, object]]]:
    return [store.read(f"SELECT * FROM {table}") for table in ("shelves", "books", "log")]


@given(st.lists(st.sampled_from(STATEMENTS + LARGE), min_size=1, max_size=6))
def test_every_change_can_be_put_back(statements: list[str]) -> None:
    with TemporaryDirectory() as folder:
        _changed_and_put_back(_store(Path(folder) / "a.db"), statements)


def _changed_and_put_back(store: PackStore, statements: list[str]) -> None:
    try:
        before = _rows(store)
        try:
            store.act(statements, {}, call_id="it", now="n")
        except ToolFailed:
            assert _rows(store) == before
            return
        if store.undoable("it"):
            assert store.undo("it", "n")
        elif set(statements) & set(LARGE):
            return
        assert _rows(store) == before
    finally:
        store.close()


def test_a_row_that_was_replaced_comes_back(store: PackStore) -> None:
    before = _rows(store)
    replaces = "INSERT OR REPLACE INTO books (title, price) VALUES ('one', 7)"
    store.act([replaces], {}, call_id="it", now="n")

    assert store.undo("it", "n")
    assert _rows(store) == before


def test_rows_that_took_each_others_unique_values_come_back(store: PackStore) -> None:
    before = _rows(store)
    replaces = [
        "INSERT OR REPLACE INTO books (id, title) VALUES (1, 'two')",
        "INSERT OR REPLACE INTO books (title, shelf) VALUES ('one', 'b')",
    ]
    store.act(replaces, {}, call_id="it", now="n")

    assert store.undo("it", "n")
    assert _rows(store) == before


def _moved(file: Path, schema: str, *migrations: str) -> PackStore:
    steps = [Migration(f"{number:04}_change.sql", sql) for number, sql in enumerate(migrations, 1)]
    return PackStore(file, Manifest("library", "1.1.0", "Library"), schema, migrations=steps)


ORDERED = SCHEMA.replace("title TEXT UNIQUE, cover BLOB", "cover BLOB, title TEXT UNIQUE")
REORDER = """
DROP TRIGGER counted;
DROP TRIGGER uncounted;
CREATE TABLE books_new (
  id INTEGER PRIMARY KEY, cover BLOB, title TEXT UNIQUE, price REAL,
  shelf TEXT REFERENCES shelves (name) ON DELETE CASCADE ON UPDATE CASCADE);
INSERT INTO books_new (id, title, cover, price, shelf)
SELECT id, title, cover, price, shelf FROM books;
DROP TABLE books;
ALTER TABLE books_new RENAME TO books;
"""


@pytest.mark.parametrize(
    ("schema", "migrations"),
    [
        (SCHEMA.replace("cover BLOB,", "cover BLOB, pages INTEGER DEFAULT 9,"), ()),
        (ORDERED, (REORDER,)),
    ],
)
def test_it_is_put_back_exactly_after_a_migration(
    tmp_path: Path, schema: str, migrations: tuple[str, ...]
) -> None:
    old = _store(tmp_path / "a.db")
    looks = "SELECT id, title, cover, price, shelf FROM books"
    before = old.read(looks)
    old.act(["DELETE FROM books"], {}, call_id="it", now="n")
    old.close()
    with closing(_moved(tmp_path / "a.db", schema, *migrations)) as store:
        assert store.undoable("it")
        assert store.undo("it", "n")
        assert store.read(looks) == before


def test_after_a_column_is_renamed_it_is_offered_no_more(tmp_path: Path) -> None:
    old = _store(tmp_path / "a.db")
    old.act(["DELETE FROM log"], {}, call_id="it", now="n")
    old.close()
    schema = SCHEMA.replace("line TEXT", "words TEXT").replace("log (line)", "log (words)")
    rename = "DROP TRIGGER uncounted;\nALTER TABLE log RENAME COLUMN line TO words;"
    with closing(_moved(tmp_path / "a.db", schema, rename)) as store:
        assert not store.undoable("it")
        with pytest.raises(ToolFailed, match="other tables"):
            store.undo("it", "n")


def _fill(rows: int, size: int) -> str:
    return (
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) "
        f"INSERT INTO log (line) SELECT hex(randomblob({size})) FROM n"
    )


def test_what_is_kept_to_put_changes_back_stays_small(store: PackStore, tmp_path: Path) -> None:
    """So many changes of the same rows filled the database. Source: issue 43."""
    store.act([_fill(1_000, 150)], {}, call_id="filled", now="n")
    for number in range(90):
        change = "UPDATE log SET line = hex(randomblob(150))"
        store.act([change], {}, call_id=f"c{number}", now="n")

    assert store.undo("c89", "n")
    assert not store.undoable("c1")
    assert (tmp_path / "a.db").stat().st_size < 30_000_000


def test_a_large_change_is_done_also_where_it_cannot_be_kept(store: PackStore) -> None:
    store.act([_fill(1_500, 600)], {}, call_id="filled", now="n")
    store.act(["UPDATE log SET line = line || '!'"], {}, call_id="it", now="n")

    assert store.read("SELECT count(*) AS n FROM log WHERE line LIKE '%!'")[0]["n"] == 1501
    assert not store.undoable("it")


def test_it_is_put_back_once(store: PackStore) -> None:
    store.act(["DELETE FROM books"], {}, call_id="it", now="n")

    assert (store.undo("it", "n"), store.undo("it", "n")) == (True, False)
    assert not store.undoable("it")


def test_a_row_that_was_changed_since_stays(store: PackStore) -> None:
    store.act(["UPDATE books SET price = 5"], {}, call_id="it", now="n")
    store.act(["UPDATE books SET price = 6 WHERE title = 'one'"], {}, call_id="later", now="n")

    with pytest.raises(ToolFailed, match="changed again since"):
        store.undo("it", "n")
    assert store.read("SELECT price FROM books")[0] == {"price": 6.0}


def test_what_a_model_keeps_can_be_put_back_too(store: PackStore) -> None:
    given = {"table": "log", "data": {"line": "x"}}
    store.run("save", given, call_id="it", session_key="s", now="2026-01-01T00:00:00Z")

    assert store.undo("it", "n")
    assert len(store.read("SELECT * FROM log")) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE books",
        "SELECT * FROM elsewhere",
        "INSERT INTO _aouo_calls VALUES (1, 2, 3, 4, 5)",
        "DELETE FROM _aouo_changes",
        "ATTACH 'x' AS y",
        "CREATE TABLE more (a)",
        "PRAGMA journal_mode=DELETE",
    ],
)
def test_an_action_reaches_rows_of_its_pack_and_nothing_else(
    store: PackStore, statement: str
) -> None:
    with pytest.raises(ToolFailed):
        store.act([statement], {}, call_id="it", now="n")


def test_files_that_rest_are_opened_again_by_the_next_call(store: PackStore) -> None:
    before = _rows(store)
    store.act(["DELETE FROM books"], {}, call_id="it", now="n")
    files = len(list(Path("/proc/self/fd").iterdir()))
    store.rest()

    assert len(list(Path("/proc/self/fd").iterdir())) <= files - 5
    assert store.undo("it", "n")
    assert _rows(store) == before
