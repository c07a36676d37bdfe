"""Puts up the kernel's walls around a process: namespaces, Landlock, seccomp, limits.

`inside.py` imports this file in the sandbox, so it imports only the standard library.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import stat
import struct
from collections.abc import Iterable, Mapping

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2
_CAPABILITIES = 64
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_NEWNS, _NEWUTS, _NEWIPC = 0x00020000, 0x04000000, 0x08000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_READ_ONLY, _NO_SURPRISES = 1, 2 | 4 | 8  # of a mount: nosuid, nodev, noexec
_REMOUNT, _BIND, _REC = 32, 4096, 16384

_EXECUTE = 1 << 0
_READ = 1 << 2 | 1 << 3
_REFER = 1 << 13
_ON_FILES = _EXECUTE | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
_CHANGE = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 13 | 1 << 14
_BITS_OF_ABI = (0, 13, 14, 15, 15, 16)
"""How many kinds of file access each version of Landlock knows; the last is for 5 and later."""
_REFER_SINCE, _NET_SINCE, SCOPE_SINCE = 2, 4, 6

_libc = ctypes.CDLL(None, use_errno=True)


def landlock_version() -> int:
    """Return the kernel's version of Landlock; 0 = none, or one that cannot allow moving files."""
    version = int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))
    return version if version >= _REFER_SINCE else 0


def new_namespaces() -> None:
    """Enter new namespaces of users, mounts, network and names; children get new processes too.

    Raises:
        OSError: the system refuses.
    """
    _new(_NEWUSER | _NEWNS | _NEWPID | _NEWNET | _NEWIPC | _NEWUTS)


def new_mounts() -> None:
    """Enter a new namespace of mounts, and one of users, which that needs.

    Raises:
        OSError: the system refuses.
    """
    _new(_NEWUSER | _NEWNS)


def _new(namespaces: int) -> None:
    uid, gid = os.geteuid(), os.getegid()
    _check(_libc.unshare(namespaces))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1")):
        _write(f"/proc/self/{name}", text)
    _write("/proc/self/gid_map", f"{gid} {gid} 1")


def mount(folders: Iterable[str], kept: Iterable[str], size_bytes: int, entries: int) -> None:
    """In mounts of our own, mount an empty tmpfs on each of `folders`, and make settings read-only.

    The paths in `kept` stay visible, although they lie below one of the folders.
    """
    held = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in kept]
    how = f"size={size_bytes},nr_inodes={entries},mode=0700".encode()
    for folder in folders:
        _check(_libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 2 | 4, how))
    for path, opened in held:
        source = f"/proc/self/fd/{opened}"
        if stat.S_ISDIR(os.fstat(opened).st_mode):
            os.makedirs(path, exist_ok=True)  # noqa: PTH103 - pathlib takes 4 ms
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        _check(_libc.mount(source.encode(), os.fsencode(path), None, _BIND | _REC, None))
        os.close(opened)
    for settings in (b"/proc", b"/sys"):
        if os.path.ismount(settings):
            how_closed = _REMOUNT | _BIND | _READ_ONLY | _NO_SURPRISES
            _check(_libc.mount(None, settings, None, how_closed, None))


def die_with_parent(how: signal.Signals, parent: int = 0) -> None:
    """Get the signal `how` when the parent ends; end now if it is not `parent` (0 = any)."""
    _prctl(_PR_SET_PDEATHSIG, how)
    if parent and os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def limit(limits: Mapping[str, int]) -> None:
    """Set the limits of `resource` by their names, for this process and its children."""
    for name, value in limits.items():
        which = int(getattr(resource, name))
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def drop_privileges() -> None:
    """Drop all capabilities, for good."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    for number in range(_CAPABILITIES):
        _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)  # refused where it is gone already
    header = struct.pack("=Ii", 0x20080522, 0)
    _check(_libc.capset(header, bytes(24)))


def landlock(
    version: int,
    programs: Iterable[str],
    readable: Iterable[str] | None = None,
    writable: Iterable[str] = (),
    *,
    network: bool = False,
) -> None:
    """Allow only `programs` to be started, and, if they are given, only these files to be used.

    Missing paths are skipped. If the kernel supports it, signals and abstract sockets stay inside.
    """
    everything = (1 << _BITS_OF_ABI[min(version, len(_BITS_OF_ABI) - 1)]) - 1
    # Moving files between folders is refused unless a rule allows it.
    handled = (_EXECUTE | _REFER) if readable is None else everything
    net = 3 if readable is not None and version >= _NET_SINCE and not network else 0
    scope = 3 if version >= SCOPE_SINCE else 0
    size = 24 if version >= SCOPE_SINCE else 16 if version >= _NET_SINCE else 8
    attributes = struct.pack("=QQQ", handled, net, scope)
    rules = _check(_libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0))
    for paths, access in (
        (("/",) if readable is None else (), _REFER),
        (programs, _EXECUTE | 1 << 2),
        (readable or (), _READ),
        (writable, _READ | _CHANGE),
    ):
        for path in paths:
            _allow(rules, path, access & handled)
    _check(_libc.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)


def loopback_up() -> None:
    """Bring up the loopback interface of a new network namespace."""
    import fcntl
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up = struct.pack("16sH14x", b"lo", 1)  # SIOCSIFFLAGS with IFF_UP
        fcntl.ioctl(any_socket.fileno(), 0x8914, up)


def filter_calls(program: bytes) -> None:
    """Install the filter of `syscalls.program`, for good."""
    steps = ctypes.create_string_buffer(program, len(program))
    whole = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(steps))
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, whole, 0, 0))


def _allow(rules: int, path: str, access: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        access &= -1 if stat.S_ISDIR(os.fstat(opened).st_mode) else _ON_FILES
        if access:  # the kernel takes no empty rule
            rule = struct.pack("=Qi", access, opened)
            _check(_libc.syscall(_ADD_RULE, rules, 1, rule, 0))
    finally:
        os.close(opened)


def _prctl(option: int, value: int) -> None:
    _check(_libc.prctl(option, value, 0, 0, 0))


def _check(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
