"""On which file system a home lies. Finding 37."""

from __future__ import annotations

from pathlib import Path

import pytest

from aouo.plumbing import mounts
from aouo.plumbing.mounts import file_system, is_network, kind_of

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
    assert kind_of(TABLE, path) == kind
    assert is_network(kind) is network


def test_this_machine_says_what_it_has() -> None:
    assert file_system(Path("/proc/self")) == "proc"


def test_a_system_without_such_a_table_says_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(mounts, "TABLE", tmp_path / "none")

    assert file_system(tmp_path) == ""
