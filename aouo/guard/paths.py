"""Finds and resolves the paths in a call, and opens exactly what was judged.

The guard followed every link before, so a link in the way now was put there since.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from aouo.facts.errors import ToolFailed
from aouo.plumbing import trees

_PATH_KEY = re.compile(
    r"(path|file|filename|dir|directory|folder|source|destination|target|root|cwd|uri|url)s?$"
)
_PATH_START = ("/", "~", "./", "../", "file:")
_LONGEST_PATH = 4096
"""In characters; no system call takes a longer path."""
KEPT_BYTES = 20_000_000
"""Of a file, or of the folder of a tool: what it held before a call is kept up to this size."""
KEPT_FILES = 2_000
"""So many files of the folder of a tool, at most."""
MAX_FOLDERS = 64
_MAX_PATH_BYTES = 1_024
_MAX_NAME_BYTES = 255
"""Of one name in a path; the system's limit."""
_SHOWN_CHARS = 80


def mentioned(payload: Mapping[str, Any], *, anywhere: bool = False) -> Iterator[str]:
    """Find every string in the value of a key that takes paths, however deep.

    `anywhere`: also strings of other keys that begin like a path. Strings that are too long for
    any system to open are left out.
    """
    return filter(None, map(_openable, _mentioned(payload, anywhere=anywhere)))


def _openable(text: str) -> str:
    """Return `text`, normalised if it is too long otherwise; "" = it is too long all the same."""
    if len(text) > _LONGEST_PATH:
        text = os.path.normpath(text)
    return text if len(text) <= _LONGEST_PATH else ""


def _mentioned(payload: Mapping[str, Any], *, anywhere: bool) -> Iterator[str]:
    for key, value in payload.items():
        if holds_a_path(key):
            yield from (text for text in _strings(value) if looks_local(text) or ".." in text)
        elif isinstance(value, Mapping):
            yield from _mentioned(cast("Mapping[str, Any]", value), anywhere=anywhere)
        elif isinstance(value, list | tuple):
            for item in cast("list[Any]", value):
                if isinstance(item, Mapping):
                    yield from _mentioned(cast("Mapping[str, Any]", item), anywhere=anywhere)
                elif anywhere:
                    yield from _path_like(item)
        elif anywhere:
            yield from _path_like(value)


def holds_a_path(key: str) -> bool:
    """Whether a parameter's name says that it takes a path."""
    return bool(_PATH_KEY.search(re.sub(r"[^a-z]", "", key.lower())))


def looks_local(text: str) -> bool:
    """Whether this is not blank and no http address."""
    text = text.strip().lower()
    return not text.startswith(("http://", "https://")) and bool(text)


def listed(value: object) -> tuple[str, ...]:
    """Return the addresses and paths of an album: a list, its JSON text, or one a line.

    The guard that judges an album and the tool that sends it both read it by this.
    """
    if isinstance(value, str):
        value = _from_json(value) or value.replace("\\n", "\n").split("\n")
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(text for item in items if (text := str(item).strip()))


def _from_json(text: str) -> object:
    """Parse `text` as a JSON list, None = it is none."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None  # pyright: ignore[reportUnknownVariableType]


def refused(text: str) -> str:
    """Return why no file tool takes `text` as a path, for the model; "" = it may be one."""
    text = text.strip()
    names = [name for name in text.split("/") if name not in ("", ".")]
    if len(names) > MAX_FOLDERS:
        return (
            f"A path of {len(names):,} folders is too many folders deep: at most {MAX_FOLDERS} "
            "names fit into one. Use fewer folders."
        )
    if (size := len(text.encode("utf-8", "surrogatepass"))) > _MAX_PATH_BYTES:
        return f"A path of {size:,} bytes is too long: at most {_MAX_PATH_BYTES:,}. Shorten it."
    if (
        longest := max((len(name.encode("utf-8", "surrogatepass")) for name in names), default=0)
    ) > _MAX_NAME_BYTES:
        return f"A name of {longest:,} bytes is too long: at most {_MAX_NAME_BYTES}. Shorten it."
    return ""


def quoted(text: str) -> str:
    """Quote a path as a model wrote it, cut to fit into a sentence."""
    return repr(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…")


def resolved(text: str, base: Path) -> Path | None:
    """Resolve a path, relative ones below `base`; None = the text cannot be a path."""
    text = text.strip()
    if "\0" in text:
        return None
    try:
        if text[:5].lower() == "file:":
            text = unquote(urlsplit(text).path)
        return (base / os.path.expanduser(text)).resolve()  # noqa: PTH111 - keeps a bare "~x" as it is
    except (OSError, RuntimeError, ValueError):
        return None


def _path_like(value: object) -> Iterator[str]:
    for text in _strings(value):
        if text.lstrip().startswith(_PATH_START):
            yield text


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in cast("list[object]", value):
                yield from _strings(item)
        case Mapping():
            for item in cast("Mapping[str, object]", value).values():
                yield from _strings(item)
        case _:
            return


def placed(text: str, own: Path) -> Path:
    """Return the absolute path of an argument; links are followed only in the folder `own`.

    Raises:
        ToolFailed: it holds `..` or a NUL, as no path does that the guard has judged.
    """
    path = own.resolve() / text.strip()
    if ".." in path.parts or "\0" in text:
        raise ToolFailed(f"{text!r} is no path that was checked; write it without `..`.")
    return path


@contextmanager
def opened(path: Path) -> Generator[int]:
    """Yield a descriptor of the file at the absolute `path`, for reading.

    Raises:
        ToolFailed: it is missing, no file (a folder, a pipe, a device), or a link is in the way.
    """
    with parent(path) as folder:
        try:
            # Without O_NONBLOCK a pipe that nobody writes into would hold the thread for ever.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path.name or ".", flags, dir_fd=folder)
        except OSError as error:
            raise failed(path, error) from error
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise ToolFailed(f"{path} is a folder. Use list_dir to see what is in it.")
        if not stat.S_ISREG(mode):
            raise ToolFailed(f"{path} is not a file that can be read.")
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def parent(path: Path, *, make_below: Path | None = None) -> Generator[int]:
    """Yield a descriptor of `path`'s folder; missing folders are made below `make_below`.

    Raises:
        ToolFailed: it is not there, or a link stands in the way.
    """
    with ExitStack() as stack:
        try:
            found = stack.enter_context(trees.folder(path.parent, make_below=make_below))
        except OSError as error:
            raise failed(Path(error.filename), error) from error
        yield found


def write_new(path: Path, content: bytes, *, own: Path) -> None:
    """Create the file at the absolute `path`, only its owner may read it; also make missing
    folders below `own`.

    Raises:
        ToolFailed: the path exists, or a link is in the way.
    """
    try:
        with trees.new_file(path, make_below=own) as out:
            out.write(content)
    except OSError as error:
        raise failed(Path(error.filename or path), error) from error


def failed(path: Path, error: OSError) -> ToolFailed:
    """Return the system's error in words for the model."""
    match error:
        case FileNotFoundError():
            return ToolFailed(f"{path} is not there. Use list_dir to see what is.")
        case NotADirectoryError():
            return ToolFailed(f"{path} is no folder. Use list_dir to see what is there.")
        case PermissionError():
            return ToolFailed(f"The system does not let us at {path}.")
        case _ if error.errno == errno.ELOOP:
            return ToolFailed(
                f"{path} became a link meanwhile, so it was not followed. Call again."
            )
        case _:
            return ToolFailed(f"{path}: {error.strerror or error}.")
