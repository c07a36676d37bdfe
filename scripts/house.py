"""The map of the house and its size, both from the tree.

python -m scripts.house           writes docs/map.md
python -m scripts.house budget    prints what aouo/ holds; ends with 1 above the budget
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "aouo"
MAP = ROOT / "docs" / "map.md"
_HEAD = """# The house, room by room

Made from the tree by `.venv/bin/python -m scripts.house`, and held to it by `tests/test_map.py`.
Rooms stand in the order of their layers: each imports only rooms below it (`pyproject.toml`).
A file's line is its first sentence.
"""
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def drawn() -> str:
    """The map as Markdown."""
    parts = [_HEAD]
    for room in _rooms():
        parts.append(
            f"\n## {room.relative_to(ROOT).as_posix()}/\n\n{sentence(room / '__init__.py')}\n"
        )
        parts += [f"\n- `{_below(file, room)}` {sentence(file)}" for file in _files(room)]
        parts.append("\n")
    return "".join(parts)


@cache
def sentence(file: Path) -> str:
    """The first sentence of a module's docstring, on one line."""
    said = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    first = " ".join(said.partition("\n\n")[0].split())
    end = first.find(". ")
    return first[: end + 1] if end >= 0 else first


def layers() -> list[str]:
    """The layers of the house, top to bottom, as import-linter holds them."""
    contracts = _tool("importlinter")["contracts"]
    return next(one["layers"] for one in contracts if one.get("containers") == ["aouo"])


def _ours(folder: Path) -> list[Path]:
    """Return the modules below a folder; templates of packs are their authors'."""
    return [file for file in folder.rglob("*.py") if "templates" not in file.parts]


def size(folder: Path = HOUSE) -> Counter[str]:
    """What all modules of a folder hold, counted as the budget counts."""
    total = Counter[str]()
    for file in _ours(folder):
        total.update(_size(file.read_text("utf-8")))
    return total


def above(size: Counter[str]) -> list[str]:
    """A sentence for each count that is over the budget of pyproject.toml."""
    budget: dict[str, int] = _tool("aouo")["budget"]
    return [
        f"{size[name]:,} {name} are {size[name] - most:,} over the budget in pyproject.toml"
        for name, most in budget.items()
        if size[name] > most
    ]


def _size(text: str) -> dict[str, int]:
    """Classes stand anywhere, public names at the top, lines of code hold neither blanks nor
    comments nor docstrings."""
    tree = ast.parse(text)
    code = _tokens(text)
    imports = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(_lines(node))
        if (docstring := _docstring(node)) is not None:
            code.difference_update(_lines(docstring))
    return {
        "modules": 1,
        "classes": sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree)),
        "public_names": sum(
            not name.startswith("_") for statement in tree.body for name in _names(statement)
        ),
        "code_lines": len(code),
        "import_lines": len(imports & code),
    }


def _names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return [statement.name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def _tokens(text: str) -> set[int]:
    """The lines on which something stands that is no comment."""
    found = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    return found


def _docstring(node: ast.AST) -> ast.stmt | None:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    return node.body[0] if ast.get_docstring(node, clean=False) is not None else None


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _tool(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"][name]


def _rooms() -> list[Path]:
    names = [name for layer in layers() for name in layer.split(" | ")]
    return [HOUSE / name for name in names if (HOUSE / name).is_dir()]


def _files(room: Path) -> list[Path]:
    """A room's own files, then those of its folders."""
    found = [file for file in _ours(room) if file.name != "__init__.py"]
    return sorted(found, key=lambda file: (len(file.parts), file))


def _below(file: Path, room: Path) -> str:
    return file.relative_to(room).as_posix()


def _print_size() -> int:
    counts = size()
    share = counts["import_lines"] / counts["code_lines"]
    print(
        f"{counts['modules']:,} modules, {counts['classes']:,} classes, "
        f"{counts['public_names']:,} public names, {counts['code_lines']:,} lines of code, "
        f"{share:.1%} of them imports"
    )
    over = above(counts)
    print(*over, sep="\n", end="\n" if over else "")
    return 1 if over else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["budget"]:
        sys.exit(_print_size())
    MAP.write_text(drawn(), "utf-8")
