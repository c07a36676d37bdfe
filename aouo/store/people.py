"""Stores who asked to be let in, and what the owner decided about people."""

from __future__ import annotations

from aouo.facts.people import LetIn
from aouo.store.database import Tx
from aouo.store.rows import columns, made
from aouo.store.snapshots import Query


def everybody(tx: Tx) -> dict[str, LetIn]:
    """Return what is kept, by the person's id."""
    rows = tx.all("SELECT * FROM people ORDER BY at, person")
    return {row["person"]: made(LetIn, row) for row in rows}


def put(tx: Tx, person: LetIn) -> None:
    """Keep this of a person, in place of what was kept."""
    tx.run("DELETE FROM people WHERE person = ?", person.person)
    tx.put("people", columns(person))


def asked_since(tx: Tx, moment: str) -> int:
    """Count the people who asked after `moment`, and have no answer yet."""
    return tx.number("SELECT count(*) AS n FROM people WHERE role = 'asked' AND at > ?", moment)


ASKING = Query(
    "SELECT person, name, at FROM people WHERE role = 'asked' ORDER BY at",
    (),
    lambda rows: [dict(row) for row in rows],
)
"""Who waits for the owner's answer."""
