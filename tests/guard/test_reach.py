"""Which files outside its own folder a pack's tool is given. Source: issue 5 "Pack tools".

The guard has judged the call before; what it names may have become a link to elsewhere since.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from aouo.guard.fence import Fence, _Mode
from aouo.guard.protection import Protection
from aouo.guard.reach import reached

FOLDERS = ("both", "asked", "opened", "neither")


@pytest.fixture
def me(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's folder with a file in each of `FOLDERS`, beside a home."""
    me = tmp_path / "me"
    own(me).mkdir(parents=True)
    for folder in FOLDERS:
        (me / folder).mkdir(parents=True)
        (me / folder / "a.txt").write_text(folder)
    (me.parent / "home" / "config.json").write_text("{}")
    monkeypatch.setenv("HOME", str(me))
    return me


def own(me: Path) -> Path:
    """The pack's own data folder."""
    return me.parent / "home" / "data" / "packs" / "desk"


def given(me: Path, named: object, files: Sequence[str], mode: _Mode = "ask") -> list[str]:
    """What a call that names this is given, below the person's folder."""

    def folder_of(pack: str, tenant: str) -> Path:
        del pack, tenant
        return own(me)

    fence = Fence(
        allowed=[str(me / "both"), str(me / "opened")],
        mode=mode,
        files_of=lambda pack: [file.format(me=me) for file in files],
        folder_of=folder_of,
    )
    protection = Protection(home=me.parent / "home", folder_of=folder_of)
    return [
        os.path.relpath(path, me)
        for path in reached(fence, protection, "desk", "tg_1", "1", {"path": named})
    ]


ASKED = ("{me}/both", "{me}/asked")


@pytest.mark.parametrize(
    ("named", "more"),
    [
        ("{me}/asked/a.txt", ["asked/a.txt"]),
        ("~/asked", ["asked"]),
        (["{me}/asked/a.txt", "{me}/neither/a.txt"], ["asked/a.txt"]),
        ("{me}/opened/a.txt", []),
        ("{me}/neither/a.txt", []),
        ("~/neither", []),
        ("{me}/asked/../neither/a.txt", []),
        ("{me}", []),
        ("{me}/asked/not there", []),
        ("/etc/passwd", []),
    ],
)
@pytest.mark.parametrize("mode", ["ask", "deny"])
def test_a_call_is_given_what_it_names_only_where_its_pack_may_ask_for_it(
    me: Path, mode: _Mode, named: str | list[str], more: list[str]
) -> None:
    texts = [named] if isinstance(named, str) else named
    found = given(me, [text.format(me=me) for text in texts], ASKED, mode)

    assert found == ["both", *more]


def test_a_link_that_was_turned_elsewhere_after_the_call_was_judged_leads_nowhere(me: Path) -> None:
    link = own(me) / "way"
    link.symlink_to(me / "asked" / "a.txt")
    before = given(me, "way", ASKED)
    link.unlink()
    link.symlink_to(me / "neither" / "a.txt")

    assert before == ["both", "asked/a.txt"]
    assert given(me, "way", ASKED) == ["both"]


def test_of_the_home_a_call_is_given_nothing_even_where_its_pack_asks_for_everything(
    me: Path,
) -> None:
    config = str(me.parent / "home" / "config.json")

    assert given(me, config, ["/"]) == ["both", "opened"]
    assert given(me, "~/both", ["{me}"], "allow") == [".", "both"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["{me}/*/a.txt"], ["both/a.txt", "opened/a.txt"]),
        (["{me}/*/b.txt"], []),
        (["{me}/both/*"], ["both/a.txt"]),
        (["{me}/neither/*"], []),
        (["{me}/both/a.txt"], ["both/a.txt"]),
    ],
)
def test_of_a_pattern_a_tool_is_given_the_files_that_fit_and_are_open(
    me: Path, files: list[str], found: list[str]
) -> None:
    (me / "both" / "deeper").mkdir()

    assert sorted(given(me, "nothing", files)) == found


def test_a_folder_that_holds_our_home_is_given_without_it_and_without_links(me: Path) -> None:
    around = me.parent
    (around / "you").mkdir()
    (around / "link").symlink_to(around / "home")

    assert given(me, "nothing", ["{me}/.."], "allow") == [".", "../you"]


def test_what_a_folder_of_our_home_is_a_link_to_is_not_given(me: Path) -> None:
    around = me.parent
    (around / "disk" / "store").mkdir(parents=True)
    (around / "home" / "data").mkdir(exist_ok=True)
    (around / "home" / "data" / "store").symlink_to(around / "disk" / "store")

    assert given(me, "nothing", ["{me}/.."], "allow") == ["."]


def test_keys_in_an_opened_folder_are_left_out_and_so_is_what_is_also_ours(me: Path) -> None:
    """Source: issue 31, "Protection"."""
    for name in ("deep/.ssh/id_rsa", "deep/.env", "deep/plain.txt"):
        file = me / "both" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    os.link(me.parent / "home" / "config.json", me / "both" / "ours.txt")

    found = given(me, "x", ["{me}/both"])

    assert found == ["both/a.txt", "both/deep/plain.txt"]
