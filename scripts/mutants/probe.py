"""Tells which test executes which line: a probe before each statement, and a pytest plugin.

Works in child processes too: they inherit the name of the test from pytest's environment. One
that may not write, such as one in the sandbox, tells nothing.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import pytest

HITS = Path(__file__).parents[2] / ".hits"
_HEAD = """
try:
    from scripts.mutants.probe import hit as _hit_
except Exception:
    def _hit_(file, line): pass
"""


class _Told:
    """What this process has told of its present test."""

    seen: ClassVar[set[tuple[str, int]]] = set()
    test = ""
    fd = -1


def hit(file: str, line: int) -> None:
    """A statement is about to be executed."""
    if (file, line) not in _Told.seen:
        _Told.seen.add((file, line))
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        if test != _Told.test:
            _Told.test = test
            tell(f"test\t{test}")
        tell(f"hit\t{file}\t{line}")


def tell(said: str) -> None:
    """Add a line to what this process tells."""
    try:
        if _Told.fd < 0:
            path = HITS / str(os.getpid())
            _Told.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(_Told.fd, f"{said}\n".encode())
    except OSError:
        pass


def pytest_runtest_logstart() -> None:
    _Told.seen.clear()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ and report.when == "call":
        tell(f"done\t{report.nodeid}\t{report.duration:.3f}\t{report.outcome}")


def probed(source: str, file: str) -> str:
    """The source with a probe before each statement of its functions."""
    tree = ast.parse(source)
    _put(tree, file, inside=False)
    first = next((i for i, one in enumerate(tree.body) if not _leads(one)), len(tree.body))
    tree.body[first:first] = ast.parse(_HEAD).body
    return ast.unparse(ast.fix_missing_locations(tree))


def _put(node: ast.AST, file: str, *, inside: bool) -> None:
    inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
        inside and not isinstance(node, ast.ClassDef)
    )
    for child in ast.iter_child_nodes(node):
        _put(child, file, inside=inside)
    for name in ("body", "orelse", "finalbody"):
        block: list[ast.stmt] | None = getattr(node, name, None)
        if inside and isinstance(block, list):
            setattr(node, name, [part for one in block for part in _with_probe(one, file)])


def _with_probe(statement: ast.stmt, file: str) -> list[ast.stmt]:
    if _leads(statement):
        return [statement]
    return [*ast.parse(f"_hit_({file!r}, {statement.lineno})").body, statement]


def _leads(statement: ast.stmt) -> bool:
    """A docstring, or an import that has to stand first."""
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.ImportFrom(module="__future__"):
            return True
        case _:
            return False
