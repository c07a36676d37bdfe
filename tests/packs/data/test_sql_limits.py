"""What one statement of a pack may take: size, memory, time. Source: issue 11, number 3."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.facts.errors import ToolFailed
from aouo.packs.data.opening import _VALUE_BYTES, open_database
from aouo.packs.data.reading import ReadConnection
from aouo.packs.data.schema_guard import Guard, SchemaRefused, TookTooLong
from aouo.packs.data.schema_text import trial
from tests.sampling import left

BIG = "hex(zeroblob(490000))"
LONG_PATH = "'$' || replace(hex(zeroblob(450000)), '00', '{step}')"
HUNGRY = {
    "a replacement that grows": f"SELECT length(replace({BIG}, '0', {BIG}))",
    "columns": f"SELECT {', '.join(f'hex(zeroblob({490000 + i}))' for i in range(120))}",
    "more columns": f"SELECT {', '.join(f'hex(zeroblob({490000 + i}))' for i in range(1000))}",
    "columns without a function": f"WITH a(x) AS (SELECT {BIG}) "
    f"SELECT {', '.join(f'x || {i}' for i in range(240))} FROM a",
    "columns of columns": f"WITH a(x) AS MATERIALIZED (SELECT {BIG}) SELECT 1 FROM a WHERE "
    + " + ".join(f"length(x || {i})" for i in range(200)),
    "wide characters": f"WITH a(x) AS (SELECT {BIG} || '😀') "
    f"SELECT {', '.join(f'x || {i}' for i in range(240))} FROM a",
    "constants": f"SELECT {' + '.join(f'length(hex(zeroblob({490000 + i})))' for i in range(120))}",
    "blobs": f"SELECT {', '.join(f'zeroblob({990000 + i})' for i in range(240))}",
    "a sort": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(z) FROM "
    f"(SELECT {BIG} || i AS z FROM n ORDER BY z)",
    "a list": f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    f"SELECT count(DISTINCT {BIG} || i) FROM n",
    "a group": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT length(group_concat(i)) FROM n",
    "a path of objects": f"SELECT json_set('{{}}', {LONG_PATH.format(step='.a')}, 1)",
    "a path of lists": f"SELECT json_insert('[]', {LONG_PATH.format(step='[0]')}, 1)",
    "a width": "SELECT printf('%.*c%.*c', 2147483647, 'x', 2147483647, 'x')",
    "a precision": "SELECT format('%.2147483647f', 1.5)",
}
CHILD = """
import resource, sys
from pathlib import Path
from aouo.facts.errors import ToolFailed
from aouo.packs.data.reading import ReadConnection
reader = ReadConnection(Path(sys.argv[1]))
def peak_mb(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = peak_mb()
for sql in sys.argv[2:]:
    try: reader.rows(sql, (), limit=100)
    except ToolFailed: pass
print(int(peak_mb() - before))
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    with closing(open_database(str(path))) as connection:
        connection.execute("CREATE TABLE items (name TEXT, more TEXT)")
    return path


def grown_mb(database: Path, *queries: str) -> int:
    """How much more memory a process has had after these queries; it may not end before."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(database), *queries],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@left()
def test_no_select_takes_much_memory_or_ends_the_process(database: Path) -> None:
    """One took 5.3 GB, another ended the process by a path that SQLite goes down on the stack."""
    assert grown_mb(database, *HUNGRY.values()) < 700


def test_a_statement_that_needs_too_much_says_so(database: Path) -> None:
    with closing(ReadConnection(database)) as reader:
        for sql in (HUNGRY["constants"], HUNGRY["blobs"].replace("zeroblob", "randomblob")):
            with pytest.raises((ToolFailed, SchemaRefused)) as refused:
                reader.rows(f"SELECT count(*) FROM ({sql}) AS a, ({sql}) AS b", (), limit=1)

            assert str(refused.value)
        assert reader.rows("SELECT count(*) AS n FROM items", (), limit=1).rows == ({"n": 0},)


def test_a_row_larger_than_an_answer_is_refused_and_others_are_read(database: Path) -> None:
    with closing(ReadConnection(database)) as reader:
        with pytest.raises(ToolFailed, match="fewer columns"):
            reader.rows(f"SELECT {', '.join([BIG] * 40)}", (), limit=1)

        assert reader.rows("SELECT 'a' AS word", (), limit=1).rows == ({"word": "a"},)


def test_reading_sql_looks_at_the_clock_too(tmp_path: Path) -> None:
    """Views on views: all the time goes by before a first row is looked for."""
    with closing(open_database(str(tmp_path / "a.db"))) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("CREATE VIEW v0 AS SELECT a FROM t")
        for i in range(1, 10):
            both = f"SELECT a FROM v{i - 1} UNION ALL SELECT a FROM v{i - 1}"
            connection.execute(f"CREATE VIEW v{i} AS {both}")
        ticks = itertools.count(0.0, 0.01)
        guard = Guard(connection, monotonic=lambda: next(ticks))
        with pytest.raises(TookTooLong), guard.allow("read"):
            connection.execute("SELECT a FROM v9")


def test_all_statements_of_a_schema_share_one_time() -> None:
    ticks = itertools.count(0.0, 0.01)
    with closing(open_database(":memory:")) as connection:
        guard = Guard(connection, monotonic=lambda: next(ticks), total_s=1.0)

        def many() -> None:
            for i in range(1000):
                with guard.allow("schema"):
                    connection.execute(f"CREATE TABLE t{i} (a, b, c)")

        with pytest.raises(TookTooLong):
            many()


def test_looking_for_tables_compiles_no_view(tmp_path: Path) -> None:
    """Else each look at a pack with hostile views takes as long as all of them together."""
    with closing(open_database(str(tmp_path / "a.db"))) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("CREATE VIEW v AS SELECT * FROM t")
    seen: list[str | None] = []
    with closing(ReadConnection(tmp_path / "a.db")) as reader:
        reader._connection.set_authorizer(
            lambda action, one, two, three, inner: seen.append(inner) or sqlite3.SQLITE_OK
        )
        assert list(reader.tables()) == ["t"]

    assert "v" not in seen


@pytest.mark.parametrize(
    ("made", "table", "beside"),
    [
        ("fts5(x)", "found", "found_data"),
        ("fts4(x)", "found", "found_segments"),
        ("rtree(id, a, b)", "found", "found_node"),
    ],
)
def test_what_a_virtual_table_keeps_is_no_table_of_the_pack(
    made: str, table: str, beside: str
) -> None:
    found = trial(f"CREATE VIRTUAL TABLE {table} USING {made};CREATE TABLE {table}_mine (x);", {})

    assert list(found.tables) == [table, f"{table}_mine"]
    assert beside not in found.tables


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 3), st.integers(0, 1000), st.floats(-9, 9), st.text(max_size=5))
def test_printf_answers_as_sqlite_does(width: int, number: int, real: float, text: str) -> None:
    sql = f"SELECT printf('%0{width}d|%.{width}f|%-{width}s|%%*|%q', ?, ?, ?, ?), printf()"
    values = (number, real, text, text)
    with closing(sqlite3.connect(":memory:")) as plain, closing(open_database("")) as ours:
        Guard(ours)
        assert ours.execute(sql, values).fetchall() == plain.execute(sql, values).fetchall()


def test_a_value_of_the_greatest_length_is_kept_and_read(database: Path) -> None:
    with closing(open_database(str(database))) as connection:
        text = "x" * (_VALUE_BYTES - 100)
        connection.execute("INSERT INTO items (name) VALUES (?)", (text,))
        with pytest.raises(sqlite3.DataError):
            connection.execute("INSERT INTO items (name) VALUES (?)", (text * 2,))
    with closing(ReadConnection(database)) as reader:
        assert reader.rows("SELECT length(name) AS n FROM items", (), limit=1).rows[0] == {
            "n": _VALUE_BYTES - 100
        }
