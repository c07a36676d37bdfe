"""First rows are given once. Source: issue 5, "Storage"; the original doubled them (G1)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.packs.data.opening import open_database
from aouo.packs.data.schema import apply_schema
from aouo.packs.data.schema_guard import Guard, SchemaRefused

KEYED = "CREATE TABLE IF NOT EXISTS w (word TEXT PRIMARY KEY, n INTEGER DEFAULT 0);\n"
PLAIN = "CREATE TABLE IF NOT EXISTS w (id INTEGER PRIMARY KEY, word TEXT, n INTEGER DEFAULT 0);\n"


class Database:
    """One database of a pack whose author and whose person both change it."""

    def __init__(self, path: str = ":memory:") -> None:
        self.connection = open_database(path)
        self._guard = Guard(self.connection)

    def schema(self, sql: str) -> None:
        apply_schema(self.connection, self._guard, sql, {})

    def person(self, sql: str) -> None:
        self.connection.execute(sql)

    @property
    def rows(self) -> list[tuple[object, ...]]:
        return self.connection.execute("SELECT word, n FROM w ORDER BY word").fetchall()


def seeds(*words: str, mode: str = "INSERT") -> str:
    values = ", ".join(f"('{word}')" for word in words)
    return f"{mode} INTO w (word) VALUES {values};\n" if words else ""


@pytest.mark.parametrize("table", [KEYED, PLAIN])
@pytest.mark.parametrize("mode", ["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE", "REPLACE"])
def test_a_seed_that_a_person_deleted_or_changed_stays_so(table: str, mode: str) -> None:
    with closing((database := Database()).connection):
        database.schema(table + seeds("a", "b", "c", mode=mode))
        database.person("DELETE FROM w WHERE word = 'a'")
        database.person("UPDATE w SET word = 'mine' WHERE word = 'b'")
        database.person("UPDATE w SET n = 7 WHERE word = 'c'")
        database.schema(table + seeds("a", "b", "c", "d", mode=mode) + "-- and one more")

        assert database.rows == [("c", 7), ("d", 0), ("mine", 0)]


def test_a_row_of_a_person_that_says_the_same_is_kept_and_not_doubled() -> None:
    for table in (KEYED, PLAIN):
        with closing((database := Database()).connection):
            database.schema(table)
            database.person("INSERT INTO w (word) VALUES ('a')")
            database.schema(table + seeds("a", "b"))

            assert database.rows == [("a", 0), ("b", 0)]


def test_a_seed_is_known_by_its_key_when_it_says_more_than_before() -> None:
    with closing((database := Database()).connection):
        database.schema(KEYED + "INSERT INTO w VALUES ('a', 1), ('b', 1);")
        database.person("DELETE FROM w WHERE word = 'b'")
        database.schema(KEYED + "INSERT INTO w VALUES ('a', 2), ('b', 2), ('c', 2);")

        assert database.rows == [("a", 1), ("c", 2)]


def test_an_upsert_corrects_a_seed_that_is_still_there() -> None:
    end = " ON CONFLICT (word) DO UPDATE SET n = excluded.n;"
    with closing((database := Database()).connection):
        database.schema(KEYED + "INSERT INTO w VALUES ('a', 1), ('b', 1)" + end)
        database.person("DELETE FROM w WHERE word = 'b'")
        database.schema(KEYED + "INSERT INTO w VALUES ('a', 2), ('b', 2)" + end)

        assert database.rows == [("a", 2)]


def test_a_seed_without_names_finds_its_columns_after_one_was_added_between() -> None:
    later = "CREATE TABLE IF NOT EXISTS w (word TEXT PRIMARY KEY, more TEXT, n INTEGER DEFAULT 0);"
    with closing((database := Database()).connection):
        database.schema(KEYED + "INSERT INTO w VALUES ('a', 1);")
        database.schema(later + "INSERT INTO w VALUES ('a', 'x', 1), ('b', 'y', 2);")

        assert database.rows == [("a", 1), ("b", 2)]
        assert database.connection.execute("SELECT word, more FROM w").fetchall() == [
            ("a", None),
            ("b", "y"),
        ]


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO w (word, n) VALUES ('it''s; (a), VALUES', 1), ('b' -- )\n, 2)",
        "INSERT OR IGNORE INTO \"w\" (\"word\", [n]) VALUES ('it''s; (a), VALUES', 1),('b',+2)",
        "insert into main.w as x (word, n) values ('it''s; (a), VALUES', 1), ('b', (2)) "
        "on conflict (word) do nothing",
    ],
)
def test_any_way_to_write_rows_is_cut_into_rows(text: str) -> None:
    with closing((database := Database()).connection):
        database.schema(KEYED + text + ";")
        database.schema(KEYED + text + ", ('c', 3);" if "conflict" not in text else KEYED + text)

        assert database.rows[-2:] != []
        assert ("it's; (a), VALUES", 1) in database.rows
        assert ("b", 2) in database.rows


def test_default_values_and_times_are_given_once(tmp_path: Path) -> None:
    table = "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, at TEXT DEFAULT 'x');"
    for _ in range(2):
        with closing(open_database(str(tmp_path / "a.db"))) as connection:
            for comment in ("", "-- again"):
                sql = "INSERT INTO t DEFAULT VALUES; INSERT INTO t (at) VALUES (datetime('now'));"
                apply_schema(connection, Guard(connection), table + sql + comment, {})
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (2,)


GUARDED = {
    "guarded": "INSERT INTO w (word) SELECT '{}' WHERE NOT EXISTS (SELECT 1 FROM w WHERE n > 99);",
    "each guarded": "INSERT INTO w (word, n) SELECT '{}', 0 "
    "WHERE NOT EXISTS (SELECT 1 FROM w WHERE word = '{}');",
    "joined": "INSERT OR IGNORE INTO w (word) SELECT '{}' UNION SELECT '{}';",
    "a list": "INSERT INTO w (word) SELECT value FROM json_each('[\"{}\"]');",
    "of values": "INSERT INTO main.w (word) SELECT column1 FROM (VALUES ('{}'));",
    "values and more": "INSERT OR REPLACE INTO w (word) VALUES ('{}') UNION SELECT '{}';",
    "with": "INSERT INTO w (word) WITH x(y) AS (SELECT '{}') SELECT y FROM x WHERE true "
    "ON CONFLICT DO NOTHING;",
}


@pytest.mark.parametrize("table", [KEYED, PLAIN])
@pytest.mark.parametrize("how", GUARDED)
def test_rows_of_a_query_are_first_rows_too(table: str, how: str) -> None:
    """Packs of the original guard their first rows so. Source: issue 11, number 26."""

    def rows(*words: str) -> str:
        return "\n".join(GUARDED[how].replace("{}", word) for word in words)

    with closing((database := Database()).connection):
        database.schema(table + rows("a", "b"))
        database.person("DELETE FROM w WHERE word = 'a'")
        database.person("UPDATE w SET word = 'mine' WHERE word = 'b'")
        database.schema(table + rows("a", "b", "c") + "-- and one more")
        for word in ("a", "b", "c"):
            database.schema(table + rows(word).replace("w (word", "w  ( word", 1) + f"-- {word}")

        assert {word for word, _ in database.rows} >= {"mine", "c"}
        assert not {word for word, _ in database.rows} & {"a", "b"}


def test_rows_of_a_query_that_gained_one_come_once(tmp_path: Path) -> None:
    first = "INSERT INTO w (word, n) SELECT 'a', 1 UNION ALL SELECT 'b', 2"
    for table in (KEYED, PLAIN):
        with closing((database := Database()).connection):
            database.schema(f"{table}{first};")
            database.person("DELETE FROM w WHERE word = 'a'")
            database.schema(f"{table}{first} UNION ALL SELECT 'c', NULL;")

            assert database.rows == [("b", 2), ("c", None)]


def test_a_query_of_first_rows_reads_the_packs_own_tables() -> None:
    made = "CREATE TABLE t (word TEXT UNIQUE, n REAL, raw BLOB);"
    rows = "INSERT INTO t VALUES ('it''s\n', 1e999, x'00ff'), (char(97, 0, 98), -0.1, NULL);"
    with closing((database := Database()).connection):
        copied = "CREATE TABLE u (word TEXT, n REAL, raw BLOB);INSERT INTO u SELECT * FROM t;"
        database.schema(made + rows + copied)
        both = "SELECT * FROM t EXCEPT SELECT * FROM u"

        assert database.connection.execute(both).fetchall() == []
        assert database.connection.execute("SELECT count(*) FROM u").fetchone() == (2,)


# Laws

WORDS = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)
ACTS = st.one_of(
    st.tuples(st.just("schema"), WORDS, st.booleans()),
    st.tuples(st.just("delete"), st.sampled_from("abcdef"), st.booleans()),
    st.tuples(st.just("edit"), st.sampled_from("abcdef"), st.booleans()),
)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from([KEYED, PLAIN]), st.lists(ACTS, min_size=1, max_size=8))
def test_each_seed_comes_once_whatever_author_and_person_do(
    table: str, acts: list[tuple[str, list[str] | str, bool]]
) -> None:
    with closing((database := Database()).connection):
        database.schema(table)
        expected: dict[str, str] = {}
        given_before: set[str] = set()
        for act, what, flag in acts:
            match act:
                case "schema":
                    tenant_folders = [seeds(word) for word in what] if flag else [seeds(*what)]
                    database.schema(table + "".join(tenant_folders))
                    expected |= {word: word for word in what if word not in given_before}
                    given_before |= set(what)
                case "delete":
                    database.person(f"DELETE FROM w WHERE word = '{what}'")
                    expected = {k: v for k, v in expected.items() if v != what}
                case _:
                    database.person(f"UPDATE w SET word = word || '!' WHERE word = '{what}'")
                    expected = {k: f"{v}!" if v == what else v for k, v in expected.items()}

        assert [word for word, _ in database.rows] == sorted(expected.values())


def test_many_first_rows_take_a_schema_few_statements_a_row() -> None:
    """Each was held against all others, so that ten thousand took hours."""
    many = (
        "INSERT INTO w (word) WITH RECURSIVE n(i) AS (SELECT {} UNION ALL SELECT i + 1 FROM n "
        "LIMIT {}) SELECT 'w' || i FROM n;"
    )
    with closing((database := Database()).connection):
        statements: list[str] = []
        database.connection.set_trace_callback(statements.append)
        database.schema(PLAIN + many.format(0, 2_000))

        assert len(database.rows) == 2_000
        assert len(statements) < 20 * 2_000


def test_first_rows_have_an_end_in_however_many_statements() -> None:
    one = (
        "INSERT INTO w (word) WITH RECURSIVE n(i) AS (SELECT {} UNION ALL SELECT i + 1 FROM n "
        "LIMIT 10000) SELECT 'w' || i FROM n;"
    )
    with closing((database := Database()).connection):
        with pytest.raises(SchemaRefused, match="at most 20,000 in all"):
            database.schema(PLAIN + "".join(one.format(10_000 * i) for i in range(5)))

        assert not database.connection.execute("SELECT 1 FROM sqlite_master").fetchall()
