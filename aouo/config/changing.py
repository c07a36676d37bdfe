"""Changes keys of `config.json`: validated as a whole, and never over what somebody else wrote."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, cast

from aouo.config.file import FILE, ConfigBroken, Loaded, dump, parse, parse_json, read_text
from aouo.config.keys import Tree, drop_at, put_at
from aouo.config.sections import WALLS
from aouo.facts.errors import SetupError
from aouo.plumbing.home import write_atomically

_BY_HAND = "this takes down a wall between packs and your files; only you can, in the file by hand"
UNSET: Final = object()
"""Stands for "take the key out of the file", so that its default holds."""


class ChangedMeanwhile(SetupError):
    """The file is not the one that was read."""

    def __init__(self) -> None:
        super().__init__(
            f"Somebody else has changed {FILE} since you read it.", fix="Read it again."
        )


def version_of(home: Path) -> str:
    """Return what changes with each change of the file; "" = there is no file."""
    try:
        return hashlib.sha256((home / FILE).read_bytes()).hexdigest()[:16]
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigBroken((f"it cannot be read: {error.strerror}",), home / FILE) from None


def read_tree(home: Path) -> Tree:
    """Return what `config.json` says as it is written, {} without one.

    Raises:
        ConfigBroken: it cannot be read, or is no JSON object.
    """
    file = home / FILE
    try:
        return parse_json(read_text(file))
    except ValueError as error:
        raise ConfigBroken((str(error),), file) from None


def change(
    home: Path,
    changes: Mapping[tuple[str, ...], object],
    environ: Mapping[str, str],
    *,
    version: str | None = None,
    accept: Callable[[Loaded], None] = lambda loaded: None,
) -> tuple[str | None, Loaded]:
    """Set keys by their paths in parts, `UNSET` takes one out; all of them or none.

    Returns the file's text before, None = there was none, and what it says now. `version` is that
    of the file which was read, None = whatever it is. `accept` may refuse what
    the whole would be, by raising.

    Raises:
        ConfigBroken: it would have problems, or takes down a wall; the file is unchanged.
        ChangedMeanwhile: the file has another version.
    """
    with _alone(home):
        if version is not None and version != version_of(home):
            raise ChangedMeanwhile
        file = home / FILE
        before = read_text(file) if file.exists() else None
        tree = read_tree(home)
        standing = _walls_down(tree)
        for names, value in changes.items():
            if value is UNSET:
                drop_at(tree, names)
            else:
                put_at(tree, names, value)
        if fallen := [key for key in _walls_down(tree) if key not in standing]:
            raise ConfigBroken(tuple(f"{key}: {_BY_HAND}" for key in fallen), file)
        text = dump(tree)
        loaded = parse(text, environ, file)
        accept(loaded)
        try:
            write_atomically(file, text)
        except UnicodeEncodeError:  # in a key that nothing reads, or it would have been refused
            raise ConfigBroken(("it holds half a character (\\ud800)",), file) from None
        return before, loaded


def _walls_down(tree: Tree) -> list[str]:
    """Return the keys that take a wall down, as `Settings.walls_down` has them."""
    section = tree.get("security")
    said = cast("Tree", section) if isinstance(section, dict) else {}
    return [f"security.{key}" for key, value in WALLS.items() if said.get(key) == value]


def replace_text(home: Path, text: str | None, version: str) -> None:
    """Replace the file's text by one that is valid, None = by no file.

    Raises:
        ChangedMeanwhile: the file has another version than this.
    """
    with _alone(home):
        if version != version_of(home):
            raise ChangedMeanwhile
        if text is None:
            (home / FILE).unlink(missing_ok=True)
        else:
            write_atomically(home / FILE, text)


def put_back(home: Path, before: str | None, version: str) -> None:
    """Write the text that was there before a change, unless the file has another version now."""
    with suppress(ChangedMeanwhile):
        replace_text(home, before, version)


@contextmanager
def _alone(home: Path) -> Generator[None]:
    """Keep other processes of ours from changing the file meanwhile; an editor cannot be kept."""
    folder = os.open(home, os.O_RDONLY)
    try:
        with suppress(OSError):  # a network file system may lock no folders
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
