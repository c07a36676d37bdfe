"""Stores what each watch of a pack saw last, and when it looks next."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from aouo.store.database import Tx
from aouo.store.rows import columns, made


class WatchKey(NamedTuple):
    """One watch of a pack, at one tenant's data ("" = everybody's)."""

    pack: str
    id: str
    tenant: str


@dataclass(frozen=True, slots=True)
class WatchState:
    """What it saw: `digest` of all of it ("" = nothing yet), the beginning as `seen`.

    `source` is what it looks at, `validator` what a server knows it by; `failures` are in a row,
    and `why` is the last one's reason. `next_look` is UTC, as it is stored.
    """

    key: WatchKey
    source: str
    digest: str = ""
    seen: str = ""
    validator: str = ""
    next_look: str = ""
    failures: int = 0
    why: str = ""


def states(tx: Tx) -> dict[WatchKey, WatchState]:
    return {(row := _state(each)).key: row for each in tx.all("SELECT * FROM watches")}


def states_of(tx: Tx, pack: str, watch: str) -> dict[WatchKey, WatchState]:
    rows = tx.all("SELECT * FROM watches WHERE pack = ? AND id = ?", pack, watch)
    return {(row := _state(each)).key: row for each in rows}


def get(tx: Tx, key: WatchKey) -> WatchState | None:
    row = tx.one("SELECT * FROM watches WHERE pack = ? AND id = ? AND tenant = ?", *key)
    return _state(row) if row else None


def put(tx: Tx, state: WatchState) -> None:
    key = state.key
    tx.run("DELETE FROM watches WHERE pack = ? AND id = ? AND tenant = ?", *key)
    tx.put(
        "watches",
        {"pack": key.pack, "id": key.id, "tenant": key.tenant, **columns(state, "key")},
    )


def forget_seen(tx: Tx, pack: str, watch: str, tenant: str) -> None:
    """Reset a watch of a tenant's data, or of everybody's: its next look becomes the baseline and
    reports no change."""
    tx.run(
        "UPDATE watches SET digest = '' WHERE pack = ? AND id = ? AND tenant IN (?, '')",
        pack,
        watch,
        tenant,
    )


def failing(tx: Tx) -> list[WatchState]:
    """Return the watches that failed the last time: one for each, whosever data it looked at."""
    rows = tx.all("SELECT *, max(failures) FROM watches WHERE failures > 0 GROUP BY pack, id")
    return [_state(row) for row in rows]


def forgive(tx: Tx) -> None:
    """Let watches that failed too often look again."""
    tx.run("UPDATE watches SET failures = 0, next_look = '' WHERE failures > 0")


def keep_only(tx: Tx, keys: Collection[WatchKey]) -> None:
    """Forget the watches that are not among `keys`."""
    for key in states(tx).keys() - set(keys):
        tx.run("DELETE FROM watches WHERE pack = ? AND id = ? AND tenant = ?", *key)


def _state(row: sqlite3.Row) -> WatchState:
    return made(WatchState, row, key=WatchKey(row["pack"], row["id"], row["tenant"]))
