"""Which files a call's arguments mean: found by where paths stand, read with links followed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

_PATH_KEYS = frozenset(
    {"path", "paths", "file", "files", "dir", "folder", "source", "destination", "target", "url"}
)


def mentioned(payload: Mapping[str, Any]) -> Iterator[str]:
    """Every string that stands where a path may stand, however deep."""
    for key, value in payload.items():
        if key.lower() in _PATH_KEYS:
            yield from (text for text in _strings(value) if looks_local(text))
        elif isinstance(value, Mapping):
            yield from mentioned(cast("Mapping[str, Any]", value))
        elif isinstance(value, list | tuple):
            for item in cast("list[Any]", value):
                if isinstance(item, Mapping):
                    yield from mentioned(cast("Mapping[str, Any]", item))


def looks_local(text: str) -> bool:
    """Whether this is no address in the web; "" is neither."""
    text = text.strip().lower()
    return not text.startswith(("http://", "https://")) and bool(text)


def resolved(text: str, base: Path) -> Path | None:
    """The file a path means, relative ones below `base`; None when no path can hold it."""
    text = text.strip()
    if "\0" in text:
        return None
    try:
        if text[:5].lower() == "file:":
            text = unquote(urlsplit(text).path)
        return (base / os.path.expanduser(text)).resolve()  # noqa: PTH111 - keeps a bare "~x" as it is
    except (OSError, RuntimeError, ValueError):
        return None


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in cast("list[object]", value):
                yield from _strings(item)
        case _:
            return
