"""Apps as files: what goes in comes out, and what a stranger's archive may not do."""

from __future__ import annotations

import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aouo.facts.errors import PackError
from aouo.packs.shipping.archive import _copy_app, app_files, content_hash, pack_archive, unpack
from aouo.packs.shipping.zipped import ArchiveLimits
from tests.packs.writing import MakePack

NAME = st.text("abcXYZ0189_-äß語 ", min_size=1, max_size=8).filter(
    lambda name: name.strip(" ") == name and name != "pack"
)
TREES = st.dictionaries(
    st.lists(NAME, min_size=1, max_size=3).map("/".join), st.binary(max_size=300), max_size=8
)
Entry = tuple[str | zipfile.ZipInfo, bytes]
MANIFEST: Entry = ("pack.yml", b"name: x\n")


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def archive(tmp_path: Path, *entries: Entry, comment: bytes = b"") -> Path:
    """A zip file as somebody with bad intentions would write it."""
    path = tmp_path / "hostile.aouo"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for entry, content in entries:
            made.writestr(entry, content)
        made.comment = comment
    return path


def special(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = mode << 16
    return entry


@given(files=TREES)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_is_packed_comes_out_and_has_the_same_hash(
    files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
):
    root = tmp_path_factory.mktemp("app")
    folder = root / "app"
    folder.mkdir()
    (folder / "pack.yml").write_text("name: x\n")
    for path, content in files.items():
        target = folder / path
        if not any(parent.is_file() for parent in target.parents) and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    try:
        digest = pack_archive(folder, root / "one.aouo")
    except PackError as refused:
        assert "the same name on some systems" in str(refused)  # noqa: PT017
        return

    out = unpack(root / "one.aouo", root / "out")

    assert tree(out) == tree(folder)
    assert content_hash(out) == content_hash(folder) == digest[1]
    assert pack_archive(out, root / "two.aouo") == digest
    assert (root / "two.aouo").read_bytes() == (root / "one.aouo").read_bytes()


def test_every_change_of_a_file_its_name_or_its_place_changes_the_hash(make_pack: MakePack):
    one = content_hash(make_pack(files={"x.md": "a"}, root="a"))
    text = content_hash(make_pack(files={"x.md": "b"}, root="b"))
    name = content_hash(make_pack(files={"y.md": "b"}, root="c"))
    place = content_hash(make_pack(files={"x/y.md": "b"}, root="d"))

    assert len({one, text, name, place}) == 4


def test_hidden_files_caches_links_and_the_signature_do_not_count(
    make_pack: MakePack, tmp_path: Path
):
    folder = make_pack()
    before = content_hash(folder)
    for path in (".env", ".git/config", "tools/__pycache__/x.pyc", "aouo.sig"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("secret")
    (folder / "link.md").symlink_to("/etc/passwd")
    (folder / "etc").symlink_to("/etc", target_is_directory=True)

    copied = _copy_app(folder, tmp_path / "copy")

    assert content_hash(folder) == before
    assert set(app_files(folder)) == {"aouo.sig", "pack.yml", "schema.sql", "skills/hello/SKILL.md"}
    assert set(tree(copied)) == set(app_files(folder))


def test_a_folder_around_everything_is_taken_off(tmp_path: Path):
    made = archive(tmp_path, ("app-main/", b""), ("app-main/pack.yml", b"a"), ("app-main/s/b", b""))

    out = unpack(made, tmp_path / "out")

    assert tree(out) == {"pack.yml": b"a", "s/b": b""}


HOSTILE: dict[str, tuple[tuple[Entry, ...], str]] = {
    "parent": ((MANIFEST, ("../evil", b"")), "does not stay inside"),
    "parent deep": ((MANIFEST, ("a/../../evil", b"")), "does not stay inside"),
    "absolute": ((MANIFEST, ("/etc/evil", b"")), "does not stay inside"),
    "dot": ((MANIFEST, ("./evil", b"")), "does not stay inside"),
    "empty part": ((MANIFEST, ("a//evil", b"")), "does not stay inside"),
    "folder outside": ((MANIFEST, ("../evil/", b"")), "does not stay inside"),
    "backslash": ((MANIFEST, ("..\\evil", b"")), "backslash or a colon"),
    "drive": ((MANIFEST, ("C:/evil", b"")), "backslash or a colon"),
    "NUL": ((MANIFEST, ("evil\nname", b"")), "nobody sees"),
    "bidi": ((MANIFEST, ("evil\u202egnp.py", b"")), "nobody sees"),
    "zero width": ((MANIFEST, ("ev\u200bil", b"")), "nobody sees"),
    "link": ((MANIFEST, (special("evil", stat.S_IFLNK | 0o777), b"/etc/passwd")), "is a link"),
    "fifo": ((MANIFEST, (special("evil", stat.S_IFIFO | 0o644), b"")), "is a link"),
    "device": ((MANIFEST, (special("evil", stat.S_IFCHR | 0o644), b"")), "is a link"),
    "twice": ((MANIFEST, ("a", b"1"), ("a", b"2")), "is there twice"),
    "case": ((MANIFEST, ("a.md", b"1"), ("A.md", b"2")), "the same name on some systems"),
    "case of folders": ((MANIFEST, ("a/x", b"1"), ("A/y", b"2")), "the same name on some"),
    "unicode": ((MANIFEST, ("ä", b"1"), ("a\u0308", b"2")), "the same name on some"),
    "sharp s": ((MANIFEST, ("straße", b"1"), ("STRASSE", b"2")), "the same name on some"),
    "file as folder": ((MANIFEST, ("a", b"1"), ("a/b", b"2")), "a file and a folder"),
    "folder as file": ((MANIFEST, ("a/b", b"1"), ("a", b"2")), "a file and a folder"),
    "git": ((MANIFEST, (".git/hooks/x", b"")), "is hidden"),
    "env": ((MANIFEST, (".env", b"")), "is hidden"),
    "cache": ((MANIFEST, ("tools/__pycache__/a.pyc", b"")), "left-over of Python"),
    "long name": ((MANIFEST, ("a" * 201, b"")), "too long a name"),
    "long path": ((MANIFEST, ("/".join(["a" * 100] * 6), b"")), "too long a path"),
    "no manifest": ((("readme.md", b""),), "no pack.yml in it"),
    "manifest too deep": ((("a/b/pack.yml", b""),), "in a folder among others"),
    "two apps": ((("a/pack.yml", b""), ("b/pack.yml", b"")), "in a folder among others"),
}


@pytest.mark.parametrize(("entries", "why"), HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_that_tries_something_is_refused_and_leaves_nothing(
    entries: tuple[Entry, ...], why: str, tmp_path: Path
):
    made = archive(tmp_path, *entries)

    with pytest.raises(PackError) as refused:
        unpack(made, tmp_path / "in" / "out")

    assert why in refused.value.problem
    assert refused.value.fix
    assert {path.name for path in tmp_path.rglob("*")} <= {"hostile.aouo", "in"}


def patched(path: Path, change: Callable[[bytearray], None]) -> Path:
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)
    return path


def test_a_bomb_is_counted_as_it_unpacks_whatever_its_headers_say(tmp_path: Path):
    made = archive(tmp_path, MANIFEST, ("bomb", b"\0" * 5_000_000))
    assert made.stat().st_size < 10_000

    with pytest.raises(PackError, match="unpacks to more than 1 MB"):
        unpack(made, tmp_path / "out", ArchiveLimits(total_bytes=1024 * 1024))
    assert not (tmp_path / "out").exists()


def test_a_size_that_lies_is_damage(tmp_path: Path):
    made = archive(tmp_path, ("pack.yml", b"x" * 5_000))

    def lie(content: bytearray) -> None:
        at = content.index(b"PK\x01\x02")
        content[at + 24 : at + 28] = struct.pack("<I", 10)

    with pytest.raises(PackError, match="damaged"):
        unpack(patched(made, lie), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_too_many_files_are_refused(tmp_path: Path):
    made = archive(tmp_path, MANIFEST, *((f"f{number}", b"") for number in range(20)))

    with pytest.raises(PackError, match="more than 20 files"):
        unpack(made, tmp_path / "out", ArchiveLimits(files=20))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not a zip file"),
        (b"hello" * 100, "is not a zip file"),
        (b"PK\x05\x06" + b"\0" * 18, "is not a pack"),
        (b"PK\x05\x06" + b"\xff" * 16 + b"\0\0", "too many files"),
        (b"PK\x06\x07" + b"\0" * 16 + b"PK\x05\x06" + b"\0" * 18, "too many files"),
    ],
)
def test_what_is_no_archive_is_said_to_be_none(content: bytes, why: str, tmp_path: Path):
    path = tmp_path / "x.aouo"
    path.write_bytes(content)

    with pytest.raises(PackError, match=why):
        unpack(path, tmp_path / "out")


def test_a_comment_at_the_end_is_refused(tmp_path: Path):
    with pytest.raises(PackError, match="after its end"):
        unpack(archive(tmp_path, MANIFEST, comment=b"PK\x05\x06"), tmp_path / "out")


@pytest.mark.parametrize("moved", [True, False], ids=["offsets fit", "offsets as they were"])
@pytest.mark.parametrize("before", [b"#!/bin/sh\nexit\n", b"%PDF-1.7\n", b"PK\x03\x04", b"\0"])
def test_something_before_the_zip_is_refused(tmp_path: Path, before: bytes, moved: bool):
    """Issue 11: such a file is two at once, and what is looked at is not what is unpacked."""
    file = archive(tmp_path, ("pack.yml", b"name: a\n"))
    whole = file.read_bytes()
    if moved:
        with zipfile.ZipFile(tmp_path / "b.zip", "w") as made:
            assert made.fp is not None
            made.fp.write(before)
            made.start_dir = len(before)
            made.writestr("pack.yml", "name: a\n")
        whole = (tmp_path / "b.zip").read_bytes()
        assert whole.startswith(before)
    else:
        whole = before + whole
    file.write_bytes(whole)
    with zipfile.ZipFile(file) as read:
        assert read.namelist() == ["pack.yml"]

    with pytest.raises(PackError, match="before"):
        unpack(file, tmp_path / "out")


@pytest.mark.parametrize(
    ("offset", "value", "why"),
    [
        (8, struct.pack("<H", 1), "locked with a password"),
        (10, struct.pack("<H", 99), "packed in an unusual way"),
        (10, struct.pack("<H", 14), "packed in an unusual way"),
    ],
)
def test_locked_and_unusual_entries_are_refused(
    offset: int, value: bytes, why: str, tmp_path: Path
):
    def change(content: bytearray) -> None:
        at = content.index(b"PK\x01\x02") + offset
        content[at : at + 2] = value

    with pytest.raises(PackError, match=why):
        unpack(patched(archive(tmp_path, MANIFEST), change), tmp_path / "out")


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path):
    made = archive(tmp_path, MANIFEST, ("nXme", b""))

    def rename(content: bytearray) -> None:
        content[:] = content.replace(b"nXme", b"n\xe4me")

    with pytest.raises(PackError, match="not named in UTF-8"):
        unpack(patched(made, rename), tmp_path / "out")


@given(data=st.data())
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_damaged_archive_is_refused_or_gives_an_app_and_nothing_else(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
):
    root = tmp_path_factory.mktemp("damaged")
    made = archive(root, MANIFEST, ("skills/a/SKILL.md", b"hello " * 50))
    content = bytearray(made.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    made.write_bytes(content)

    try:
        unpack(made, root / "out")
    except PackError:
        assert not (root / "out").exists()
    assert {path.name for path in root.iterdir()} <= {"hostile.aouo", "out"}


def test_unpacking_over_something_is_refused_and_leaves_it(tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("kept")

    with pytest.raises(PackError, match="is there already"):
        unpack(archive(tmp_path, MANIFEST), tmp_path / "out")
    assert tree(tmp_path / "out") == {"mine": b"kept"}


def test_a_folder_that_is_too_large_or_no_pack_is_not_packed(make_pack: MakePack, tmp_path: Path):
    folder = make_pack(files={"a.txt": "a" * 100})

    with pytest.raises(PackError, match=r"no pack\.yml"):
        app_files(tmp_path)
    with pytest.raises(PackError, match="holds more than 0 MB"):
        app_files(folder, ArchiveLimits(total_bytes=99))
    with pytest.raises(PackError, match="more than 2 files"):
        app_files(folder, ArchiveLimits(files=2))


def test_an_earlier_archive_stays_when_packing_fails(make_pack: MakePack, tmp_path: Path):
    target = tmp_path / "a.aouo"
    target.write_bytes(b"earlier")
    folder = make_pack(files={"back\\slash": "x"})

    with pytest.raises(PackError, match="backslash"):
        pack_archive(folder, target)
    assert target.read_bytes() == b"earlier"
