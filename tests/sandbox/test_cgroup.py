"""Where groups with limits can be made, on a machine of files. Source: cgroups(7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from aouo.sandbox import cgroup
from aouo.sandbox.order import RunLimits


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cgroup, "_ROOT", tmp_path)
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

    assert list(cgroup._usable(ours)) == [root / name for name in found]


@pytest.mark.parametrize(
    ("within", "counts"), [("pids/a", True), ("memory/a", False), ("new", True), ("old", False)]
)
def test_processes_are_counted_where_their_kind_is(root: Path, within: str, counts: bool) -> None:
    folder(root, "new", "pids")
    folder(root, "old", "cpu")

    assert cgroup.limits_processes((folder(root, within),)) is counts


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
    monkeypatch.setattr(cgroup, "_TRIES", 0)  # only a kernel removes a folder with such files
    limits = RunLimits(processes=7, memory_bytes=1_000)
    async with cgroup.group((root / "nothing", root), "a", limits) as joined:
        said = {file.name: file.read_text() for file in joined[0].parent.glob("*.max")}

    assert [file.name for file in joined] == ["cgroup.procs"]
    assert said == {"pids.max": "7", "memory.max": "2000"}
