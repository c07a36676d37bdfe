"""The map of the house, made from the tree: `python -m scripts.house` writes docs/map.md."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "aouo"
MAP = ROOT / "docs" / "map.md"
_HEAD = """# The house, room by room

Made from the tree by `.venv/bin/python -m scripts.house`, and held to it by `tests/test_map.py`.
Rooms stand in the order of their layers: each imports only rooms below it (`pyproject.toml`).
A file's line is its first sentence.
"""


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
    found = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    return next(one["layers"] for one in found["contracts"] if one.get("containers") == ["aouo"])


def _rooms() -> list[Path]:
    names = [name for layer in layers() for name in layer.split(" | ")]
    return [HOUSE / name for name in names if (HOUSE / name).is_dir()]


def _files(room: Path) -> list[Path]:
    """A room's own files, then those of its folders."""
    found = [file for file in room.rglob("*.py") if file.name != "__init__.py"]
    return sorted(found, key=lambda file: (len(file.parts), file))


def _below(file: Path, room: Path) -> str:
    return file.relative_to(room).as_posix()


if __name__ == "__main__":
    MAP.write_text(drawn(), "utf-8")
