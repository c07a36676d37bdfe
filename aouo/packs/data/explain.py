"""Words SQLite's errors so that a model knows how to do it right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from aouo.packs.data.columns import Column
from aouo.packs.data.rows import Table, near

_MAX_CHARS = 2_000
_KINDS = {
    "INT": "a whole number such as 3",
    "INTEGER": "a whole number such as 3",
    "REAL": "a number such as 2.5",
    "TEXT": "text",
    "BLOB": "bytes, which persist cannot send",
}


def unread(said: str, tables: Mapping[str, tuple[Column, ...]]) -> str:
    """Say what is wrong with a SELECT, and what there is to select from."""
    return _with_tables(_of_names(said, tables) or f"{said}.", tables)


def unwritten(
    said: str, tables: Mapping[str, tuple[Column, ...]], references: Iterable[str]
) -> str:
    """Say why a row was not written, and what to send instead; `references` are sentences on the
    foreign keys."""
    sentence = _of_rules(said, references) or _of_kinds(said) or _of_names(said, tables)
    return _with_tables(sentence or f"{said}.", tables)


def _with_tables(sentence: str, tables: Mapping[str, tuple[Column, ...]]) -> str:
    lines = " ".join(str(Table(name, tables[name])) for name in tables)
    return f"{sentence} {lines or 'This pack has no tables.'}"[:_MAX_CHARS]


def _of_names(said: str, tables: Mapping[str, tuple[Column, ...]]) -> str:
    if match := re.fullmatch(r"no such column: (.+)", said):
        name = match[1].rpartition(".")[2]
        known = {column.name for found in tables.values() for column in found}
        return f"There is no column {match[1]}{near(name, known)}"
    if match := re.fullmatch(r"no such table: (.+)", said):
        return f"There is no table {match[1]}{near(match[1], tables)}"
    if match := re.fullmatch(r"ambiguous column name: (.+)", said):
        return f"Several tables have a column {match[1]}: write table.{match[1]}."
    if match := re.fullmatch(r"no such function: (.+)", said):
        return f"SQLite has no function {match[1]} here: select the columns and do without it."
    if "Incorrect number of bindings" in said or "You did not supply a value for" in said:
        return f"{said.rstrip('.')}. params holds one value for each ? or :name in sql."
    if "one statement at a time" in said:
        return "Send one statement at a time, without ; inside it."
    return ""


def _of_rules(said: str, references: Iterable[str]) -> str:
    if match := re.fullmatch(r"NOT NULL constraint failed: (\S+)\.(\S+)", said):
        return f'{match[1]}.{match[2]} needs a value: send data with "{match[2]}".'
    if match := re.fullmatch(r"UNIQUE constraint failed: (.+)", said):
        names = [name.rpartition(".")[2] for name in match[1].split(", ")]
        table = match[1].partition(".")[0]
        return (
            f"{table} has a row with this {' and '.join(names)} already: send upsert to change it, "
            f"or another {' or '.join(names)}."
        )
    if match := re.fullmatch(r"CHECK constraint failed: (.+)", said, re.DOTALL):
        return f"A value breaks the rule CHECK ({match[1]}): send one that keeps it."
    if said == "FOREIGN KEY constraint failed":
        return (
            f"Rows of two tables belong together: {'; '.join(references) or 'see the schema'}. "
            "Save the row that is referred to first, and delete it last."
        )
    return ""


def _of_kinds(said: str) -> str:
    strict = re.fullmatch(r"cannot store (\S+) value in (\S+) column (\S+)", said)
    if strict:
        wanted = _KINDS.get(strict[2].upper(), strict[2])
        return f"{strict[3]} takes {wanted}, and this is {strict[1]}."
    if said == "datatype mismatch":
        return "The id of a row is a whole number: leave it out and one is chosen."
    return ""
