"""The file of a backup: a tar that anybody opens, whose last member is the hash of each other.

It is written and read as a stream, so that its size is bounded by the disk alone.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast

from aouo.backup.sealed import Sealing, Unsealing, begins_sealed, damaged
from aouo.facts.errors import SetupError

FACTS: Final = "backup.json"
_HASHES: Final = "hashes.json"
_STEP_BYTES: Final = 1024 * 1024
_BLOCK_BYTES: Final = 64 * 1024
"""How much tarfile handles at once; more is slower, since it copies what waits."""
_SMALL_BYTES: Final = 64 * 1024 * 1024
"""The most that the list of hashes may have."""
_LONGEST: Final = 1000
_FILES: Final = (
    *("config.json", "config.last-good.json", "trial.json"),
    *("SOUL.md", "RULES.md", "HEARTBEAT.md"),
)
_FOLDERS: Final = ("skills", "commands", "data", "media", "packs")
_NEVER: Final = re.compile(
    r"data/(backups|\.backup-[^/]*)(/|$)|data/.*\.db-(wal|shm|journal)$", re.DOTALL
)
"""What `writing` leaves out of the folders."""


def write(out: IO[bytes], members: Iterable[tuple[str, Path | bytes]], passphrase: str) -> int:
    """Write members by their names, locked if there is a passphrase; return the bytes in them."""
    sealing = Sealing(out, passphrase) if passphrase else None
    hashes: dict[str, str] = {}
    total = 0
    with tarfile.open(
        fileobj=cast("IO[bytes]", sealing or out),
        mode="w|",
        bufsize=_BLOCK_BYTES,
        format=tarfile.PAX_FORMAT,
    ) as tar:
        for name, content in members:
            total += _add(tar, name, content, hashes)
        _add(tar, _HASHES, json.dumps(hashes).encode(), {})
    if sealing:
        sealing.close()
    return total


def _add(tar: tarfile.TarFile, name: str, content: Path | bytes, hashes: dict[str, str]) -> int:
    entry = tarfile.TarInfo(name)
    if isinstance(content, bytes):
        entry.size, entry.mode = len(content), 0o600
        source: IO[bytes] = io.BytesIO(content)
    else:
        try:
            source = content.open("rb")
        except FileNotFoundError:  # pruned meanwhile
            return 0
        facts = os.fstat(source.fileno())
        entry.size, entry.mtime = facts.st_size, int(facts.st_mtime)
        entry.mode = 0o600 | facts.st_mode & 0o100
    with source:
        hashed = _Hashed(source)
        tar.addfile(entry, cast("IO[bytes]", hashed))
    hashes[name] = hashed.sha256.hexdigest()
    return entry.size


class _Hashed:
    """Reads on, and knows the hash of what was read."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self.sha256 = hashlib.sha256()

    def read(self, size: int, /) -> bytes:
        data = self._source.read(size)
        self.sha256.update(data)
        return data


def is_sealed(file: Path) -> bool:
    """Whether a passphrase is needed to read this file."""
    with _opened(file) as source:
        return begins_sealed(source.read(64))


def read(
    file: Path, passphrase: str, into: Path | None, judge: Callable[[bytes], None] | None = None
) -> bytes:
    """Read a whole backup and check each hash, and put its files below `into`, None = nowhere;
    return what it says of itself, which `judge` may refuse before anything is written.

    Raises:
        SetupError: it is none, is cut, damaged or hostile, or the passphrase is wrong.
    """
    with _opened(file) as source:
        sealed = begins_sealed(source.read(64))
        source.seek(0)
        stream = io.BufferedReader(Unsealing(source, passphrase), _STEP_BYTES) if sealed else source
        try:
            with tarfile.open(fileobj=stream, mode="r|", bufsize=_BLOCK_BYTES) as tar:
                return _taken(tar, into, judge)
        except (tarfile.TarError, ValueError, EOFError, RecursionError) as error:
            raise damaged() from error


def _taken(tar: tarfile.TarFile, into: Path | None, judge: Callable[[bytes], None] | None) -> bytes:
    facts: bytes | None = None
    hashes: dict[str, str] = {}
    for entry in tar:
        name, source = _name(entry), tar.extractfile(entry)
        if source is None:
            raise damaged()
        if name == _HASHES:
            said: Any = json.loads(source.read(_SMALL_BYTES))
            if facts is None or said != hashes or tar.next() is not None:
                raise damaged()
            return facts
        hashed = _Hashed(source)
        if facts is None:
            facts = hashed.read(_STEP_BYTES)
            if name != FACTS:
                raise damaged()
            if judge:
                judge(facts)
        else:
            _pour(hashed, entry, into / name if into else None)
        if name in hashes:
            raise damaged()
        hashes[name] = hashed.sha256.hexdigest()
    raise damaged()


def _name(entry: tarfile.TarInfo) -> str:
    """Return where a member belongs: a file of the home that `writing` writes.

    Raises:
        SetupError: it is something else.
    """
    path = PurePosixPath(entry.name)
    in_folder = len(path.parts) > 1 and path.parts[0] in _FOLDERS
    if (
        not (in_folder or entry.name in (*_FILES, FACTS, _HASHES))
        or _NEVER.match(entry.name)
        or not entry.isreg()
        or entry.issparse()
        or path.is_absolute()
        or str(path) != entry.name
        or not {"", ".", ".."}.isdisjoint(path.parts)
        or len(entry.name) > _LONGEST
        or "\0" in entry.name
    ):
        raise damaged()
    return entry.name


def _pour(source: _Hashed, entry: tarfile.TarInfo, target: Path | None) -> None:
    if target is None:
        while source.read(_STEP_BYTES):
            pass
        return
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(target, how, 0o600 | entry.mode & 0o100)
    except FileExistsError as error:
        raise damaged() from error
    with os.fdopen(descriptor, "wb") as out:
        while data := source.read(_STEP_BYTES):
            out.write(data)


def _opened(file: Path) -> IO[bytes]:
    try:
        return file.open("rb")
    except OSError as error:
        why = error.strerror or error
        raise SetupError(f"{file} cannot be read: {why}.", exit_code=1) from error
