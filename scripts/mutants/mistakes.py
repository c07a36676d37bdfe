"""The mistakes that can be made in a source: each an edit of one expression or statement."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip
_SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")
_IN_SQL = {
    "<=": "<", ">=": ">", "<": "<=", ">": ">=", "=": "!=", "!=": "=",
    "AND": "OR", "OR": "AND", "ASC": "DESC", "DESC": "ASC", "MIN": "MAX", "MAX": "MIN",
    "IS NULL": "IS NOT NULL", "IS NOT NULL": "IS NULL", "NOT IN": "IN",
}  # fmt: skip
_SQL_WORD = re.compile(r"IS NOT NULL|IS NULL|NOT IN|<=|>=|!=|<|>|=|\b(?:AND|OR|ASC|DESC|MIN|MAX)\b")
_CLAUSE = re.compile(r"\b(?:SET|WHERE|ON|HAVING|SELECT|VALUES)\b")


@dataclass(frozen=True, slots=True)
class Mistake:
    """One edit: the bytes from `start` to `end` of a source become `text`."""

    line: int
    kind: str
    start: int
    end: int
    text: str
    local: bool
    """Inside a function, so that only tests that call it execute it."""

    def made_in(self, source: str) -> str:
        """The source with the mistake in it."""
        held = source.encode()
        return (held[: self.start] + self.text.encode() + held[self.end :]).decode()


def mistakes(source: str) -> list[Mistake]:
    """All mistakes that can be made in a source, in its order."""
    return list(_Reader(source).read(ast.parse(source), local=False))


class _Reader:
    def __init__(self, source: str) -> None:
        self._bytes = source.encode()
        self._lines = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def read(self, node: ast.AST, *, local: bool, line: int = 0) -> Iterator[Mistake]:
        if _is_not_worth_it(node):
            return
        line = node.lineno if isinstance(node, ast.stmt) else line
        if isinstance(node, ast.expr | ast.stmt):
            for kind, text, place in _mistaken(node, local=local):
                yield Mistake(line, kind, *self._span(place or node), text, local)
            yield from self._sql(node, line, local=local)
        within = local or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in _parts(node):
            inside = within and not isinstance(child, ast.arguments)
            yield from self.read(child, local=inside, line=line)

    def _sql(self, node: ast.AST, line: int, *, local: bool) -> Iterator[Mistake]:
        match node:
            case ast.Constant(value=str(text)) if _SQL.match(text):
                start, end = self._span(node)
                written = self._bytes[start:end].decode()
                for found in _SQL_WORD.finditer(written):
                    at = start + len(written[: found.start()].encode())
                    word, clause = found.group(), _CLAUSE.findall(written[: found.start()])
                    if clause[-1:] != ["SET"]:
                        yield Mistake(line, "SQL", at, at + len(word), _IN_SQL[word], local)
            case _:
                pass

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first = self._lines[node.lineno - 1] + node.col_offset
        return first, self._lines[node.end_lineno - 1] + node.end_col_offset


def _parts(node: ast.AST) -> list[ast.AST]:
    """The nodes below, without those that only say types."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [node.args, *node.body]
        case ast.arg():
            return []
        case ast.ClassDef():
            return [*node.body]
        case ast.AnnAssign():
            return [node.value] if node.value else []
        case _:
            return [*ast.iter_child_nodes(node)]


def _is_not_worth_it(node: ast.AST) -> bool:
    """Formatted texts have no places before 3.12; docstrings, logs and imports promise nothing."""
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name.strip("_").lower() in ("log", "logger")
        case ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.FunctionDef(name="__repr__"):
            return True
        case _:
            return False


_Slip: TypeAlias = tuple[str, str, ast.expr | None]


def _mistaken(node: ast.AST, *, local: bool) -> Iterator[_Slip]:
    """What stands for a node if somebody slips: the kind, the text, and the part it stands for."""
    match node:
        case ast.Compare(left=left, ops=[op, *rest], comparators=others):
            other = _COMPARED[type(op)]()
            yield "comparison", f"({ast.unparse(ast.Compare(left, [other, *rest], others))})", None
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and, or", f"({ast.unparse(ast.BoolOp(other, values))})", None
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", f"({ast.unparse(operand)})", None
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _COUNTED:
            yield "operator", f"({ast.unparse(ast.BinOp(left, _COUNTED[type(op)](), right))})", None
        case ast.Constant(value=bool(value)):
            yield "constant", str(not value), None
        case ast.Constant(value=int(value) | float(value)):
            yield "constant", str(value + 1), None
        case ast.Call():
            yield from _miscalled(node)
        case ast.IfExp(body=body, orelse=orelse):
            yield "branch", f"({ast.unparse(orelse)})", None
            yield "branch", f"({ast.unparse(body)})", None
        case ast.If(test=test) if local:
            yield "branch", "False", test
            yield "branch", "True", test
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "result", "return None", None
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Delete() if local:
            yield "statement", "pass", None
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign() if local:
            yield "statement", "pass", None
        case ast.Break():
            yield "loop", "continue", None
        case ast.Continue():
            yield "loop", "break", None
        case _:
            pass


def _miscalled(node: ast.Call) -> Iterator[_Slip]:
    match node.args:
        case [first, second, *rest] if not any(isinstance(one, ast.Starred) for one in node.args):
            swapped = ast.Call(node.func, [second, first, *rest], node.keywords)
            yield "swapped", ast.unparse(swapped), None
        case _:
            pass
    for keyword in node.keywords:
        if isinstance(keyword.value, ast.Constant):
            fewer = [one for one in node.keywords if one is not keyword]
            yield "keyword", ast.unparse(ast.Call(node.func, node.args, fewer)), None
