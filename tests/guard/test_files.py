"""The file tools: what they do and what the model reads when they cannot. Source: contract, B14."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from aouo.agent.tools import files, kept_files
from aouo.agent.tools.files import MAX_BYTES, Written, list_dir, read_file, write_file
from aouo.agent.tools.kept_files import KeptFiles
from aouo.agent.tools.registry import ToolContext
from aouo.facts.errors import ToolFailed
from aouo.plumbing.clock import SystemClock
from aouo.store import opening
from aouo.store.database import Database
from tests.fakes.turn_facts import facts_of

HERE = cast("ToolContext", SimpleNamespace(facts=facts_of(tenant="tg_1"), sources=tuple))
"""As much of a turn as these tools look at."""


class Plain:
    """No file repeats what others wrote."""

    async def source_of(self, path: Path) -> str:
        return ""

    async def source_in(self, folder: Path) -> str:
        return ""

    async def note(self, path: Path, source: str) -> None:
        assert not source


PLAIN = cast("Written", Plain())


@dataclass
class Desk:
    own: Path
    root: Path | None
    files: KeptFiles

    async def call(self, tool: str, **payload: Any) -> str:
        def folder_of(pack: str, tenant: str) -> Path:
            return self.own

        def root_of(pack: str, tenant: str, path: Path) -> Path | None:
            return self.own if path.is_relative_to(self.own) else self.root

        made = {
            "read_file": read_file(folder_of, lambda media, path: False, PLAIN),
            "write_file": write_file(folder_of, root_of, PLAIN, self.files),
            "list_dir": list_dir(folder_of, PLAIN),
        }
        found = made[tool]
        return await found.handler(found.parse(payload), HERE, "call")

    async def refused(self, tool: str, **payload: Any) -> str:
        with pytest.raises(ToolFailed) as failed:
            await self.call(tool, **payload)
        return str(failed.value)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Desk]:
    data = tmp_path / "data"
    database = Database(tmp_path / "aouo.db")
    await database.open()
    await database.transact(opening.make_tables)
    yield Desk(data / "notes" / "tg_1", None, KeptFiles(database, SystemClock(), data / "c", data))
    await database.close()


async def test_what_was_written_is_read_back_and_listed(desk: Desk) -> None:
    empty = await desk.call("list_dir")
    wrote = await desk.call("write_file", path="deep/er/a.txt", content="grüße\n")
    await desk.call("write_file", path="deep/er/a.txt", content="hello\n")
    (desk.own / "deep" / "way").symlink_to("/etc")

    assert (empty, wrote) == ("(empty)", "wrote 8 bytes")
    assert await desk.call("read_file", path=" deep/er/a.txt") == "hello\n"
    assert await desk.call("read_file", path=str(desk.own / "deep/er/a.txt")) == "hello\n"
    assert await desk.call("list_dir", path="deep") == "[dir]  er/\n[link] way"
    assert await desk.call("list_dir", path="deep/er") == "[file] a.txt  6 bytes"


async def test_writing_the_same_again_changes_nothing(desk: Desk) -> None:
    """So a call that a crash cut off may simply run again."""
    for _ in range(2):
        await desk.call("write_file", path="a.txt", content="x")

    assert [(entry.name, entry.read_text()) for entry in desk.own.iterdir()] == [("a.txt", "x")]


async def test_what_a_killed_process_left_half_written_is_cleaned_up_by_the_same_call(
    desk: Desk,
) -> None:
    desk.own.mkdir(parents=True)
    (desk.own / ".call.new").write_text("hal")
    await desk.call("write_file", path="a.txt", content="half")

    assert [(entry.name, entry.read_text()) for entry in desk.own.iterdir()] == [("a.txt", "half")]


async def test_a_file_that_is_replaced_keeps_its_permissions_and_a_new_one_is_the_owners(
    desk: Desk,
) -> None:
    await desk.call("write_file", path="a.txt", content="x")
    new = stat.S_IMODE((desk.own / "a.txt").stat().st_mode)
    (desk.own / "a.txt").chmod(0o644)
    await desk.call("write_file", path="a.txt", content="y")

    assert (new, stat.S_IMODE((desk.own / "a.txt").stat().st_mode)) == (0o600, 0o644)


@pytest.mark.parametrize(
    ("tool", "path", "why"),
    [
        ("read_file", "nothing.txt", "is not there. Use list_dir"),
        ("read_file", "folder", "is a folder. Use list_dir"),
        ("read_file", "", "is a folder. Use list_dir"),
        ("read_file", "big.txt", "is 1,000,001 bytes; read_file reads up to 1,000,000"),
        ("read_file", "picture.png", "is not a text file. For PDF, Word and the like"),
        ("read_file", "latin.txt", "is not a text file"),
        ("read_file", "pipe", "is not a file that can be read"),
        ("read_file", "a.txt/b.txt", "is no folder"),
        ("read_file", "link.txt", "became a link"),
        ("read_file", "way/b.txt", "is no folder"),
        ("write_file", "folder", "is a folder. Name a file in it."),
        ("write_file", "pipe", "is not a file that can be written"),
        ("write_file", "link.txt", "is not a file that can be written"),
        ("write_file", "way/b.txt", "is no folder"),
        ("list_dir", "nothing", "is not there"),
        ("list_dir", "a.txt", "is no folder"),
        ("list_dir", "way", "is no folder"),
    ],
)
async def test_what_cannot_be_done_says_what_to_do(
    desk: Desk, tool: str, path: str, why: str
) -> None:
    """Links are followed by the guard only: here one stands where none stood when it judged."""
    (desk.own / "folder").mkdir(parents=True)
    (desk.own / "a.txt").write_text("hello")
    (desk.own / "big.txt").write_bytes(b"x" * (MAX_BYTES + 1))
    (desk.own / "picture.png").write_bytes(b"\x89PNG\r\n\0\0")
    (desk.own / "latin.txt").write_bytes("grüße".encode("latin-1"))
    (desk.own / "link.txt").symlink_to(desk.own / "a.txt")
    (desk.own / "way").symlink_to(desk.own / "folder")
    os.mkfifo(desk.own / "pipe")
    content = {"content": "x"} if tool == "write_file" else {}

    assert why in await desk.refused(tool, path=path, **content)
    assert (desk.own / "a.txt").read_text() == "hello"
    assert list((desk.own / "folder").iterdir()) == []


async def test_exactly_the_limit_is_read(desk: Desk) -> None:
    await desk.call("write_file", path="a.txt", content="x" * MAX_BYTES)

    assert len(await desk.call("read_file", path="a.txt")) == MAX_BYTES


async def test_what_is_too_long_or_half_a_character_is_not_written(desk: Desk) -> None:
    long = await desk.refused("write_file", path="a.txt", content="x" * (MAX_BYTES + 1))
    half = await desk.refused("write_file", path="a.txt", content="\ud800")

    assert "1,000,001 bytes; a file may have 1,000,000" in long
    assert "half of a character" in half
    assert list(desk.own.iterdir()) == []


async def test_folders_are_made_only_below_the_root_that_was_opened(desk: Desk) -> None:
    opened = desk.own.parents[2] / "docs"
    desk.root = opened
    await desk.call("write_file", path=str(opened / "new" / "a.txt"), content="x")
    outside = await desk.refused("write_file", path=str(opened.parent / "no/a.txt"), content="x")

    assert (opened / "new" / "a.txt").read_text() == "x"
    assert "is not there" in outside
    assert not (opened.parent / "no").exists()


async def test_a_byte_order_mark_is_no_text(desk: Desk) -> None:
    desk.own.mkdir(parents=True)
    (desk.own / "a.txt").write_bytes(b"\xef\xbb\xbfhello")
    (desk.own / "b.txt").write_bytes(b"")

    assert await desk.call("read_file", path="a.txt") == "hello"
    assert await desk.call("read_file", path="b.txt") == "(empty)"


async def test_a_folder_of_a_pack_does_not_grow_without_end(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_MAX_FOLDER_FILES", 2)
    monkeypatch.setattr(files, "_MAX_FOLDER_BYTES", 10)
    await desk.call("write_file", path="a/b.txt", content="12345")

    assert "folder is full" in await desk.refused("write_file", path="c.txt", content="123456")
    await desk.call("write_file", path="c.txt", content="12345")
    assert "folder is full" in await desk.refused("write_file", path="d.txt", content="")


async def test_nothing_is_written_onto_a_full_disk(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_files, "_LEAST_FREE_BYTES", 1 << 62)

    assert "disk is nearly full" in await desk.refused("write_file", path="a.txt", content="x")


async def test_a_folder_of_very_many_is_listed_in_part(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_MAX_LISTED", 2)
    for name in "abc":
        await desk.call("write_file", path=name, content="")

    assert (await desk.call("list_dir")).endswith("\n[and 1 more]")


async def test_a_path_that_goes_up_was_not_judged_and_is_not_followed(desk: Desk) -> None:
    assert "no path that was checked" in await desk.refused("read_file", path="https://../../x")


async def test_what_is_written_is_never_another_persons_program(desk: Desk) -> None:
    await desk.call("write_file", path="a", content="x")
    (desk.own / "a").chmod(0o4755)
    await desk.call("write_file", path="a", content="y")

    assert stat.S_IMODE((desk.own / "a").stat().st_mode) == 0o755


async def test_a_file_that_was_changed_since_is_not_put_back(desk: Desk) -> None:
    """Also where that comes between the look and the deed. Source: issue 31, "Chronicle"."""
    await desk.call("write_file", path="a.txt", content="new")
    file = desk.own / "a.txt"
    file.write_text("of another hand")

    with pytest.raises(ToolFailed, match="changed again since"):
        await desk.files.put_back("call", "by")
    assert file.read_text() == "of another hand"
