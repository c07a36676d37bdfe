"""Turns root into an ordinary user who owns root's files on disk, then starts a program.

A bare Python starts this file by its path, so it imports only the standard library. `argv[1]` is
the user id, the rest the program and its arguments. In mounts of our own each disk shows root's
files as that user's, and stores what that user writes as root's; other file systems (/proc, /sys,
devices) stay root's. Source: mount_setattr(2), "ID-mapped mounts".
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress

_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_FDCWD, _AT_EMPTY_PATH = -100, 0x1000
_CLONE_TREE = 1 | os.O_CLOEXEC
_FROM_DESCRIPTOR = 4
_IDMAP = 0x00100000
_NEWNS, _NEWUSER = 0x00020000, 0x10000000
_MS_REC, _MS_PRIVATE, _MNT_DETACH = 0x4000, 1 << 18, 2

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    user, program = int(sys.argv[1]), sys.argv[2:]
    folder = os.getcwd()  # noqa: PTH109
    _mount_everything_as_of(user)
    os.chdir(folder)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    os.execv(program[0], program)


def _mount_everything_as_of(user: int) -> None:
    """Replace all mounts by copies in which root's files on disks belong to `user`."""
    users = _users_with(user)
    _check(_libc.unshare(_NEWNS))
    _check(_libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None))
    points = list(_mount_points())
    root = _copy(b"/")
    _own(root, users)
    for point in points:
        copy = _copy(point)
        with suppress(OSError):  # no disk, or a file system without ID mapping: it stays unchanged
            _own(copy, users)
        _attach(copy, root, point.lstrip(b"/"))
        os.close(copy)
    _attach(root, _AT_FDCWD, b"/")
    os.close(users)
    os.fchdir(root)
    _check(_libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."))
    _check(_libc.umount2(b".", _MNT_DETACH))  # the old mounts, which lie above the new ones now
    os.close(root)


def _users_with(user: int) -> int:
    """Return a user namespace (a descriptor) in which root is `user` and others are themselves."""
    ready, made = os.pipe()
    over, alive = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(alive)
            _check(_libc.unshare(_NEWUSER))
            os.write(made, b"1")
            os.read(over, 1)  # until the parent has opened the namespace, or has ended
        finally:
            os._exit(1)
    os.close(made)
    os.close(over)
    try:
        if not os.read(ready, 1):
            raise PermissionError("no users of our own")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{name}", "w") as file:  # noqa: PTH123
                file.write(f"0 {user} 1\n1 1 {user - 1}\n")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready)
        os.close(alive)
        os.waitpid(child, 0)


def _mount_points() -> Iterator[bytes]:
    """Yield all mount points but the root, outer ones first."""
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
        for line in file:
            point = line.split()[4].decode("unicode_escape").encode("latin-1")
            if point != b"/":
                yield point


def _copy(point: bytes) -> int:
    return _check(_libc.syscall(_OPEN_TREE, _AT_FDCWD, point, ctypes.c_uint(_CLONE_TREE)))


def _own(mount: int, users: int) -> None:
    attributes = struct.pack("=QQQQ", _IDMAP, 0, 0, users)
    size = ctypes.c_size_t(len(attributes))
    _check(_libc.syscall(_MOUNT_SETATTR, mount, b"", _AT_EMPTY_PATH, attributes, size))


def _attach(mount: int, folder: int, name: bytes) -> None:
    _check(_libc.syscall(_MOVE_MOUNT, mount, b"", folder, name, _FROM_DESCRIPTOR))


def _check(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


if __name__ == "__main__":
    main()
