"""Of a person who is forgotten nothing stays in a database that people share.

Source: issue 44, number 16.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from aouo.packs.data.persons import erase
from aouo.packs.data.storage import PackStore
from aouo.packs.format.manifest import Manifest

MANIFEST = Manifest("lists", "0.1.0", "Lists")
SCHEMA = "CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, person TEXT, text TEXT);\n"
ADD = "INSERT INTO items (person, text) VALUES (:person, :text)"


def test_what_was_kept_to_put_calls_back_loses_their_rows_and_keeps_those_of_others(
    tmp_path: Path,
) -> None:
    file = tmp_path / "lists.db"
    store = PackStore(file, MANIFEST, SCHEMA)
    find = "SELECT text FROM items"
    for number, (sql, values) in enumerate(
        [
            (ADD, {"person": "8", "text": "quinces"}),
            (ADD, {"person": "8", "text": "loquats"}),
            (ADD, {"person": "7", "text": "figs"}),
            ("UPDATE items SET text = text || '!'", {}),
            ("DELETE FROM items WHERE text = 'loquats!'", {}),
            ("DELETE FROM items WHERE person = '7'", {}),
        ]
    ):
        store.act([sql], values, find, call_id=f"call{number}", now=f"{number}")
    store.close()
    erase(file, "8")
    raw = file.read_bytes()
    with closing(sqlite3.connect(file)) as opened:
        rows = opened.execute("SELECT call_id, result FROM _aouo_calls ORDER BY call_id").fetchall()
    again = PackStore(file, MANIFEST, SCHEMA)
    put_back = [again.undo(call, "9") for call in ("call5", "call3")]
    left = again.read("SELECT person, text FROM items")
    again.close()

    emptied = {call for call, result in rows if json.loads(result) == {}}
    assert emptied == {"call0", "call1", "call3", "call4"}
    assert b"loquats!" not in raw
    assert put_back == [True, True]
    assert left == [{"person": "7", "text": "figs"}]
