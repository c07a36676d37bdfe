"""Builds the seccomp filter of system calls that a pack's process may not make.

`inside.py` imports this file in the sandbox, so it imports only the standard library.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import struct
from collections.abc import Mapping, Sequence

_FILE = os.path.join(os.path.dirname(__file__), "syscalls.json")  # noqa: PTH118, PTH120 - as inside
with open(_FILE, encoding="utf-8") as _file:  # noqa: PTH123
    _NUMBERS: Mapping[str, Mapping[str, int]] = json.load(_file)
"""By architecture, and those that are the same `everywhere`.

Source: the kernel's own tables, arch/x86/entry/syscalls and include/uapi/asm-generic."""
_AUDIT_ARCH: Mapping[str, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_DENIED = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "perf_event_open", "bpf"),
    *("userfaultfd", "io_uring_setup", "open_by_handle_at", "add_key", "request_key", "keyctl"),
    *("unshare", "setns", "chroot", "mount", "open_tree", "move_mount", "fsopen", "mount_setattr"),
    # A pipe or a socket where the runtime expects a file could make it wait.
    *("mknod", "mknodat"),
    *("setpriority", "ioprio_set", "sched_setparam", "sched_setscheduler", "sched_setaffinity"),
    "sched_setattr",
)
_NETWORK = ("connect", "bind")
_SIGNALS = (
    *("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"),
    "pidfd_send_signal",
)
# Landlock allows these to the owner of a file, wherever it lies.
_OWNERSHIP = (
    *("chown", "lchown", "fchown", "fchownat", "file_setattr"),
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
)
_ATTRIBUTES = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2"),
    *("utime", "utimes", "futimesat", "utimensat"),
)
_TIMES = {"utime": 0, "utimes": 0, "futimesat": 1, "utimensat": 1}
"""The position of the path among a call's arguments; its times come next."""
_SET_FLAGS = (0x40086602, 0x40046602, 0x401C5820)  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR
# Files of root's ordinary user are stored as root's, so none may be set-user-ID or set-group-ID.
_MODES = {
    "chmod": 1,
    "fchmod": 1,
    "fchmodat": 2,
    "fchmodat2": 2,
    "open": 2,
    "openat": 3,
    "creat": 1,
}
"""The position of the mode among a call's arguments."""
_AS_OWNER_OR_GROUP = 0o6000

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_AF_UNIX, _AF_INET, _AF_INET6, _SOCK_STREAM = 1, 2, 10, 1
_NEW_NAMESPACES = 0x7E020080
_NR_AT, _ARCH_AT, _ARG0_AT, _ARG1_AT = 0, 4, 16, 24
_ARG_BYTES = 8


def is_known() -> bool:
    """Whether there is a filter for this machine's architecture."""
    return platform.machine() in _AUDIT_ARCH


def program(*, network: bool, files: bool, signals: bool) -> bytes:
    """Return the filter as the kernel's array of instructions.

    `network`: streams over IP may be opened. `files`: deny also changes of files that Landlock does
    not check. `signals`: deny all signals, where nothing else confines them.
    """
    machine = platform.machine()
    numbers = {**_NUMBERS[machine], **_NUMBERS["everywhere"]}
    denied = [*_DENIED, *(_SIGNALS if signals else ()), *(() if network else _NETWORK)]
    denied += _OWNERSHIP if files else ()
    code = [
        _step(_LOAD, _ARCH_AT),
        _step(_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NR_AT),
    ]
    if machine == "x86_64":
        code += [_step(_AT_LEAST, _X32_BIT, 0, 1), _step(_RETURN, _ERRNO | errno.EPERM)]
    code += _returns(numbers, denied, errno.EPERM)
    # A filter cannot see their flags and modes; it can see those of `clone` and `openat`.
    code += _returns(numbers, ("clone3", "openat2"), errno.ENOSYS)
    code += _times(numbers) if files else []
    # These succeed without effect, so that copying a file with its times and mode still works.
    code += _returns(numbers, _ATTRIBUTES, 0) if files else []
    code += _modes(numbers)
    code += _flags_of_files(numbers) if files else []
    code += _sockets(numbers, network=network)
    flags = [_step(_LOAD, _ARG0_AT), _step(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _refuse()]
    code += _only(numbers["clone"], flags)
    return b"".join([*code, _step(_RETURN, _ALLOW)])


def _times(numbers: Mapping[str, int]) -> list[bytes]:
    """Let no path's time be set to now: `touch` takes a success for a file that it could make."""
    found: list[bytes] = []
    for name in filter(numbers.get, _TIMES):
        path = _ARG0_AT + _TIMES[name] * _ARG_BYTES
        is_now = [_step(_LOAD, path + _ARG_BYTES), _step(_EQUAL, 0, 0, 3)]
        is_path = [_step(_LOAD, path), _step(_EQUAL, 0, 1, 0)]
        missing = _step(_RETURN, _ERRNO | errno.ENOENT)
        found += _only(numbers[name], [*is_now, *is_path, missing])
    return found


def _modes(numbers: Mapping[str, int]) -> list[bytes]:
    """Deny modes with the set-user-ID or set-group-ID bit."""
    found: list[bytes] = []
    for name, place in _MODES.items():
        if name in numbers:
            load = _step(_LOAD, _ARG0_AT + place * _ARG_BYTES)
            asked = [load, _step(_ANY_BIT, _AS_OWNER_OR_GROUP, 0, 1), _refuse()]
            found += _only(numbers[name], asked)
    return found


def _flags_of_files(numbers: Mapping[str, int]) -> list[bytes]:
    """Deny changes of a file's flags in its file system, which need it open for reading only."""
    asked = [_step(_LOAD, _ARG1_AT)]
    for request in _SET_FLAGS:
        asked += [_step(_EQUAL, request, 0, 1), _refuse()]
    return _only(numbers["ioctl"], asked)


def _sockets(numbers: Mapping[str, int], *, network: bool) -> list[bytes]:
    """Deny new sockets but streams over IP with `network`, and socket pairs but streams."""
    is_stream = [
        _step(_LOAD, _ARG1_AT),
        _step(_AND, 0xF),
        _step(_EQUAL, _SOCK_STREAM, 1, 0),
        _refuse(),
    ]
    family = [
        _step(_LOAD, _ARG0_AT),
        _step(_EQUAL, _AF_INET, 2, 0),
        _step(_EQUAL, _AF_INET6, 1, 0),
        _refuse(),
    ]
    opened = [*family, *is_stream] if network else [_refuse()]
    return [*_only(numbers["socket"], opened), *_only(numbers["socketpair"], is_stream)]


def _only(number: int, then: Sequence[bytes]) -> list[bytes]:
    """Return instructions for one call; what they do not refuse goes on to the next ones."""
    return [_step(_EQUAL, number, 0, len(then) + 1), *then, _step(_LOAD, _NR_AT)]


def _returns(numbers: Mapping[str, int], names: Sequence[str], code: int) -> list[bytes]:
    found = [numbers[name] for name in names if name in numbers]
    return [
        step
        for number in found
        for step in (_step(_EQUAL, number, 0, 1), _step(_RETURN, _ERRNO | code))
    ]


def _refuse() -> bytes:
    return _step(_RETURN, _ERRNO | errno.EPERM)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
