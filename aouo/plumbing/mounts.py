"""On which file system something lies, as far as this system says."""

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
    """The kernel's name for the file system under `path`, "" = it does not say."""
    try:
        table = TABLE.read_text("utf-8", "surrogateescape")
        return kind_of(table, os.path.realpath(path))
    except OSError:
        return ""


def is_network(kind: str) -> bool:
    """Whether others may write there at the same time, whose locks are not surely ours."""
    return kind in _NETWORK


def kind_of(table: str, path: str) -> str:
    """The type of the mount that `path`, without links, is under; of two in one place the later."""
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
