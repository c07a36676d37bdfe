"""Finds the type of the file system that a path is on."""

from __future__ import annotations

import os
import re
from pathlib import Path

TABLE = Path("/proc/self/mountinfo")
"""Linux only. Source: proc_pid_mountinfo(5)."""
_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ncpfs", "afs", "ceph", "glusterfs", "lustre"}
    | {"fuse.sshfs", "fuse.rclone", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.s3fs", "fuse.gcsfuse"}
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


def file_system(path: Path) -> str:
    """Return the kernel's name for the file system under `path`, "" = unknown."""
    try:
        table = TABLE.read_text("utf-8", "surrogateescape")
        return kind_of(table, os.path.realpath(path))
    except OSError:
        return ""


def is_network(kind: str) -> bool:
    """Whether it is a network file system, where other machines may write despite our locks."""
    return kind in _NETWORK


def kind_of(table: str, path: str) -> str:
    """Return the type of the mount that holds `path`, which has no links; "" = none.

    Of two mounts at one place the later one counts. `table` is the text of mountinfo.
    """
    best, found = "", ""
    for line in table.splitlines():
        mount, _, rest = line.partition(" - ")
        fields = mount.split(" ")
        if len(fields) < 5 or not rest:
            continue
        point = _ESCAPED.sub(lambda sign: chr(int(sign[1], 8)), fields[4])
        under = path == point or path.startswith(point.rstrip("/") + "/")
        if under and len(point) >= len(best):
            best, found = point, rest.split(" ", 1)[0]
    return found
