"""Databases that the sample packs of 0.1 made become those of today, with every row in them."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from aouo.packs.data.storage import PackStore, rehearse
from aouo.packs.library import scan

PACKS = scan(Path(__file__).parents[2] / "packs").packs
NOTES_0_1 = """\
-- One row is one note. created_at and session_id are filled by the runtime.
CREATE TABLE IF NOT EXISTS entries (
  id         INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL,
  session_id TEXT NOT NULL DEFAULT '',
  text       TEXT NOT NULL,
  tags       TEXT NOT NULL DEFAULT ''   -- lower case, comma separated: "work,idea"
);

CREATE INDEX IF NOT EXISTS entries_by_time ON entries (created_at);
"""
VOCAB_0_1 = """\
-- What a word means. The word itself is the key, so adding it again corrects it.
CREATE TABLE IF NOT EXISTS words (
  word       TEXT PRIMARY KEY COLLATE NOCASE,
  meaning    TEXT NOT NULL,
  example    TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
);

-- How well it is known. box 0 is new; due is the day it is asked next.
CREATE TABLE IF NOT EXISTS cards (
  word       TEXT PRIMARY KEY COLLATE NOCASE REFERENCES words (word) ON DELETE CASCADE,
  box        INTEGER NOT NULL DEFAULT 0 CHECK (box BETWEEN 0 AND 6),
  due        TEXT NOT NULL DEFAULT (date('now')),
  lapses     INTEGER NOT NULL DEFAULT 0,
  updated_at TEXT NOT NULL
);

CREATE INDEX IF NOT EXISTS cards_by_due ON cards (due);
"""
ADDED, ASKED = "2026-01-02T08:00:00Z", "2026-01-20T08:00:00Z"


@contextmanager
def upgraded(file: Path, pack: str, schema: str, rows: str) -> Generator[PackStore]:
    """The pack's database of today, made from one that an older schema made."""
    new = PACKS[pack]
    old = PACKS[pack].manifest
    with closing(PackStore(file, old, schema)):
        pass
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(rows)
    rehearse(file, new.manifest, new.schema_sql, new.migrations)
    with closing(PackStore(file, new.manifest, new.schema_sql, migrations=new.migrations)) as store:
        yield store


def test_words_and_what_is_known_of_them_survive_the_upgrade_from_boxes(tmp_path: Path) -> None:
    rows = f"""
        INSERT INTO words VALUES
            ('Baum', 'tree', 'Der Baum.', '{ADDED}'), ('essen', 'to eat', '', '{ADDED}'),
            ('Hund', 'dog', '', '{ADDED}'), ('neu', 'new', '', '{ADDED}'),
            (' ', 'nothing', '', '{ADDED}'), (NULL, 'nothing', '', '{ADDED}');
        INSERT INTO cards (word, box, due, lapses, updated_at) VALUES
            ('baum', 4, '2026-02-03', 1, '{ASKED}'), ('essen', 0, '2026-01-21', 2, '{ASKED}'),
            ('neu', 0, 'soon', 0, '{ADDED}');
    """
    with upgraded(tmp_path / "vocab.db", "vocab", VOCAB_0_1, rows) as store:
        words = store.read("SELECT word, meaning, example, created_at FROM words ORDER BY rowid")
        cards = store.read(
            "SELECT word, due, interval_days, reviews, lapses, reviewed_at FROM cards "
            "WHERE reviews > 0 ORDER BY rowid"
        )
        new = store.read(
            "SELECT word FROM cards WHERE reviews = 0 AND due = date('now', 'localtime')"
        )
        asked = store.read("SELECT word, kind FROM due")
        again = {"word": "Baum", "grade": "good"}
        store.run("save", again | {"table": "reviews"}, call_id="1", session_key="", now=ASKED)
        store.run("delete", _where("words", "Hund"), call_id="2", session_key="", now=ASKED)
        left = store.read("SELECT count(*) AS cards FROM cards")

    assert [tuple(row.values()) for row in words] == [
        ("Baum", "tree", "Der Baum.", ADDED),
        ("essen", "to eat", "", ADDED),
        ("Hund", "dog", "", ADDED),
        ("neu", "new", "", ADDED),
    ]
    assert [tuple(row.values()) for row in cards] == [
        ("Baum", "2026-02-03", 14, 5, 1, ASKED),
        ("essen", "2026-01-21", 0, 2, 2, ASKED),
    ]
    assert [row["word"] for row in new] == ["Hund", "neu"]
    assert {str(row["word"]): row["kind"] for row in asked} == {
        "Baum": "review",
        "essen": "again",
        "Hund": "new",
        "neu": "new",
    }
    assert left == [{"cards": 3}]


def _where(table: str, word: str) -> dict[str, Any]:
    return {"table": table, "where": {"word": word}}


def test_notes_survive_the_upgrade_and_can_be_pinned(tmp_path: Path) -> None:
    rows = f"""
        INSERT INTO entries VALUES
            (3, '{ADDED}', 's', 'buy milk', 'Home,shop'), (7, '{ADDED}', '', ' ', '');
    """
    with upgraded(tmp_path / "notes.db", "notes", NOTES_0_1, rows) as store:
        pin = {"where": {"id": 3}, "data": {"pinned": 1}}
        store.run("update", pin, call_id="1", session_key="", now=ASKED)
        found = store.read("SELECT id, created_at, session_id, text, tags, pinned FROM entries")
        tags = store.read("SELECT tag FROM tags ORDER BY tag")

    assert [tuple(row.values()) for row in found] == [
        (3, ADDED, "s", "buy milk", "home,shop", 1),
        (7, ADDED, "", "–", "", 0),
    ]
    assert tags == [{"tag": "home"}, {"tag": "shop"}]
