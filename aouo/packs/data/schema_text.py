"""Cuts a pack's SQL into statements, says which may stand where, and cuts a CREATE TABLE up."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from aouo.packs.data.schema_guard import SchemaRefused

_MAX_STATEMENTS = 2000
_SPLIT = re.compile(
    r"""'(?:[^']|'')*+(?:'|\Z) | "(?:[^"]|"")*+(?:"|\Z) | `[^`]*+(?:`|\Z) | \[[^\]]*+(?:\]|\Z)
    | --[^\n]* | /\*(?:.*?\*/|.*\Z) | (?P<end>;)""",
    re.VERBOSE | re.DOTALL,
)
_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*+(?:'|\Z))
    | (?P<name>"(?:[^"]|"")*+(?:"|\Z) | `[^`]*+(?:`|\Z) | \[[^\]]*+(?:\]|\Z))
    | (?P<word>[\w$.]+)
    | (?P<blank>\s+ | \ufeff | --[^\n]* | /\*(?:.*?\*/|.*\Z))
    | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_RULES = frozenset({"constraint", "primary", "unique", "check", "foreign"})
_KINDS = ("TABLE", "INDEX", "VIEW", "TRIGGER")
_SCHEMA = frozenset(
    {"CREATE VIRTUAL TABLE", "INSERT", "REPLACE", "PRAGMA", "BEGIN", "COMMIT", "END"}
    | {f"CREATE {kind}" for kind in _KINDS}
)
_MIGRATION = _SCHEMA | {"UPDATE", "DELETE", "DROP", "ALTER", "WITH"}
_OTHERS = frozenset(
    {"ANALYZE", "ATTACH", "DETACH", "EXPLAIN", "REINDEX", "RELEASE"}
    | {"ROLLBACK", "SAVEPOINT", "SELECT", "VACUUM", "VALUES"}
    | {f"CREATE TEMP {kind}" for kind in _KINDS}
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


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, the line where it begins, and its first words in capitals.

    `head` is one word, or `CREATE TABLE` and its like.
    """

    sql: str
    line: int
    head: str

    @property
    def is_seed(self) -> bool:
        """Whether it gives first rows."""
        return self.head in ("INSERT", "REPLACE")

    def check(self, *, in_migration: bool = False) -> None:
        """Hold it to the kinds that a schema may have, or a migration.

        Raises:
            SchemaRefused: names the line and what to do.
        """
        if self.head in (_MIGRATION if in_migration else _SCHEMA):
            return
        if self.head not in _MIGRATION | _OTHERS:
            raise SchemaRefused(f'near "{self.head.rpartition(" ")[2]}": syntax error', self.line)
        where = "a migration" if in_migration else "a schema"
        makes = "it makes tables, indexes, views, triggers and first rows"
        hint = _HINTS.get(self.head, makes)
        raise SchemaRefused(f"{self.head} does not belong into {where}: {hint}", self.line)


def split(sql: str) -> tuple[Statement, ...]:
    """Cut a schema into its statements.

    Raises:
        SchemaRefused: more of them than any pack needs.
    """
    statements: list[Statement] = []
    begin = 0
    for match in _SPLIT.finditer(sql):
        if match.group("end") is None:
            continue
        piece = sql[begin : match.end()]
        if not sqlite3.complete_statement(piece):
            continue  # inside a trigger
        statements += _statement(sql, begin, match.end())
        begin = match.end()
        if len(statements) > _MAX_STATEMENTS:
            raise SchemaRefused(f"more than {_MAX_STATEMENTS} statements")
    statements += _statement(sql, begin, len(sql))
    return tuple(statements)


def _statement(sql: str, begin: int, end: int) -> Iterator[Statement]:
    """The statement between two places, unless there is nothing but blanks and comments."""
    for match in _TOKEN.finditer(sql, begin, end):
        if match.lastgroup != "blank" and match.group() != ";":
            text = sql[match.start() : end].strip()
            yield Statement(text, sql.count("\n", 0, match.start()) + 1, _head(text))
            return


def _head(sql: str) -> str:
    first, *others = (word.upper() for word in islice(words(sql), 4))
    if first != "CREATE":
        return first
    special = {"TEMP": "TEMP ", "TEMPORARY": "TEMP ", "VIRTUAL": "VIRTUAL "}
    kind = next((word for word in others if word not in (*special, "UNIQUE")), "")
    return f"CREATE {special.get(others[0], '') if others else ''}{kind}"


def words(sql: str) -> Iterator[str]:
    """Yield the words and signs of SQL, without blanks and comments.

    Names lose their quotes, and all but texts is in small letters.
    """
    for match in _TOKEN.finditer(sql):
        said = match.group()
        if match.lastgroup == "name":
            mark = said[0]
            yield (said[1:-1] if mark == "[" else said[1:-1].replace(mark * 2, mark)).lower()
        elif match.lastgroup != "blank":
            yield said if match.lastgroup == "text" else said.lower()


def normal(sql: str) -> str:
    """Return SQL so that two spellings of the same compare as equal."""
    return " ".join(words(sql)).rstrip(" ;")


def parts(create: str) -> dict[str, str]:
    """Cut the CREATE TABLE that SQLite has kept at its outer commas.

    Returns:
        The text of each column by its name in small letters, of each rule of the table by itself
        as `normal` writes it, and of the options at the end by "".
    """
    depth, rest = 0, len(create)
    inside: list[re.Match[str]] = []
    found: dict[str, str] = {}
    for match in _TOKEN.finditer(create):
        sign = match.group()
        depth -= sign == ")"
        if inside and (depth, sign) in ((1, ","), (0, ")")):
            text = create[inside[0].start() : inside[-1].end()]
            name = next(words(text))
            found[normal(text) if name in _RULES else name] = text
            inside.clear()
            rest = match.end()
        elif depth and match.lastgroup != "blank":
            inside.append(match)
        depth += sign == "("
    return {**found, "": create[rest:]}


def is_column(part: str) -> bool:
    """Whether the name of one of `parts` is that of a column."""
    return bool(part) and part.partition(" ")[0] not in _RULES
