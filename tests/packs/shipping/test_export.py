"""What a pack keeps, as a file and back. Source: issue 5 "Lifecycle"."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyrage
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aouo.facts.errors import PackError
from aouo.packs.shipping import restoring
from aouo.packs.shipping.export import Facts, Known, export_data, keeps_anything
from aouo.packs.shipping.restoring import inspect
from aouo.packs.shipping.sealed import is_sealed, seal, unseal
from aouo.plumbing.home import APART, Home
from tests.sampling import count

NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
NAMES = st.text("aA.:\\äé~ b", min_size=1, max_size=6).filter(lambda name: name not in (".", ".."))
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
ROWS = st.lists(st.text(max_size=20), max_size=5)
CHUNK = 64 * 1024
LOCKED_BY_AGE = (
    "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCA0aXplbnk1YnhQUXBDWmxXcE1oNi9RIDE4CmFGTmYxRVdF"
    "aG42NnZkNzUvVVRUa1FnRTF6dC84akI1aG4xV2wwSFgveDAKLS0tIExJcGR6WEhSUGZ1RDFLdUVjTmFQeGEydVo2"
    "bnRoSnFkbVllMVJVREU5M00Kxw1XGnC0Tkmh2PU/qeH2iMFbj/miK4s6kFSwnD2YGMLzYsKcD3hfWfemhhJaGU8="
)


def database(path: Path, rows: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as opened:
        opened.execute("PRAGMA journal_mode=WAL")
        opened.execute("CREATE TABLE IF NOT EXISTS words (word TEXT)")
        opened.executemany("INSERT INTO words VALUES (?)", [(row,) for row in rows])
        opened.commit()


def words(path: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(path)) as opened:
        return [row[0] for row in opened.execute("SELECT word FROM words ORDER BY rowid")]


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def everything(home: Home) -> dict[str, Any]:
    """All that the home keeps but backups, databases by their rows."""
    found: dict[str, Any] = {}
    for path in sorted(home.data.rglob("*")):
        name = path.relative_to(home.data).as_posix()
        if path.is_file() and not name.startswith("backups/"):
            if path.suffix == ".db":
                found[name] = words(path)
            elif not name.endswith(("-wal", "-shm")):
                found[name] = path.read_bytes()
    return found


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with two packs: `vocab` keeps something for two owners, `notes` for all."""
    home = Home(tmp_path / "home")
    home.create()
    database(home.pack_database("vocab", "tg_1"), ["Baum"])
    database(home.pack_database("vocab", "tg_2"), ["Haus", "Hof"])
    (home.pack_folder("vocab", "tg_1") / "deep").mkdir(parents=True)
    (home.pack_folder("vocab", "tg_1") / "USER.md").write_text("Learns German")
    (home.pack_folder("vocab", "tg_1") / "deep" / ".list.csv").write_bytes(b"\x00\xff")
    database(home.pack_database("notes"), ["milk"])
    private = home.private_folder("notes", "tg_1")
    private.mkdir(parents=True)
    (private / "USER.md").write_text("Buys milk")
    (private.parent / APART).touch()
    return home


@dataclass(frozen=True)
class Restored:
    contents: Facts
    before: Path | None


def restore(
    backup: Path,
    home: Home,
    name: str,
    *,
    now: datetime,
    passphrase: str = "",
    schedules: Sequence[dict[str, Any]] = (),
) -> Restored:
    """All steps, as `app.pack_restoring` takes them."""
    unpacked = restoring.unpack(backup, home, name, passphrase=passphrase)
    before = restoring.begin(unpacked, home, now=now, known=Known(schedules=list(schedules)))
    try:
        restoring.conclude(home, name, restoring.exchange(home, name))
    except PackError:
        restoring.forsake(home, name)
        raise
    return Restored(unpacked.facts, before)


def back_up(home: Home, tmp_path: Path, pack: str = "vocab", passphrase: str = "") -> Path:
    target = tmp_path / f"{pack}.backup.aouo"
    jobs = [{"key": "daily", "enabled": True}]
    known = Known(schedules=jobs)
    export_data(home, pack, target, version="1.0.0", now=NOW, known=known, passphrase=passphrase)
    return target


@pytest.mark.parametrize("passphrase", ["", "correct horse"])
def test_what_a_pack_keeps_comes_back_and_other_packs_stay(
    passphrase: str, home: Home, tmp_path: Path
):
    before = everything(home)
    backup = back_up(home, tmp_path, passphrase=passphrase)
    database(home.pack_database("vocab", "tg_1"), ["wrong"])
    database(home.pack_database("vocab", "tg_3"), ["later"])
    home.pack_database("vocab", "tg_2").unlink()
    (home.pack_folder("vocab", "tg_1") / "USER.md").write_text("Learns nothing")
    (home.pack_folder("vocab") / "new.txt").write_text("new")
    changed = everything(home)

    jobs = [{"key": "daily", "enabled": False}]
    restored = restore(backup, home, "vocab", now=NOW, passphrase=passphrase, schedules=jobs)

    assert everything(home) == before
    assert restored.contents == inspect(backup, passphrase)
    assert restored.contents.owners == ["tg_1", "tg_2"]
    assert restored.contents.schedules == [{"key": "daily", "enabled": True}]
    assert restored.before is not None
    assert inspect(restored.before).schedules == jobs
    restore(restored.before, home, "vocab", now=NOW.replace(hour=11))
    assert everything(home) == changed


def test_one_database_for_all_comes_back_too(home: Home, tmp_path: Path):
    backup = back_up(home, tmp_path, "notes")
    before = everything(home)
    database(home.pack_database("notes"), ["wrong"])
    (home.private_folder("notes", "tg_1") / "USER.md").write_text("Buys nothing")
    home.private_folder("notes", "tg_2").mkdir()
    (home.private_folder("notes", "tg_2") / "USER.md").write_text("Came later")

    restore(backup, home, "notes", now=NOW)

    assert everything(home) == before


def test_a_shared_pack_that_remembers_nothing_has_nothing_to_back_up(home: Home, tmp_path: Path):
    home.private_folder("empty").mkdir()
    (home.private_folder("empty") / APART).touch()

    with pytest.raises(PackError, match="keeps nothing yet"):
        back_up(home, tmp_path, "empty")
    assert not keeps_anything(home, "empty")


@given(contents_of=st.dictionaries(PATHS, st.binary(max_size=50), max_size=6), rows=ROWS)
@settings(
    max_examples=count(25, 10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_whatever_is_kept_survives_the_way_to_a_new_home(
    contents_of: dict[str, bytes], rows: list[str], tmp_path_factory: pytest.TempPathFactory
):
    root = tmp_path_factory.mktemp("trip")
    old, new = Home(root / "old"), Home(root / "new")
    database(old.pack_database("vocab", "tg_1"), rows)
    for path, content in contents_of.items():
        file = old.pack_folder("vocab") / path
        with contextlib.suppress(OSError):  # a file where another path has a folder
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    backup = back_up(old, root)

    restore(backup, new, "vocab", now=NOW)

    assert everything(new) == everything(old)


def test_a_backup_of_a_running_database_holds_what_was_committed(home: Home, tmp_path: Path):
    with contextlib.closing(sqlite3.connect(home.pack_database("notes"))) as running:
        running.execute("INSERT INTO words VALUES ('bread')")
        running.commit()
        running.execute("INSERT INTO words VALUES ('not yet')")
        backup = back_up(home, tmp_path, "notes")

    restore(backup, Home(tmp_path / "other"), "notes", now=NOW)

    assert words(Home(tmp_path / "other").pack_database("notes")) == ["milk", "bread"]


def test_links_are_not_followed_into_a_backup(home: Home, tmp_path: Path):
    (home.pack_folder("vocab") / "link").symlink_to("/etc/passwd")
    (home.pack_folder("vocab") / "etc").symlink_to("/etc", target_is_directory=True)

    names = zipfile.ZipFile(back_up(home, tmp_path)).namelist()

    assert not [name for name in names if "link" in name or "etc" in name]


def test_nothing_is_backed_up_of_a_pack_that_keeps_nothing(home: Home, tmp_path: Path):
    with pytest.raises(PackError, match="keeps nothing yet"):
        back_up(home, tmp_path, "create")
    assert list(tmp_path.iterdir()) == [home.path]


def test_another_packs_backup_is_refused(home: Home, tmp_path: Path):
    before = everything(home)

    with pytest.raises(PackError, match=r'is a backup of "vocab", not of notes'):
        restore(back_up(home, tmp_path), home, "notes", now=NOW)
    assert everything(home) == before


def test_a_locked_backup_shows_nothing_and_wants_its_passphrase(home: Home, tmp_path: Path):
    before = everything(home)
    backup = back_up(home, tmp_path, passphrase="correct horse")

    assert is_sealed(backup)
    assert b"Learns" not in backup.read_bytes()
    for wrong, why in (("", "is locked with a passphrase"), ("other", "The passphrase is wrong")):
        with pytest.raises(PackError, match=why):
            restore(backup, home, "vocab", now=NOW, passphrase=wrong)
    assert everything(home) == before


def rewritten(backup: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """A backup as somebody with bad intentions would rewrite it."""
    with zipfile.ZipFile(backup) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    change(members)
    with zipfile.ZipFile(backup, "w") as out:
        for name, content in members.items():
            out.writestr(name, content)
    return backup


def facts(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, bytes]], None]:
    def apply(members: dict[str, bytes]) -> None:
        told = json.loads(members["backup.json"])
        change(told)
        members["backup.json"] = json.dumps(told).encode()

    return apply


def smuggled(name: str) -> Callable[[dict[str, bytes]], None]:
    def apply(members: dict[str, bytes]) -> None:
        facts(lambda told: told["files"].update({name: {"sha256": "0" * 64, "bytes": 1}}))(members)
        members[name] = b"x"

    return apply


INTRODUCTION = {
    "owner": "tg_1",
    "state": "open",
    "sessions": 1,
    "turns": 1,
    "offered": 0,
    "summary": "",
    "began_at": "",
    "ended_at": "",
}
HOSTILE: dict[str, tuple[Callable[[dict[str, bytes]], None], str]] = {
    "no facts": (lambda members: members.pop("backup.json"), "is not a backup"),  # pyright: ignore[reportAssignmentType]
    "no JSON": (lambda members: members.update({"backup.json": b"{"}), "cannot be read"),
    "deep JSON": (lambda members: members.update({"backup.json": b"[" * 9999}), "cannot be read"),
    "newer": (facts(lambda told: told.update(format=2)), "format"),
    "no pack": (facts(lambda told: told.pop("pack")), "pack"),
    "no schedules": (facts(lambda told: told.pop("schedules")), "schedules"),
    "a count beyond all": (
        facts(lambda told: told.update(onboarding=[{**INTRODUCTION, "turns": 2**63}])),
        "turns",
    ),
    "a file less": (lambda members: members.update({"data/x": b""}), "does not hold what it says"),
    "changed": (lambda members: members.update({"data/tg_1/USER.md": b"x"}), "is damaged"),
    "out": (smuggled("data/../../../evil"), "does not stay inside"),
    "absolute": (smuggled("/evil"), "does not stay inside"),
    "beside": (smuggled("config.json"), "which no backup does"),
    "a core database": (smuggled("owners/../../aouo.db"), "does not stay inside"),
    "an odd owner": (smuggled("owners/a b.db"), "which no backup does"),
    "data itself": (smuggled("data"), "a file and a folder"),
}


@pytest.mark.parametrize(("change", "why"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_backup_that_was_changed_is_refused_and_nothing_happens(
    change: Callable[[dict[str, bytes]], None], why: str, home: Home, tmp_path: Path
):
    backup = rewritten(back_up(home, tmp_path), change)
    before = files(home.path)

    with pytest.raises(PackError, match=why):
        restore(backup, home, "vocab", now=NOW)
    assert files(home.path) == before
    assert {path.name for path in tmp_path.iterdir()} == {"home", "vocab.backup.aouo"}


def test_a_database_that_is_none_is_refused(home: Home, tmp_path: Path):
    home.pack_database("vocab", "tg_1").unlink()
    backup = back_up(home, tmp_path)

    def spoil(members: dict[str, bytes]) -> None:
        import hashlib

        content = b"SQLite format 3\0" + b"\xff" * 5000
        members["owners/tg_2.db"] = content
        digest = hashlib.sha256(content).hexdigest()
        facts(lambda told: told["files"]["owners/tg_2.db"].update(sha256=digest))(members)

    with pytest.raises(PackError, match=r"database in .* (cannot be used|is damaged)"):
        restore(rewritten(backup, spoil), home, "vocab", now=NOW)


def test_a_damaged_database_is_kept_as_it_is_when_a_backup_replaces_it(home: Home, tmp_path: Path):
    backup = back_up(home, tmp_path)
    broken = home.pack_database("vocab", "tg_1")
    broken.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)

    restored = restore(backup, home, "vocab", now=NOW)

    assert words(broken) == ["Baum"]
    assert restored.before is not None
    assert (restored.before / "owners" / "tg_1.db").read_bytes().endswith(b"\xff")


def test_what_cannot_be_exchanged_is_put_back(home: Home, tmp_path: Path):
    backup = back_up(home, tmp_path)
    database(home.pack_database("vocab", "tg_1"), ["later"])
    (home.pack_data).rename(tmp_path / "away")
    home.pack_data.write_text("a file where the folder should be")
    before = everything(home)

    with pytest.raises(PackError, match="was not restored"):
        restore(backup, home, "vocab", now=NOW)
    assert everything(home) == before


def test_what_somebody_makes_while_the_old_files_are_aside_stops_nothing(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = everything(home)
    backup = back_up(home, tmp_path)
    folder = home.pack_folder("vocab")
    squatters: list[Path] = []

    def reached(place: str) -> None:
        del place
        if not folder.exists() and not squatters:
            squatters.append(folder / "tg_9")
            squatters[0].mkdir(parents=True)

    monkeypatch.setattr(restoring.failpoint, "reached", reached)
    restore(backup, home, "vocab", now=NOW)

    assert everything(home) == before
    assert len(squatters) == 1
    assert not squatters[0].exists()


def test_a_name_that_is_no_packs_is_refused(home: Home, tmp_path: Path):
    backup = back_up(home, tmp_path)

    for name in ("../vocab", "", "Vocab", "aouo.db", "vocab/tg_1"):
        with pytest.raises(PackError, match="is not the name of a pack"):
            restore(backup, home, name, now=NOW)


def sealed(content: bytes, passphrase: str) -> bytes:
    out = io.BytesIO()
    seal(io.BytesIO(content), out, passphrase)
    return out.getvalue()


@given(content=st.binary(max_size=200_000), passphrase=st.text(min_size=1, max_size=20))
@settings(max_examples=4, deadline=None)
def test_what_is_sealed_is_unsealed(content: bytes, passphrase: str):
    out = io.BytesIO()
    unseal(io.BytesIO(sealed(content, passphrase)), out, passphrase)

    assert out.getvalue() == content


@pytest.mark.parametrize("size", [0, 1, CHUNK, CHUNK + 1, 2 * CHUNK])
def test_another_implementation_of_age_opens_what_is_sealed(size: int):
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)

    assert pyrage.passphrase.decrypt(sealed(content, "pässword"), "pässword") == content  # pyright: ignore[reportAttributeAccessIssue]


def test_what_age_locked_with_a_passphrase_is_unsealed():
    """Made by `age --passphrase`, which does four times our work."""
    out = io.BytesIO()
    unseal(io.BytesIO(base64.b64decode(LOCKED_BY_AGE)), out, "correct horse")

    assert out.getvalue() == b"kept by a pack\n"


def test_a_backup_locked_before_there_was_a_release_names_the_way(home: Home, tmp_path: Path):
    old = tmp_path / "old.aoback"
    old.write_bytes(b"AOUOSEAL\x01\x10\x08\x01" + bytes(100))

    with pytest.raises(PackError, match="locked by an aouo from before its first release"):
        restore(old, home, "vocab", now=NOW, passphrase="x")


def test_a_sealed_file_that_lost_moved_or_gained_anything_is_damaged():
    whole = sealed(bytes(range(256)) * 1024, "x")  # four chunks
    body = len(whole) - 4 * (CHUNK + 16)
    head, chunks, chunk = whole[:body], whole[body:], CHUNK + 16
    mac = whole.index(b"\n--- ") + 5
    swapped = head + chunks[chunk : 2 * chunk] + chunks[:chunk] + chunks[2 * chunk :]

    for spoiled in (
        whole[:-1],
        head + chunks[: 3 * chunk],
        head,
        swapped,
        whole + b"x",
        whole.replace(b" 16\n", b" 17\n", 1),
        whole.replace(b" 16\n", b" 99\n", 1),
        whole.replace(b"scrypt", b"x25519", 1),
        whole[: mac + 9] + bytes((whole[mac + 9] ^ 1,)) + whole[mac + 10 :],
        whole[:body] + bytes((whole[body] ^ 1,)) + whole[body + 1 :],
        whole[: body - 1] + bytes((whole[body - 1] ^ 1,)) + whole[body:],
        whole[:20],
        whole[: mac + 9],
        b"",
    ):
        with pytest.raises(PackError, match=r"damaged|passphrase is wrong"):
            unseal(io.BytesIO(spoiled), io.BytesIO(), "x")
