"""Reads the owner's two files that say who the assistant is and how it works."""

from __future__ import annotations

from pathlib import Path

from aouo.plumbing.home import Home
from aouo.turn.prompt import Persona


class PersonaFiles:
    """The owner's two persona files, read again when they change."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._seen: dict[Path, tuple[int, str]] = {}

    def persona(self) -> Persona:
        return Persona(self._read(self._home.soul), self._read(self._home.rules))

    def _read(self, file: Path) -> str:
        try:
            changed_ns = file.stat().st_mtime_ns
            if self._seen.get(file, (0, ""))[0] != changed_ns:
                self._seen[file] = (changed_ns, file.read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError):
            return ""
        return self._seen[file][1]
