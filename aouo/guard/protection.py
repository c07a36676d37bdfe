"""The runtime's own files: no tool reads or writes them, whatever a policy says.

A path counts as it resolves, links followed, so that another spelling is no way around.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from aouo.guard.action import Action, Allowed, Blocked, Verdict

_PATH_KEYS = frozenset(
    {"path", "paths", "file", "files", "dir", "folder", "source", "destination", "target", "url"}
)


class Protection:
    """Guards one home; inside it only the acting pack's data folder is open to tools."""

    def __init__(self, *, home: Path, pack_data: Path) -> None:
        self._home = home.resolve()
        self._pack_data = pack_data.resolve()

    def judge(self, action: Action) -> Verdict:
        """Pure but for resolving links."""
        for text in _paths(action.payload):
            path = _resolved(text, self._pack_data / action.pack)
            if path is None:
                return Blocked(f"{text!r} is not a path that can be checked.")
            if path.is_relative_to(self._home) and not self._is_open(path, action.pack):
                return Blocked(
                    f"{text!r} belongs to the runtime itself and is closed to tools. "
                    "Use the pack's own data folder."
                )
        return Allowed("no protected file")

    def _is_open(self, path: Path, pack: str) -> bool:
        return bool(pack) and path.is_relative_to(self._pack_data / pack)


def _paths(payload: Mapping[str, Any]) -> Iterator[str]:
    """Every string that stands where a path may stand, however deep."""
    for key, value in payload.items():
        if key.lower() in _PATH_KEYS:
            yield from (text for text in _strings(value) if _looks_local(text))
        elif isinstance(value, Mapping):
            yield from _paths(cast("Mapping[str, Any]", value))
        elif isinstance(value, list | tuple):
            for item in cast("list[Any]", value):
                if isinstance(item, Mapping):
                    yield from _paths(cast("Mapping[str, Any]", item))


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in cast("list[object]", value):
                yield from _strings(item)
        case _:
            return


def _looks_local(text: str) -> bool:
    text = text.strip().lower()
    return not text.startswith(("http://", "https://")) and bool(text)


def _resolved(text: str, base: Path) -> Path | None:
    """The file a path means; None when no path can hold it."""
    text = text.strip()
    if "\0" in text:
        return None
    try:
        if text[:5].lower() == "file:":
            text = unquote(urlsplit(text).path)
        return (base / os.path.expanduser(text)).resolve()  # noqa: PTH111 - keeps a bare "~x" as it is
    except (OSError, RuntimeError, ValueError):
        return None
