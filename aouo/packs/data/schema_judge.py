"""Judges a schema: it may hold only statements that make tables and first rows.

Only the kinds of statements are looked at. What one may reach is `schema_guard`'s to say while
it runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from aouo.packs.data.schema_guard import SchemaRefused
from aouo.packs.data.schema_text import Statement

_MAKES = frozenset({"CREATE TABLE", "CREATE INDEX", "CREATE VIEW", "CREATE TRIGGER"})
_SEEDS = frozenset({"INSERT", "REPLACE"})
_IDLE = frozenset({"PRAGMA", "BEGIN", "COMMIT", "END"})
_MIGRATES = _MAKES | _SEEDS | _IDLE | {"UPDATE", "DELETE", "DROP", "ALTER", "WITH"}
_OTHERS = frozenset(
    {"ALTER", "ANALYZE", "ATTACH", "DELETE", "DETACH", "DROP", "EXPLAIN", "REINDEX", "RELEASE"}
    | {"ROLLBACK", "SAVEPOINT", "SELECT", "UPDATE", "VACUUM", "VALUES", "WITH"}
    | {f"CREATE TEMP {kind}" for kind in ("TABLE", "INDEX", "VIEW", "TRIGGER")}
)
_ELSEWHERE = "write it into migrations/NNNN_name.sql, which runs once on each database"
_HINTS = {
    "ATTACH": "a pack reaches no other database",
    "DETACH": "a pack reaches no other database",
    "DROP": f"a view, trigger or index that changed is made anew; for a table {_ELSEWHERE}",
    "DELETE": _ELSEWHERE,
    "UPDATE": _ELSEWHERE,
    "ALTER": "write a new column into its CREATE TABLE, and it is added",
    "WITH": "first rows begin with INSERT INTO, and WITH comes after it",
    "SELECT": "it changes nothing: leave it out",
    "VACUUM": "leave it out",
}


def check_heads(statements: Iterable[Statement]) -> None:
    """Hold a schema to the kinds of statements it may have.

    Raises:
        SchemaRefused: names the line and what to do.
    """
    for statement in statements:
        head = statement.head
        if head not in _MAKES | _SEEDS | _IDLE:
            raise SchemaRefused(_refused(head, "a schema"), statement.line)


def check_migration(statements: Iterable[Statement]) -> None:
    """Hold a migration to what changes the pack's own tables.

    Raises:
        SchemaRefused: names the line.
    """
    for statement in statements:
        if statement.head not in _MIGRATES:
            raise SchemaRefused(_refused(statement.head, "a migration"), statement.line)


def _refused(head: str, where: str) -> str:
    if head not in _MAKES | _SEEDS | _IDLE | _OTHERS:
        return f'near "{head.rpartition(" ")[2]}": syntax error'
    makes = "it makes tables, indexes, views, triggers and first rows"
    return f"{head} does not belong into {where}: {_HINTS.get(head, makes)}"
