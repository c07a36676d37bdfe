"""Finds and loads what the owner's Python packages bring: entry points, by their group."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from aouo.facts.errors import SetupError

_FIX = "Mend or uninstall its package."


def found(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, by name."""
    return _found(group, tuple((folder, _changed_at(folder)) for folder in sys.path))


def load(entry: EntryPoint, what: str) -> Any:
    """Return the object that an entry point names; `what` it is goes into the error.

    Raises:
        SetupError: its package cannot be imported, or does not have it.
    """
    try:
        return entry.load()
    except Exception as error:
        raise failed(entry, what, f"failed: {error!r}") from error


def failed(entry: EntryPoint, what: str, why: str, *, fix: str = _FIX) -> SetupError:
    """Make the error of an entry point that is not what it should be."""
    return SetupError(f"The {what} {entry.name!r} ({entry.value}) {why}.", fix=fix)


@lru_cache(maxsize=8)
def _found(group: str, folders: Sequence[tuple[str, int]]) -> tuple[EntryPoint, ...]:
    """Looked for again when one of the folders changed."""
    del folders  # the key: what is searched is `sys.path`
    return tuple(sorted(entry_points(group=group), key=lambda entry: entry.name))


def _changed_at(folder: str) -> int:
    """When something was put into a folder or taken out, in ns; 0 if there is none."""
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0
