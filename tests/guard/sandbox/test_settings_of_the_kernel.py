"""What the kernel shows as files is not changed from inside, whoever runs us and whichever wall is
missing. Source: issue 11, number 1."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aouo.guard.sandbox import levels
from aouo.guard.sandbox.order import RunLimits
from tests.guard.sandbox.places import HERE, Place, processes

ROOT = Path(__file__).parents[3]
HARMLESS = {"/dev/null", "/dev/zero", "/dev/full"}
OF_BUBBLEWRAP = {"/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts/ptmx"}
"""Its own devices; only Landlock closes them."""
pytestmark = pytest.mark.skipif(not HERE, reason="nothing on this machine confines a process")


def as_we_are() -> list[str]:
    return []


def as_an_ordinary_user() -> list[str]:
    if os.geteuid():
        pytest.skip("we are one")
    if not levels.can_lower(ROOT):
        pytest.skip("root cannot become an ordinary user here")
    return levels.lowering()


@pytest.mark.parametrize("whoever", [as_we_are, as_an_ordinary_user])
async def test_nothing_of_the_kernel_opens_for_writing_at_any_level(
    tmp_path: Path, whoever: Callable[[], list[str]]
) -> None:
    words = [*whoever(), sys.executable, "-m", "tests.guard.sandbox.walking", str(tmp_path)]
    async with asyncio.timeout(120):
        process = await asyncio.create_subprocess_exec(
            *words, cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
    opened: dict[str, list[str]] = json.loads(out)

    assert set(opened) >= set(HERE)
    assert {
        name: files
        for name, found in opened.items()
        if (files := set(found) - HARMLESS - (OF_BUBBLEWRAP if "no Landlock" in name else set()))
    } == {}


@pytest.mark.parametrize("name", HERE)
async def test_root_is_nobody_inside(name: str, tmp_path: Path) -> None:
    """The kernel's own settings belong to its user 0, whatever the sandbox calls that one."""
    if os.geteuid() or not levels.can_lower(tmp_path):
        pytest.skip("we are not root, or cannot be anybody else")
    place = Place(tmp_path, HERE[name])
    task = asyncio.ensure_future(place.attack('open("begun", "w").close()\ntime.sleep(1000)'))
    async with asyncio.timeout(30):
        while not (place.data / "begun").exists():  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0)
    users = {line for pid in _inside(place) for line in _users(pid)}
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert users
    assert "0" not in users
    assert (place.data / "begun").stat().st_uid == 0


def _inside(place: Place) -> list[int]:
    return [
        pid
        for pid in processes(str(place.tools / "attack.py"))
        if b"bwrap" not in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    ]


def _users(pid: int) -> list[str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line for line in lines if line.startswith("Uid:")).split()[1:]


async def test_no_capability_is_left_inside(tmp_path: Path) -> None:
    if "bubblewrap" not in HERE:
        pytest.skip("only there a tool may read of itself")
    said = await Place(tmp_path, HERE["bubblewrap"]).said('return open("/proc/self/status").read()')
    held = {line.split(":\t")[0]: line.split(":\t")[1] for line in said.splitlines()}

    assert {held[f"Cap{one}"].strip("0") for one in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {""}


def test_ci_has_bubblewrap() -> None:
    """Else the best wall is tried nowhere. `.ci/run` installs it."""
    if os.environ.get("CI", "").lower() not in ("true", "1"):
        pytest.skip("not in CI: whatever this machine has is tried")

    assert "bubblewrap" in HERE, levels.in_words(levels.level_of("auto"))


# Where groups with limits can be made, on a machine of files. Source: cgroups(7)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(levels, "_ROOT", tmp_path)
    return tmp_path


def folder(root: Path, name: str, limits: str | None = None) -> Path:
    made = root / name
    made.mkdir(parents=True, exist_ok=True)
    if limits is not None:
        (made / "cgroup.subtree_control").write_text(limits)
    return made


@pytest.mark.parametrize(
    ("ours", "made", "found"),
    [
        ("0::/user", {"user": "cpu memory pids"}, ["user"]),
        ("0::/user", {"user": "cpu pids"}, ["user"]),
        ("0::/user", {"user": "cpu"}, []),
        ("0::/elsewhere", {".": "memory pids"}, ["."]),
        ("0::/", {"pids": None, "memory": None}, []),
        ("8:pids:/\n4:memory:/a\n0::/", {"pids": None, "memory/a": None}, ["pids", "memory/a"]),
        ("3:cpu,memory:/a", {"memory/a": None, "cpu": None}, ["memory/a"]),
        ("9:name=systemd:/\n1:cpuset:/a", {"systemd": None, "cpuset/a": None}, []),
        ("", {"pids": None}, []),
    ],
)  # fmt: skip
def test_groups_are_made_where_ours_lies_and_its_kind_is_limited(
    root: Path, ours: str, made: dict[str, str | None], found: list[str]
) -> None:
    for name, limits in made.items():
        folder(root, name, limits)

    assert list(levels._usable(ours)) == [root / name for name in found]


@pytest.mark.parametrize(
    ("within", "counts"), [("pids/a", True), ("memory/a", False), ("new", True), ("old", False)]
)
def test_processes_are_counted_where_their_kind_is(root: Path, within: str, counts: bool) -> None:
    folder(root, "new", "pids")
    folder(root, "old", "cpu")

    assert levels._limits_processes((folder(root, within),)) is counts


async def test_a_group_has_its_limits_while_it_is_used_and_a_parent_that_takes_none_is_left_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel makes the files of a group; here they are made with its folder."""
    made = Path.mkdir

    def with_files(path: Path) -> None:
        made(path)
        for name in ("pids.max", "memory.max"):
            (path / name).write_text("max")

    monkeypatch.setattr(Path, "mkdir", with_files)
    monkeypatch.setattr(levels, "_TRIES", 0)  # only a kernel removes a folder with such files
    limits = RunLimits(processes=7, memory_bytes=1_000)
    async with levels.group((root / "nothing", root), "a", limits) as joined:
        said = {file.name: file.read_text() for file in joined[0].parent.glob("*.max")}

    assert [file.name for file in joined] == ["cgroup.procs"]
    assert said == {"pids.max": "7", "memory.max": "2000"}
