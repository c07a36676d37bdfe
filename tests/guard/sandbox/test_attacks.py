"""What hostile tools try, for real, at every level this machine has. Source: issue 5 "Pack tools".

Each attack returns something only if it worked, or "refused" with what the system said.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from aouo.guard.sandbox import levels
from aouo.guard.sandbox.levels import Bubblewrap, Landlock
from tests.guard.sandbox.places import HERE, LIMITS, SECRET, Place, processes, until_gone

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(not HERE, reason="nothing on this machine confines a process")


@pytest.fixture(params=HERE)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path, HERE[request.param])


READS = {
    "the system's passwords": 'return open("/etc/shadow").read()',
    "the owner's keys": 'return os.listdir(os.path.expanduser("~root/.ssh") or "/root/.ssh")',
    "the configuration": 'return open(home + "/config.json").read()',
    "the home": "return os.listdir(home)",
    "somebody else's data": 'return open(other + "/diary.txt").read()',
    "a file beside the home": "return open(outside).read()",
    "the runtime's environment": 'return open(f"/proc/{runtime}/environ").read()',
    "the runtime's memory": 'return open(f"/proc/{runtime}/mem", "rb").read(1)',
    "the first process's root": 'return os.listdir("/proc/1/root/home")',
    "a link into the home": (
        'os.symlink(home + "/config.json", "link"); return open("link").read()'
    ),
    "a way up": 'return open("../tg_2/diary.txt").read()',
    "a disk": 'return open("/dev/vda", "rb").read(1)',
    "the kernel's memory": 'return open("/dev/mem", "rb").read(1)',
    "the kernel's log": 'return open("/dev/kmsg").read(1)',
    "control groups": 'return os.listdir("/sys/fs/cgroup")',
}
CHANGES = {
    "a file beside the home": 'open(outside, "w").write("x"); return "wrote"',
    "a new file in the home": 'open(home + "/new", "w").write("x"); return "wrote"',
    "its own code": 'open(pack + "/tools/attack.py", "a").write("#"); return "wrote"',
    "a new tool": 'open(pack + "/tools/more.py", "w").write("#"); return "wrote"',
    "the system": 'open("/usr/bin/new", "w").write("x"); return "wrote"',
    "the schedule of the system": 'open("/etc/crontab", "a").write("x"); return "wrote"',
    "by a hard link": 'os.link(outside, data + "/hard"); return "linked"',
    "by moving a file in": 'os.rename(outside, data + "/moved"); return "moved"',
    "by removing": 'os.unlink(outside); return "gone"',
    "a pipe that the runtime would wait for": 'os.mkfifo(data + "/USER.md"); return "made"',
    "a socket": (
        'import socket; s = socket.socket(socket.AF_UNIX); s.bind(data + "/s"); return "made"'
    ),
    "a device": 'os.mknod(data + "/disk", 0o60666, os.makedev(8, 0)); return "made"',
}
IN_ITS_OWN_TMP = {"a file beside the home", "a new file in the home", "by removing"}
REACHES = {
    "an address": 'import socket; socket.create_connection(("127.0.0.1", {port}), 3); return "in"',
    "the internet": 'import socket; socket.create_connection(("1.1.1.1", 53), 3); return "in"',
    "by datagrams": (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        's.sendto(b"x", ("127.0.0.1", {port})); return "in"'
    ),
    "raw": 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); return "in"',
    "the control socket": (
        "import socket; s = socket.socket(socket.AF_UNIX); "
        's.connect(home + "/run/control.sock"); return "in"'
    ),
    "a nameless socket": (
        "import socket; s = socket.socket(socket.AF_UNIX); "
        's.connect("\\0aouo-test-{port}"); return "in"'
    ),
    "the message bus": (
        "import socket; s = socket.socket(socket.AF_UNIX); "
        's.connect("/run/dbus/system_bus_socket"); return "in"'
    ),
    "a pair led elsewhere": (
        "import socket; s, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); "
        's.connect(home + "/run/control.sock"); return "in"'
    ),
    "by listening": ("import socket; s = socket.create_server((\"0.0.0.0\", 0)); return 'in'"),
    "a signal to the runtime": 'os.kill(runtime, 18); return "sent"',
    "a program that is not listed": (
        'import subprocess; return subprocess.run(["/usr/bin/id"], capture_output=True).stdout'
    ),
    "new privileges": 'os.setuid(0) if os.getuid() else os.setgroups([1]); return "is root"',
    "a debugger": (
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); "
        "r = c.ptrace(16, runtime, 0, 0); "
        'return "attached" if r == 0 else "refused: " + os.strerror(ctypes.get_errno())'
    ),
    "users of its own": (
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); r = c.unshare(0x10000000); "
        'return "made" if r == 0 else "refused: " + os.strerror(ctypes.get_errno())'
    ),
    "a mount": (
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); "
        'r = c.mount(b"none", data.encode(), b"tmpfs", 0, None); '
        'return "made" if r == 0 else "refused: " + os.strerror(ctypes.get_errno())'
    ),
}


async def test_nothing_is_read_that_is_not_its_own(place: Place) -> None:
    said = await _all(place, READS)

    empty_shell = ["data", "packs"]  # the way to its own folders, and nothing else of the home
    worked = {what: one for what, one in said.items() if not str(one).startswith("refused: ")}
    assert worked in ({}, {"the home": empty_shell})


async def test_nothing_is_changed_that_is_not_its_own(place: Place) -> None:
    """What is only written to a sandbox's own /tmp, where a test's folders are, is gone with it."""
    order = place.order(_together(CHANGES))
    before = _contents(place)
    async with asyncio.timeout(30):
        said = json.loads((await place.sandbox.run(order)).stdout)["value"]

    worked = {what for what, one in said.items() if not str(one).startswith("refused: ")}
    assert worked <= (IN_ITS_OWN_TMP if isinstance(place.level, Bubblewrap) else set())
    assert _contents(place) == before


@pytest.fixture
def listening(place: Place) -> Generator[int]:
    """A service on loopback, a control socket and a nameless one, as a runtime would have them."""
    named = str(place.home / "run" / "control.sock")
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as control,
        socket.socket(socket.AF_UNIX) as nameless,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        port = tcp.getsockname()[1]
        datagrams.bind(("127.0.0.1", port))
        folder = os.open(place.home / "run", os.O_RDONLY)
        try:
            control.bind(f"/proc/self/fd/{folder}/control.sock")
        finally:
            os.close(folder)
        assert Path(named).is_socket()
        control.listen()
        nameless.bind(f"\0aouo-test-{port}")
        nameless.listen()
        yield port


async def test_nothing_outside_is_reached(place: Place, listening: int) -> None:
    codes = {what: code.replace("{port}", str(listening)) for what, code in REACHES.items()}
    said = await _all(place, codes)

    assert {what: one for what, one in said.items() if not str(one).startswith("refused: ")} == {}


async def _all(place: Place, codes: dict[str, str]) -> dict[str, object]:
    """What came of each attack, all of them in one process."""
    said = await place.said(_together(codes))
    assert set(said) == set(codes)
    return said


def _together(codes: dict[str, str]) -> str:
    lines = ["said = {}"]
    for number, (what, code) in enumerate(codes.items()):
        lines += [f"def try_{number}():", *(f"    {line}" for line in _tried(code).splitlines())]
        lines += [f"said[{what!r}] = try_{number}()"]
    return "\n".join([*lines, "return said"])


@pytest.fixture
def bystander() -> Generator[subprocess.Popen[bytes]]:
    """A stopped process: it goes on at SIGCONT, and harms nobody if a test ever fails."""
    with subprocess.Popen(["sleep", "60"]) as process:
        os.kill(process.pid, signal.SIGSTOP)
        yield process
        process.kill()


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def test_no_signal_reaches_anybody_outside(
    place: Place, bystander: subprocess.Popen[bytes]
) -> None:
    await place.said(f"""
import signal
for whom in (-1, 0, {bystander.pid}, -{os.getpgid(0)}):
    try: os.kill(whom, signal.SIGCONT)
    except OSError: pass
""")

    assert _state(bystander.pid) == "T"


def _tried(code: str) -> str:
    return (
        f"try:\n    {code}\nexcept (OSError, ValueError) as error:\n"
        '    return f"refused: {type(error).__name__} {error}"'
    )


async def test_no_secret_is_in_its_environment(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    names = await place.said(
        f"assert {SECRET!r} not in os.environ.values()\nreturn sorted(os.environ)"
    )

    assert set(names) <= {"PATH", "LANG", "HOME", "TMPDIR", "PWD", "AOUO_PACK", "AOUO_DATA"}


async def test_it_reads_and_writes_its_own_folder_and_what_is_temporary(place: Place) -> None:
    said = await place.said("""
import shutil, tempfile
open("kept.txt", "w").write("kept")
shutil.copy2("kept.txt", "copy.txt")
os.makedirs("a/b")
with tempfile.TemporaryFile() as file:
    file.write(b"x")
os.rename("copy.txt", "a/b/c.txt")
return open("a/b/c.txt").read()
""")

    assert said == "kept"
    assert (place.data / "a" / "b" / "c.txt").read_text() == "kept"


async def test_a_link_swapped_in_its_folder_leads_nowhere(place: Place) -> None:
    """The race that a check of paths would lose: the folder is another one at each look."""
    said = await place.said("""
import threading
os.makedirs("real"); open("real/config.json", "w").write("mine")
stop = []
def swap():
    while not stop:
        for target in ("real", home):
            os.symlink(target, "next"); os.replace("next", "way")
thread = threading.Thread(target=swap); thread.start()
found = set()
for _ in range(3000):
    try:
        found.add(open("way/config.json").read())
    except OSError:
        pass
stop.append(1); thread.join()
return sorted(found)
""")

    assert set(said) <= {"mine"}


async def test_a_loop_without_end_is_ended(place: Place) -> None:
    ran = await place.attack("while True: pass", replace(LIMITS, cpu_s=1))

    assert ran.status in (128 + signal.SIGXCPU, -signal.SIGXCPU, 128 + signal.SIGKILL)
    await until_gone(str(place.root))


async def test_waiting_without_end_is_ended(place: Place) -> None:
    ran = await place.attack("time.sleep(1000)", replace(LIMITS, time_s=1))

    assert ran.end == "time"
    await until_gone(str(place.root))


async def test_memory_is_limited(place: Place) -> None:
    said = await place.said("""
held = []
while True:
    held.append(bytearray(10_000_000))
""")

    assert said.startswith("MemoryError")


async def test_a_flood_of_output_is_cut(place: Place) -> None:
    ran = await place.attack('return "x" * 5_000_000')

    assert (ran.end, len(ran.stdout)) == ("output", LIMITS.output_bytes)
    await until_gone(str(place.root))


async def test_a_flood_of_complaints_keeps_its_end(place: Place) -> None:
    ran = await place.attack('print("x" * 5_000_000)\nprint("the end")')

    assert ran.end == "exit"
    assert len(ran.stderr) <= 4000
    assert ran.stderr.endswith("the end")


async def test_a_file_is_limited(place: Place) -> None:
    said = await place.said(_tried('open("big", "wb").write(b"x" * 5_000_000); return "wrote"'))

    assert said.startswith("refused: OSError [Errno 27]")


async def test_many_files_end_it_once_its_folder_is_full(place: Place) -> None:
    order = place.order('while True: open(str(time.time()), "wb").write(b"x" * 100_000)')
    order = replace(order, limits=replace(LIMITS, time_s=60, cpu_s=60))  # the folder is first
    full = [False, True]
    async with asyncio.timeout(90):
        ran = await place.sandbox.run(order, is_full=lambda: full.pop(0))

    assert ran.end == "room"
    await until_gone(str(place.root))


def _counts_processes(place: Place) -> bool:
    """Root is counted by control groups only, others by users of their own."""
    level = place.level
    assert isinstance(level, Bubblewrap | Landlock)
    if level.lowered:
        return True
    if os.geteuid() == 0:
        return levels._limits_processes(level.groups)
    return isinstance(level, Bubblewrap) or level.namespaces


FORKS = """
made = 0
try:
    for _ in range(80):
        if os.fork() == 0:
            time.sleep(1000)
        made += 1
except OSError:
    pass
return made
"""


async def test_processes_are_counted_and_all_end(place: Place) -> None:
    """Bounded at 80: a machine that does not count must not suffer from its tests."""
    made = await place.said(FORKS)

    assert made == 80 or _counts_processes(place)
    assert made < 80 or not _counts_processes(place)
    await until_gone(str(place.root))


async def test_a_daemon_is_not_left_behind(place: Place) -> None:
    said = await place.said("""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3): os.close(fd)
        time.sleep(1000)
    os._exit(0)
os.wait()
return "left one"
""")

    assert said == "left one"
    await until_gone(str(place.root))


async def test_a_tool_that_ignores_every_signal_is_ended_with_its_children(place: Place) -> None:
    ran = await place.attack(
        """
import signal
for number in range(1, 60):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
os.fork(); os.setsid() if os.getpid() != os.getpgid(0) else None
time.sleep(1000)
""",
        replace(LIMITS, time_s=1),
    )

    assert ran.end == "time"
    await until_gone(str(place.root))


async def test_a_call_that_is_cancelled_leaves_nothing(place: Place) -> None:
    task = asyncio.ensure_future(
        place.attack('open("begun", "w").close()\nif os.fork() == 0: os.setsid()\ntime.sleep(1000)')
    )
    async with asyncio.timeout(20):
        while not (place.data / "begun").exists():  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert processes(str(place.root))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_gone(str(place.root))


async def test_a_runtime_that_is_killed_takes_the_tool_with_it(place: Place) -> None:
    name = next(name for name, level in HERE.items() if level == place.level)
    root = place.root / "dying"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.guard.sandbox.dying", str(root), name, cwd=ROOT
    )
    async with asyncio.timeout(30):
        while not list(root.rglob("begun")):  # noqa: ASYNC110
            await asyncio.sleep(0)
        running = processes(str(root / "home"))
        process.kill()
        await process.wait()

    assert running
    await until_gone(str(root / "home"))


def _contents(place: Place) -> dict[Path, bytes | None]:
    """Everything there is, links and special files too."""
    return {path: path.read_bytes() if path.is_file() else None for path in place.root.rglob("*")}


MARKS = """
def tried(call):
    try:
        call()
    except OSError:
        pass
import fcntl
for file in (os.path.dirname(__file__) + "/seen.py", data + "/mine"):
    opened = os.open(file, os.O_RDONLY)
    tried(lambda: os.fchmod(opened, 0o6755))
    tried(lambda: os.chmod(file, 0o6755))
    tried(lambda: os.setxattr(opened, "user.mark", b"x"))
    tried(lambda: fcntl.ioctl(opened, 0x40086602, bytes([64, 0, 0, 0, 0, 0, 0, 0])))
tried(lambda: os.close(os.open(data + "/new", os.O_CREAT | os.O_WRONLY, 0o6755)))
return "done"
"""


@pytest.mark.parametrize("name", HERE)
async def test_what_a_tool_may_only_read_keeps_its_mode_and_nothing_of_it_runs_as_its_owner(
    tmp_path: Path, name: str
) -> None:
    """Landlock lets an owner change these through a file that is open for reading, and root's
    ordinary user owns the system's; what that user writes is root's on the disk."""
    place = Place(tmp_path, HERE[name])
    order = place.order(MARKS)
    seen = place.tools / "seen.py"
    for file in (seen, place.data / "mine"):
        file.write_text("")
        file.chmod(0o644)

    ran = await place.sandbox.run(order)

    assert json.loads(ran.stdout) == {"value": "done"}
    assert (seen.stat().st_mode & 0o7777, os.listxattr(seen)) == (0o644, [])
    assert [file.name for file in place.data.iterdir() if file.stat().st_mode & 0o6000] == []
