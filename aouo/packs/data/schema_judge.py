"""What a schema may say: made of what makes tables and first rows, and nothing else.

A second opinion on text. What a statement may reach is `schema_guard`'s to say while it runs,
and both have to agree. The parser is heavy, so it is imported when a text has to be judged.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from aouo.packs.data.schema_guard import SchemaRefused
from aouo.packs.data.schema_text import Statement, tokens

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
    "WITH": "first rows are written as INSERT … VALUES",
    "SELECT": "it changes nothing: leave it out",
    "VACUUM": "leave it out",
}


def check_heads(statements: Iterable[Statement]) -> None:
    """Hold a schema to the kinds of statements it may have; needs no parser.

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


def judge(statements: Iterable[Statement]) -> None:
    """Read a schema with a parser of its own and hold it to what a schema may say.

    Text that only SQLite can read (triggers, virtual tables) is left to the guard.

    Raises:
        SchemaRefused: names the line and what to do.
    """
    for statement in statements:
        if statement.head in _SEEDS or _might_select(statement):
            try:
                message = _objection(statement)
            except RecursionError:
                message = "is nested too deeply"
            if message:
                raise SchemaRefused(message, statement.line)


def _might_select(statement: Statement) -> bool:
    """Whether a CREATE TABLE says AS; without it there is nothing to find for a parser."""
    return statement.head == "CREATE TABLE" and any(
        token.plain == "as" and not token.quoted for token in tokens(statement.sql)
    )


def _objection(statement: Statement) -> str:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it tells of what it cannot read
    seed = statement.head in _SEEDS
    text = statement.sql
    if statement.head == "REPLACE":
        text = f"INSERT OR {text}"
    try:
        found = sqlglot.parse_one(text, dialect="sqlite")
    except SqlglotError as error:
        said = str(error).splitlines()[0]
        return f"first rows are written as INSERT … VALUES (…): {said}" if seed else ""
    match found:
        case exp.Insert():
            return _of_insert(found)
        case exp.Create() if isinstance(found.expression, exp.Query):
            return "CREATE TABLE … AS SELECT takes rows from elsewhere: write the columns"
        case exp.Create() | exp.Command() if not seed:
            return ""
        case _:
            return "first rows are written as INSERT … VALUES (…)"


def _of_insert(found: object) -> str:
    from sqlglot import exp

    assert isinstance(found, exp.Insert)
    if found.args.get("with_") or found.args.get("with") or found.args.get("returning"):
        return "first rows are written as INSERT … VALUES (…), without WITH and RETURNING"
    if found.args.get("default"):
        return ""
    values = found.expression
    if not isinstance(values, exp.Values):
        return "INSERT … SELECT takes rows from elsewhere: write them as VALUES (…)"
    if values.find(exp.Query):
        return "a value is a constant, not a SELECT"
    if column := values.find(exp.Column):
        return f"a value is a constant, and {column.sql()} is a name: text stands in 'quotes'"
    return ""


def _refused(head: str, where: str) -> str:
    if head not in _MAKES | _SEEDS | _IDLE | _OTHERS:
        return f'near "{head.rpartition(" ")[2]}": syntax error'
    makes = "it makes tables, indexes, views, triggers and first rows"
    return f"{head} does not belong into {where}: {_HINTS.get(head, makes)}"
