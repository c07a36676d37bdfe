"""Lists the files that the kernel opens to start a program: itself, its interpreter, its loader."""

from __future__ import annotations

import shutil
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_SCRIPT_DEPTH = 4  # as far as the kernel follows a script's interpreter
_PT_INTERP = 3
SEARCHED = f"{Path(sys.executable).resolve().parent}:/usr/local/bin:/usr/bin:/bin"
"""The PATH inside; our own interpreter is found first."""


def found(name: str) -> Path | None:
    """Return the file of a program by its name, None = there is none; `python` is our own."""
    if name in ("python", "python3"):
        return Path(sys.executable).resolve()
    there = shutil.which(name, path=SEARCHED)
    return Path(there).resolve() if there else None


def startable(programs: Iterable[Path]) -> tuple[Path, ...]:
    """Return these files and those that the kernel opens to start them, resolved, each once."""
    files: dict[Path, None] = {}
    for program in programs:
        _follow(program.resolve(), files, 0)
    return tuple(files)


def _follow(program: Path, files: dict[Path, None], depth: int) -> None:
    if program in files or depth > _SCRIPT_DEPTH:
        return
    files[program] = None
    try:
        with program.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return
    for needed in _interpreters(head) if head[:2] == b"#!" else _loader(head):
        _follow(needed.resolve(), files, depth + 1)


def _interpreters(head: bytes) -> list[Path]:
    """Return the interpreter that `#!` names; with `env` also the program that it looks for."""
    words = head[2:].partition(b"\n")[0].decode("utf-8", "replace").split()
    if not words:
        return []
    if Path(words[0]).name != "env":
        return [Path(words[0])]
    named = next((found(word) for word in words[1:] if not word.startswith("-")), None)
    return [Path(words[0]), *((named,) if named else ())]


def _loader(head: bytes) -> list[Path]:
    """Return the loader that a 64-bit little-endian ELF file names."""
    if head[:6] != b"\x7fELF\x02\x01":
        return []
    at, size, count = (
        struct.unpack_from("<Q", head, 32)[0],
        struct.unpack_from("<H", head, 54)[0],
        struct.unpack_from("<H", head, 56)[0],
    )
    for number in range(count):
        entry = at + number * size
        if entry + 56 > len(head):
            break
        kind, offset, length = (
            struct.unpack_from("<I", head, entry)[0],
            struct.unpack_from("<Q", head, entry + 8)[0],
            struct.unpack_from("<Q", head, entry + 32)[0],
        )
        if kind == _PT_INTERP:
            return [Path(head[offset : offset + length].rstrip(b"\0").decode())]
    return []
