"""Splits a pack's SQL into statements; reads what each begins with and what a CREATE TABLE says."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

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


@dataclass(frozen=True, slots=True)
class Token:
    """One word of SQL: `plain` is how it compares, names and words in small letters."""

    plain: str
    quoted: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a schema, where it begins, and what it is known by."""

    sql: str
    line: int

    @property
    def digest(self) -> str:
        """The same for any spacing, any comments and either case of its words."""
        return hashlib.sha256(normal(self.sql).encode()).hexdigest()

    @property
    def unless_there(self) -> str:
        """The same, doing nothing where what it makes is there already."""
        found = [token for token in tokens(self.sql)[:6] if not token.quoted]
        words = [token.plain for token in found]
        kinds = ("table", "index", "view", "trigger")
        at = next((at for at, word in enumerate(words[:4]) if word in kinds), 0)
        if words[:1] != ["create"] or not at or words[at + 1 : at + 3] == ["if", "not"]:
            return self.sql
        end = found[at].end
        return f"{self.sql[:end]} IF NOT EXISTS{self.sql[end:]}"

    @property
    def is_virtual(self) -> bool:
        """Whether it makes a virtual table, whose module makes and reads tables itself."""
        return [token.plain for token in tokens(self.sql)[:2]] == ["create", "virtual"]

    @property
    def head(self) -> str:
        """What it does: its first word in capitals, `CREATE TABLE` and its like with two."""
        words = [token.plain.upper() for token in tokens(self.sql)[:4]]
        if words[:1] != ["CREATE"]:
            return words[0] if words else ""
        left_out = ("TEMP", "TEMPORARY", "UNIQUE", "VIRTUAL")
        kind = next((word for word in words[1:] if word not in left_out), "")
        temporary = any(word in words[1:2] for word in ("TEMP", "TEMPORARY"))
        return f"CREATE {'TEMP ' if temporary else ''}{kind}"


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
            yield Statement(sql[match.start() : end].strip(), sql.count("\n", 0, match.start()) + 1)
            return


@lru_cache(maxsize=512)
def tokens(sql: str) -> tuple[Token, ...]:
    """Return the words and signs of a statement, without blanks and comments."""
    found: list[Token] = []
    for match in _TOKEN.finditer(sql):
        said = match.group()
        match match.lastgroup:
            case "blank":
                continue
            case "name":
                mark = said[0]
                plain = said[1:-1].replace(mark * 2, mark) if mark != "[" else said[1:-1]
                found.append(Token(plain.lower(), True, match.start(), match.end()))
            case "word":
                found.append(Token(said.lower(), False, match.start(), match.end()))
            case _:
                found.append(Token(said, False, match.start(), match.end()))
    return tuple(found)


def normal(sql: str) -> str:
    """Return SQL so that two spellings of the same compare as equal."""
    words = " ".join(token.plain for token in tokens(sql)).rstrip(" ;")
    return words.replace(" if not exists ", " ", 1)


def pieces(found: Sequence[Token], start: int = 0) -> Iterator[tuple[Token, ...]]:
    """Cut the tokens inside the parenthesis at `start` at their outer commas."""
    depth, gathered = 0, list[Token]()
    for token in found[start:]:
        if token.plain == "(" and not token.quoted:
            depth += 1
            if depth == 1:
                continue
        elif token.plain == ")" and not token.quoted:
            depth -= 1
            if depth == 0:
                break
        elif token.plain == "," and depth == 1:
            yield tuple(gathered)
            gathered = []
            continue
        gathered.append(token)
    if gathered:
        yield tuple(gathered)


def column_definitions(create: str) -> Mapping[str, str]:
    """Return what a CREATE TABLE says of each column, by its name in small letters."""
    found = tokens(create)
    opening = next((at for at, token in enumerate(found) if token.plain == "("), len(found))
    constraints = ("constraint", "primary", "unique", "check", "foreign")
    return {
        piece[0].plain: create[piece[0].start : piece[-1].end]
        for piece in pieces(found, opening)
        if piece and (piece[0].quoted or piece[0].plain not in constraints)
    }


def rules(create: str) -> tuple[str, ...]:
    """Return the CHECK, COLLATE and AUTOINCREMENT of a CREATE TABLE, sorted."""
    found = tokens(create)
    said: list[str] = []
    for at, token in enumerate(found):
        match token.plain if not token.quoted else "":
            case "check":
                inside = " , ".join(_spoken(piece) for piece in pieces(found, at + 1))
                said.append(f"CHECK ({inside})")
            case "collate" if at + 1 < len(found):
                said.append(f"COLLATE {found[at + 1].plain.upper()}")
            case "autoincrement":
                said.append("AUTOINCREMENT")
            case _:
                pass
    return tuple(sorted(said))


def options(create: str) -> tuple[str, ...]:
    """Return what a CREATE TABLE says after its columns."""
    found = tokens(create)
    depth, end = 0, 0
    for at, token in enumerate(found):
        if token.plain in ("(", ")") and not token.quoted:
            depth += 1 if token.plain == "(" else -1
            end = at if depth == 0 else end
    said = _spoken(found[end + 1 :]).upper()
    return tuple(option for option in ("WITHOUT ROWID", "STRICT") if option in said)


def _spoken(piece: Iterable[Token]) -> str:
    return " ".join(token.plain for token in piece)
