"""The home folder of one aouo: its paths, its first files, its file system, and its lock."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from pathlib import Path

from aouo.facts.errors import SetupError
from aouo.plumbing import exchange

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
        return _kind_of(table, os.path.realpath(path))
    except OSError:
        return ""


def is_network(kind: str) -> bool:
    """Whether it is a network file system, where other machines may write despite our locks."""
    return kind in _NETWORK


def _kind_of(table: str, path: str) -> str:
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


APART = ".apart"
"""A marker file in a pack's private folder: all private data was moved there
(`packs.tenant_folders`)."""
_SOCKET_PATH_BYTES = 100  # sun_path holds 108, and less elsewhere

SOUL, RULES = (
    Path(__file__).with_name(name).read_text("utf-8") for name in ("SOUL.md", "RULES.md")
)


class Home:
    """The paths of the home at `path`; making this reads and creates nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = self.path / "config.json"
        self.soul = self.path / "SOUL.md"
        self.heartbeat = self.path / "HEARTBEAT.md"
        self.rules = self.path / "RULES.md"
        self.packs = self.path / "packs"
        self.skills = self.path / "skills"
        self.commands = self.path / "commands"
        self.data = self.path / "data"
        self.database = self.data / "aouo.db"
        self.store = self.data / "store"
        self.pack_data = self.data / "packs"
        self.backups = self.data / "backups"
        self.settings = self.data / "settings"
        self.copies = self.data / "copies"
        self.media = self.path / "media"
        self.logs = self.path / "logs"
        self.log_file = self.logs / "aouo.log"
        self.run = self.path / "run"
        self.lock_file = self.run / "lock"
        self.pid_file = self.run / "pid"
        self.dashboard_token = self.run / "dashboard.token"
        self.dashboard_key = self.run / "dashboard.key"
        self.control_socket = self.run / "control.sock"

    def pack_database(self, pack: str, tenant: str = "") -> Path:
        """Return the pack's database file; one per tenant if the pack keeps people apart."""
        return self.store / pack / f"{tenant}.db" if tenant else self.store / f"{pack}.db"

    def pack_folder(self, pack: str, tenant: str = "") -> Path:
        """Return the pack's folder of memory files and artifacts; `tenant` as for the database."""
        return self.pack_data / pack / tenant if tenant else self.pack_data / pack

    def private_folder(self, pack: str, tenant: str = "") -> Path:
        """Return the folder for one tenant's data of a shared pack, "" = for those of all.

        No pack's name has a dot, so it is no other pack's folder.
        """
        return self.pack_data / f"{pack}.private" / tenant

    def create(self) -> tuple[Path, ...]:
        """Create the missing folders and files, private to the owner, and return them.

        Existing ones stay as they are, except that a home others can read is made private.

        Raises:
            SetupError: the folder cannot be created or written.
        """
        made: list[Path] = []
        try:
            for folder in (
                self.path,
                self.packs,
                self.skills,
                self.data,
                self.store,
                self.pack_data,
                self.media,
                self.logs,
                self.run,
            ):
                if not folder.is_dir():
                    folder.mkdir(mode=0o700, parents=True)
                    made.append(folder)
            if self.path.stat().st_mode & 0o077:
                self.path.chmod(0o700)
            for file, text in ((self.soul, SOUL), (self.rules, RULES)):
                if _write_new(file, text):
                    made.append(file)
        except OSError as error:
            where = error.filename or self.path
            raise SetupError(
                f"The home cannot be made: {where}: {error.strerror or error}.",
                fix="Make the folder writable, or name another with --home.",
            ) from error
        return tuple(made)

    @contextlib.contextmanager
    def lock(self) -> Generator[None]:
        """Lock the home for this process until the block ends, or the process; its pid is in
        `run/pid`.

        Raises:
            SetupError: another process holds the lock.
        """
        self.run.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not _flock(descriptor, fcntl.LOCK_EX, tries=5):
                holder = running_pid(self)
                raise SetupError(
                    f"Another aouo{f' (pid {holder})' if holder else ''} works on {self.path}.",
                    fix="Stop it with `aouo stop`, or name another folder with --home.",
                    exit_code=4,
                )
            try:
                exchange.finish(self.path)  # what a killed `aouo restore` meant
            except OSError as error:
                raise SetupError(
                    f"A begun restore of {self.path} cannot be ended: {error}.",
                    fix="Mend that (a folder that is a mount cannot be moved), and try again.",
                ) from error
            write_atomically(self.pid_file, f"{os.getpid()}\n")
            try:
                yield
            finally:
                self.pid_file.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def home_path(option: str | Path | None, environ: Mapping[str, str]) -> Path:
    """Return the home's absolute path: `--home`, else `AOUO_HOME`, else `~/.aouo`."""
    chosen = str(option or "") or environ.get("AOUO_HOME", "") or "~/.aouo"
    if chosen == "~" or chosen.startswith("~/"):
        chosen = str(environ.get("HOME") or Path.home()) + chosen[1:]
    return Path(chosen).absolute()


def is_locked(home: Home) -> bool:
    """Whether a process holds the home's lock right now."""
    try:
        descriptor = os.open(home.lock_file, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _flock(descriptor, fcntl.LOCK_SH, tries=1)
    finally:
        os.close(descriptor)


def running_pid(home: Home) -> int:
    """Return the pid that the lock's holder wrote, 0 = none."""
    try:
        return int(home.pid_file.read_text("ascii"))
    except (OSError, ValueError):
        return 0


@contextlib.contextmanager
def reachable(path: Path) -> Generator[str]:
    """Yield an address for the Unix socket at `path`, a short one if the path is too long.

    It is valid until the block ends, which is enough to bind or to connect.
    """
    if len(os.fsencode(path)) < _SOCKET_PATH_BYTES:
        yield str(path)
    elif sys.platform == "linux":
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield f"/proc/self/fd/{folder}/{path.name}"
        finally:
            os.close(folder)
    else:
        short = Path(tempfile.mkdtemp(prefix="aouo-", dir=_short_folder()))
        link = short / "r"
        try:
            link.symlink_to(path.parent)
            yield str(link / path.name)
        finally:
            link.unlink(missing_ok=True)
            short.rmdir()


def _short_folder() -> str:
    """Return a folder with a short path for temporary files: the usual one, or `/tmp`."""
    usual = tempfile.gettempdir()
    return usual if len(os.fsencode(usual)) < _SOCKET_PATH_BYTES - 40 else "/tmp"


def sync_folder(folder: Path) -> None:
    """Write the renames in `folder` to disk (fsync)."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(file: Path, text: str, *, mode: int = 0o600) -> None:
    """Replace the text of `file`; a reader sees the old or the new one, never half of it."""
    draft = file.with_name(f".{file.name}.{os.getpid()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            os.fchmod(descriptor, mode)
            out.write(text)
            out.flush()
            os.fsync(descriptor)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _flock(descriptor: int, kind: int, *, tries: int) -> bool:
    """Take the lock if possible, and return whether it was; tries are 20 ms apart.

    More than one outlasts the short shared lock of another process's `is_locked`.
    """
    for attempt in range(tries):
        if attempt:
            time.sleep(0.02)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return True
    return False


def _write_new(file: Path, text: str) -> bool:
    """Write `text` unless `file` exists, even as a broken link; return whether it was written."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
    return True
