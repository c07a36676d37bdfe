"""One file holds the home, and one puts it back: whole, checked, and wherever it is killed.

Source: issue 29, "One backup" and "Bad input".
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.backup import archive, restoring, writing
from aouo.cli.main import aouo
from aouo.facts.errors import SetupError
from aouo.plumbing.home import Home
from aouo.store.opening import schema_number
from tests.cli.conftest import runner
from tests.fakes.databases import put_database
from tests.path.kills.by_people import NOW

__all__ = ["runner"]

MOMENT = datetime(2026, 3, 2, tzinfo=UTC)
KEY = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"
NAMES = st.text("abcé .-_", min_size=1, max_size=8).filter(lambda name: name not in (".", ".."))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with all that a home has."""
    one = Home(tmp_path / "home")
    furnish(one, "old")
    return one


def furnish(home: Home, word: str) -> None:
    """Let each part say this word."""
    home.create()
    home.settings.mkdir(exist_ok=True)
    config = {"telegram": {"bot_token": KEY, "allowed_user_ids": [7, 8]}, "log": {"level": "info"}}
    home.config.write_text(json.dumps(config))
    home.soul.write_text(word)
    (home.packs / "mine").mkdir(exist_ok=True)
    (home.packs / "mine/pack.yml").write_text(word)
    (home.settings / "mine.json").write_text('{"settings": {"a": 1}, "secrets": {"key": "locked"}}')
    (home.settings / ".key").write_text("the key of the home")
    (home.media / "tg_7").mkdir(exist_ok=True)
    (home.media / "tg_7/a photo.jpg").write_bytes(word.encode())
    (home.pack_data / "mine").mkdir(exist_ok=True)
    (home.pack_data / "mine/USER.md").write_text(word)
    if not home.database.exists():
        put_database(home.database)
    with contextlib.closing(sqlite3.connect(home.database)) as opened:
        opened.execute("DELETE FROM cursors")
        opened.execute("INSERT INTO cursors VALUES (?, 0)", (word,))
        opened.commit()
    with contextlib.closing(sqlite3.connect(home.store / "mine.db")) as opened:
        opened.execute("CREATE TABLE IF NOT EXISTS said (word TEXT)")
        opened.execute("DELETE FROM said")
        opened.execute("INSERT INTO said VALUES (?)", (word,))
        opened.commit()


def says(home: Home) -> set[str]:
    """What the parts say: one word, if all of them are of one time."""
    found = {home.soul.read_text(), (home.packs / "mine/pack.yml").read_text()}
    found |= {(home.media / "tg_7/a photo.jpg").read_text()}
    found |= {(home.pack_data / "mine/USER.md").read_text()}
    with contextlib.closing(sqlite3.connect(home.database)) as opened:
        found |= {row[0] for row in opened.execute("SELECT bot_id FROM cursors")}
    with contextlib.closing(sqlite3.connect(home.store / "mine.db")) as opened:
        found |= {row[0] for row in opened.execute("SELECT word FROM said")}
    return found


def run(runner: CliRunner, home: Home, *words: str, typed: str = "") -> Result:
    return runner.invoke(aouo, ["--home", str(home.path), *words], input=typed)


@pytest.mark.parametrize("locked", [True, False])
def test_what_a_home_keeps_comes_back_in_an_empty_one(
    runner: CliRunner, home: Home, tmp_path: Path, locked: bool
):
    target, secret = tmp_path / "backup", tmp_path / "passphrase"
    secret.write_text("correct horse\n")
    lock = ("--passphrase-file", str(secret)) if locked else ()
    how = lock or ("--without-keys",)
    made = run(runner, home, "backup", str(target), *how)
    other = Home(tmp_path / "other")
    done = run(runner, other, "restore", str(target), "--yes", *lock)
    config = json.loads(other.config.read_text())

    assert made.exit_code == 0, made.output
    assert done.exit_code == 0, done.output
    assert says(other) == {"old"}
    assert target.stat().st_mode & 0o777 == 0o600
    assert config["telegram"]["bot_token"] == (KEY if locked else "")
    assert config["telegram"]["allowed_user_ids"] == [7, 8]
    assert (other.settings / ".key").exists() == locked
    kept = json.loads((other.settings / "mine.json").read_text())
    assert kept == {"settings": {"a": 1}, "secrets": {"key": "locked"} if locked else {}}
    assert KEY.encode() not in target.read_bytes()
    assert sorted(one.name for one in other.path.iterdir() if one.name[0] == ".") == []


def test_keys_are_never_in_an_open_file_by_accident_and_no_file_is_written_over(
    runner: CliRunner, home: Home, tmp_path: Path
):
    target = tmp_path / "backup"
    open_one = run(runner, home, "backup", str(target))
    there_is = target.exists()
    target.write_text("mine")
    over = run(runner, home, "backup", str(target), "--without-keys")
    short = run(
        runner, home, "backup", str(tmp_path / "b"), "--encrypt", typed="1234567\n1234567\n"
    )

    assert open_one.exit_code == 2
    assert "config.json" in open_one.stderr
    assert "the secrets of mine" in open_one.stderr
    assert not there_is
    assert over.exit_code == 2
    assert target.read_text() == "mine"
    assert short.exit_code == 2
    assert sorted(one.name for one in tmp_path.iterdir()) == ["backup", "home"]


def test_what_is_there_stays_whole_and_the_owner_sees_what_comes_before_the_yes(
    runner: CliRunner, home: Home, tmp_path: Path
):
    with contextlib.closing(sqlite3.connect(home.database)) as opened:
        for person, on in (("7", 1), ("8", 1), ("8", 0)):
            opened.execute(
                "INSERT INTO schedules (id, pack, key, origin, platform, chat_id, thread_id,"
                " chat_kind, person, name, skill, prompt, text, zone, since, enabled, next_due,"
                " created_at, updated_at) VALUES (?, 'mine', '', 'person', 'tg', ?, '', 'private',"
                " ?, ?, '', 'look', '0 8 * * *', '', ?, ?, ?, ?, ?)",
                (f"s{person}{on}", person, person, f"of {person}", NOW, on, NOW, NOW, NOW),
            )
        opened.execute("INSERT INTO people VALUES ('8', 'Ben', 'member', ?, '')", (NOW,))
        opened.commit()
    target = tmp_path / "backup"
    run(runner, home, "backup", str(target), "--without-keys")
    furnish(home, "new")
    no = run(runner, home, "restore", str(target), typed="n\n")
    between = says(home)
    yes = run(runner, home, "restore", str(target), typed="y\n")
    (before,) = home.path.glob("before-restore-*")
    with contextlib.closing(sqlite3.connect(home.database)) as opened:
        rows = opened.execute("SELECT id, enabled, paused FROM schedules ORDER BY id").fetchall()

    assert no.exit_code == 1
    assert between == {"new"}
    assert "Ben (8): member" in yes.stderr
    assert "mine: of 8, 0 8 * * *" in yes.stderr
    assert "1 of them are of others and come back as proposed, off." in yes.stderr
    assert rows == [("s71", 1, ""), ("s80", 0, ""), ("s81", 0, "proposed")]
    assert says(home) == {"old"}
    assert says(Home(before)) == {"new"}


HOSTILE_TABLES = {
    "a trigger": "CREATE TRIGGER again AFTER UPDATE ON schedules BEGIN"
    " UPDATE schedules SET enabled = 1, next_due = '2026-03-02' WHERE id = new.id; END",
    "a trigger on others": "CREATE TRIGGER again AFTER UPDATE ON deliveries BEGIN"
    " UPDATE schedules SET enabled = 1; END",
    "a view": "CREATE VIEW more AS SELECT 1",
    "a column": "ALTER TABLE schedules ADD COLUMN more TEXT AS (id)",
    "a table": "CREATE TABLE more (id)",
    "an index": "CREATE UNIQUE INDEX more ON schedules (paused)",
    "a number": "PRAGMA user_version = 7",
    "a view in its place": "ALTER TABLE grants RENAME TO g; CREATE VIEW grants AS SELECT * FROM g",
}


def put_schedule(home: Home, name: str, person: str, *, on: int = 1, prompt: str = "look") -> None:
    with contextlib.closing(sqlite3.connect(home.database)) as opened:
        opened.execute(
            "INSERT INTO schedules (id, pack, key, origin, platform, chat_id, thread_id,"
            " chat_kind, person, name, skill, prompt, text, zone, since, enabled, next_due,"
            " created_at, updated_at) VALUES (?, 'mine', '', 'person', 'tg', '8', '', 'private',"
            " ?, ?, '', ?, '0 8 * * *', '', ?, ?, ?, ?, ?)",
            (name, person, name, prompt, NOW, on, NOW, NOW, NOW),
        )
        opened.commit()


@pytest.mark.parametrize("name", HOSTILE_TABLES)
def test_a_backup_with_other_tables_than_ours_is_refused(
    runner: CliRunner, home: Home, tmp_path: Path, name: str
):
    put_schedule(home, "s", "666")
    with contextlib.closing(sqlite3.connect(home.database)) as opened:
        opened.executescript(HOSTILE_TABLES[name])
    writing.write(home, tmp_path / "backup", {}, MOMENT)
    other = Home(tmp_path / "other")
    told = run(runner, other, "restore", str(tmp_path / "backup"), "--yes")

    assert told.exit_code == 1, told.output
    assert "damaged or cut" in told.stderr
    assert not other.database.exists()


def test_whatever_says_that_a_schedule_of_others_is_on_it_is_off(
    runner: CliRunner, home: Home, tmp_path: Path
):
    for number, person in enumerate(("666", " 7", "8", "7")):
        put_schedule(home, f"s{number}", person, on=(1, 2, 0, 1)[number])
    writing.write(home, tmp_path / "backup", {}, MOMENT)
    told = run(runner, home, "restore", str(tmp_path / "backup"), "--yes")
    with contextlib.closing(sqlite3.connect(home.database)) as opened:
        rows = opened.execute("SELECT enabled, next_due FROM schedules ORDER BY id").fetchall()

    assert "2 of them are of others and come back as proposed, off." in told.stderr
    assert rows == [(0, None), (0, None), (0, None), (1, NOW)]


def test_before_the_yes_all_that_acts_or_is_allowed_is_shown_whole_and_as_lines(
    runner: CliRunner, home: Home, tmp_path: Path
):
    for number in range(40):
        put_schedule(home, f"name{number}\nPeople: none", "7", prompt=f"prompt{number} " + "x" * 99)
    with contextlib.closing(sqlite3.connect(home.database)) as opened:
        opened.execute("INSERT INTO grants VALUES ('mine','send','target','e@x.org','7',?)", (NOW,))
        opened.execute("INSERT INTO server_tools VALUES ('box', '', 'pay', '')")
        opened.execute(
            "INSERT INTO people VALUES ('8', '\x1b[2J\u202eBen', 'member', ?, '')", (NOW,)
        )
        opened.commit()
    config = json.loads(home.config.read_text())
    config["security"] = {"sandbox": "off", "fence_mode": "allow"}
    config["mcp"] = {"servers": {"box": {"command": "evil-server", "args": ["--all"]}}}
    home.config.write_text(json.dumps(config))
    (home.path / "commands").mkdir(exist_ok=True)
    (home.path / "commands/hi.md").write_text("say hi\nto all")
    home.heartbeat.write_text("pay the bill")
    writing.write(home, tmp_path / "backup", {}, MOMENT)
    told = run(runner, home, "restore", str(tmp_path / "backup"), typed="n\n").stderr

    for number in range(40):
        assert f"name{number}\\nPeople: none, 0 8 * * *, of 7: prompt{number} {'x' * 99}" in told
    for line in (
        *("mine: send, target e@x.org, for 7", "box: pay", 'security.sandbox: "off"'),
        *('security.fence_mode: "allow"', "evil-server", "--all", "say hi\\nto all"),
        *("HEARTBEAT.md: pay the bill", "\\u001b[2J\\u202eBen (8): member"),
    ):
        assert line in told
    assert "more" not in told
    assert "\nPeople: none" not in told
    assert KEY not in told


def test_a_backup_writes_into_no_file_or_link_that_waits_for_it_and_a_killed_one_leaves_none(
    home: Home, tmp_path: Path
):
    folder = tmp_path / "theirs"
    folder.mkdir()
    planted = folder / ".backup.part"
    planted.symlink_to(home.config)
    writing.write(home, folder / "backup", {}, MOMENT)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, home.path, folder / "second"],
        capture_output=True,
        text=True,
        check=False,
    )
    left = sorted(one.name for one in folder.iterdir())
    seen_at_start = [*home.data.glob(".backup-*")]  # as `app.serve` looks, before it imports this
    writing.sweep(home)

    assert done.returncode == -9, done.stderr
    assert planted.is_symlink()
    assert KEY in home.config.read_text()
    assert seen_at_start
    assert len(left) == 3
    assert left[1].startswith(".second.")
    assert sorted(one.name for one in folder.iterdir()) == [".backup.part", "backup"]
    assert not list(home.data.glob(".backup-*"))


KILLED = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from aouo.backup import archive, writing
from aouo.plumbing.home import Home

archive.read = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
writing.write(Home(Path(sys.argv[1])), Path(sys.argv[2]), {}, datetime.now(UTC))
"""


Change: TypeAlias = Callable[[Path], object]


def changed(change: Callable[[bytes], bytes]) -> Change:
    return lambda file: file.write_bytes(change(file.read_bytes()))


def member(name: str, *, kind: bytes = tarfile.REGTYPE, first: bool = False) -> Change:
    """Put one more member into a backup, behind what it says of itself or before it."""

    def add(file: Path) -> None:
        with tarfile.open(file) as tar:
            kept = [(one, tar.extractfile(one).read()) for one in tar]  # pyright: ignore[reportOptionalMemberAccess]
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind, "/etc/passwd"
        at = 0 if first else 1
        with tarfile.open(file, "w") as tar:
            for one, content in [*kept[:at], (entry, b""), *kept[at:]]:
                tar.addfile(one, io.BytesIO(content))

    return add


def said(**facts: object) -> Change:
    def write(file: Path) -> None:
        whole = {"version": "9.9", "schema": schema_number(), "made_at": "2027-01-01", "keys": True}
        with file.open("wb") as out:
            archive.write(out, [("backup.json", json.dumps(whole | facts).encode())], "")

    return write


def written(members: list[tuple[str, bytes]]) -> Change:
    def write(file: Path) -> None:
        with file.open("wb") as out:
            archive.write(out, members, "")

    return write


HOSTILE = {
    "cut": changed(lambda data: data[: len(data) // 2]),
    "cut in its end": changed(lambda data: data[: data.rindex(b"hashes.json") + 700]),
    "one byte": changed(lambda data: data.replace(b"old", b"odd", 1)),
    "empty": changed(lambda data: b""),
    "no tar": changed(lambda data: b"PK\3\4" + bytes(5000)),
    "one more": member("SOUL2.md"),
    "above": member("../outside"),
    "absolute": member("/tmp/outside"),
    "link": member("packs/link", kind=tarfile.SYMTYPE),
    "hard link": member("packs/link", kind=tarfile.LNKTYPE),
    "device": member("packs/device", kind=tarfile.CHRTYPE),
    "twice": member("SOUL.md"),
    "first": member("SOUL.md", first=True),
    "strange": said(schema="many"),
    "an exchange of homes": member(".restore-meant/x"),
    "what runs": member("run/x"),
    "a backup's work": member("data/.backup-x/part"),
    "a log of a database": member("data/store/mine.db-wal"),
    "a folder's name as a file": member("skills"),
    "deep": written([("backup.json", b"[" * 900_000)]),
    "deep below": written([("backup.json", b'{"version":' + b"[" * 900_000)]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_backup_that_is_not_what_was_written_is_refused_and_nothing_happens(
    runner: CliRunner, home: Home, tmp_path: Path, name: str
):
    target = tmp_path / "backup"
    writing.write(home, target, {}, MOMENT)
    HOSTILE[name](target)
    furnish(home, "new")
    told = run(runner, home, "restore", str(target), "--yes")

    assert told.exit_code == 1, told.output
    assert "damaged or cut" in told.stderr
    assert says(home) == {"new"}
    assert not [one for one in home.path.iterdir() if "restore" in one.name]


def test_a_later_version_a_running_bot_and_no_file_are_said(
    runner: CliRunner, home: Home, tmp_path: Path
):
    later = tmp_path / "later"
    later.touch()
    said(schema=1)(later)
    other = run(runner, home, "restore", str(later), "--yes")
    nothing = run(runner, home, "restore", str(tmp_path / "nothing"), "--yes")
    with home.lock():
        runs = run(runner, home, "restore", str(later), "--yes")

    assert "made by aouo 9.9" in other.stderr
    assert "cannot be read" in nothing.stderr
    assert runs.exit_code == 4
    assert says(home) == {"old"}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_takes_no_more_leaves_nothing(
    home: Home, tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch
):
    def full(descriptor: int) -> None:
        raise OSError(code, os.strerror(code))

    target = tmp_path / "backup"
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SetupError, match=r"not enough room|cannot be written"):
        writing.write(home, target, {}, MOMENT)

    assert sorted(one.name for one in tmp_path.iterdir()) == ["home"]
    assert not list(home.data.glob(".backup-*"))


@given(
    files=st.dictionaries(
        st.lists(NAMES, min_size=1, max_size=3).map(tuple), st.binary(max_size=70_000), max_size=6
    )
)
@settings(max_examples=10, deadline=None)
def test_any_file_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, files: dict[tuple[str, ...], bytes]
):
    folder = tmp_path_factory.mktemp("any")
    home, other = Home(folder / "home"), Home(folder / "other")
    home.create()
    put: dict[str, bytes] = {}
    for parts, content in files.items():
        file = home.media.joinpath(*parts)
        with contextlib.suppress(OSError):  # one is a folder of the other
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            put[str(file.relative_to(home.media))] = content
    writing.write(home, folder / "backup", {}, MOMENT, passphrase="x")
    other.create()
    restoring.unpack(other, folder / "backup", "x", {})
    restoring.put_in_place(other, MOMENT)

    found = {
        str(file.relative_to(other.media)): file.read_bytes()
        for file in other.media.rglob("*")
        if file.is_file()
    }
    assert found == put


def test_a_running_bots_database_is_copied_with_what_was_committed(home: Home, tmp_path: Path):
    with contextlib.closing(sqlite3.connect(home.store / "mine.db")) as opened:
        opened.execute("PRAGMA journal_mode=WAL")
        opened.execute("UPDATE said SET word = 'committed'")
        opened.commit()
        opened.execute("UPDATE said SET word = 'not yet'")
        writing.write(home, tmp_path / "backup", {}, MOMENT)
    other = Home(tmp_path / "other")
    other.create()
    restoring.unpack(other, tmp_path / "backup", "", {})
    restoring.put_in_place(other, MOMENT)

    assert says(other) == {"old", "committed"}


def killed_restores(home: Home, target: Path) -> Iterator[tuple[str, set[str]]]:
    """Restore, killed at each place in turn; what was the last place, and what the home says then,
    as whoever locks it next finds it."""
    for kill_at in range(1, 60):
        furnish(home, "new")
        done = subprocess.run(
            [sys.executable, "-m", "aouo", "--home", home.path, "restore", target, "--yes"],
            env={"PATH": os.environ["PATH"], "AOUO_KILL_AT": str(kill_at)},
            capture_output=True,
            text=True,
            check=False,
        )
        with home.lock():
            yield done.stderr.rpartition("killed: ")[2].strip(), says(home)
        if done.returncode == 0:
            return
    raise AssertionError("it never ends")


def test_killed_anywhere_in_a_restore_all_is_old_or_all_is_new(home: Home, tmp_path: Path):
    target = tmp_path / "backup"
    writing.write(home, target, {}, MOMENT)
    ended = list(killed_restores(home, target))

    assert len(ended) > 8
    for place, found in ended:
        assert found == ({"new"} if place == "before a home is to be exchanged" else {"old"}), place
    assert not [one for one in home.path.iterdir() if one.name.startswith(".restore-meant")]


def test_a_restore_that_cannot_be_ended_is_said_and_ends_once_that_is_mended(
    runner: CliRunner, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A folder that is a mount cannot be renamed."""
    writing.write(home, tmp_path / "backup", {}, MOMENT)
    furnish(home, "new")
    rename = Path.rename

    def busy(self: Path, target: Path) -> Path:
        if self == home.media:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(self))
        return rename(self, target)

    restoring.unpack(home, tmp_path / "backup", "", {})
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", busy)
        with pytest.raises(SetupError, match=r"not restored yet.*before-restore-2026"):
            restoring.put_in_place(home, MOMENT)
        told = run(runner, home, "start")
    with home.lock():
        found = says(home)

    assert told.exit_code == 3
    assert "A begun restore" in told.stderr
    assert found == {"old"}


def test_no_key_of_any_file_is_in_an_open_backup(home: Home, tmp_path: Path):
    """One that was changed since, one over which the environment lies, one in a broken file."""
    old, new = "111111:" + "a" * 30, "222222:" + "b" * 30
    good = {"telegram": {"bot_token": old}}
    (home.path / "config.last-good.json").write_text(json.dumps(good))
    environ = {"AOUO_TELEGRAM__BOT_TOKEN": "333333:" + "c" * 30}
    writing.write(home, tmp_path / "one", environ, MOMENT, keys=False)
    home.config.write_text(json.dumps({"telegram": {"bot_token": new}, "provder": {}}))
    places = writing.keys_in(home, {})
    writing.write(home, tmp_path / "two", {}, MOMENT, keys=False)
    found = (tmp_path / "one").read_bytes() + (tmp_path / "two").read_bytes()

    assert {"config.json", "config.last-good.json"} <= {*places}
    assert not [key for key in (KEY, old, new) if key.encode() in found]


def test_what_is_no_database_goes_along_as_it_is_and_a_disk_may_have_no_links(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    odd = home.pack_data / "mine/made by a tool.db"
    odd.write_bytes(b"no database at all")
    target, other = tmp_path / "backup", Home(tmp_path / "other")

    def refuse(source: object, target: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    writing.write(home, target, {}, MOMENT)
    with pytest.raises(SetupError, match="there already"):
        writing.write(home, target, {}, MOMENT)
    other.create()
    restoring.unpack(other, target, "", {})
    restoring.put_in_place(other, MOMENT)

    assert says(other) == {"old"}
    assert (other.path / odd.relative_to(home.path)).read_bytes() == odd.read_bytes()
