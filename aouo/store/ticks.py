"""Stores when triggers that begin again and again were due last, and how that ended."""

from __future__ import annotations

from aouo.store.database import Tx


def last(tx: Tx, name: str) -> str:
    """Return when it was due last, "" = never."""
    return tx.text("SELECT at FROM ticks WHERE name = ?", name)


def note(tx: Tx, name: str, at: str) -> None:
    """Note that it is due at `at`."""
    tx.run(
        "INSERT INTO ticks (name, at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET at = ?",
        name,
        at,
        at,
    )


def settle(tx: Tx, name: str, state: str) -> str:
    """Note how its run ended; return how the one before did, "" = there was none."""
    row = tx.one("SELECT state FROM ticks WHERE name = ?", name)
    tx.run("UPDATE ticks SET state = ? WHERE name = ?", state, name)
    return row["state"] if row else ""
