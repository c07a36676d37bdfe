"""First rows are given when a database is made, and never again. Source: issue 26, number 7."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.packs.data.migrations import Migration
from aouo.packs.data.opening import open_database
from aouo.packs.data.schema import apply_schema
from aouo.packs.data.schema_guard import Guard

KEYED = "CREATE TABLE IF NOT EXISTS w (word TEXT PRIMARY KEY, n INTEGER DEFAULT 0);\n"
PLAIN = "CREATE TABLE IF NOT EXISTS w (id INTEGER PRIMARY KEY, word TEXT, n INTEGER DEFAULT 0);\n"


class Database:
    """One database of a pack whose author and whose person both change it."""

    def __init__(self, path: str = ":memory:") -> None:
        self.connection = open_database(path)
        self._guard = Guard(self.connection)

    def schema(self, sql: str, *migrations: Migration) -> None:
        apply_schema(self.connection, self._guard, sql, {}, migrations)

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
def test_first_rows_count_only_at_the_beginning(table: str, mode: str) -> None:
    """One that came later, or was corrected, is given by a migration."""
    with closing((database := Database()).connection):
        database.schema(table + seeds("a", "b", "c", mode=mode))
        database.person("DELETE FROM w WHERE word = 'a'")
        database.person("UPDATE w SET n = 7 WHERE word = 'c'")
        database.schema(table + seeds("a", "x", "c", "d", mode=mode) + "-- and one more")

        assert database.rows == [("b", 0), ("c", 7)]
        more = Migration("0001_more.sql", seeds("d", mode=mode))
        database.schema(table + seeds("a", "x", "c", "d", mode=mode), more)
        assert database.rows == [("b", 0), ("c", 7), ("d", 0)]


def test_a_table_that_came_later_has_no_first_rows() -> None:
    with closing((database := Database()).connection):
        database.schema("CREATE TABLE first (x);")
        database.schema("CREATE TABLE first (x);" + KEYED + seeds("a"))

        assert database.rows == []


def test_a_database_without_anything_of_the_pack_is_at_its_beginning(tmp_path: Path) -> None:
    """Also one that the runtime has made already, for a pack that kept nothing before."""
    with closing((database := Database(str(tmp_path / "a.db"))).connection):
        database.schema("")
        database.schema(KEYED + seeds("a"))

        assert database.rows == [("a", 0)]


GUARDED = {
    "guarded": "INSERT INTO w (word) SELECT 'a' WHERE NOT EXISTS (SELECT 1 FROM w);" * 2,
    "a list": "INSERT INTO w (word) SELECT value FROM json_each('[\"a\"]');",
    "with": "INSERT INTO w (word) WITH x(y) AS (SELECT 'a') SELECT y FROM x WHERE true "
    "ON CONFLICT DO NOTHING;",
    "copied": "CREATE TABLE u (word); INSERT INTO u VALUES ('a'); INSERT INTO w (word) "
    "SELECT * FROM u;",
    "corrected": "INSERT INTO w (word, n) VALUES ('a', 3), ('a', 0) "
    "ON CONFLICT (word) DO UPDATE SET n = excluded.n;",
}


@pytest.mark.parametrize("how", GUARDED)
def test_rows_of_a_query_are_first_rows_too(how: str) -> None:
    """Packs of the original guard their first rows so. Source: issue 11, number 26."""
    with closing((database := Database()).connection):
        database.schema(KEYED + GUARDED[how])
        database.schema(KEYED + GUARDED[how] + "-- again")

        assert database.rows == [("a", 0)]


# Laws

WORDS = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)
ACTS = st.one_of(
    st.tuples(st.just("schema"), WORDS),
    st.tuples(st.just("delete"), st.sampled_from("abcdef")),
    st.tuples(st.just("edit"), st.sampled_from("abcdef")),
)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from([KEYED, PLAIN]), WORDS, st.lists(ACTS, min_size=1, max_size=8))
def test_rows_are_the_persons_from_the_beginning_on_whatever_an_author_does(
    table: str, first: list[str], acts: list[tuple[str, list[str] | str]]
) -> None:
    with closing((database := Database()).connection):
        database.schema(table + seeds(*first))
        expected = {word: word for word in first}
        for act, what in acts:
            match act:
                case "schema":
                    database.schema(table + seeds(*what))
                case "delete":
                    database.person(f"DELETE FROM w WHERE word = '{what}'")
                    expected = {k: v for k, v in expected.items() if v != what}
                case _:
                    database.person(f"UPDATE w SET word = word || '!' WHERE word = '{what}'")
                    expected = {k: f"{v}!" if v == what else v for k, v in expected.items()}

        assert [word for word, _ in database.rows] == sorted(expected.values())
