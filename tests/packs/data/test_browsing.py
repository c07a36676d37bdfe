"""Whatever a table is called and holds, its pages are its rows, in order and each once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.facts.errors import PackError, TooMuchToRead
from aouo.packs.data import browsing as module
from aouo.packs.data.browsing import NotThere, Wanted, browsing
from aouo.packs.data.schema_guard import quoted

NAMES = st.text(
    st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=12
).filter(lambda name: not name.lower().startswith(("sqlite_", "_aouo_")))
CELLS = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=5),
    st.sampled_from(["a", "A", "ab", "10", "2"]),
    st.binary(max_size=3),
)
KINDS = st.sampled_from(["", "TEXT", "INTEGER", "TEXT COLLATE NOCASE", "REAL"])


def made(folder: str, *statements: tuple[str, tuple[Any, ...]]) -> Path:
    file = Path(folder) / "pack.db"
    with closing(sqlite3.connect(file)) as connection:
        for sql, values in statements:
            connection.execute(sql, values)
        connection.commit()
    return file


def all_rows(file: Path, wanted: Wanted) -> list[tuple[Any, ...]]:
    """Turn the pages until there are no more."""
    rows: list[tuple[Any, ...]] = []
    after = ""
    while True:
        with browsing(file) as look:
            page = look.page(replace(wanted, after=after))
        rows += [row.cells for row in page.rows]
        if not page.more:
            return rows
        after = page.rows[-1].key


@given(
    table=NAMES,
    column=NAMES.filter(lambda name: name.lower() not in {"n", "n2"}),
    kind=KINDS,
    cells=st.lists(CELLS, max_size=12),
    limit=st.integers(1, 5),
    falling=st.booleans(),
    has_rowid=st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_pages_hold_each_row_once_in_order(
    table: str,
    column: str,
    kind: str,
    cells: list[Any],
    limit: int,
    falling: bool,
    has_rowid: bool,
) -> None:
    key = "n INTEGER" if has_rowid else "n INTEGER, n2 TEXT, PRIMARY KEY (n2, n)"
    end = "" if has_rowid else " WITHOUT ROWID"
    columns = f"{quoted(column)} {kind}, {key}"
    names = f"{quoted(column)}, n" + ("" if has_rowid else ", n2")
    rows = [(cell, n) if has_rowid else (cell, n, str(n % 3)) for n, cell in enumerate(cells)]
    marks = ", ".join("?" * (2 if has_rowid else 3))
    with TemporaryDirectory() as folder:
        file = made(
            folder,
            (f"CREATE TABLE {quoted(table)} ({columns}){end}", ()),
            *((f"INSERT INTO {quoted(table)} ({names}) VALUES ({marks})", row) for row in rows),
        )
        found = all_rows(file, Wanted(table, sort=column, falling=falling, limit=limit))
        way = "DESC" if falling else "ASC"
        order = f"rowid {way}" if has_rowid else f"n2 {way}, n {way}"
        with closing(sqlite3.connect(file)) as connection:
            expected = connection.execute(
                f"SELECT * FROM {quoted(table)} ORDER BY {quoted(column)} {way}, {order}"
            ).fetchall()

    assert found == expected


@given(
    cells=st.lists(CELLS, max_size=12),
    text=st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1)
    | st.sampled_from(["a", "10", "%", "_", "'", '"']),
    limit=st.integers(1, 5),
)
@settings(deadline=None, max_examples=150)
def test_a_filter_keeps_exactly_the_rows_that_have_the_text(
    cells: list[Any], text: str, limit: int
) -> None:
    with TemporaryDirectory() as folder:
        file = made(
            folder,
            ("CREATE TABLE t (c)", ()),
            *(
                ("INSERT INTO t VALUES (?)", (cell,))
                for cell in cells
                if not isinstance(cell, bytes)
            ),
        )
        for how in ("contains", "equals"):
            kept = Wanted("t", "c", how, text, limit=limit)
            found = [row[0] for row in all_rows(file, kept)]
            with closing(sqlite3.connect(file)) as connection:
                texts = connection.execute("SELECT c, CAST(c AS TEXT) FROM t").fetchall()
            with browsing(file) as look:
                counted = look.count(kept)

            assert found == [
                cell
                for cell, as_text in texts
                if as_text is not None
                and (text == as_text if how == "equals" else _folded(text) in _folded(as_text))
            ]
            assert counted == len(found)


def _folded(text: str) -> str:
    """As SQLite's lower: A to Z only."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def test_long_cells_are_cut_with_their_size_and_whole_when_asked_for() -> None:
    with TemporaryDirectory() as folder:
        file = made(
            folder,
            ("CREATE TABLE t (a, b)", ()),
            ("INSERT INTO t VALUES (?, ?)", ("x" * 3_000_000, b"\0" * 50)),
        )
        with browsing(file) as look:
            (row,) = look.page(Wanted("t", cut=10)).rows
            whole = look.cell("t", "a", row.key)

    assert row.cells == ("x" * 10, b"\0" * 10)
    assert row.sizes == {0: 3_000_000, 1: 50}
    assert whole == "x" * 3_000_000


@pytest.mark.parametrize(
    "key", ["", "[]", "[1, 2]", "[true]", "x", '{"a": 1}', "[99999999999999999999]", '["\\ud800"]']
)
def test_a_key_that_is_none_is_told(key: str) -> None:
    with TemporaryDirectory() as folder:
        file = made(folder, ("CREATE TABLE t (a)", ()), ("INSERT INTO t VALUES (1)", ()))

        with pytest.raises(NotThere), browsing(file) as look:
            look.cell("t", "a", key)


def test_a_row_that_went_away_between_two_pages_is_told() -> None:
    with TemporaryDirectory() as folder:
        file = made(folder, ("CREATE TABLE t (a)", ()), ("INSERT INTO t VALUES (1)", ()))

        with pytest.raises(NotThere, match="not there any more"), browsing(file) as look:
            look.page(Wanted("t", sort="a", after="[7]"))


@pytest.mark.parametrize("table", ["sqlite_master", "_aouo_seeds", "t; DROP TABLE t", '"', ""])
def test_only_tables_of_the_pack_can_be_read(table: str) -> None:
    with TemporaryDirectory() as folder:
        file = made(
            folder, ("CREATE TABLE t (a)", ()), ("CREATE TABLE _aouo_seeds (name TEXT)", ())
        )

        with pytest.raises(NotThere), browsing(file) as look:
            look.page(Wanted(table))


def test_a_column_hides_the_rowid_and_rows_are_still_told_apart() -> None:
    with TemporaryDirectory() as folder:
        file = made(
            folder,
            ("CREATE TABLE t (rowid TEXT, a)", ()),
            *(("INSERT INTO t VALUES ('same', ?)", (n,)) for n in range(5)),
        )

        assert all_rows(file, Wanted("t", limit=2)) == [("same", n) for n in range(5)]


def test_what_a_packs_sql_computes_is_named_and_never_run() -> None:
    slow = "(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n)"
    with TemporaryDirectory() as folder:
        file = made(
            folder,
            ("CREATE TABLE t (a, b AS (a || 'x'))", ()),
            (f"CREATE VIEW v AS SELECT {slow}", ()),
            ("INSERT INTO t (a) VALUES (1)", ()),
        )
        with browsing(file) as look:
            ((table, computed, _),) = look.tables()
            (row,) = look.page(Wanted("t")).rows

    assert (table.name, computed) == ("t", ("b",))
    assert row.cells == (1,)


def test_a_look_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.0)
    with TemporaryDirectory() as folder:
        file = made(
            folder,
            ("CREATE TABLE t (a)", ()),
            (
                "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                "WHERE i < 5000) SELECT i FROM n",
                (),
            ),
        )
        with browsing(file) as look:
            ((_, _, rows),) = look.tables()

        with pytest.raises(TooMuchToRead), browsing(file) as look:
            look.page(Wanted("t", "a", "equals", "nobody"))

    assert rows is None


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to be one" * 100])
def test_a_file_that_is_no_database_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "pack.db"
    file.write_bytes(content)

    if content:
        with pytest.raises(PackError, match="cannot be read"), browsing(file) as look:
            look.tables()
    else:
        with browsing(file) as look:
            assert look.tables() == []


def test_a_database_that_somebody_locks_is_told(tmp_path: Path) -> None:
    file = made(str(tmp_path), ("CREATE TABLE t (a)", ()))
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")

        with pytest.raises(PackError, match="locked"), browsing(file) as look:
            look.tables()
