"""The command line of `bwrap` for one run: what is there to be seen, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from aouo.sandbox.levels import INSIDE, Bubblewrap
from aouo.sandbox.order import Order

_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SCRATCH = ("/tmp", "/dev/shm")
"""What is writable to everybody elsewhere."""
NOBODY = "65534"
ETC = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
    *("/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust"),
    *("/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/fonts"),
)
"""What programs need of it; no accounts, no addresses, no settings."""


def python() -> Path:
    """The interpreter without anybody's environment around it."""
    return Path(sys.executable).resolve()


def python_folders() -> tuple[Path, ...]:
    """Where its standard library is, unless the system's folders have it."""
    base = Path(sys.base_prefix).resolve()
    found = [base / "lib", base / "bin", python().parent]
    return tuple(folder for folder in found if not folder.is_relative_to("/usr"))


def system() -> Iterator[Path]:
    """The system's folders of programs and libraries."""
    for text in ("/usr", *_SYSTEM, "/nix/store"):
        if Path(text).is_dir():
            yield Path(text)


def bound(order: Order) -> tuple[Path, ...]:
    """What is there of the machine's files besides the system: for reading, then for changing."""
    return (*python_folders(), INSIDE.parent.resolve(), *order.readable, *order.writable)


def command(level: Bubblewrap, order: Order, scratch: Path) -> list[str]:
    """Everything up to the program that runs inside; later mounts cover earlier ones.

    Where it may not make mounts inside, the folder `scratch` is what is temporary.
    """
    words = [
        level.bwrap,
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
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
