"""A window that asks for changes sees what the rows say, however seldom it asks."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given
from hypothesis import strategies as st

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Rendered
from aouo.store import deliveries, web_messages
from aouo.store.database import Tx, connect
from aouo.store.web_messages import WebMessage
from tests.fakes.databases import put_database

OLD, NEW, BETWEEN = "2026-01-01", "2026-03-01", "2026-02-01"
CHATS = ("notes", "~")
_acts = st.lists(
    st.tuples(
        st.sampled_from(("add", "hidden", "edit", "delete", "tell", "look", "prune")),
        st.sampled_from(CHATS),
        st.integers(0, 6),
    ),
    max_size=40,
)


class Page:
    """What one window shows."""

    def __init__(self, tx: Tx, chat: str) -> None:
        self._tx, self._chat = tx, chat
        self._last = 0
        self.shown: dict[int, WebMessage] = {}

    def look(self) -> None:
        while rows := self._tx.ask(web_messages.changed(self._chat, self._last, 3)):
            for row in rows:
                self._last = row.change
                self.shown[row.id] = row

    def kept(self, since: str) -> list[WebMessage]:
        found = (self.shown[number] for number in sorted(self.shown))
        return [one for one in found if one.state != "deleted" and one.created_at >= since]


@given(_acts)
@example([("add", "~", 0), ("look", "~", 0), ("prune", "~", 0), ("add", "~", 6)])
def test_a_window_that_follows_changes_shows_what_a_fresh_one_reads(
    acts: Sequence[tuple[str, str, int]],
) -> None:
    """Messages that were forgotten may stay on an open page until it is reloaded."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "aouo.db"
        put_database(file)
        connection = connect(file)
        try:
            _follow(Tx(connection), acts)
        finally:
            connection.close()


def _follow(tx: Tx, acts: Sequence[tuple[str, str, int]]) -> None:
    pages = {chat: Page(tx, chat) for chat in CHATS}
    ids: list[int] = []
    for number, (act, chat, pick) in enumerate(acts):
        one = ids[pick % len(ids)] if ids else 0
        match act:
            case "add" | "hidden":
                when = OLD if pick < 2 else NEW
                hidden = act == "hidden"
                said = Rendered(f"said {number}")
                ids.append(web_messages.add(tx, chat, f"{number}", said, when, off_record=hidden))
            case "edit":
                web_messages.edit(tx, chat, one, Rendered(f"edit {number}"))
            case "delete":
                web_messages.delete(tx, chat, one)
            case "tell":
                web_messages.tell_anew(tx, chat, one)
            case "prune":
                web_messages.prune(tx, BETWEEN)
            case _:
                pages[chat].look()
    for chat, page in pages.items():
        page.look()
        fresh = [
            row for row in tx.ask(web_messages.newest(chat, 0, 100)) if row.created_at >= BETWEEN
        ]
        assert page.kept(BETWEEN) == fresh


def test_a_message_that_was_growing_when_the_process_died_is_taken_away(tmp_path: Path) -> None:
    """Nobody knows its id, so nobody would fill it."""
    put_database(tmp_path / "aouo.db")
    connection = connect(tmp_path / "aouo.db")
    tx, here = Tx(connection), ConversationAddress("web", "~")
    row = deliveries.add(tx, here, "live", Rendered("Par"), NEW)
    deliveries.begin(tx, row.id, NEW)
    wanted = web_messages.sending(tx, here)
    assert wanted is not None
    web_messages.add(tx, "~", wanted[0], row.message, NEW)
    unknown = deliveries.cut_off(tx, NEW)
    shown = tx.ask(web_messages.newest("~", 0, 9))
    connection.close()

    assert (unknown, shown) == ([], [])


def test_the_same_key_is_stored_once_and_a_deleted_message_takes_no_edit(tmp_path: Path) -> None:
    put_database(tmp_path / "aouo.db")
    connection = connect(tmp_path / "aouo.db")
    tx = Tx(connection)
    first = web_messages.add(tx, "~", "k", Rendered("one"), NEW)
    again = web_messages.add(tx, "~", "k", Rendered("two"), NEW)
    web_messages.delete(tx, "~", first)
    edited = web_messages.edit(tx, "~", first, Rendered("three"))
    elsewhere = web_messages.edit(tx, "notes", first, Rendered("three"))
    row: sqlite3.Row | None = tx.one("SELECT count(*) AS n, max(body) AS body FROM web_messages")
    connection.close()

    assert first == again
    assert (edited, elsewhere) == ("deleted", None)
    assert row is not None
    assert (row["n"], row["body"]) == (1, "")
