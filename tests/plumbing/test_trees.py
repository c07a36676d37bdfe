"""Trees that other hands may have made. Source: issue 11, a path of 1,500 folders."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.plumbing import home, trees
from aouo.plumbing.home import _kind_of, file_system, is_network
from aouo.plumbing.trees import _DEEPEST, TooMuch

ROOT = Path(__file__).parents[2]


def deep(top: Path, folders: int, name: str = "d") -> None:
    """Folders in one another, also where no path to the last one fits into a call."""
    top.mkdir(parents=True, exist_ok=True)
    here = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(folders):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file.txt", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)


@pytest.fixture(autouse=True)
def leave_nothing(tmp_path: Path) -> Iterator[None]:
    yield
    trees.remove(tmp_path)  # pytest would not get through


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_walk_tells_of_everything_and_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").touch()
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "one.txt").touch()
    (root / "way").symlink_to(outside)
    (root / "a" / "up").symlink_to("..")
    before = descriptors()

    found = {one.path: stat.S_IFMT(one.facts.st_mode) for one in trees.walk(root)}

    links, folders = stat.S_IFLNK, stat.S_IFDIR
    assert found == {
        "a": folders,
        "a/b": folders,
        "a/one.txt": stat.S_IFREG,
        "a/up": links,
        "way": links,
    }
    assert descriptors() == before
    assert list(trees.walk(tmp_path / "nothing")) == []


@pytest.mark.parametrize(("folders", "name"), [(1_500, "d"), (5_000, "d"), (30, "n" * 250)])
def test_a_walk_stops_at_the_first_folder_that_lies_too_deep(
    tmp_path: Path, folders: int, name: str
) -> None:
    deep(tmp_path / "root", folders, name)
    before = descriptors()

    with pytest.raises(TooMuch, match=r"deep in one another|paths of more than"):
        list(trees.walk(tmp_path / "root"))

    assert descriptors() == before


def test_a_walk_reaches_what_lies_as_deep_as_anything_may(tmp_path: Path) -> None:
    deep(tmp_path, _DEEPEST - 1)

    assert sum(1 for _ in trees.walk(tmp_path)) == _DEEPEST


def test_a_walk_stops_at_the_first_entry_that_is_too_many(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).mkdir()

    with pytest.raises(TooMuch, match="too many"):
        list(trees.walk(tmp_path, most=10))


@pytest.mark.parametrize(("folders", "name"), [(1_500, "d"), (5_000, "d"), (30, "n" * 250)])
def test_a_tree_of_any_depth_is_removed_and_nothing_outside_of_it(
    tmp_path: Path, folders: int, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").touch()
    root = tmp_path / "root"
    deep(root, folders, name)
    (root / "way").symlink_to(outside)
    (root / name / "way").symlink_to(outside)
    (root / name / "closed").mkdir(mode=0)
    (root / "closed" / "inner").mkdir(parents=True)
    (root / "closed").chmod(0)
    before = descriptors()

    trees.remove(root)

    assert not os.path.lexists(root)
    assert [entry.name for entry in outside.iterdir()] == ["kept.txt"]
    assert descriptors() == before


def test_what_is_no_folder_is_removed_too_and_of_a_link_only_the_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to("kept")
    (tmp_path / "file").touch()
    for name in ("link", "file", "nothing", "no/where"):
        trees.remove(tmp_path / name)

    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]


def test_a_file_is_opened_and_made_past_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "there.txt").write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "way").symlink_to(outside)
    (root / "link.txt").symlink_to(outside / "there.txt")
    with trees.new_file(root / "deep" / "er" / "a.txt", make_below=root) as out:
        out.write(b"hello")

    assert stat.S_IMODE((root / "deep").stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "deep" / "er" / "a.txt").stat().st_mode) == 0o600
    with trees.open_file(root / "deep" / "er" / "a.txt") as found:
        assert found.read() == b"hello"
    for path in ("way/there.txt", "link.txt", "deep", "nothing"):
        with pytest.raises(OSError, match=r"\w"):
            trees.open_file(root / path)
    for path in ("way/new.txt", "link.txt", "deep", "way/deeper/new.txt"):
        with pytest.raises(OSError, match=r"\w"):
            trees.new_file(root / path, make_below=root)
    assert [entry.name for entry in outside.iterdir()] == ["there.txt"]


def test_a_folder_with_more_entries_than_are_read_at_once_is_removed(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for number in range(1_200):
        (tree / str(number) / "in").mkdir(parents=True)
        (tree / f"{number}.txt").touch()

    trees.remove(tree)

    assert not tree.exists()


def test_a_name_is_relative_to_the_folder_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "tree" / "in").mkdir(parents=True)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        trees.remove("tree", dir_fd=folder)
    finally:
        os.close(folder)

    assert list(tmp_path.iterdir()) == []


MODES = [0o000, 0o100, 0o200, 0o300, 0o400, 0o500, 0o600, 0o700]


@settings(deadline=None, max_examples=30)
@given(modes=st.lists(st.sampled_from(MODES), min_size=1, max_size=8))
def test_folders_that_nobody_may_enter_are_removed_by_whoever_owns_them(
    tmp_path_factory: pytest.TempPathFactory, modes: list[int]
) -> None:
    """As an ordinary user: nothing is forbidden to root."""
    place = tmp_path_factory.mktemp("modes")
    made = place / "tree"
    for mode in modes:
        made /= f"{mode:o}"
    made.mkdir(parents=True)
    (made / "file").touch()
    for mode in reversed(modes):
        made.chmod(mode)
        made = made.parent

    _removed_by_an_ordinary_user(place)

    assert list(place.iterdir()) == []


def _removed_by_an_ordinary_user(place: Path) -> None:
    if os.geteuid():
        trees.remove(place / "tree")
        return
    for folder, _, files in os.walk(place):
        for path in (folder, *(os.path.join(folder, file) for file in files)):  # noqa: PTH118
            os.chown(path, 65534, 65534)
    folder = os.open(place, os.O_RDONLY)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            trees.remove("tree", dir_fd=folder)
            status = 0
        finally:
            os._exit(status)
    os.close(folder)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_little_memory_and_few_descriptors_are_enough(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    deep(tree, 3_000, "d" * 20)
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))\n"
        "from pathlib import Path\nfrom aouo.plumbing import trees\n"
        "trees.remove(Path(sys.argv[1]))\n"
        "held = [line for line in open('/proc/self/status') if line.startswith('VmHWM')]\n"
        "assert int(held[0].split()[1]) < 64_000"
    )
    subprocess.run([sys.executable, "-c", code, str(tree)], check=True, timeout=60, cwd=ROOT)

    assert not tree.exists()


# On which file system a home lies. Finding 37


TABLE = r"""22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid shared:5 - proc proc rw
40 22 0:44 / /home rw,relatime shared:20 - nfs4 nas:/home rw,vers=4.2
41 40 0:45 / /home/me/local\040disk rw - xfs /dev/sdb1 rw
42 22 0:46 / /mnt/cloud rw master:3 propagate_from:2 - fuse.sshfs me@there:/ rw
43 22 0:47 / /srv rw - ext4 /dev/sdc1 rw
44 22 0:48 / /srv rw - cifs //nas/srv rw
half a line
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/", "ext4", False),
        ("/root/.aouo", "ext4", False),
        ("/homes/me", "ext4", False),
        ("/home", "nfs4", True),
        ("/home/me/.aouo", "nfs4", True),
        ("/home/me/local disk/.aouo", "xfs", False),
        ("/mnt/cloud/x", "fuse.sshfs", True),
        ("/srv/aouo", "cifs", True),
    ],
)
def test_the_deepest_mount_above_a_path_is_its_file_system(
    path: str, kind: str, network: bool
) -> None:
    assert _kind_of(TABLE, path) == kind
    assert is_network(kind) is network


def test_this_machine_says_what_it_has() -> None:
    assert file_system(Path("/proc/self")) == "proc"


def test_a_system_without_such_a_table_says_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(home, "TABLE", tmp_path / "none")

    assert file_system(tmp_path) == ""
