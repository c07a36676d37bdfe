"""Folders in one another without end: refused at the door, and no way to end the bot.

Source: issue 11, a path of 1,500 folders bricks the bot.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aouo.backup.writing import write
from aouo.facts.errors import SetupError
from aouo.plumbing.trees import remove, walk
from tests.fakes.model_server import CallPart
from tests.path.looking import heard
from tests.path.world import World
from tests.plumbing.test_trees import deep

DEEP = "d/" * 1_500 + "file.txt"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PACK = (
    "name: scribe\nversion: 0.1.0\ndisplay_name: Scribe\ndescription: Writes files\n"
    "permissions:\n  tools: [files, documents, msg]\n"
)


def held(folder: Path) -> list[str]:
    return sorted(found.path for found in walk(folder))


def keep(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("before")


@pytest.fixture(autouse=True)
def own(world: World) -> Iterator[Path]:
    """A pack with every file tool and leave for nothing; its own folder."""
    pack = world.home.packs / "scribe"
    pack.mkdir()
    (pack / "pack.yml").write_text(PACK)
    yield world.home.pack_folder("scribe")
    remove(world.home.path)  # pytest would not get through


async def test_a_path_of_1500_folders_is_refused_in_words_and_nothing_is_made(
    world: World, own: Path
) -> None:
    results = await heard(
        world,
        CallPart("write_file", {"path": DEEP, "content": "x"}),
        CallPart("read_file", {"path": DEEP}),
        CallPart("list_dir", {"path": DEEP}),
        CallPart("write_file", {"path": "n" * 300, "content": "x"}),
        CallPart("write_file", {"path": f"{'n' * 200}/" * 30, "content": "x"}),
        CallPart("write_file", {"path": "a/b.txt", "content": "x"}),
    )

    assert all("folders deep" in text for text in results[:3]), results
    assert all("long" in text for text in results[3:5]), results
    assert results[5] == "wrote 1 bytes"
    assert held(own) == ["a", "a/b.txt"]


async def test_deep_folders_of_another_hand_stop_what_fills_the_folder_and_nothing_else(
    world: World, own: Path
) -> None:
    deep(own, 3_000)
    wrote, listed, sent = await heard(
        world,
        CallPart("write_file", {"path": "a.txt", "content": "x"}),
        CallPart("list_dir", {}),
        CallPart("msg", {"type": "text", "text": "hello"}),
    )

    assert wrote.startswith("This pack's folder holds folders more than 100 deep in one another")
    assert (listed, json.loads(sent)["ok"]) == ("[dir]  d/", True)


async def test_a_home_with_deep_folders_is_not_backed_up_and_the_pack_removed_always(
    world: World, own: Path
) -> None:
    deep(own, 3_000)
    target = world.home.path / "backup"
    with pytest.raises(SetupError, match=r"holds folders more than 100 deep"):
        write(world.home, target, {}, NOW)
    async with world.running() as bot:
        await bot.app.packs.remove("scribe", "owner", purge=True)
    async with world.running() as bot:
        names = bot.app.generations.library.names

    assert (names, held(own), held(target)) == ((), [], [])
