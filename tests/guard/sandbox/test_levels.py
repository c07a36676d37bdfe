"""What is said of the walls, and which are chosen. Source: issue 5 "say in `aouo doctor`"."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aouo.facts.ids import ulid
from aouo.guard.sandbox import levels
from aouo.guard.sandbox.levels import (
    Bubblewrap,
    Landlock,
    Level,
    Refused,
    Unconfined,
    Wish,
    better,
    in_words,
    level_of,
)
from tests.guard.sandbox.places import LIMITS, or_fail


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """One without bubblewrap, whose Landlock is what a test sets."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(levels, "parents", lambda: ())
    monkeypatch.setattr(levels, "can_lower", _no)
    monkeypatch.setattr(levels, "makes_namespaces", _yes)
    return monkeypatch


def _yes(lowered: bool) -> bool:
    return not lowered


def _no(folder: Path) -> bool:
    return not folder


@pytest.mark.parametrize(
    ("wish", "landlock", "expected"),
    [
        ("auto", 7, Landlock(7, True, ())),
        ("off", 7, Unconfined()),
        ("off", 0, Unconfined()),
    ],
)
def test_without_bubblewrap_the_next_best_is_taken(
    machine: pytest.MonkeyPatch, wish: Wish, landlock: int, expected: Level
) -> None:
    machine.setattr(levels.walls, "landlock_version", lambda: landlock)

    assert level_of(wish) == expected


@pytest.mark.parametrize(("wish", "landlock"), [("auto", 0), ("require", 0), ("require", 7)])
def test_what_is_not_good_enough_is_refused_with_what_to_install(
    machine: pytest.MonkeyPatch, wish: Wish, landlock: int
) -> None:
    machine.setattr(levels.walls, "landlock_version", lambda: landlock)
    level = level_of(wish)

    assert isinstance(level, Refused)
    assert in_words(level).startswith("tools of packs are refused: bubblewrap is not installed")
    assert better(level).startswith("Install bubblewrap")


def test_a_bubblewrap_that_fails_is_not_used_and_says_why(
    machine: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bwrap = tmp_path / "bwrap"
    bwrap.write_text("#!/bin/sh\necho 'bwrap: no permissions for namespaces' >&2\nexit 1\n")
    bwrap.chmod(0o755)
    machine.setattr(levels.walls, "landlock_version", lambda: 0)
    level = level_of("auto")

    assert isinstance(level, Refused)
    assert "does not work here (bwrap: no permissions for namespaces)" in level.why


@pytest.mark.parametrize(
    ("level", "words", "help_words"),
    [
        (Bubblewrap("bwrap", 7, ()), "bubblewrap: files, network, processes", ""),
        (Bubblewrap("bwrap", 0, ()), "programs are not limited (no Landlock)", ""),
        (Landlock(7, True, ()), "Landlock 7: files, network, processes", "Install bubblewrap"),
        (Landlock(3, False, ()), "there is no network for any tool", "Install bubblewrap"),
        (Landlock(3, False, ()), "times and modes of files stay as they are", ""),
        (Landlock(7, True, ()), "times and modes of files stay as they are", ""),
        (Unconfined(), "off: tools of packs run unconfined", "security.sandbox"),
    ],
)
def test_each_level_is_said_in_one_line_with_what_would_be_better(
    monkeypatch: pytest.MonkeyPatch, level: Level, words: str, help_words: str
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    assert words in in_words(level)
    assert "\n" not in in_words(level)
    assert help_words in better(level)


def test_root_that_cannot_be_an_ordinary_user_is_told_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    level = Bubblewrap("bwrap", 7, ())

    assert in_words(level).endswith("; tools run as root, and their processes are not counted")
    assert better(level).startswith("Run aouo as an ordinary user")


def test_root_that_can_be_an_ordinary_user_misses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    level = Bubblewrap("bwrap", 7, (), lowered=True)

    assert in_words(level).endswith("are confined")
    assert better(level) == ""


def test_a_home_that_an_ordinary_user_cannot_change_leaves_root_as_it_is(tmp_path: Path) -> None:
    """/proc stands for every disk whose files cannot be shown as somebody else's."""
    assert not levels.can_lower(Path("/proc/sys"))
    assert levels.can_lower(tmp_path / "not there yet") == levels.can_lower(tmp_path)


def test_a_group_that_was_just_made_is_not_swept_and_an_old_empty_one_is(tmp_path: Path) -> None:
    """Another bot on this machine may be about to put a tool into it."""
    for name in ("aouo-tool-old", "aouo-tool-new", "another"):
        (tmp_path / name).mkdir()
    os.utime(tmp_path / "aouo-tool-old", (0, 0))
    os.utime(tmp_path / "another", (0, 0))

    levels.sweep((tmp_path,))

    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["another", "aouo-tool-new"]


async def test_a_group_waits_for_its_tool_whatever_other_runtimes_start_meanwhile() -> None:
    """The kernel's own groups. A tool whose group is gone ends with 71 and "echo: I/O error"."""
    within = levels.parents()
    if not within:
        pytest.skip("no control group can be made here, so none is swept")
    async with levels.group(within, ulid(), LIMITS) as doors:
        levels.sweep(within)
        left = [door.exists() for door in doors]

    assert left == [True] * len(within)
    assert not any(door.parent.exists() for door in doors)


@pytest.mark.parametrize("wish", ["auto", "require"])
def test_a_machine_without_a_filter_of_system_calls_is_named_with_what_would_do(
    machine: pytest.MonkeyPatch, wish: Wish
) -> None:
    """A Raspberry Pi with a 32-bit system."""
    machine.setattr(levels.platform, "machine", lambda: "armv7l")

    level = level_of(wish)

    said = "tools of packs are refused: there is no filter of system calls for armv7l"
    assert in_words(level) == said
    assert better(level).startswith("Use a 64-bit system")
    assert level_of("off") == Unconfined()


@pytest.mark.parametrize("wish", ["auto", "require", "off"])
def test_elsewhere_than_on_linux_no_tool_of_a_pack_runs(
    machine: pytest.MonkeyPatch, wish: Wish
) -> None:
    machine.setattr(levels.sys, "platform", "darwin")
    machine.setattr(levels.platform, "system", lambda: "Darwin")

    level = level_of(wish)

    said = "tools of packs are refused: they need Linux, and this is Darwin"
    assert in_words(level) == said
    assert better(level).startswith("Run aouo on Linux")


@pytest.mark.parametrize("ci", ["true", "1", "True"])
def test_in_ci_a_machine_where_nothing_confines_fails_instead_of_skipping_its_tests(
    ci: str,
) -> None:
    """Every file of tests of the sandbox begins with this."""
    with pytest.raises(RuntimeError, match="no test of the sandbox would run"):
        or_fail({}, {"CI": ci})


@pytest.mark.parametrize("environ", [{}, {"CI": ""}, {"CI": "false"}])
def test_elsewhere_than_in_ci_such_a_machine_skips_them(environ: dict[str, str]) -> None:
    assert or_fail({}, environ) == {}


def test_what_confines_is_tried_in_ci_and_elsewhere() -> None:
    found: dict[str, Level] = {"landlock": Landlock(7, True, ())}

    assert or_fail(found, {"CI": "true"}) == or_fail(found, {}) == found
