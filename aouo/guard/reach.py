"""Finds the files outside its own folder that a pack's tool is given in the sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from aouo.guard.fence import Area, Fence
from aouo.guard.paths import MAX_FOLDERS, mentioned, resolved
from aouo.guard.protection import Protection
from aouo.plumbing.trees import Found, TooMuch, walk

_MAX_LOOKED_AT = 5_000
"""Directory entries that are looked at for one pattern; the rest is not found."""
_MAX_PATHS = 500


def refusal(fence: Fence, protection: Protection, pack: str, path: Path) -> str:
    """Return why a pack may not look at `path`, whose links are followed; "" = it may."""
    asked, opened = fence.areas(pack, "", "")
    if not any(area.covers(path) for area in asked):
        return f"{path} is not among the files of this pack (permissions.files)."
    if opened is not None and not any(area.covers(path) for area in opened):
        return f"{path} is outside of what the owner has opened (security.allowed_paths)."
    if protection.closes(path):
        return f"{path} is the bot's own, or holds keys."
    return ""


def reached(
    fence: Fence,
    protection: Protection,
    pack: str,
    tenant: str,
    person: str,
    payload: Mapping[str, Any],
) -> tuple[Path, ...]:
    """Return the files and folders, there now, that the lists of a pack and of the owner both
    cover for `person`, and those that an allowed call names.

    The guard has allowed the call, so the paths in it that its pack may ask for are open.
    """
    own = fence.own(pack, tenant)
    asked, opened = fence.areas(pack, tenant, person)
    found = [path for area in asked for path in _both(area, opened)]
    for text in mentioned(payload):
        path = resolved(text, own)
        if path is not None and any(area.covers(path) for area in asked):
            found.append(path)
    closed = protection.closed_in(found)
    kept = dict.fromkeys(path for one in found for path in _without(one, closed))
    return tuple(islice((path for path in kept if path.exists()), _MAX_PATHS))


def _both(asked: Area, opened: Sequence[Area] | None) -> Iterator[Path]:
    """Yield what the asked area has in common with the opened ones, None = all is open."""
    if opened is None:
        yield from _there(asked)
        return
    if asked.below:
        yield from (path for path in _there(asked) if any(o.covers(path) for o in opened))
        return
    for area in opened:
        if not area.below and asked.root.is_relative_to(area.root):
            yield asked.root
        elif area.root.is_relative_to(asked.root):
            yield from _there(area)
        elif area.below:
            yield from (path for path in _there(area) if path.is_relative_to(asked.root))


def _there(area: Area) -> Iterator[Path]:
    """Yield the folder or file of an area, or each existing file that its pattern covers."""
    if not area.below:
        yield area.root
        return
    with suppress(TooMuch, OSError):
        for found in walk(area.root, most=_MAX_LOOKED_AT, enter=_is_near, closed=lambda path: None):
            path = area.root / found.path
            if found.is_file and area.covers(path):
                yield path


def _is_near(folder: Found) -> bool:
    return folder.path.count("/") < MAX_FOLDERS


def _without(path: Path, closed: Sequence[Path]) -> Iterator[Path]:
    """Yield `path`, or, if it holds something closed, its other entries that exist now."""
    if any(path.is_relative_to(one) for one in closed):
        return
    if not any(one.is_relative_to(path) for one in closed):
        yield path
        return
    try:
        children = sorted(child for child in path.iterdir() if not child.is_symlink())
    except OSError:
        return
    for child in islice(children, _MAX_PATHS):
        yield from _without(child, closed)
