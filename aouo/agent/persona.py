"""Reads the owner's two files that say who the assistant is and how it works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aouo.agent.prompt import Persona
from aouo.plumbing.home import Home


def persona_of(home: Home) -> Callable[[], Persona]:
    """Return a reader of the owner's two persona files, which are read again when they change."""
    seen: dict[Path, tuple[int, str]] = {}

    def read(file: Path) -> str:
        try:
            changed_ns = file.stat().st_mtime_ns
            if seen.get(file, (0, ""))[0] != changed_ns:
                seen[file] = (changed_ns, file.read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError):
            return ""
        return seen[file][1]

    return lambda: (read(home.soul), read(home.rules))
