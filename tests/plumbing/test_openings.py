"""Who may write where other hands reach, and how; held over the source.

Source: issue 11, a planted link led a file out of its pack's folder, and a deep one ended the bot.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import aclosing
from datetime import datetime
from pathlib import Path

import aouo
from aouo.plumbing.waiting import changes
from tests.fakes.clock import START

SOURCE = Path(aouo.__file__).parent
REACHED = ("agent/tools", "guard/", "agent/documents", "packs/shipping/export.py")
SANDBOX = "guard/sandbox/"
"""What works in folders that packs, tools and people write into."""
WRITERS = {
    # the folder itself; by descriptors of `guard.paths`
    "agent/tools/files.py": {"mkdir", "open"},
    "agent/tools/asks.py": {"mkdir"},  # the folder itself
    "agent/tools/msg.py": {"mkdir"},  # the folder itself
    "agent/tools/pack_tools.py": {"mkdir", "open"},  # the folder itself; the gate to the network
    # of times
    "agent/documents/calendar_lines.py": {"replace"},
    "agent/documents/calendars.py": {"replace"},
    "agent/documents/feeds.py": {"replace"},  # of a value
    "agent/documents/office.py": {"open"},  # a part of an archive in memory
    "agent/documents/sheets.py": {"open"},
    "guard/paths.py": {"open"},  # reads, by the descriptor of the folder
    "packs/shipping/export.py": {"open", "chmod", "replace", "mkdtemp"},  # in a workshop
}
WRITING = {
    "chmod",
    "copy",
    "copy2",
    "copyfile",
    "copytree",
    "fdopen",
    "hardlink_to",
    "link",
    "mkdir",
    "mkdtemp",
    "mkstemp",
    "makedirs",
    "move",
    "NamedTemporaryFile",
    "open",
    "rename",
    "replace",
    "symlink_to",
    "touch",
    "write_bytes",
    "write_text",
}
RECURSIVE = {"walk", "fwalk", "rglob", "rmtree", "copytree", "TemporaryDirectory"}
"""Of the standard library; `aouo.plumbing.trees` has what takes their place."""


def calls(file: Path) -> Iterator[tuple[str, ast.Call]]:
    """(name of the function, the call); of `a.b.c()` it is `c`."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Attribute(attr=name) | ast.Name(id=name):
                    yield name, node
                case _:
                    pass


def writes(name: str, call: ast.Call) -> bool:
    """Whether a call may make or change a file, unless it is by a descriptor of a folder."""
    if name == "fdopen" or any("dir_fd" in (word.arg or "") for word in call.keywords):
        return False
    if name == "replace" and len(call.args) == 2:  # of a text
        return False
    return name in WRITING and not (isinstance(call.func, ast.Name) and name == "replace")


def relative(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


def test_whoever_works_where_others_write_goes_through_the_opening_that_follows_no_link() -> None:
    found: dict[str, set[str]] = {}
    for file in SOURCE.rglob("*.py"):
        if relative(file).startswith(REACHED) and not relative(file).startswith(SANDBOX):
            names = {name for name, call in calls(file) if writes(name, call)}
            if names - WRITERS.get(relative(file), set()):
                found[relative(file)] = names

    assert found == {}


def test_nothing_walks_or_removes_by_recursion() -> None:
    found = {
        relative(file): names
        for file in SOURCE.rglob("*.py")
        if relative(file) not in ("plumbing/trees.py", "guard/sandbox/run.py")
        and (
            names := {
                name
                for name, call in calls(file)
                if name in RECURSIVE and isinstance(call.func, ast.Attribute)
            }
        )
    }

    assert found == {}


# What changes is noticed once it is still: a file may be saved in pieces


class Scripted:
    """A clock that knows what lies there at each moment, in tenths of a second."""

    def __init__(self, *saves: tuple[int, str]) -> None:
        self.saves = saves
        self.at = 0
        self.looks = 0

    def monotonic_s(self) -> float:
        return self.at / 10

    def now(self) -> datetime:
        return START

    async def sleep(self, seconds: float) -> None:
        self.at += round(seconds * 10)

    async def look(self) -> str:
        self.looks += 1
        return [text for at, text in self.saves if at <= self.at][-1]


async def noticed(clock: Scripted, many: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    watched = changes(clock.look, "old", clock=clock, every_s=0.5, still_s=0.8)
    async with aclosing(watched) as looks:
        async for text in looks:
            found.append((clock.at, text))
            if len(found) == many:
                break
    return found


async def test_a_save_is_noticed_once_it_has_been_still() -> None:
    clock = Scripted((0, "old"), (21, "new"), (60, "newer"))

    assert await noticed(clock, 2) == [(33, "new"), (71, "newer")]


async def test_a_save_in_pieces_is_one_change_and_its_halves_are_none() -> None:
    pieces = ((9, "{"), (16, '{"a":'), (23, '{"a": 1'), (30, '{"a": 1}'))
    clock = Scripted((0, "old"), *pieces, (90, "other"))

    assert await noticed(clock, 2) == [(42, '{"a": 1}'), (100, "other")]


async def test_what_is_as_it_was_again_before_it_was_still_is_looked_at_all_the_same() -> None:
    """Whether it was read in between nobody knows; reading it again harms nobody."""
    clock = Scripted((0, "old"), (9, "half"), (14, "old"))

    assert await noticed(clock, 1) == [(26, "old")]
