"""No statement that somebody waits for walks a table that grows for ever. Source: issue 11, 32."""

from __future__ import annotations

import ast
import importlib
import re
import sqlite3
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from types import ModuleType

import aouo.store

GROWING = (
    "jobs sessions turns messages tool_calls deliveries gates usage_events audit updates "
    "web_messages"
)
ALLOWED = {
    # for a person in a terminal, in a process of its own
    ("search", "stored_session"),
    ("turn_reports", "ending"),
    ("jobs", "count"),
    # takes the first row it meets
    ("audit", "head"),
    ("turns", "newest_status"),
    # once for a group, when it becomes a supergroup
    ("chats", "rename_chat"),
    ("deliveries", "move"),
    # for a person who is shown what is kept of them, and has it erased
    ("erasing", "kept_of"),
    ("erasing", "erase_rest"),
    ("erasing", "_erase_quotes"),
    # daily
    ("web_messages", "prune"),
}
_WALKS = re.compile(r"SCAN (\w+)(?! USING (?:COVERING )?INDEX (?!sqlite_autoindex))")


def test_only_what_nobody_waits_for_walks_a_growing_table() -> None:
    """A partial index holds one state of a table, so what walks that index is short."""
    database = sqlite3.connect(":memory:")
    schema = resources.files("aouo.store") / "schema.sql"
    database.executescript(schema.read_text(encoding="utf-8"))
    walking: set[tuple[str, str]] = set()
    planned = 0
    for module, function, sql in statements():
        plan = database.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?")).fetchall()
        planned += 1
        names = aliases(sql)
        for *_, step in plan:
            found = _WALKS.match(step)
            if found and names.get(found[1], found[1]) in GROWING.split():
                walking.add((module, function))
    database.close()

    assert planned > 250
    assert walking == ALLOWED


def statements() -> Iterator[tuple[str, str, str]]:
    """Every statement of `aouo.store` that is written at its call: module, function, text."""
    for file in sorted(Path(str(aouo.store.__path__[0])).glob("*.py")):
        module = importlib.import_module(f"aouo.store.{file.stem}")
        for each in ast.parse(file.read_text(encoding="utf-8")).body:
            match each:
                case ast.FunctionDef(name) | ast.Assign([ast.Name(name)], ast.Call()):
                    local = assigned(each, module)
                case _:
                    continue
            for node in ast.walk(each):
                for sql in texts(node, local, module):
                    if re.match(r"(SELECT|UPDATE|DELETE|INSERT|WITH) ", sql):
                        yield file.stem, name, sql


def assigned(function: ast.stmt, module: ModuleType) -> dict[str, list[str]]:
    local: dict[str, list[str]] = {}
    for node in ast.walk(function):
        match node:
            case ast.AnnAssign(ast.Name(name), _, value) if value is not None:
                local[name] = written(value, local, module)
            case ast.Assign([ast.Name(name)], ast.Tuple(items)):
                local[name] = [text for item in items for text in written(item, local, module)]
            case ast.Assign([ast.Name(name)], value):
                local[name] = written(value, local, module)
            case _:
                pass
    return local


def texts(node: ast.AST, local: Mapping[str, list[str]], module: ModuleType) -> list[str]:
    """What a call hands over as its first argument, or loops over."""
    match node:
        case ast.Call(args=[first, *_]):
            return written(first, local, module)
        case ast.For(iter=ast.Name(name)) | ast.comprehension(iter=ast.Name(name)):
            return local.get(name, [])
        case _:
            return []


def written(node: ast.AST, local: Mapping[str, list[str]], module: ModuleType) -> list[str]:
    """The texts that an expression may be; none for what is no text."""
    match node:
        case ast.Constant(str(text)):
            return [text]
        case ast.BinOp(left, ast.Add(), right):
            rights = written(right, local, module)
            return [a + b for a in written(left, local, module) for b in rights]
        case ast.IfExp(_, body, orelse):
            return written(body, local, module) + written(orelse, local, module)
        case ast.Name(name):
            known = getattr(module, name, None)
            return local.get(name, [known] if isinstance(known, str) else [])
        case ast.Attribute(ast.Name(of), name):
            known = getattr(getattr(module, of, None), name, None)
            return [known] if isinstance(known, str) else []
        case _:
            return []


def aliases(sql: str) -> dict[str, str]:
    return {alias: table for table, alias in re.findall(r"(?:FROM|JOIN) (\w+) AS (\w+)", sql)}
