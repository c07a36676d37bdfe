"""What a stranger's SQL may do: its own tables, and nothing else."""

from __future__ import annotations

import itertools
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.packs.data.opening import open_database
from aouo.packs.data.rows import tables
from aouo.packs.data.schema import apply_schema
from aouo.packs.data.schema_guard import Guard, SchemaRefused, TookTooLong
from aouo.packs.data.schema_text import normal, parts, split, trial

ITEMS = (
    "CREATE TABLE IF NOT EXISTS items"
    " (id INTEGER PRIMARY KEY, name TEXT, made TEXT DEFAULT (datetime('now')));"
)
COUNTING = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


def apply(path: Path, sql: str, extends: dict[str, dict[str, str]] | None = None) -> bool:
    with closing(open_database(str(path))) as connection:
        return apply_schema(connection, Guard(connection), sql, extends or {})


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def test_statements_are_cut_where_sqlite_would_cut_them() -> None:
    sql = """\
-- first; not a statement
CREATE TABLE a (x TEXT DEFAULT ';', "odd;name" TEXT); /* ; */ CREATE TABLE b (x);
CREATE TRIGGER t AFTER INSERT ON a BEGIN
  DELETE FROM b; SELECT ';';
END;
;;
INSERT INTO a VALUES ('it''s;', 1)
"""
    assert [(item.line, item.sql.split()[-1]) for item in split(sql)] == [
        (2, "TEXT);"),
        (2, "(x);"),
        (3, "END;"),
        (7, "1)"),
    ]


def test_a_statement_is_known_whatever_its_spacing_and_comments() -> None:
    (one,) = split("CREATE  TABLE a (x -- why\n TEXT);")
    (two,) = split("\n\nCREATE TABLE a (x /* because */ TEXT);")
    (other,) = split("CREATE TABLE a (x DEFAULT '-- why');")

    assert normal(one.sql) == normal(two.sql) != normal(other.sql)


@given(st.text(alphabet="ab;'\"`[] \n"))
def test_cutting_loses_nothing_but_blanks_and_ends(sql: str) -> None:
    kept = "".join(item.sql for item in split(sql))

    assert [c for c in kept if c.isalpha()] == [c for c in sql if c.isalpha()]


PARTS = {
    "a": "a TEXT DEFAULT 'x, (y)'",
    "b c": '"b c" DECIMAL(10, 2) /* , */ CHECK (b > (1))',
    "d": "d INTEGER AS (1, 2)",
    "check ( a > 1 )": "CHECK(a > 1)",
    "unique ( a , d )": "UNIQUE (a, d)",
}


@given(st.lists(st.sampled_from(sorted(PARTS)), min_size=1, unique=True), st.booleans())
def test_a_table_is_cut_into_its_columns_and_rules(names: list[str], strict: bool) -> None:
    inside = " , -- and\n".join(PARTS[name] for name in names)
    cut = parts(f'CREATE TABLE "t (x"({inside}-- the end\n){" STRICT" * strict}')

    assert cut == {**{name: PARTS[name] for name in names}, "": " STRICT" * strict}


@pytest.mark.parametrize(
    "text", ["'" * 99_999, "/*" * 50_000, '"' * 99_999, ";" * 1999, "[" * 99_999]
)
def test_text_made_to_cut_slowly_is_cut_at_once(text: str) -> None:
    assert len(split(text)) <= 1


HOSTILE = {
    "attach": "ATTACH DATABASE '{other}' AS other;",
    "attach in a comment's shade": "/* x */ ATTACH '{other}' AS o; DROP TABLE o.secrets;",
    "drop of a foreign database": "DROP TABLE other.secrets;",
    "detach": "DETACH DATABASE main;",
    "vacuum into": "VACUUM INTO '{fresh}';",
    "writable schema": "PRAGMA writable_schema = ON;",
    "the schema table itself": "DELETE FROM sqlite_master;",
    "trusted schema": "PRAGMA trusted_schema = ON;",
    "shared cache": "PRAGMA temp_store_directory = '{fresh}';",
    "database list": "PRAGMA database_list;",
    "extension": "SELECT load_extension('{fresh}');",
    "extension in a default": "CREATE TABLE b (x DEFAULT (load_extension('{fresh}')));"
    " INSERT INTO b DEFAULT VALUES;",
    "a tokenizer by address": "SELECT fts3_tokenizer('x', x'0000000000000000');",
    "text search over the runtime's table": "CREATE VIRTUAL TABLE b USING fts5(digest,"
    " content='_aouo_schema'); INSERT INTO b (b) VALUES ('rebuild');",
    "temporary table": "CREATE TEMP TABLE b (x);",
    "temporary trigger": "CREATE TEMP TRIGGER t AFTER INSERT ON items BEGIN SELECT 1; END;",
    "unknown module": "CREATE VIRTUAL TABLE b USING dbstat;",
    "the runtime's table": "CREATE TABLE _aouo_calls (x);",
    "the runtime's table as a view": "CREATE VIEW _AOUO_schema AS SELECT 1;",
    "rename onto it": "CREATE TABLE b (x); ALTER TABLE b RENAME TO _aouo_calls;",
    "endless": f"INSERT INTO items (name) {COUNTING} SELECT i FROM n;",
    "huge value": "INSERT INTO items (name) VALUES (zeroblob(900000000));",
    "a path without end": "INSERT INTO items (name) VALUES (json_set('[]', '$.a', 1));",
    "a width without end": "INSERT INTO items (name) VALUES (printf('%.*c', 2147483647, 'x'));",
    "columns of columns": "CREATE TABLE b (c0 TEXT, "
    + ", ".join(f"c{i + 1} AS (c{i} || c{i})" for i in range(60))
    + "); CREATE INDEX i ON b (c60);",
    "a table it drops when run again": "DROP TABLE IF EXISTS items; CREATE TABLE items (id);",
    "rows it deletes when run again": "DELETE FROM items;",
    "update": "UPDATE items SET name = 'x';",
    "drop of a view": "DROP VIEW IF EXISTS v;",
    "alter": "ALTER TABLE items ADD COLUMN x;",
    "rows from a table": "INSERT INTO items (name) SELECT name FROM sqlite_master;",
    "rows from the runtime's table": "INSERT INTO items (name) SELECT digest FROM _aouo_schema;",
    "rows from a list of files": "INSERT INTO items (name) SELECT file FROM pragma_database_list;",
    "rows behind a comment": "INSERT/**/INTO items (name) SELECT/**/sql FROM main.sqlite_schema;",
    "rows through a view": "CREATE VIEW v AS SELECT sql FROM sqlite_master;"
    " INSERT INTO items (name) SELECT sql FROM v;",
    "a table of values": "CREATE TABLE b AS VALUES (1);",
    "a table of a constant": 'CREATE TABLE IF NOT EXISTS main."as" AS SELECT 1 AS x;',
    "endless rows": f"INSERT INTO items (name) SELECT 1 UNION ALL SELECT i FROM ({COUNTING}"
    " SELECT i FROM n);",
    "an upsert elsewhere": "INSERT INTO sqlite_master (name) VALUES ('x') ON CONFLICT DO NOTHING;",
    "rows from WITH": "WITH n AS (SELECT 1) INSERT INTO items (name) SELECT * FROM n;",
    "a value from a table": "INSERT INTO items (name) VALUES ((SELECT name FROM sqlite_master));",
    "a table of a query": "CREATE TABLE IF NOT EXISTS b AS SELECT name FROM items;",
    "select": "SELECT 1;",
    "explain": "EXPLAIN INSERT INTO items (name) VALUES ('x');",
    "analyze": "ANALYZE;",
    "reindex": "REINDEX;",
    "vacuum": "VACUUM;",
    "rollback": "ROLLBACK;",
    "savepoint": "SAVEPOINT x;",
    "query only": "PRAGMA query_only = OFF;",
    "locking": "PRAGMA locking_mode = EXCLUSIVE;",
    "nested without end": f"INSERT INTO items (name) VALUES ({'(' * 3000}1{')' * 3000});",
    "rows of nobody's table": "INSERT INTO nowhere VALUES (1);",
    "more values than columns": "INSERT INTO items (name) VALUES ('a', 'b');",
    "half a statement": "CREATE TABLE IF NOT EXISTS",
    "no SQL": "Once upon a time;",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_sql_is_refused_and_nothing_changes(tmp_path: Path, what: str) -> None:
    other, fresh, mine = tmp_path / "other.db", tmp_path / "fresh", tmp_path / "mine.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE secrets (x)")
        connection.execute("INSERT INTO secrets VALUES (1)")
        connection.commit()
    apply(mine, ITEMS + "INSERT INTO items (name) VALUES ('a');")
    before = rows(mine, "SELECT name, sql FROM sqlite_master ORDER BY name")
    hostile = HOSTILE[what].format(other=other, fresh=fresh)

    with pytest.raises(SchemaRefused) as refused:
        apply(mine, f"{ITEMS}\n{hostile}")
    tried = trial(f"{ITEMS}\n{hostile}", {}, strict=True)

    assert refused.value.line == 2
    assert tried.refused
    assert rows(mine, "SELECT name, sql FROM sqlite_master ORDER BY name") == before
    assert rows(mine, "SELECT name FROM items") == [("a",)]
    assert rows(other, "SELECT x FROM secrets") == [(1,)]
    assert not fresh.exists()


def test_if_not_exists_may_be_left_out(tmp_path: Path) -> None:
    """A schema is applied once a content: nobody needs to write it as if it ran at each start."""
    made = (
        'CREATE TABLE b (x TEXT UNIQUE{more});\nCREATE TABLE"if" (y);\n'
        "CREATE UNIQUE INDEX i ON b (x);\nCREATE VIEW v AS SELECT x FROM b;\n"
        "CREATE TRIGGER t AFTER INSERT ON b BEGIN UPDATE b SET x = x; END;\n"
        "CREATE VIRTUAL TABLE f USING fts5(x);\nINSERT INTO b (x) VALUES ('first');\n"
    )
    path = tmp_path / "pack.db"
    assert not trial(made.format(more=""), {}, strict=True).refused
    assert apply(path, made.format(more=""))
    assert not apply(path, made.format(more=""))
    assert apply(path, made.format(more=", z DEFAULT 3"))
    assert rows(path, "SELECT x, z FROM b") == [("first", 3)]


REFUSALS = {
    "UPDATE items SET name = 'x';": "write it into migrations/NNNN_name.sql",
    "DROP TABLE items;": "write it into migrations/NNNN_name.sql",
    "DROP TRIGGER t;": "made anew",
    "ALTER TABLE items ADD COLUMN x;": "write a new column into its CREATE TABLE",
    "WITH n AS (SELECT 1) INSERT INTO items (name) SELECT 1;": "WITH comes after it",
    "INSERT INTO items (name) SELECT name FROM sqlite_master;": "not from sqlite_master",
    "CREATE TABLE b AS SELECT name FROM items;": "write the columns",
    "CREATE TABLE b (x); CREATE TABLE b (x);": "it is made twice here",
    "CREATE TABEL b (x);": 'near "TABEL": syntax error',
    "PRAGMA locking_mode = EXCLUSIVE;": "PRAGMA locking_mode cannot be used",
    "CREATE VIRTUAL TABLE IF NOT EXISTS b USING dbstat;": "virtual tables of the kind dbstat",
}


@pytest.mark.parametrize("sql", REFUSALS)
def test_a_refusal_says_what_to_do(sql: str) -> None:
    (refused,) = trial(ITEMS + sql, {}, strict=True).refused

    assert REFUSALS[sql] in refused.problem


def test_the_usual_head_of_a_schema_is_taken_and_changes_nothing(tmp_path: Path) -> None:
    sql = f"PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; BEGIN; {ITEMS} COMMIT;"
    with closing(open_database(str(tmp_path / "a.db"))) as connection:
        apply_schema(connection, Guard(connection), sql, {})

        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert not connection.in_transaction


def test_full_text_search_triggers_and_views_work(tmp_path: Path) -> None:
    sql = f"""{ITEMS}
CREATE VIRTUAL TABLE IF NOT EXISTS found USING fts5(name);
CREATE TRIGGER IF NOT EXISTS t AFTER INSERT ON items BEGIN
  INSERT INTO found (rowid, name) VALUES (new.id, new.name);
END;
CREATE VIEW IF NOT EXISTS names AS SELECT name FROM items;
INSERT INTO items (name) VALUES ('green apple');
"""
    apply(tmp_path / "a.db", sql)

    assert rows(tmp_path / "a.db", "SELECT rowid FROM found WHERE found MATCH 'apple'") == [(1,)]


def test_the_same_schema_again_changes_nothing(tmp_path: Path) -> None:
    path, sql = tmp_path / "a.db", ITEMS + "INSERT INTO items (name) VALUES ('a'), ('b');"

    assert [apply(path, sql), apply(path, sql)] == [True, False]
    assert rows(path, "SELECT name FROM items") == [("a",), ("b",)]


def test_a_column_that_a_table_gained_is_added_and_rows_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    apply(path, "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, a TEXT);")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO t (a) VALUES ('kept')")
        connection.commit()

    apply(
        path,
        "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, a TEXT, b INT NOT NULL DEFAULT 7,"
        " made TEXT NOT NULL DEFAULT (date('2026-01-31', '+1 day')), "
        " who TEXT NOT NULL DEFAULT '', more TEXT);"
        "CREATE INDEX IF NOT EXISTS by_b ON t (b);",
        {"t": {"mood": "TEXT DEFAULT 'fine'"}},
    )

    assert rows(path, "SELECT a, b, made, mood FROM t") == [("kept", 7, "2026-02-01", "fine")]


def test_a_schema_that_fails_half_way_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    apply(path, ITEMS)

    with pytest.raises(SchemaRefused, match="no such table"):
        apply(path, ITEMS + "CREATE TABLE IF NOT EXISTS b (x);\nINSERT INTO nowhere VALUES (1);")

    with closing(open_database(str(path))) as connection:
        assert list(tables(connection)) == ["items"]


def test_a_statement_is_stopped_at_its_time_limit() -> None:
    ticks = itertools.count(0, 1)
    with closing(open_database(":memory:")) as connection:
        guard = Guard(connection, monotonic=lambda: float(next(ticks)))
        with pytest.raises(TookTooLong), guard.allow("read"):
            connection.execute(f"{COUNTING} SELECT sum(i) FROM n").fetchall()

        assert connection.execute("SELECT 1").fetchone() == (1,)


LONG = "replace(hex(zeroblob(450000)), '0', 'b')"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT length(trim(hex(zeroblob(450000)), {LONG} || '0'))",
        f"SELECT instr(zeroblob(900000), CAST(zeroblob(450000) || x'01' AS BLOB)) > 0, {LONG}"
        f" LIKE '%' || substr({LONG}, 1, 490) || 'a'",
        f"SELECT replace({LONG}, substr({LONG}, 1, 450000) || 'a', '') = ''",
    ],
    ids=["trim", "instr, like", "replace"],
)
def test_no_function_outlives_the_time_of_its_statement(tmp_path: Path, sql: str) -> None:
    """SQLite looks at the clock between functions only; the first of these takes a day."""
    began_s = time.monotonic()
    with closing(open_database(str(tmp_path / "a.db"))) as connection:
        guard = Guard(connection)
        with pytest.raises((sqlite3.Error, TookTooLong)), guard.allow("read"):
            connection.execute(sql).fetchall()

    assert "too long to be searched" in guard.refusal
    assert time.monotonic() - began_s < 20


def test_many_heavy_functions_in_one_row_end_in_time(tmp_path: Path) -> None:
    """There is no look at the clock in a row without a loop."""
    heavy = ", ".join(["a LIKE '%' || substr(a, 1, 20) || 'b' || ?"] * 100)
    with closing(open_database(str(tmp_path / "a.db"))) as connection:
        clock = itertools.count(0, 0.02)
        with (
            pytest.raises(TookTooLong),
            Guard(connection, monotonic=lambda: next(clock)).allow("read"),
        ):
            connection.execute(
                f"SELECT {heavy} FROM (SELECT hex(zeroblob(1000)) AS a)", ["x"] * 100
            ).fetchall()


@given(
    st.lists(
        st.none()
        | st.integers(-9, 9)
        | st.floats(-9, 9)
        | st.text("ab%_*Ä", max_size=4)
        | st.text("ab", max_size=3).map(str.encode),
        min_size=3,
        max_size=3,
    )
)
def test_limited_functions_answer_as_sqlite_does(values: list[object]) -> None:
    calls = "trim(?1, ?2), ltrim(?1, ?2), rtrim(?1, ?2), instr(?1, ?2), replace(?1, ?2, ?3),"
    sql = f"SELECT {calls} ?1 LIKE ?2, ?1 GLOB ?2, ?3"
    with closing(sqlite3.connect(":memory:")) as plain, closing(open_database("")) as ours:
        Guard(ours)
        assert ours.execute(sql, values).fetchall() == plain.execute(sql, values).fetchall()
