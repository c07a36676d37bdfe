"""Builds the command line of `bwrap` for one run: it mounts only what the run may see."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from aouo.plumbing import children
from aouo.sandbox.levels import INSIDE, Bubblewrap
from aouo.sandbox.order import Order
from aouo.sandbox.watching import Kill

_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SCRATCH = ("/tmp", "/dev/shm")
"""The folders that are writable for everybody outside a sandbox; inside they are scratch."""
NOBODY = "65534"
_CHILD = re.compile(rb'"child-pid": ([0-9]+)')
ETC = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
    *("/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust"),
    *("/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/fonts"),
)
"""The part of /etc that programs need, without accounts, addresses and settings."""


@contextmanager
def pipe_of_inner() -> Generator[tuple[int, Kill]]:
    """Yield the end of a pipe by which bubblewrap tells of the process that it starts, and what
    kills all that is left of a run, right after bubblewrap's own process was ended.

    The end is to be closed once bubblewrap has its own copy, or was not started. The inner process
    asks the kernel to die with bubblewrap a moment after it began: if bubblewrap is ended in that
    moment it would stay for ever. What began earlier still is in bubblewrap's group.
    """
    reads, told = os.pipe()
    os.set_blocking(reads, False)
    try:
        yield told, partial(_kill, reads)
    finally:
        os.close(reads)


def _kill(reads: int, process: asyncio.subprocess.Process) -> None:
    children.kill_group(process)
    with suppress(BlockingIOError):
        if found := _CHILD.search(os.read(reads, 4096)):
            _kill_orphan(int(found[1]))


def _kill_orphan(pid: int) -> None:
    with suppress(OSError):  # it has ended
        if Path(f"/proc/{pid}/comm").read_bytes() == b"bwrap\n":
            os.kill(pid, signal.SIGKILL)


def python() -> Path:
    """Return the interpreter itself, outside its virtual environment."""
    return Path(sys.executable).resolve()


def python_folders() -> tuple[Path, ...]:
    """Return the interpreter's own folders, unless they are in the system's folders."""
    base = Path(sys.base_prefix).resolve()
    found = [base / "lib", base / "bin", python().parent]
    return tuple(folder for folder in found if not folder.is_relative_to("/usr"))


def system() -> Iterator[Path]:
    """Yield the system's folders of programs and libraries."""
    for text in ("/usr", *_SYSTEM, "/nix/store"):
        if Path(text).is_dir():
            yield Path(text)


def bound(order: Order) -> tuple[Path, ...]:
    """Return the mounted paths besides the system's: those for reading, then those for writing."""
    return (*python_folders(), INSIDE.parent.resolve(), *order.readable, *order.writable)


def command(level: Bubblewrap, order: Order, scratch: Path, told: int) -> list[str]:
    """Return the command line up to the program inside; later mounts cover earlier ones.

    `told` is as in `pipe_of_inner`. Where no mounts can be made inside, the folder `scratch` is
    mounted for temporary files.
    """
    words = [
        level.bwrap,
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--info-fd",
        str(told),
    ]
    words += ["--uid", NOBODY, "--gid", NOBODY, "--hostname", "sandbox"]
    for folder in system():
        if folder.is_symlink():
            words += ["--symlink", str(folder.readlink()), str(folder)]
        else:
            words += _bind("--ro-bind", folder)
    for text in ETC:
        words += ["--ro-bind-try", text, text]
    words += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    if level.mounts:
        words += [word for text in SCRATCH for word in ("--size", "4096", "--tmpfs", text)]
    else:
        words += ["--remount-ro", "/proc"]
        words += [word for text in SCRATCH for word in ("--bind", str(scratch), text)]
    for path in bound(order):
        words += _bind("--bind" if path in order.writable else "--ro-bind", path)
    return [*words, "--remount-ro", "/", "--chdir", str(order.folder), "--"]


def _bind(how: str, path: Path) -> list[str]:
    return [how, str(path), str(path)]
