"""Whoever edits, removes, moves or cuts off rows of the audit is found out. Source: issue 31."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.records import AuditEntry, Stage
from aouo.store import audit, opening
from aouo.store.database import Tx, connect

TEXT = st.text(max_size=8)
ENTRIES = st.lists(
    st.builds(
        AuditEntry,
        stage=st.sampled_from(get_args(Stage)),
        turn_id=st.just("turn"),
        call_id=st.uuids().map(str),
        action_id=TEXT,
        tool=TEXT,
        pack=TEXT,
        origin=st.just("chat"),
        digest=st.sampled_from(["", "digest"]),  # "" is off the record
        reason=TEXT,
        judge=TEXT,
        sink=TEXT,
        labels=TEXT,
        tier=st.integers(0, 3),
    ),
    min_size=3,
    max_size=6,
)


def opened(file: Path) -> sqlite3.Connection:
    connection = connect(file)
    opening.make_tables(Tx(connection))
    return connection


def swapped(connection: sqlite3.Connection) -> None:
    for change in ("-id WHERE id IN (1, 2)", "id + 3 WHERE id < 0"):
        connection.execute(f"UPDATE audit SET id = {change}")


TAMPERED: dict[str, Callable[[sqlite3.Connection], object]] = {
    "edited": lambda c: c.execute("UPDATE audit SET reason = reason || 'x' WHERE id = 2"),
    "a digest taken out": lambda c: c.execute("UPDATE audit SET tier = tier + 1 WHERE id = 1"),
    "removed": lambda c: c.execute("DELETE FROM audit WHERE id = 2"),
    "the first removed": lambda c: c.execute("DELETE FROM audit WHERE id = 1"),
    "moved": swapped,
}


@pytest.mark.parametrize("how", TAMPERED)
@given(entries=ENTRIES)
def test_what_is_not_as_it_was_written_is_found(
    how: str, entries: list[AuditEntry], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with closing(opened(tmp_path_factory.mktemp("audit") / "a.db")) as connection:
        tx = Tx(connection)
        for entry in entries:
            audit.append(tx, entry, "2026-01-01T00:00:00Z")
        whole, gone, head = audit.broken(tx, {})
        assert (whole, gone, head) == (0, 0, audit.head(tx))

        TAMPERED[how](connection)

        assert audit.broken(tx, {})[0] > 0


@given(entries=ENTRIES)
def test_a_tail_that_is_cut_off_is_found_by_a_head_that_was_noted(
    entries: list[AuditEntry], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with closing(opened(tmp_path_factory.mktemp("audit") / "a.db")) as connection:
        tx = Tx(connection)
        for entry in entries:
            audit.append(tx, entry, "2026-01-01T00:00:00Z")
        head = audit.head(tx)
        connection.execute("DELETE FROM audit WHERE id >= ?", (head.id,))

        assert audit.broken(tx, {})[:2] == (0, 0)
        assert audit.broken(tx, {head.id: head.chain})[:2] == (0, head.id)
        audit.append(tx, entries[0], "2026-01-02T00:00:00Z")
        assert audit.broken(tx, {head.id: head.chain})[1] == head.id
