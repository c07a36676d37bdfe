"""`persist`: what each action does, what the model reads when it errs, and exactly once."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sqlite3
import threading
from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.facts.errors import PackError, ToolFailed
from aouo.packs.data.storage import PackStore
from aouo.packs.format.manifest import Manifest
from aouo.packs.format.manifest_text import parse

SCHEMA = """\
CREATE TABLE IF NOT EXISTS entries (
  id INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL,
  session_id TEXT NOT NULL,
  skill_type TEXT NOT NULL,
  text TEXT NOT NULL,
  subcap_scores TEXT
);
CREATE TABLE IF NOT EXISTS words (
  word TEXT PRIMARY KEY, meaning TEXT NOT NULL, updated_at TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS private (x TEXT);
"""
MANIFEST = """\
name: test
version: 1.0.0
display_name: Test
schema: {owned_tables: [entries, words]}
persist_contract:
  skill_type_prefix: "test."
  required_fields: [skill_type, session_id, text]
  subcap_keys: [gist, detail]
"""
COUNTING = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
NOW = "2026-01-31T12:00:00Z"


def manifest(text: str = MANIFEST) -> Manifest:
    parsed = parse(text)
    assert parsed.manifest is not None
    return parsed.manifest


class Model:
    """Calls `persist` as a model would, each call with an id of its own."""

    def __init__(self, store: PackStore) -> None:
        self.store = store
        self._calls = 0

    def __call__(self, action: str, /, **arguments: object) -> dict[str, object]:
        return self.at(NOW, action, arguments)

    def at(self, now: str, action: str, arguments: Mapping[str, object]) -> dict[str, object]:
        self._calls += 1
        key, call = "tg:1:pack:test", f"c{self._calls}"
        return self.store.run(action, arguments, call_id=call, session_key=key, now=now)


@pytest.fixture
def persist(tmp_path: Path) -> Generator[Model]:
    with closing(PackStore(tmp_path / "store" / "test.db", manifest(), SCHEMA)) as store:
        yield Model(store)


ENTRY: Mapping[str, object] = {"skill_type": "test.note", "text": "hello"}


def test_a_saved_row_is_completed_and_found_again(persist: Model) -> None:
    assert persist("save", data=ENTRY) == {"table": "entries", "id": 1, "saved": 1}
    assert persist("recent") == {
        "rows": [
            {
                "id": 1,
                "created_at": NOW,
                "session_id": "tg:1:pack:test",
                "skill_type": "test.note",
                "text": "hello",
                "subcap_scores": None,
            }
        ],
        "count": 1,
    }


@pytest.mark.parametrize(
    "arguments",
    [
        {"data": ENTRY},
        {"data": json.dumps(ENTRY)},
        dict(ENTRY),
        {"table": "ENTRIES", "data": ENTRY},
    ],
)
def test_data_may_be_an_object_its_json_or_plain_arguments(
    persist: Model, arguments: Mapping[str, object]
) -> None:
    """The last is how skills written for the original call it."""
    assert persist("practice", **arguments)["saved"] == 1


@pytest.mark.parametrize(
    ("action", "arguments", "told"),
    [
        ("save", {"Text": "b", "data": ENTRY}, "Text is given twice"),
        ("save", {"data": {**ENTRY, "TEXT": "b"}}, "text is given twice"),
        ("update", {"data": {"text": "a", "Text": "b"}, "where": {"id": 1}}, "text is given twice"),
        ("save", {"data": ENTRY, "where": {"id": 1}}, "takes no where: send update or upsert"),
    ],
)
def test_two_values_of_one_column_and_a_where_without_use_are_not_guessed_at(
    persist: Model, action: str, arguments: Mapping[str, object], told: str
) -> None:
    persist("save", data=ENTRY)

    with pytest.raises(ToolFailed, match=told):
        persist(action, **arguments)

    assert [row["text"] for row in persist.store.read("SELECT text FROM entries")] == ["hello"]


def test_a_column_that_is_named_as_an_argument_is_written_in_data_only(tmp_path: Path) -> None:
    made = manifest("name: test\nversion: 1.0.0\ndisplay_name: Test\n")
    columns = "word TEXT PRIMARY KEY, 'limit' INTEGER, 'table' TEXT, 'action' TEXT"
    with closing(PackStore(tmp_path / "t.db", made, f"CREATE TABLE words ({columns})")) as store:
        persist = Model(store)
        with pytest.raises(ToolFailed, match=r'for the column write data=\{"limit": …\}'):
            persist("save", word="a", limit=5)
        data = {"word": "a", "limit": 5, "table": "t", "action": "go"}
        persist("save", data=data)
        persist("upsert", where={"WORD": "b"}, data={"word": "c"})

        assert store.read("SELECT * FROM words") == [data, dict.fromkeys(data) | {"word": "c"}]


def test_lists_and_objects_are_kept_as_json(persist: Model) -> None:
    persist("save", data={**ENTRY, "subcap_scores": {"gist": 7}})

    assert persist("query", sql="SELECT subcap_scores ->> 'gist' AS gist FROM entries") == {
        "rows": [{"gist": 7}],
        "count": 1,
    }


def test_upsert_adds_a_row_and_then_changes_it(persist: Model) -> None:
    word = {"word": "haus", "meaning": "house"}

    first = persist("upsert", table="words", data=word)
    again = persist("upsert", table="words", data={**word, "meaning": "home"})

    assert (first["inserted"], again["updated"]) == (1, 1)
    assert persist("recent", table="words")["rows"] == [
        {"word": "haus", "meaning": "home", "updated_at": NOW}
    ]


def test_upsert_changes_a_row_without_what_a_new_one_would_need(persist: Model) -> None:
    persist("upsert", table="words", data={"word": "haus", "meaning": "house"})

    arguments = {"table": "words", "data": {"word": "haus"}}
    assert persist.at("2026-02-01T00:00:00Z", "upsert", arguments)["updated"] == 1
    assert persist("recent", table="words")["rows"] == [
        {"word": "haus", "meaning": "house", "updated_at": "2026-02-01T00:00:00Z"}
    ]


def test_upsert_by_where_adds_what_where_says(persist: Model) -> None:
    first = persist("upsert", table="words", where={"word": "haus"}, data={"meaning": "house"})
    again = persist("upsert", table="words", where={"word": "haus"}, data={"meaning": "home"})

    assert (first["inserted"], again["updated"]) == (1, 1)


def test_update_and_delete_touch_what_where_names(persist: Model) -> None:
    for text in ("a", "b", "c", "d"):
        persist("save", data={**ENTRY, "text": text})

    assert persist("update", where={"id": 1}, data={"text": "z"})["updated"] == 1
    assert persist("update", where='{"id": 9}', data={"text": "z"})["updated"] == 0
    assert persist("delete", where={"text": ["b", "c"]})["deleted"] == 2
    assert persist("delete", where={"id": {">": 3}})["deleted"] == 1
    assert persist("query", sql="SELECT id, text FROM entries")["rows"] == [{"id": 1, "text": "z"}]


def test_where_null_finds_rows_without_a_value(persist: Model) -> None:
    persist("save", data=ENTRY)

    assert persist("recent", where={"subcap_scores": None})["count"] == 1


def test_recent_is_newest_first_and_takes_the_original_name_and_filter(persist: Model) -> None:
    for number in range(12):
        kind = "test.even" if number % 2 == 0 else "test.odd"
        now = f"2026-01-{number + 1:02}T00:00:00Z"
        persist.at(now, "save", {"data": {"skill_type": kind, "text": str(number)}})

    found = persist("recent_practice", skill_type="test.odd", limit=3)["rows"]

    assert isinstance(found, list)
    assert [row["text"] for row in found] == ["11", "9", "7"]
    assert persist("recent")["count"] == 10


def test_a_query_takes_parameters_by_place_and_by_name(persist: Model) -> None:
    persist("save", data=ENTRY)
    sql = "SELECT text FROM entries WHERE id = {}"

    for argument in ([1], "[1]", 1):
        assert persist("query", sql=sql.format("?"), params=argument)["count"] == 1
    for argument in ({"id": 1}, {":id": 1}, '{"id": 1}'):
        assert persist("query", sql=sql.format(":id"), params=argument)["count"] == 1


def test_a_query_may_look_into_json_and_at_a_tables_columns(persist: Model) -> None:
    assert persist("query", sql="SELECT value FROM json_each('[1, 2]')")["count"] == 2
    assert persist("query", sql="PRAGMA table_info(words)")["count"] == 3


def test_columns_of_one_name_do_not_hide_each_other(persist: Model) -> None:
    found = persist("query", sql="SELECT 1 AS id, 2 AS id, 3 AS name")["rows"]

    assert found == [{"id": 1, "id:2": 2, "name": 3}]


def test_a_change_that_finds_nothing_says_so(persist: Model) -> None:
    note = "no row matches where; read the rows first"

    assert persist("delete", where={"id": []}) == {"table": "entries", "deleted": 0, "note": note}


def test_text_search_works_after_the_database_was_closed(tmp_path: Path) -> None:
    schema = SCHEMA + "CREATE VIRTUAL TABLE IF NOT EXISTS found USING fts5(text);"
    plain = manifest("name: test\nversion: 1.0.0\ndisplay_name: Test\n")
    with closing(PackStore(tmp_path / "t.db", plain, schema)) as store:
        Model(store)("save", table="found", data={"text": "green apple"})
    with closing(PackStore(tmp_path / "t.db", plain, schema)) as store:
        found = Model(store)("query", sql="SELECT text FROM found WHERE found MATCH 'apple'")

    assert found["rows"] == [{"text": "green apple"}]


def test_a_query_gives_fifty_rows_and_says_that_there_are_more(persist: Model) -> None:
    found = persist(
        "query",
        sql=f"{COUNTING} SELECT i FROM n LIMIT 90",
        limit=80,
    )

    assert found["count"] == 50
    assert "more rows" in str(found["note"])


def test_an_answer_never_fills_the_prompt(persist: Model) -> None:
    for _ in range(20):
        persist("save", data={**ENTRY, "text": "x" * 30_000})

    found = persist("recent", limit=20)

    assert len(json.dumps(found)) < 20_000
    assert "note" in found


def test_rows_of_huge_values_are_not_all_fetched(persist: Model) -> None:
    huge = f"{COUNTING} SELECT replace(hex(zeroblob(450000)), '0', 'x') AS x FROM n LIMIT 99"

    found = persist("query", sql=huge)

    assert len(json.dumps(found)) < 25_000
    assert "more rows" in str(found["note"])


def test_summary_counts_and_names_the_columns(persist: Model) -> None:
    persist("save", data=ENTRY)

    found = persist("summary")["tables"]

    assert isinstance(found, dict)
    assert list(found) == ["entries", "words"]
    assert (found["entries"]["rows"], found["entries"]["first"]) == (1, NOW)
    assert "text TEXT (required)" in found["entries"]["columns"]


MISTAKES: dict[str, tuple[str, dict[str, object], str]] = {
    # what: (action, arguments, what the model reads)
    "action": ("savee", {}, 'did you mean "save"'),
    "table": ("save", {"table": "entry", "data": ENTRY}, "Tables: entries, words"),
    "a table the pack does not own": ("save", {"table": "private", "data": {"x": 1}}, "entries"),
    "our own table": ("save", {"table": "_aouo_calls", "data": {"call_id": 1}}, "no table"),
    "column": ("save", {"data": {**ENTRY, "txt": 1}}, 'did you mean "text"'),
    "hostile column": ("save", {"data": {**ENTRY, 'x" = 1; --': 1}}, "has no column"),
    "missing field": ("save", {"data": {"text": "a"}}, "data lacks skill_type"),
    "field taken away": ("update", {"where": {"id": 1}, "data": {"text": None}}, "lacks text"),
    "prefix": ("save", {"data": {**ENTRY, "skill_type": "x"}}, 'begin with "test."'),
    "subcap": ("save", {"data": {**ENTRY, "subcap_scores": {"x": 1}}}, "may hold gist, detail"),
    "no data": ("save", {"table": "words"}, "save needs data"),
    "data is text": ("save", {"data": "hello"}, "no JSON"),
    "data is a list": ("save", {"data": [1]}, "is an object"),
    "deep JSON": ("save", {"data": "[" * 100_000}, "no JSON"),
    "a needed column": (
        "save",
        {"table": "words", "data": {"word": "a"}},
        'words.meaning needs a value: send data with "meaning"',
    ),
    "half a character": ("save", {"data": {**ENTRY, "text": "\ud800"}}, "cannot be stored"),
    "huge number": ("save", {"data": {**ENTRY, "text": 10**30}}, "cannot be stored"),
    "not a number": ("save", {"data": {**ENTRY, "text": float("nan")}}, "cannot be stored"),
    "update of all": ("update", {"data": {"text": "a"}}, "update needs where"),
    "update of nothing": ("update", {"where": {"id": 1}}, "update needs data"),
    "delete of all": ("delete", {}, "delete needs where"),
    "where without a condition": ("delete", {"where": {"id": {}}}, "where.id is empty"),
    "where in SQL": ("delete", {"where": "id = 3"}, "no JSON"),
    "operator": ("delete", {"where": {"id": {"; --": 1}}}, "is not one of"),
    "upsert without a key": ("upsert", {"data": {"text": "a"}}, "give where"),
    "limit": ("recent", {"limit": "many"}, "from 1 to 50"),
    "limit below one": ("recent", {"limit": -1}, "limit is a number from 1 to 50, not -1"),
    "no sql": ("query", {}, "Tables: entries, words"),
    "a column in sql": (
        "query",
        {"sql": "SELECT txt FROM entries"},
        'There is no column txt; did you mean "text"?',
    ),
    "columns there are": ("query", {"sql": "SELECT x FROM entries"}, "text TEXT (required)"),
    "a table in sql": ("query", {"sql": "SELECT 1 FROM word"}, 'did you mean "words"?'),
    "a function in sql": ("query", {"sql": "SELECT now()"}, "SQLite has no function now here"),
    "two of one name": (
        "query",
        {"sql": "SELECT session_id FROM entries, entries AS b"},
        "write table.session_id",
    ),
    "half of sql": ("query", {"sql": "SELECT FROM"}, "syntax error"),
    "two statements": ("query", {"sql": "SELECT 1; SELECT 2"}, "one statement at a time"),
    "parameters": ("query", {"sql": "SELECT ?", "params": []}, "one value for each ? or :name"),
    "a parameter by name": ("query", {"sql": "SELECT :a", "params": {"b": 1}}, "one value for"),
    "parameters in no JSON": ("query", {"sql": "SELECT ?", "params": "[1"}, "no JSON"),
    "a table it may not read": (
        "query",
        {"sql": "SELECT x FROM private"},
        "private is not one that persist may read",
    ),
    "writing in a query": ("query", {"sql": "DELETE FROM entries"}, "only SELECT"),
    "returning": ("query", {"sql": "INSERT INTO words VALUES (1,2,3) RETURNING 1"}, "only SELECT"),
    "attach": ("query", {"sql": "ATTACH 'x' AS x"}, "only SELECT"),
    "pragma": ("query", {"sql": "PRAGMA query_only = OFF"}, "PRAGMA query_only"),
    "pragma as a table": ("query", {"sql": "SELECT * FROM pragma_database_list"}, "only SELECT"),
    "our calls": ("query", {"sql": "SELECT * FROM _aouo_calls"}, "belong to the runtime"),
    "transaction": ("query", {"sql": "BEGIN"}, "only SELECT"),
    "extension": ("query", {"sql": "SELECT load_extension('x')"}, "load_extension cannot"),
    "huge value": ("query", {"sql": "SELECT zeroblob(900000000)"}, "too big"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_changes_nothing_and_says_how_to_do_it_right(persist: Model, what: str) -> None:
    persist("save", data=ENTRY)
    action, arguments, words = MISTAKES[what]

    with pytest.raises(ToolFailed) as failed:
        persist(action, **arguments)

    assert words in str(failed.value)
    assert persist("recent")["count"] == 1


CARDS = """\
CREATE TABLE IF NOT EXISTS decks (name TEXT PRIMARY KEY, about TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE IF NOT EXISTS cards (
  id INTEGER PRIMARY KEY,
  deck TEXT NOT NULL REFERENCES decks (name),
  box INTEGER NOT NULL DEFAULT 0 CHECK (box BETWEEN 0 AND 6),
  ease REAL,
  due TEXT NOT NULL DEFAULT (date('now')),
  seen_at TEXT,
  UNIQUE (deck, box)
) STRICT;
CREATE TABLE IF NOT EXISTS grammar (rule TEXT);
CREATE TABLE IF NOT EXISTS days (day DATE, ends TIMESTAMP);
"""
CONTRACT = """\
name: test
version: 1.0.0
display_name: Test
schema: {owned_tables: [cards, decks, days], shared_tables: [grammar]}
persist_contract: {required_fields: [deck], optional_fields: [box, due, note]}
"""
CARD: Mapping[str, object] = {"deck": "german"}
RULES: dict[str, tuple[str, dict[str, object], str]] = {
    "a field that is none": (
        "save",
        {"data": {**CARD, "boxx": 1}},
        'boxx is no field of this pack; did you mean "box"? Fields: deck, box, due, note.',
    ),
    "a field that the pack names and the table lacks": (
        "save",
        {"data": {**CARD, "note": 1}},
        "cards has no column note, though the pack names it: leave it out of data. Columns",
    ),
    "a shared table is not written": (
        "save",
        {"table": "grammar", "data": {"rule": "x"}},
        "The table grammar can be read here, not written.",
    ),
    "a row there is already": (
        "save",
        {"table": "decks", "data": {"name": "german"}},
        "decks has a row with this name already: send upsert to change it, or another name.",
    ),
    "a key of two": ("save", {"data": CARD}, "cards has a row with this deck and box already"),
    "a number out of range": (
        "save",
        {"data": {**CARD, "box": 9}},
        "A value breaks the rule CHECK (box BETWEEN 0 AND 6): send one that keeps it.",
    ),
    "a row that is not there": (
        "save",
        {"data": {"deck": "french", "box": 1}},
        "each cards.deck has to be a decks.name. Save the row that is referred to first",
    ),
    "a row that others need": (
        "delete",
        {"table": "decks", "where": {"name": "german"}},
        "delete it last",
    ),
    "text for a whole number": (
        "save",
        {"data": {**CARD, "box": "two"}},
        "cards.box takes a whole number such as 3, and this is TEXT.",
    ),
    "text for a number": (
        "save",
        {"data": {**CARD, "box": 1, "ease": "good"}},
        "cards.ease takes a number such as 2.5, and this is TEXT.",
    ),
    "text for an id": ("save", {"data": {**CARD, "box": 1, "id": "x"}}, "leave it out and one is"),
    "a day in words": (
        "save",
        {"data": {**CARD, "box": 1, "due": "tomorrow"}},
        "due is a date such as 2026-01-31 or a time such as 2026-01-31T12:00:00Z, not 'tomorrow'",
    ),
    "a day the other way round": (
        "update",
        {"where": {"id": 1}, "data": {"due": "31.1.2026"}},
        "2026-01-31",
    ),
    "a day that is none": ("save", {"data": {**CARD, "box": 1, "due": "2026-13-01"}}, "is a date"),
    "a time in words": (
        "save",
        {"data": {**CARD, "box": 1, "seen_at": "now"}},
        "seen_at is a date",
    ),
    "a day by its type": ("save", {"table": "days", "data": {"day": "Monday"}}, "day is a date"),
    "nothing for what is needed": (
        "update",
        {"table": "cards", "where": {"id": 1}, "data": {"box": None}},
        'cards.box needs a value: send data with "box".',
    ),
}


@pytest.fixture
def cards(tmp_path: Path) -> Generator[Model]:
    with closing(PackStore(tmp_path / "cards.db", manifest(CONTRACT), CARDS)) as store:
        model = Model(store)
        model("save", table="decks", data={"name": "german"})
        model("save", data=CARD)
        yield model


@pytest.mark.parametrize("what", RULES)
def test_a_rule_that_a_row_breaks_is_named_with_what_to_send(cards: Model, what: str) -> None:
    action, arguments, words = RULES[what]

    with pytest.raises(ToolFailed) as failed:
        cards(action, **arguments)

    assert words in str(failed.value)
    assert cards("summary", table="cards")["tables"] == {
        "cards": {
            "columns": [
                "id INTEGER",
                "deck TEXT (required)",
                "box INTEGER",
                "ease REAL",
                "due TEXT",
                "seen_at TEXT",
            ],
            "rows": 1,
        }
    }


@pytest.mark.parametrize(
    "when",
    ["2026-02-01", "2026-02-01 09:00", "2026-02-01T09:00:00Z", "2026-02-01T09:00:00.5+01:00"],
)
def test_a_day_or_a_time_may_be_written_in_any_way_that_sqlite_reads(
    cards: Model, when: str
) -> None:
    cards("update", where={"deck": "german"}, data={"due": when, "seen_at": when})
    cards("save", table="days", data={"day": 20_000, "ends": ""})

    assert cards("query", sql="SELECT date(due) AS d FROM cards")["rows"] == [{"d": "2026-02-01"}]


def test_shared_tables_are_read_and_the_others_are_db_s(cards: Model) -> None:
    assert cards("query", sql="SELECT rule FROM grammar")["count"] == 0
    assert cards("recent", table="grammar")["count"] == 0


def test_db_and_menus_read_all_tables_of_the_pack(persist: Model) -> None:
    persist("save", data=ENTRY)

    assert persist.store.look("SELECT * FROM private") == {"rows": [], "count": 0}
    assert persist.store.read("SELECT text FROM entries WHERE id = ?", (1,)) == [{"text": "hello"}]
    assert persist.store.read(f"{COUNTING} SELECT i FROM n LIMIT 9", limit=2) == [
        {"i": 1},
        {"i": 2},
    ]
    assert persist.store.look(f"{COUNTING} SELECT i FROM n LIMIT 300")["count"] == 100
    facts = persist.store.describe()
    assert facts["rows"] == {"entries": 1, "words": 0, "private": 0}
    for sql in ("DELETE FROM entries", "PRAGMA query_only = OFF", "SELECT * FROM _aouo_calls"):
        with pytest.raises(ToolFailed, match=r"only SELECT|cannot be used|belong to the runtime"):
            persist.store.read(sql)


def test_an_endless_query_is_stopped(tmp_path: Path) -> None:
    seconds = itertools.count(0.0, 0.01)
    with closing(
        PackStore(tmp_path / "t.db", manifest(), SCHEMA, monotonic=lambda: next(seconds))
    ) as store:
        with pytest.raises(ToolFailed, match="too long"):
            Model(store)("query", sql=f"{COUNTING} SELECT sum(i) FROM n")

        assert Model(store)("query", sql="SELECT 1 AS one")["rows"] == [{"one": 1}]


def test_a_pack_without_tables_points_to_memory(tmp_path: Path) -> None:
    plain = manifest("name: test\nversion: 1.0.0\ndisplay_name: Test\n")
    with (
        closing(PackStore(tmp_path / "t.db", plain, "")) as store,
        pytest.raises(ToolFailed, match="memory tool"),
    ):
        Model(store)("save", data={"a": 1})


def test_a_trigger_of_the_pack_cannot_reach_the_record_of_calls(tmp_path: Path) -> None:
    sql = SCHEMA + (
        "CREATE TRIGGER IF NOT EXISTS t AFTER INSERT ON entries BEGIN DELETE FROM _aouo_calls; END;"
    )
    with (
        closing(PackStore(tmp_path / "t.db", manifest(), sql)) as store,
        pytest.raises(ToolFailed, match="belong to the runtime"),
    ):
        Model(store)("save", data=ENTRY)


def test_a_schema_that_does_not_run_is_the_owners_to_mend(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="syntax error"):
        PackStore(tmp_path / "t.db", manifest(), "CREATE TABEL x;")


def test_a_file_that_is_no_database_or_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.db").write_text("hello " * 1000, encoding="utf-8")
    (tmp_path / "link.db").symlink_to(tmp_path / "other.db")

    for name in ("t.db", "link.db"):
        with pytest.raises(PackError, match="cannot be"):
            PackStore(tmp_path / name, manifest(), SCHEMA)
    assert not (tmp_path / "other.db").exists()


def test_a_closed_store_says_so_and_closing_twice_is_fine(tmp_path: Path) -> None:
    store = PackStore(tmp_path / "t.db", manifest(), SCHEMA)
    store.close()
    store.close()

    with pytest.raises(ToolFailed, match="closed"):
        Model(store)("recent")


def test_the_file_is_the_owners_alone_and_its_commits_are_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "store" / "t.db"
    with closing(PackStore(path, manifest(), SCHEMA)) as store:
        Model(store)("save", data=ENTRY)

        assert {file.stat().st_mode & 0o077 for file in path.parent.iterdir()} == {0}


# Exactly once


def entries(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT text FROM entries ORDER BY id").fetchall()


def save(store: PackStore, call_id: str, text: str = "hello") -> dict[str, object]:
    arguments = {"data": {**ENTRY, "text": text}}
    return store.run("save", arguments, call_id=call_id, session_key="s", now=NOW)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from("abcd"), max_size=12))
def test_a_repeated_call_has_one_effect_and_one_answer(calls: list[str]) -> None:
    with (
        TemporaryDirectory() as folder,
        closing(PackStore(Path(folder) / "t.db", manifest(), SCHEMA)) as store,
    ):
        answers = {call: save(store, call, call) for call in calls}

        assert all(save(store, call, "different") == answers[call] for call in calls)
        found = store.run(
            "query", {"sql": "SELECT text FROM entries"}, call_id="", session_key="", now=NOW
        )
        assert found["count"] == len(set(calls))


def test_a_repeated_update_does_not_count_twice(persist: Model) -> None:
    persist("save", data=ENTRY)
    arguments = {"where": {"text": "hello"}, "data": {"text": "bye"}}

    answers = [
        persist.store.run("update", arguments, call_id="same", session_key="s", now=NOW)
        for _ in range(2)
    ]

    assert answers == [{"table": "entries", "updated": 1}] * 2


def test_a_failed_call_is_not_recorded_and_may_be_made_again(tmp_path: Path) -> None:
    with closing(PackStore(tmp_path / "t.db", manifest(), SCHEMA)) as store:
        with pytest.raises(ToolFailed):
            store.run("save", {"data": {}}, call_id="c", session_key="s", now=NOW)

        assert save(store, "c")["saved"] == 1


def test_killed_at_any_statement_the_call_happens_once(tmp_path: Path) -> None:
    """The process is killed before its nth statement, for every n, and the call is repeated."""
    killed_at = 0
    for statement in range(50):
        path = tmp_path / f"{statement}.db"
        if not killed_before_statement(path, statement):
            break
        killed_at += 1
        with closing(PackStore(path, manifest(), SCHEMA)) as store:
            answer = save(store, "call")

        assert answer == {"table": "entries", "id": 1, "saved": 1}
        assert entries(path) == [("hello",)]
    assert 5 < killed_at < 49


def killed_before_statement(path: Path, statement: int) -> bool:
    """Save in a child process that dies by SIGKILL; say whether it did not live to the end."""
    child = os.fork()
    if child == 0:
        left = iter(range(statement))

        def trace(_: str) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            store = PackStore(path, manifest(), SCHEMA)
            store._connection.set_trace_callback(trace)
            save(store, "call")
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_a_look_that_takes_long_holds_up_nobody(tmp_path: Path) -> None:
    """Issue 14: a watch whose SQL hangs, and everybody else goes on."""
    with closing(PackStore(tmp_path / "a.db", manifest(), SCHEMA)) as store:
        begun, ended = threading.Event(), threading.Event()

        def endless() -> None:
            begun.set()
            with pytest.raises(ToolFailed, match="too long"):
                store.glance(f"{COUNTING} SELECT max(i) FROM n", limit=1)
            ended.set()

        looking = threading.Thread(target=endless)
        looking.start()
        begun.wait(10)
        assert store.read("SELECT count(*) AS n FROM words") == [{"n": 0}]
        assert not ended.is_set()
        looking.join(20)
        assert ended.is_set()
