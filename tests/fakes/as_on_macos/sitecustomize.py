"""What macOS does not have is taken away: put this folder on PYTHONPATH of a process of its own.

Only names and answers: the kernel below is still this machine's.
"""

from __future__ import annotations

import os
import select
import sys
from typing import Any

for kind in ("epoll", "EPOLLIN", "EPOLLOUT"):  # before anybody chooses a selector
    delattr(select, kind)

import resource  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import sysconfig  # noqa: E402
import urllib.request  # noqa: E402

_GONE: dict[Any, tuple[str, ...]] = {
    os: (
        *("O_PATH", "O_TMPFILE", "O_DIRECT", "O_NOATIME", "O_LARGEFILE", "O_RSYNC"),
        *("memfd_create", "pidfd_open", "eventfd", "splice", "copy_file_range", "getrandom"),
        *("unshare", "setns", "posix_fadvise"),
        *("getxattr", "setxattr", "listxattr", "removexattr", "setresuid", "setresgid", "pipe2"),
        *("posix_fallocate", "fdatasync", "accept4", "sched_setscheduler"),
    ),
    signal: ("pidfd_send_signal", "SIGPWR", "SIGPOLL", "SIGSTKFLT", "sigtimedwait", "sigwaitinfo"),
    socket: ("SO_PEERCRED", "SOCK_CLOEXEC", "SOCK_NONBLOCK", "AF_NETLINK", "AF_PACKET"),
    resource: ("prlimit", "RLIMIT_NICE", "RLIMIT_SIGPENDING", "RLIMIT_MSGQUEUE", "RLIMIT_RTPRIO"),
}
for module, names in _GONE.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

_setrlimit = resource.setrlimit


def _refusing(which: int, limits: tuple[int, int]) -> None:
    """macOS: a limit on the address space is refused."""
    if which == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    _setrlimit(which, limits)


def _no_proc(event: str, arguments: tuple[Any, ...]) -> None:
    """There is no /proc, and a socket's path has 103 bytes at most."""
    if event in ("open", "os.listdir", "os.scandir", "os.chmod", "os.readlink"):
        path = arguments[0]
        if isinstance(path, str | bytes) and os.fsencode(path).startswith(b"/proc"):
            raise FileNotFoundError(2, "No such file or directory", path)
    if event in ("socket.bind", "socket.connect"):
        address = arguments[1]
        if isinstance(address, str | bytes):
            if len(os.fsencode(address)) > 103:
                raise OSError("AF_UNIX path too long")
            if os.fsencode(address).startswith(b"/proc"):
                raise FileNotFoundError(2, "No such file or directory", address)


def _no_syscalls(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "ctypes.dlsym" and arguments[1] in ("prctl", "unshare", "capset"):
        raise AttributeError(f"symbol not found: {arguments[1]}")


resource.setrlimit = _refusing
sys.addaudithook(_no_proc)
sys.addaudithook(_no_syscalls)
# Loaded while the platform is the real one: a file of the build has its name, and on macOS the
# system would be asked for its proxies.
sysconfig.get_config_vars()
urllib.request.getproxies()
sys.platform = "darwin"
_here = os.uname_result(("Darwin", "mac.local", "25.1.0", "Darwin Kernel Version 25.1.0", "arm64"))
os.uname = lambda: _here
