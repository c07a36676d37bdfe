"""What is one owner's lies where its pack's scope says, whenever a process was killed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.packs import databases
from aouo.plumbing.home import APART, Home

ADA, BEN = "tg_1001", "tg_-2001"
OLD = {
    f"{ADA}/USER.md": "ada",
    f"{ADA}/deep/list.txt": "hers",
    f"{BEN}/MEMORY.md": "group",
    "list.txt": "everybody's",
}


class Killed(BaseException):
    """Not an error that anything may catch."""


class Mortal:
    """Dies before its `left`th deed; -1 = never."""

    def __init__(self, left: int) -> None:
        self._left = left

    def deed(self, do: Callable[..., Any]) -> Callable[..., Any]:
        def done(*arguments: Any) -> Any:
            if self._left == 0:
                raise Killed
            self._left -= 1
            return do(*arguments)

        return done


def settle(home: Home, *, shared: bool, kill: int = -1) -> None:
    life = Mortal(kill)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(databases, "sync_folder", life.deed(databases.sync_folder))
        for name in ("rename", "touch", "unlink", "rmdir", "mkdir"):
            patch.setattr(Path, name, _mortal(life, getattr(Path, name)))
        databases.settle(home, "notes", ADA, shared=shared)


def _mortal(life: Mortal, method: Callable[..., Any]) -> Callable[..., Any]:
    def done(self: Path, *arguments: Any, **named: Any) -> Any:
        return life.deed(lambda: method(self, *arguments, **named))()

    return done


def lying(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): file.read_text()
        for file in folder.rglob("*")
        if file.is_file() and file.name != APART
    }


def furnished(folder: Path, files: dict[str, str]) -> Home:
    home = Home(folder)
    home.create()
    for name, text in files.items():
        file = home.pack_folder("notes") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return home


@settings(max_examples=150, deadline=None)
@given(lives=st.lists(st.tuples(st.booleans(), st.integers(0, 14)), max_size=5), last=st.booleans())
def test_whatever_scopes_and_kills_there_were_everything_lies_where_the_last_scope_says(
    lives: list[tuple[bool, int]], last: bool
) -> None:
    with TemporaryDirectory() as folder:
        home = furnished(Path(folder), OLD)
        for shared, kill in lives:
            with suppress(Killed):
                settle(home, shared=shared, kill=kill)
        settle(home, shared=last)

        common, private = lying(home.pack_folder("notes")), lying(home.private_folder("notes"))
        if last:
            assert common == {"list.txt": OLD["list.txt"]}
            assert private == {name: text for name, text in OLD.items() if "/" in name}
        else:
            assert common == OLD
            assert private == {}
            assert not home.private_folder("notes").exists()


@settings(max_examples=60, deadline=None)
@given(kill=st.integers(0, 14), has_one=st.booleans())
def test_memory_in_the_folder_itself_becomes_the_bots_owners_and_nothing_is_lost(
    kill: int, has_one: bool
) -> None:
    older = {"USER.md": "older", "SOUL.md": "kind"}
    theirs = {f"{ADA}/USER.md": "ada"} if has_one else {}
    with TemporaryDirectory() as folder:
        home = furnished(Path(folder), older | theirs)
        with suppress(Killed):
            settle(home, shared=True, kill=kill)
        settle(home, shared=True)

        assert lying(home.pack_folder("notes")) == {}
        held = lying(home.private_folder("notes", ADA))
        assert held == {
            "SOUL.md": "kind",
            **({"USER.md": "ada", "USER.md.older": "older"} if has_one else {"USER.md": "older"}),
        }


def test_what_is_made_later_is_nobodys_memory(tmp_path: Path) -> None:
    """Everybody's tools write into the folder."""
    home = furnished(tmp_path, {})
    settle(home, shared=True)
    common = home.pack_folder("notes")
    (common / ADA).mkdir(parents=True)
    (common / ADA / "USER.md").write_text("planted")
    (common / "MEMORY.md").write_text("planted")
    settle(home, shared=True)

    assert lying(home.private_folder("notes")) == {}

    settle(home, shared=False)

    assert not (common / ADA).exists()
    assert (common / f"{ADA}.older" / "USER.md").read_text() == "planted"


def test_links_and_what_only_looks_like_memory_stay_where_they_are(tmp_path: Path) -> None:
    home = furnished(tmp_path / "home", {"USER.md/list.txt": "a folder", "tg_9": "a file"})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (home.pack_folder("notes") / BEN).symlink_to(elsewhere)
    (home.pack_folder("notes") / "MEMORY.md").symlink_to("/etc/hostname")
    settle(home, shared=True)

    assert lying(home.private_folder("notes")) == {}
    assert sorted(entry.name for entry in home.pack_folder("notes").iterdir()) == [
        "MEMORY.md",
        "USER.md",
        BEN,
        "tg_9",
    ]


def test_a_link_that_a_tool_planted_in_a_shared_folder_is_nobodys_folder_later(tmp_path: Path):
    """Issue 11: with the scope `person` the owner's folder would have been wherever it leads."""
    home = furnished(tmp_path / "home", {"list.txt": "milk"})
    outside = tmp_path / "outside"
    outside.mkdir()
    settle(home, shared=True)
    (home.pack_folder("notes") / ADA).symlink_to(outside)
    settle(home, shared=False)

    assert not (home.pack_folder("notes") / ADA).is_symlink()
    assert (home.pack_folder("notes") / f"{ADA}.older").is_symlink()
