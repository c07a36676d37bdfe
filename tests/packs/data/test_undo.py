"""What a call changed can be put back, whatever the pack's own rules did besides. Source: issue
27: "what it changed in rows is kept"."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import ToolFailed
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
)


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


@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=6))
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
        assert _rows(store) == before
    finally:
        store.close()


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
