"""What happens to a pack's rows when its schema changes. Source: issue 5, "Storage"."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from aouo.packs.data.migrations import Migration, read_migrations
from aouo.packs.data.opening import open_database
from aouo.packs.data.rows import tables
from aouo.packs.data.schema import apply_schema
from aouo.packs.data.schema_guard import Guard, SchemaRefused

WORDS = """\
CREATE TABLE IF NOT EXISTS words (
  id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, level INTEGER DEFAULT 0 CHECK (level < 9)
);
CREATE TABLE IF NOT EXISTS cards (
  id INTEGER PRIMARY KEY, word_id INTEGER REFERENCES words (id) ON DELETE CASCADE, due TEXT
);
"""
ROWS = "INSERT INTO words (word) VALUES ('Baum'), ('Haus'); INSERT INTO cards (word_id) VALUES (2);"
RENAME = Migration("0001_rename.sql", "ALTER TABLE words RENAME COLUMN word TO term;")
RENAMED = WORDS.replace("word TEXT", "term TEXT")


def apply(path: Path, sql: str, *migrations: Migration) -> bool:
    with closing(open_database(str(path))) as connection:
        return apply_schema(connection, Guard(connection), sql, {}, migrations)


def refusal(path: Path, sql: str, *migrations: Migration) -> SchemaRefused:
    with pytest.raises(SchemaRefused) as refused:
        apply(path, sql, *migrations)
    return refused.value


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def contents(path: Path) -> tuple[object, ...]:
    """All that a pack or a person could see of a database."""
    with closing(sqlite3.connect(path)) as connection:
        made = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name")
        found = made.fetchall()
        names = [name for kind, name, _ in found if kind == "table"]
        kept = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}
    return found, kept


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database that people have used, made by the first version of a pack."""
    path = tmp_path / "old.db"
    apply(path, WORDS)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(ROWS)
    return path


CHANGES = {
    # what: (the new schema, what the owner reads)
    "column gone": (WORDS.replace(", due TEXT", ""), "the column cards.due is gone"),
    "column renamed to": (WORDS.replace("due TEXT", "text TEXT"), "the column cards.due is gone"),
    "column renamed": (RENAMED, "the column words.word is gone"),
    "table renamed": (WORDS.replace("EXISTS cards", "EXISTS tests"), "the table cards is gone"),
    "type": (WORDS.replace("due TEXT", "due INTEGER"), "cards.due was “due TEXT” and is “due INTE"),
    "default": (WORDS.replace("DEFAULT 0", "DEFAULT 1"), "words.level was “level INTEGER DEFAULT"),
    "table gone": (WORDS[: WORDS.index("CREATE TABLE IF NOT EXISTS cards")], "table cards is gone"),
    "unique gone": (WORDS.replace(" UNIQUE", ""), "words.word was “word TEXT NOT NULL UNIQUE”"),
    "unique new": (WORDS.replace("due TEXT", "due TEXT UNIQUE"), "and is “due TEXT UNIQUE”"),
    "key": (WORDS.replace("PRIMARY KEY, word_id", ", word_id"), "the column cards.id was"),
    "check": (WORDS.replace("level < 9", "level < 5"), "words.level was"),
    "rule": (WORDS.replace("due TEXT", "due TEXT, CHECK (due <> '')"), "check ( due < > '' ) of c"),
    "reference": (WORDS.replace(" ON DELETE CASCADE", ""), "the column cards.word_id was"),
    "strict": (WORDS.replace("due TEXT\n)", "due TEXT\n) STRICT"), "of cards was “” and is “STR"),
    "collation": (WORDS.replace("UNIQUE", "UNIQUE COLLATE NOCASE"), "the column words.word was"),
    "two columns": (
        WORDS.replace("word TEXT", "term TEXT").replace("due TEXT", "day TEXT"),
        "the column words.word is gone; the column cards.due is gone",
    ),
}  # fmt: skip
USED = (
    "CREATE INDEX IF NOT EXISTS by_word ON cards (word_id);"
    "CREATE VIEW IF NOT EXISTS pairs AS SELECT w.id FROM words AS w, cards AS c;"
    "CREATE TRIGGER IF NOT EXISTS t AFTER INSERT ON words BEGIN UPDATE cards SET id = id; END;"
)


@pytest.mark.parametrize("used", ["", USED], ids=["alone", "used"])
@pytest.mark.parametrize("what", CHANGES)
def test_a_change_that_adding_cannot_make_is_refused_with_the_lines_that_make_it(
    old: Path, what: str, used: str
) -> None:
    sql, words = CHANGES[what]
    apply(old, WORDS + used)
    before = contents(old)
    sql += used if "EXISTS cards" in sql else ""

    refused = refusal(old, sql)

    assert words in refused.problem
    assert contents(old) == before
    told, _, lines = refused.fix.partition("such as:\n")
    assert "migrations/0001_" in told
    assert apply(old, sql, Migration("0001_x.sql", lines))
    assert rows(old, "SELECT id FROM words") == [(1,), (2,)]
    assert (" RENAME COLUMN " in lines) == (
        what in ("column renamed", "column renamed to", "two columns")
    )


WANTING = {
    "required": WORDS.replace("due TEXT", "due TEXT NOT NULL"),
    "required and new": WORDS.replace("due TEXT", "due TEXT, box INTEGER NOT NULL"),
    "computed beside required": WORDS.replace(
        "due TEXT", "at TEXT DEFAULT (date('now')), x TEXT NOT NULL, due TEXT"
    ),
    "computed by what is denied": WORDS.replace(
        "due TEXT", "due TEXT, x TEXT DEFAULT (load_extension('x'))"
    ),
    "broken by rows": WORDS.replace("due TEXT", "due TEXT, x INTEGER DEFAULT 1 CHECK (x > 1)"),
}


@pytest.mark.parametrize("what", WANTING)
def test_what_rows_cannot_have_is_refused_also_by_the_lines_until_a_value_is_written(
    old: Path, what: str
) -> None:
    before = contents(old)
    refused = refusal(old, WANTING[what])
    lines = refused.fix.partition("such as:\n")[2]
    with pytest.raises(SchemaRefused, match=r"migrations/0001_x\.sql:"):
        apply(old, WANTING[what], Migration("0001_x.sql", lines))

    assert contents(old) == before
    if what == "required and new":
        assert "/* write a value for box in the place of NULL */\n" in lines
        assert apply(
            old, WANTING[what], Migration("0001_x.sql", lines.replace("NULL FROM", "7 FROM"))
        )
        assert rows(old, "SELECT word_id, box FROM cards") == [(2, 7)]


def test_lines_say_what_is_lost_and_name_the_next_migration(old: Path) -> None:
    sql = WORDS.replace("due TEXT", "day INTEGER")
    told = refusal(old, sql, Migration("0004_x.sql", "UPDATE words SET level = 1;")).fix

    assert told == (
        "Only new tables and columns come by themselves; all else is a migration. "
        "Write into migrations/0005_cards.sql what leads there, such as:\n"
        "/* lost unless it is selected into another column: due */\n"
        'CREATE TABLE "cards_new" (\n'
        "  id INTEGER PRIMARY KEY, word_id INTEGER REFERENCES words (id) ON DELETE CASCADE, "
        "day INTEGER\n);\n"
        'INSERT INTO "cards_new" ("id", "word_id") SELECT "id", "word_id" FROM "cards";\n'
        'DROP TABLE "cards";\n'
        'ALTER TABLE "cards_new" RENAME TO "cards";'
    )


ADDITIONS = {
    "column": WORDS.replace("due TEXT", "due TEXT, box INTEGER NOT NULL DEFAULT 0 CHECK (box < 7)"),
    "reference": WORDS.replace("due TEXT", "due TEXT, next INTEGER REFERENCES words (id)"),
    "generated": WORDS.replace("due TEXT", "due TEXT, day TEXT AS (substr(due, 1, 10))"),
    "unique": WORDS.replace("due TEXT", "due TEXT, tag TEXT UNIQUE"),
    "order": WORDS.replace(
        "id INTEGER PRIMARY KEY, word", "more TEXT, id INTEGER PRIMARY KEY, word"
    ),
    "collation": WORDS.replace("due TEXT", "due TEXT, tag TEXT COLLATE NOCASE DEFAULT ''"),
    "computed default": WORDS.replace("word TEXT", "at TEXT DEFAULT (date('now')), word TEXT"),
    "computed, in a child": WORDS.replace("due TEXT", "due TEXT, at TEXT DEFAULT (date('now'))"),
    "table": WORDS + "CREATE TABLE IF NOT EXISTS runs (at TEXT) STRICT;",
    "index": WORDS + "CREATE INDEX IF NOT EXISTS by_due ON cards (due);",
    "search": WORDS + "CREATE VIRTUAL TABLE IF NOT EXISTS found USING fts5(word);",
    "spelling": WORDS.replace("words", '"Words"').replace("TEXT", "text") + "-- as before",
}


@pytest.mark.parametrize("what", ADDITIONS)
def test_what_is_new_is_added_and_rows_stay(old: Path, tmp_path: Path, what: str) -> None:
    sql = ADDITIONS[what]
    apply(tmp_path / "new.db", sql)

    assert apply(old, sql)
    assert not apply(old, sql)
    assert rows(old, "SELECT word, level FROM words") == [("Baum", 0), ("Haus", 0)]
    assert rows(old, "SELECT word_id, due FROM cards") == [(2, None)]
    with closing(sqlite3.connect(old)) as one, closing(sqlite3.connect(tmp_path / "new.db")) as two:
        assert {t: {c.name for c in f} for t, f in tables(one).items()} == {
            t: {c.name for c in f} for t, f in tables(two).items()
        } or what == "spelling"


def test_a_table_made_anew_for_a_computed_default_keeps_all_that_hangs_on_it(old: Path) -> None:
    more = (
        "CREATE INDEX IF NOT EXISTS by_level ON words (level);"
        "CREATE TRIGGER IF NOT EXISTS t AFTER INSERT ON words BEGIN"
        " INSERT INTO cards (word_id) VALUES (new.id); END;"
        "CREATE VIEW IF NOT EXISTS some AS SELECT word FROM words;"
    )
    apply(old, WORDS + more)
    apply(
        old, WORDS.replace("level INT", "made TEXT DEFAULT (date('2026-01-31')), level INT") + more
    )
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("INSERT INTO words (word) VALUES ('neu')")
        connection.execute("DELETE FROM words WHERE word = 'Haus'")
        connection.commit()

    assert rows(old, "SELECT id, word, made FROM words") == [
        (1, "Baum", "2026-01-31"),
        (3, "neu", "2026-01-31"),
    ]
    assert rows(old, "SELECT word_id FROM cards") == [(3,)]  # one by the trigger, one cascaded
    assert rows(old, "SELECT word FROM some") == [("Baum",), ("neu",)]
    assert rows(old, "SELECT name FROM sqlite_master WHERE name = 'by_level'") == [("by_level",)]


def test_a_view_a_trigger_and_an_index_that_changed_are_made_anew(old: Path) -> None:
    first = WORDS + (
        "CREATE VIEW IF NOT EXISTS some AS SELECT word FROM words;"
        "CREATE TRIGGER IF NOT EXISTS t AFTER INSERT ON words BEGIN"
        " INSERT INTO cards (due) VALUES ('first'); END;"
        "CREATE INDEX IF NOT EXISTS i ON words (level);"
        "CREATE INDEX IF NOT EXISTS gone ON words (level);"
    )
    second = WORDS + (
        "CREATE INDEX IF NOT EXISTS i ON words (level, word);"
        "CREATE VIEW IF NOT EXISTS some AS SELECT upper(word) AS word FROM words;"
    )
    apply(old, first)
    apply(old, second)
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("INSERT INTO words (word) VALUES ('neu')")
        connection.commit()

    assert rows(old, "SELECT word FROM some") == [("BAUM",), ("HAUS",), ("NEU",)]
    assert rows(old, "SELECT due FROM cards") == [(None,)]  # the trigger is gone
    made = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    assert rows(old, made) == [("i",)]
    apply(old, first)
    assert len(rows(old, "SELECT name FROM sqlite_master WHERE type = 'trigger'")) == 1


def test_a_migration_runs_once_before_the_schema(old: Path) -> None:
    assert apply(old, RENAMED, RENAME)
    assert not apply(old, RENAMED, RENAME)

    assert rows(old, "SELECT term FROM words") == [("Baum",), ("Haus",)]
    assert rows(old, "SELECT word_id FROM cards") == [(2,)]


def test_a_fresh_database_takes_the_schema_and_its_migrations_never_run(tmp_path: Path) -> None:
    path = tmp_path / "fresh.db"
    apply(path, RENAMED, RENAME)

    assert rows(path, "SELECT name FROM _aouo_migrations") == [("0001_rename.sql",)]
    second = Migration("0002_level.sql", "UPDATE words SET level = 1;")
    apply(path, RENAMED, RENAME, second)
    assert rows(path, "SELECT name FROM _aouo_migrations") == [
        ("0001_rename.sql",),
        ("0002_level.sql",),
    ]


def test_a_table_is_made_anew_and_keeps_its_children(old: Path) -> None:
    """The way SQLite's own manual changes what ALTER TABLE cannot; DROP would delete children."""
    rebuild = """\
PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE words_new (
  id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE COLLATE NOCASE,
  level INTEGER DEFAULT 0 CHECK (level < 9)
);
INSERT INTO words_new SELECT id, word, level FROM words;
DROP TABLE words;
ALTER TABLE words_new RENAME TO words;
COMMIT;
"""
    sql = WORDS.replace("UNIQUE", "UNIQUE COLLATE NOCASE")
    apply(old, sql, Migration("0001_nocase.sql", rebuild))

    assert rows(old, "SELECT word FROM words WHERE word = 'BAUM'") == [("Baum",)]
    assert rows(old, "SELECT word_id FROM cards") == [(2,)]
    with closing(open_database(str(old))) as connection:
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)


@pytest.mark.parametrize(
    ("sql", "schema"),
    [
        ("ALTER TABLE cards DROP COLUMN due;", WORDS.replace(", due TEXT", "")),
        ("ALTER TABLE cards RENAME TO tests;", WORDS.replace("EXISTS cards", "EXISTS tests")),
        ("DROP TABLE cards;", WORDS[: WORDS.index("CREATE TABLE IF NOT EXISTS cards")]),
        ("UPDATE words SET level = 3 WHERE word LIKE 'B%';", WORDS),
        ("WITH n(x) AS (SELECT 'neu') INSERT INTO words (word) SELECT x FROM n;", WORDS),
        ("CREATE TABLE x (y); INSERT INTO x VALUES (1); DROP TABLE x;", WORDS),
        ("DELETE FROM cards; DELETE FROM words;", WORDS),
        ("-- nothing to do", WORDS),
    ],
)
def test_a_migration_may_change_all_that_is_the_packs(old: Path, sql: str, schema: str) -> None:
    assert apply(old, schema, Migration("0001_change.sql", sql))
    assert not apply(old, schema, Migration("0001_change.sql", sql))


BAD = {
    # what: (migrations, schema, what the owner reads)
    "does not run": (["ALTER TABLE nowhere RENAME TO x;"], RENAMED, "0001_a.sql:1: no such table"),
    "second line": (
        ["UPDATE words SET level = 1;\nUPDATE x SET y = 1;"],
        WORDS,
        "0001_a.sql:2: n",
    ),
    "attach": (["ATTACH 'other.db' AS o;"], WORDS, "ATTACH does not belong into a migration"),
    "vacuum": (["VACUUM INTO 'x.db';"], WORDS, "VACUUM does not belong"),
    "our tables": (["DELETE FROM _aouo_calls;"], WORDS, "no such table"),
    "our schema": (["DELETE FROM _aouo_schema;"], WORDS, "belong to the runtime"),
    "our name": (["ALTER TABLE cards RENAME TO _aouo_x;"], WORDS, "belong to the runtime"),
    "our table dropped": (["DROP TABLE _aouo_migrations;"], WORDS, "belong to the runtime"),
    "temporary": (["CREATE TEMP TABLE x (y);"], WORDS, "CREATE TEMP TABLE does not belong"),
    "writable schema": (["PRAGMA writable_schema = ON;"], WORDS, "PRAGMA writable_schema cannot"),
    "extension": (["UPDATE words SET word = load_extension('x');"], WORDS, "load_extension cannot"),
    "orphans": (["DELETE FROM words;"], WORDS, "refer to one that is not there"),
    "leads elsewhere": (["ALTER TABLE words ADD COLUMN more TEXT;"], WORDS, "words.more is gone"),
    "leads half way": ([RENAME.sql], RENAMED.replace("due TEXT", "day TEXT"), "cards.due is gone"),
    "after a good one": (
        [RENAME.sql, "UPDATE words SET word = 1;"],
        RENAMED,
        "0002_b.sql:1: n",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_migration_that_goes_wrong_leaves_the_database_as_it_was(old: Path, what: str) -> None:
    texts, sql, words = BAD[what]
    before = contents(old)
    names = ("0001_a.sql", "0002_b.sql")

    with pytest.raises(SchemaRefused) as refused:
        apply(old, sql, *map(Migration, names, texts))

    assert words in str(refused.value)
    assert contents(old) == before


def test_what_ran_cannot_be_edited_removed_or_preceded(old: Path) -> None:
    apply(old, RENAMED, RENAME)
    edited = Migration(RENAME.name, RENAME.sql + " -- better")
    early = Migration("0000_first.sql", "UPDATE words SET level = 1;")

    for migrations, words in (
        ([edited], "was edited after it ran"),
        ([], "does not know: install that version or a newer one"),
        ([early, RENAME], "comes before 0001_rename.sql"),
    ):
        with pytest.raises(SchemaRefused, match=words):
            apply(old, RENAMED + "-- changed", *migrations)


def test_files_are_read_in_order_and_wrong_ones_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "pack" / "migrations"
    folder.mkdir(parents=True)
    for name, text in {
        "0002_b.sql": "UPDATE t SET a = 1;",
        "0001_a.sql": "DROP TABLE x;",
        "0002_again.sql": "DROP TABLE x;",
        "3_c.sql": "DROP TABLE x;",
        "0004_d.sql": "\nATTACH 'x' AS y;",
        "README.md": "how they came about",
    }.items():
        (folder / name).write_text(text)
    (folder / "0005_link.sql").symlink_to(tmp_path / "elsewhere.sql")

    found, problems = read_migrations(tmp_path / "pack")

    assert [migration.name for migration in found] == ["0001_a.sql", "0002_again.sql"]
    assert [(problem.file, problem.line) for problem in problems] == [
        ("migrations/0002_b.sql", 0),
        ("migrations/0004_d.sql", 2),
        ("migrations/0005_link.sql", 0),
        ("migrations/3_c.sql", 0),
    ]


def test_killed_at_any_statement_a_database_is_the_old_one_or_the_new_one(old: Path) -> None:
    """The process is killed before its nth statement, for every n; then it starts again."""
    before, content = contents(old), old.read_bytes()
    grown = RENAMED.replace("due TEXT", "due TEXT, box INTEGER DEFAULT 0, at DEFAULT (date('now'))")
    grown += "CREATE TABLE more (x); CREATE INDEX by_due ON cards (due);"
    killed = 0
    for statement in range(400):
        path = old.with_name(f"{statement}.db")
        path.write_bytes(content)
        if not killed_before(path, statement, grown, [RENAME]):
            break
        killed += 1
        left = contents(path)
        apply(path, grown, RENAME)
        assert rows(path, "SELECT term FROM words") == [("Baum",), ("Haus",)]
        assert rows(path, "SELECT word_id, box FROM cards") == [(2, 0)]
        assert left in (before, contents(path))
    assert 20 < killed < 399


def killed_before(path: Path, statement: int, sql: str, migrations: Sequence[Migration]) -> bool:
    """Apply a schema in a child that dies by SIGKILL; say whether it did not live to the end."""
    child = os.fork()
    if child == 0:
        left = iter(range(statement))

        def trace(_: str) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            connection = open_database(str(path))
            connection.set_trace_callback(trace)
            apply_schema(connection, Guard(connection), sql, {}, migrations)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)
