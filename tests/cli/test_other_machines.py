"""aouo where it is not at home. Findings 35 and 36; issue 12, 11.

macOS: what Linux alone has is taken away from Python; the rest is said in README as not tested.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sampling import left

ROOT = Path(__file__).parents[2]
MACOS = ROOT / "tests" / "fakes" / "as_on_macos"
WAIT_S = 120


def on_macos(home: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("AOUO_") and not name.endswith(("_API_KEY", "_BOT_TOKEN"))
    }
    return kept | {"PYTHONPATH": os.pathsep.join((str(MACOS), str(ROOT))), "AOUO_HOME": str(home)}


def aouo(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "aouo", *arguments],
        cwd=ROOT,
        env=on_macos(home),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


@pytest.fixture
def long_home(tmp_path: Path) -> Path:
    """Its socket's path is longer than any system takes."""
    return tmp_path / ("long" * 30) / "home"


@contextmanager
def running(home: Path) -> Generator[Path]:
    """The chat page of `aouo try`, which is the whole runtime; gives its home."""
    process = subprocess.Popen(
        [sys.executable, "-m", "aouo", "try"],
        cwd=ROOT,
        env=on_macos(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("ready: "):
                break
        yield home / "try"
    finally:
        process.terminate()
        process.communicate(timeout=WAIT_S)


CONTAINER = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


def has_containers() -> bool:
    """Whether a process here may be the first one of a namespace."""
    if not shutil.which("unshare"):
        return False
    tried = subprocess.run([*CONTAINER, "true"], capture_output=True, check=False, timeout=WAIT_S)
    return tried.returncode == 0


container = pytest.mark.skipif(not has_containers(), reason="no namespaces here")


@left()
def test_on_macos_an_answer_comes_from_a_home_with_a_long_path(long_home: Path) -> None:
    done = aouo(long_home, "try", "--say", "hello")

    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert done.stdout.strip()


@left()
def test_on_macos_a_running_bot_is_asked_and_stopped_through_a_long_path(long_home: Path) -> None:
    with running(long_home) as home:
        status = aouo(home, "status", "--json")
        stopped = aouo(home, "stop")
        after = aouo(home, "status", "--json")

    assert status.returncode == 0, status.stderr
    assert json.loads(status.stdout)["pid"] > 0
    assert stopped.returncode == 0, stopped.stderr
    assert after.returncode != 0
    assert not list(home.glob("run/*.sock"))


@left()
def test_on_macos_a_document_is_read_although_a_limit_is_refused(tmp_path: Path) -> None:
    job = {"name": "a.txt", "range": "", "kind": "", "charset": "", "base_url": ""}

    done = subprocess.run(
        [sys.executable, "-P", "-m", "aouo.agent.documents.child", json.dumps(job)],
        cwd=tmp_path,
        env=on_macos(tmp_path),
        input=b"The tide comes in at six.",
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )

    assert json.loads(done.stdout)["text"] == "The tide comes in at six."


def test_on_macos_the_doctor_says_that_tools_of_packs_are_refused(long_home: Path) -> None:
    aouo(long_home, "init")
    done = aouo(long_home, "doctor", "--fast", "--json")

    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["sandbox"]["status"] == "warn"
    assert (
        "tools of packs are refused: they need Linux, and this is Darwin"
        in checks["sandbox"]["detail"]
    )


@container
@left()
def test_as_the_first_process_of_a_container_it_ends_when_it_is_told_to(tmp_path: Path) -> None:
    """The kernel keeps signals from process 1 that it does not handle."""
    process = subprocess.Popen(
        [*CONTAINER, sys.executable, "-m", "aouo", "try"],
        cwd=ROOT,
        env=os.environ | {"AOUO_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert any(line.startswith("ready: ") for line in process.stdout)
        inside = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(inside[0]), signal.SIGTERM)

        assert process.wait(WAIT_S) == 0
    finally:
        process.kill()
        process.communicate()


ORPHANS = """
import asyncio, os, sys
from aouo.plumbing.children import bury, _ended_orphans
from tests.fakes.clock import FastClock

async def main():
    assert os.getpid() == 1
    async with asyncio.TaskGroup() as group:
        burying = group.create_task(bury(FastClock(speed=60)))
        launcher = await asyncio.create_subprocess_exec("sh", "-c", "sleep 0.05 & exit 3")
        assert await launcher.wait() == 3
        async with asyncio.timeout(60):
            while not _ended_orphans():
                await asyncio.sleep(0.01)
            left = _ended_orphans()
            while _ended_orphans() & left:
                await asyncio.sleep(0.01)
        ours = await asyncio.create_subprocess_exec("sh", "-c", "sleep 1.5; exit 7")
        assert await ours.wait() == 7
        burying.cancel()
    print("buried", len(left))

asyncio.run(main())
"""


@container
def test_as_the_first_process_what_a_launcher_left_behind_is_buried_and_nothing_else() -> None:
    """Finding 38: children of npx and uvx outlive it."""
    done = subprocess.run(
        [*CONTAINER, sys.executable, "-c", ORPHANS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )

    assert done.stdout == "buried 1\n", done.stderr
