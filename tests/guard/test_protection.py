"""The runtime's own files are closed to tools, however a path is spelled. Source: design §3.7."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.transcript import ToolCall
from aouo.guard.prepared import Allowed, Blocked, PreparedCall
from aouo.guard.protection import Protection
from tests.fakes.turn_facts import facts_of

CALL = ToolCall("c", "tool", "")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "data" / "packs" / "notes").mkdir(parents=True)
    (home / "config.json").write_text("{}")
    (tmp_path / "way_in").symlink_to(home)
    (home / "data" / "packs" / "notes" / "way_out").symlink_to(home / "config.json")
    return home


def verdict(home: Path, payload: dict[str, Any], pack: str = "notes", tenant: str = "") -> bool:
    """Whether a call with this payload may go on."""
    action = PreparedCall(CALL, "tool", payload, facts_of(pack, tenant=tenant), "")

    def folder_of(pack: str, tenant: str) -> Path:
        return home / "data" / "packs" / (pack or "_general") / tenant

    return not isinstance(Protection(home=home, folder_of=folder_of).judge(action), Blocked)


@pytest.mark.parametrize(
    "path",
    [
        "{home}",
        "{home}/config.json",
        "{home}/data/aouo.db",
        "{home}/data/packs/vocab/MEMORY.md",
        "{home}/data/packs/notes/../vocab/x",
        "{home}/data/packs/notes/way_out",
        "{home}/./data//store/notes.db",
        "../../aouo.db",
        "../vocab/MEMORY.md",
        "way_out",
        "{home}/../way_in/config.json",
        "{home}/../way_in/made/up/file",
        "file://{home}/config.json",
        "FILE://{home}/config.json",
        "file:{home}/config.json",
        "file://localhost{home}/config.json",
        "file:{home}/../%77ay_in/config.json",
        " {home}/config.json",
        "/proc/self/environ",
        "a\0b",
    ],
)
def test_the_homes_files_are_closed(home: Path, path: str) -> None:
    assert not verdict(home, {"path": path.format(home=home)})


@pytest.mark.parametrize(
    "path",
    [
        "notes.txt",
        "{home}/data/packs/notes/deep/er/notes.txt",
        "/tmp/elsewhere.txt",
        "https://example.org{home}/config.json",
        "",
    ],
)
def test_the_packs_own_folder_and_the_world_are_another_matter(home: Path, path: str) -> None:
    assert verdict(home, {"path": path.format(home=home)})


@pytest.mark.parametrize("key", ["path", "Paths", "file", "url", "destination"])
def test_wherever_a_path_may_stand_it_is_looked_at(home: Path, key: str) -> None:
    closed = str(home / "config.json")

    assert not verdict(home, {key: closed})
    assert not verdict(home, {key: ["fine.txt", closed]})
    assert not verdict(home, {"deep": [{"er": {key: closed}}]})


def test_a_pack_that_keeps_people_apart_opens_nobody_elses_folder(home: Path) -> None:
    assert verdict(home, {"path": "diary.txt"}, tenant="tg_1")
    assert not verdict(home, {"path": "../tg_2/diary.txt"}, tenant="tg_1")
    assert not verdict(home, {"path": ".."}, tenant="tg_1")


def test_what_the_home_only_links_to_is_closed_too(home: Path) -> None:
    """A configuration kept elsewhere, and a linked pack, whose manifest says what it may do."""
    elsewhere = home.parent / "elsewhere"
    (elsewhere / "vocab").mkdir(parents=True)
    (elsewhere / "aouo.json").write_text("{}")
    (home / "packs").mkdir()
    (home / "packs" / "vocab").symlink_to(elsewhere / "vocab")
    (home / "config.json").unlink()
    (home / "config.json").symlink_to(elsewhere / "aouo.json")

    assert not verdict(home, {"path": str(elsewhere / "aouo.json")})
    assert not verdict(home, {"path": str(elsewhere / "vocab" / "pack.yml")})
    assert verdict(home, {"path": str(elsewhere / "other.txt")})


@pytest.mark.parametrize("name", ["data", "data/store", "data/packs/vocab", "media", "logs/old"])
def test_whatever_folder_of_the_home_is_a_link_its_target_is_closed(home: Path, name: str) -> None:
    """A home whose data is kept on another disk; the links may come while the bot runs."""
    place, disk = home / name, home.parent / "disk"
    guard = Protection(home=home, folder_of=lambda pack, owner: home / pack / owner)
    assert disk not in guard.closed()
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    (disk / "there").mkdir(parents=True)
    place.symlink_to(disk)

    assert disk in guard.closed()
    assert not verdict(home, {"path": str(disk / "there" / "aouo.db")})


def test_without_a_pack_nothing_in_the_home_is_open(home: Path) -> None:
    assert not verdict(home, {"path": str(home / "data" / "packs" / "notes" / "x")}, pack="")
    assert not verdict(home, {"path": "x"}, pack="")


def test_a_tilde_is_the_persons_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home.parent))

    assert not verdict(home, {"path": "~/home/config.json"})
    assert verdict(home, {"path": "~/elsewhere"})


def test_the_folders_in_which_packs_lie_are_closed(home: Path) -> None:
    """Who writes a manifest there gives themselves what it asks for."""
    shelf = home.parent / "shelf"
    guard = Protection(
        home=home, folder_of=lambda pack, owner: home / "data" / "packs" / pack, packs_in=[shelf]
    )

    def judged(path: Path) -> bool:
        call = PreparedCall(CALL, "write_file", {"path": str(path)}, facts_of(), "")
        return isinstance(guard.judge(call), Blocked)

    assert judged(shelf / "new" / "pack.yml")
    assert not judged(home.parent / "other.txt")


@pytest.mark.parametrize(
    "payload",
    [
        {"path": "home/config.json"},
        {"filePath": "{home}/config.json"},
        {"repo_directory": "{home}"},
        {"command": "{home}/config.json"},
        {"edits": [{"where": "~/home/config.json"}]},
        {"names": ["{home}/data/aouo.db"]},
        {"path": {"of": ["{home}/config.json"]}},
    ],
)
def test_a_server_that_lives_in_the_persons_folder_gets_no_way_to_the_home(
    home: Path, monkeypatch: pytest.MonkeyPatch, payload: dict[str, Any]
) -> None:
    """It resolves relative paths itself, and may call an argument what it likes."""
    monkeypatch.setenv("HOME", str(home.parent))
    text = json.dumps(payload).replace("{home}", str(home))
    call = PreparedCall(CALL, "mcp__x__y", json.loads(text), facts_of(), "")
    guard = Protection(home=home, folder_of=lambda pack, owner: home / "data" / "packs" / pack)

    assert isinstance(guard.judge(call), Blocked)
    assert isinstance(guard.judge(replace(call, payload={"q": "what is /dev/null?"})), Allowed)


KEYS = [
    ".ssh/id_ed25519",
    ".SSH/Config",
    ".aws/credentials",
    ".config/gcloud/x.db",
    "work/.env",
    "work/.Env.local",
    "work/server.PEM",
    "work/server.key",
    "work/token.json",
    ".netrc",
    "Wallet.dat",
    "x.kdbx",
]
NO_KEYS = ["talk.key", "notes.txt", "environment.md", "keys of the flat.txt", "id_ed25519.pub"]


@pytest.mark.parametrize("name", [*KEYS, *NO_KEYS])
def test_where_people_keep_keys_is_closed_wherever_it_lies(home: Path, name: str) -> None:
    """Source: issue 31, "Protection"."""
    file = home.parent / "me" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(bytes(100_000 if name == "talk.key" else 10))
    link = home.parent / "fine.txt"
    link.symlink_to(file)

    assert verdict(home, {"path": str(file)}) is (name in NO_KEYS)
    assert verdict(home, {"a": [{"file": str(link)}]}) is (name in NO_KEYS)


def test_a_new_file_among_keys_is_refused_as_well(home: Path) -> None:
    new = home.parent / "me" / ".ssh" / "authorized_keys"
    new.parent.mkdir(parents=True)
    new.touch()

    assert not verdict(home, {"path": str(new)})


def test_another_name_of_a_file_of_ours_is_ours(home: Path) -> None:
    other = home.parent / "fine.txt"
    os.link(home / "config.json", other)

    assert not verdict(home, {"path": str(other)})
    other.unlink()
    other.write_text("x")
    os.link(other, home.parent / "again.txt")
    assert verdict(home, {"path": str(other)})


@pytest.mark.parametrize("spelt", [str.upper, str.title, str.swapcase])
def test_another_spelling_of_the_home_is_the_home(home: Path, spelt: Callable[[str], str]) -> None:
    assert not verdict(home, {"path": str(home.parent / spelt(home.name) / "config.json")})


_DETOURS = st.lists(st.sampled_from([".", "data/..", "packs/../data/..", "way/.."]), max_size=4)


@given(
    file=st.sampled_from(["config.json", "data/aouo.db", "SOUL.md", "packs/vocab/pack.yml"]),
    detours=_DETOURS,
    slashes=st.integers(1, 3),
    spelt=st.sampled_from([str, str.upper, str.swapcase]),
    nested=st.integers(0, 4),
    key=st.sampled_from(["path", "file", "target", "x_folder", "Source"]),
)
def test_no_spelling_of_a_path_opens_the_home(
    tmp_path_factory: pytest.TempPathFactory,
    file: str,
    detours: list[str],
    slashes: int,
    spelt: Callable[[str], str],
    nested: int,
    key: str,
) -> None:
    """Source: issue 31, "Done when"."""
    home = (tmp_path_factory.getbasetemp() / "one" / "home").resolve()
    (home / "data" / "packs" / "notes").mkdir(parents=True, exist_ok=True)
    (home / "packs" / "vocab").mkdir(parents=True, exist_ok=True)
    (home / "way").mkdir(exist_ok=True)
    named = ("/" * slashes).join([str(home), *detours, *file.split("/")])
    value: Any = spelt(named) if spelt is str else f"{home.parent}/{spelt('home')}/{file}"
    for level in range(nested):
        value = [value] if level % 2 else {"deep": value, key: value}

    assert not verdict(home, {key: value})
