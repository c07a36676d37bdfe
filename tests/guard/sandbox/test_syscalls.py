"""The filter of system calls, carried out as the kernel does, for both kinds of machines.

Source: seccomp(2); linux/filter.h (classic BPF); the kernel's numbers of calls.
"""

from __future__ import annotations

import errno
import platform
import re
import struct
from itertools import product
from pathlib import Path

import pytest

from aouo.guard.sandbox import syscalls

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
ALLOWED, KILLED = "allowed", "killed"
EPERM, ENOENT, ENOSYS = errno.EPERM, errno.ENOENT, errno.ENOSYS
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
STREAM, DGRAM, RAW, CLOEXEC = 1, 2, 3, 0o2000000
NEVER = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "perf_event_open", "bpf"),
    *("userfaultfd", "io_uring_setup", "open_by_handle_at", "add_key", "request_key", "keyctl"),
    *("unshare", "setns", "chroot", "mount", "open_tree", "move_mount", "fsopen", "mount_setattr"),
    *("mknod", "mknodat", "setpriority", "ioprio_set", "sched_setparam", "sched_setscheduler"),
    *("sched_setaffinity", "sched_setattr"),
)
SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")
OWNERSHIP = (
    *("chown", "lchown", "fchown", "fchownat", "file_setattr"),
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
)
TIMES = ("utime", "utimes", "futimesat", "utimensat")
MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "open": 2, "openat": 3, "creat": 1}


class Filter:
    """A filter on one kind of machine."""

    def __init__(self, machine: str, *, network: bool, files: bool, signals: bool) -> None:
        self.numbers = {**syscalls._NUMBERS[machine], **syscalls._NUMBERS["everywhere"]}
        self.arch = MACHINES[machine]
        code = syscalls.program(network=network, files=files, signals=signals)
        self._steps = list(struct.iter_unpack("=HBBI", code))

    def judge(self, call: str | int, *arguments: int) -> str | int:
        """What becomes of a call: allowed, killed, or the error that it ends with."""
        number = call if isinstance(call, int) else self.numbers[call]
        return self.judged_as(self.arch, number, *arguments)

    def judged_as(self, arch: int, number: int, *arguments: int) -> str | int:
        asked = struct.pack("<IIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
        at = held = 0
        while True:
            code, if_true, if_false, value = self._steps[at]
            at += 1
            match code:
                case 0x20:  # BPF_LD | BPF_W | BPF_ABS
                    held = struct.unpack_from("<I", asked, value)[0]
                case 0x54:  # BPF_ALU | BPF_AND | BPF_K
                    held &= value
                case 0x15 | 0x35 | 0x45:  # BPF_JMP: JEQ, JGE, JSET
                    so = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
                    at += if_true if so else if_false
                case 0x06:  # BPF_RET | BPF_K
                    kinds = {0x7FFF: ALLOWED, 0x8000: KILLED, 0x0005: value & 0xFFFF}
                    return kinds[value >> 16]
                case _:
                    raise AssertionError(f"no such step: {code:#x}")


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(platform, "machine", lambda: request.param)
    return request.param


@pytest.mark.parametrize(("network", "files", "signals"), [*product([False, True], repeat=3)])
def test_a_call_is_judged_by_what_the_tool_may_do(
    machine: str, network: bool, files: bool, signals: bool
) -> None:
    judge = Filter(machine, network=network, files=files, signals=signals).judge
    known = Filter(machine, network=network, files=files, signals=signals).numbers.keys()

    def each(*names: str) -> set[str | int]:
        return {judge(name) for name in names if name in known}

    def only(allowed: bool) -> str | int:
        return ALLOWED if allowed else EPERM

    assert each(*NEVER) == {EPERM}
    assert each("clone3", "openat2") == {ENOSYS}
    assert each(*SIGNALS) == {only(not signals)}
    assert each(*OWNERSHIP) == {only(not files)}
    assert each(*TIMES) == {0 if files else ALLOWED}
    assert each("connect", "bind") == {only(network)}
    assert judge("ioctl", 3, 0x40086602) == judge("ioctl", 3, 0x401C5820) == only(not files)
    assert judge("ioctl", 3, 0x40046602) == only(not files)
    assert judge("ioctl", 3, 0x5401) == ALLOWED
    for family, kind in product((AF_INET, AF_INET6), (STREAM, STREAM | CLOEXEC)):
        assert judge("socket", family, kind) == only(network)


@pytest.mark.parametrize("name", TIMES)
def test_now_is_no_time_of_a_path_that_cannot_be_changed(machine: str, name: str) -> None:
    """`touch` would take the success for a file that it could not make. Source: issue 44, 18."""
    found = Filter(machine, network=False, files=True, signals=False)
    if name not in found.numbers:
        pytest.skip("not on this machine")
    first = (3,) if name in ("futimesat", "utimensat") else ()

    assert found.judge(name, *first, 0x7F0000001000, 0) == ENOENT
    assert found.judge(name, *first, 0x7F0000001000, 0x7F0000002000) == 0
    assert found.judge(name, *first, 0, 0) == 0  # an open file
    assert Filter(machine, network=False, files=False, signals=False).judge(name, 1, 1) == ALLOWED


@pytest.mark.parametrize(("name", "place"), MODES.items())
@pytest.mark.parametrize("files", [False, True])
def test_no_file_is_made_that_runs_as_its_owner_or_group(
    machine: str, name: str, place: int, files: bool
) -> None:
    """With `files` a change of a mode is one in appearance only."""
    found = Filter(machine, network=True, files=files, signals=False)
    pretended = files and "chmod" in name
    if name not in found.numbers:
        pytest.skip("not on this machine")

    def judged(mode: int) -> str | int:
        arguments = [0o7777] * 6  # at any other place they are no mode
        arguments[place] = mode
        return found.judge(name, *arguments)

    assert judged(0o777) == judged(0o1777) == (0 if pretended else ALLOWED)
    assert judged(0o4755) == judged(0o2755) == judged(0o6000) == (0 if pretended else EPERM)


def test_sockets_are_streams_over_ip_and_pairs_are_streams(machine: str) -> None:
    judge = Filter(machine, network=True, files=True, signals=True).judge

    assert {judge("socket", AF_INET, kind) for kind in (DGRAM, RAW, DGRAM | CLOEXEC)} == {EPERM}
    assert {judge("socket", family, STREAM) for family in (AF_UNIX, AF_NETLINK)} == {EPERM}
    assert judge("socketpair", AF_UNIX, STREAM | CLOEXEC) == ALLOWED
    assert judge("socketpair", AF_UNIX, DGRAM) == EPERM


@pytest.mark.parametrize("bit", [7, 17, 25, 26, 27, 28, 29, 30])
def test_a_process_begins_no_namespace(machine: str, bit: int) -> None:
    """CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET: linux/sched.h."""
    judge = Filter(machine, network=True, files=False, signals=False).judge

    assert judge("clone", 1 << bit) == EPERM
    assert judge("clone", 0x003D0F00) == ALLOWED  # a thread, as the C library begins it
    assert judge("clone", 17) == ALLOWED  # a child, with SIGCHLD at its end


def test_calls_of_another_kind_of_machine_pass_nothing(machine: str) -> None:
    found = Filter(machine, network=True, files=False, signals=False)
    other = next(arch for arch in MACHINES.values() if arch != found.arch)
    x32 = 0x40000000

    assert found.judge(0) == ALLOWED
    assert found.judged_as(other, 0) == KILLED
    assert found.judge(x32) == found.judge(x32 + 1) == (EPERM if machine == "x86_64" else ALLOWED)
    assert found.judge(x32 - 1) == ALLOWED


@pytest.mark.parametrize("kind", MACHINES)
def test_a_call_has_the_number_that_the_kernel_gives_it(kind: str) -> None:
    if not HEADERS[kind].exists():
        pytest.skip("the kernel's headers are not installed")
    text = HEADERS[kind].read_text("ascii")
    kernels = {name: int(n) for name, n in re.findall(r"#define __NR_(\w+)\s+(\d+)\b", text)}
    ours = {**syscalls._NUMBERS[kind], **syscalls._NUMBERS["everywhere"]}
    known = ours.keys() & kernels.keys()

    assert len(known) > 30
    assert {name: ours[name] for name in known} == {name: kernels[name] for name in known}
