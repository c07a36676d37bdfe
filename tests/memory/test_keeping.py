"""Each change of a memory file has a version and a way back, whoever else writes the file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.facts.errors import ToolFailed
from aouo.facts.records import Cause
from aouo.memory.edits import digest
from aouo.memory.files import _MAX_BYTES, MemoryFiles
from aouo.memory.keeping import ChangedMeanwhile, Keeping
from aouo.plumbing.clock import SystemClock
from aouo.store import memory_versions as versions
from aouo.store.database import Database
from aouo.store.opening import make_tables
from tests.sampling import count

PACK, OWNER = "diary", "tg_1"
HAND = Cause("undo", person="1")
PERSON = Cause("hand", person="1", platform="web")
PIECES = st.sampled_from(["\r\n", "\r", "\n", "\ufeff", "- a", "# é", "\u2028", "\0", " "])


class Contested(MemoryFiles):
    """Somebody saves the file in an editor right before we write it, the first time."""

    edits = 1

    def swap(self, name: str, before: str, after: str) -> bool:
        if Contested.edits:
            Contested.edits -= 1
            (self._folder / self.file(name)).write_text("- by hand\n", encoding="utf-8")
        return super().swap(name, before, after)


@asynccontextmanager
async def keeping(folder: Path, kind: type[MemoryFiles] = MemoryFiles) -> AsyncGenerator[Keeping]:
    database = Database(folder / "a.db")
    await database.open()
    await database.transact(make_tables)
    files = kind(folder / "memory")
    (folder / "memory").mkdir(exist_ok=True)
    try:
        yield Keeping(database=database, clock=SystemClock(), files=lambda pack, owner: files)
    finally:
        await database.close()


async def append(kept: Keeping, content: str, call_id: str = "") -> None:
    await kept.append(PACK, OWNER, "memory", content, turn_id="t", call_id=call_id or content)


async def origins(kept: Keeping) -> list[str]:
    found = await kept.database.read(lambda tx: versions.newest(tx, PACK, OWNER, 100))
    return [version.cause.origin for version in reversed(found)]


async def test_an_edit_that_comes_in_between_is_kept_and_has_a_version(tmp_path: Path) -> None:
    Contested.edits = 0
    async with keeping(tmp_path, Contested) as kept:
        await append(kept, "- one")
        Contested.edits = 1
        await append(kept, "- two")

        assert kept.files(PACK, OWNER).text("memory") == "- by hand\n- two\n"
        assert await origins(kept) == ["summary", "hand", "summary"]


async def test_an_edit_that_comes_in_between_an_undo_is_not_undone(tmp_path: Path) -> None:
    Contested.edits = 0
    async with keeping(tmp_path, Contested) as kept:
        await append(kept, "- one")
        Contested.edits = 1
        undoing = await kept.undo(PACK, OWNER, HAND, call_id="u")

        assert undoing == ("", ("MEMORY.md",))
        assert kept.files(PACK, OWNER).text("memory") == "- by hand\n"


async def test_changes_that_are_asked_for_at_once_are_all_made(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            for number in range(30):
                group.create_task(append(kept, f"- {number:02}"))
        lines = kept.files(PACK, OWNER).text("memory").splitlines()

    assert sorted(lines) == [f"- {number:02}" for number in range(30)]


async def test_the_same_call_changes_something_once(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        await append(kept, "- one", "a")
        await append(kept, "- two", "b")
        await append(kept, "- one", "a")
        undone = [await kept.undo(PACK, OWNER, HAND, call_id="u") for _ in range(2)]

        assert undone == [("MEMORY.md", ())] * 2
        assert kept.files(PACK, OWNER).text("memory") == "- one\n"


async def test_a_change_that_does_not_fit_leaves_no_version(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        with pytest.raises(ToolFailed, match="at most 16,384 fit"):
            await append(kept, "x" * _MAX_BYTES)

        assert await origins(kept) == []


async def test_a_file_that_others_filled_beyond_what_is_read_stays_as_it_is(
    tmp_path: Path,
) -> None:
    async with keeping(tmp_path) as kept:
        file = tmp_path / "memory" / "MEMORY.md"
        file.write_text("x" * 100_000, encoding="utf-8")
        with pytest.raises(ToolFailed, match="100,000 bytes"):
            await kept.replace(PACK, OWNER, "memory", "short", turn_id="t", call_id="c")
        await kept.settle_open(PACK, OWNER)

        assert file.stat().st_size == 100_000
        assert await origins(kept) == []


Act = tuple[str, str]
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["append", "replace", "hand", "undo"]),
        st.sampled_from(["- a", "- b", "- c", "- d"]),
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=count(40, 15))
@given(ACTS)
def test_undoing_everything_leads_back_to_the_beginning(acts: Sequence[Act]) -> None:
    """Whatever was written by whom, each undo takes one change back, and none is lost."""

    async def play() -> None:
        with TemporaryDirectory() as folder:
            async with keeping(Path(folder)) as kept:
                await _act(kept, Path(folder) / "memory" / "MEMORY.md", acts)
                undone, edited = "", ()
                for number in range(3 * len(acts) + 2):
                    undone, edited = await kept.undo(PACK, OWNER, HAND, call_id=f"last {number}")
                    if not undone and not edited:
                        break

                assert (undone, edited) == ("", ())
                assert kept.files(PACK, OWNER).text("memory") in ("", _first_by_hand(acts))

    asyncio.run(play())


def by_hand(file: Path, content: str) -> None:
    file.write_text(f"{content} by hand\n", encoding="utf-8")


async def _act(kept: Keeping, file: Path, acts: Sequence[Act]) -> None:
    for number, (what, content) in enumerate(acts):
        match what:
            case "append":
                await append(kept, content, f"call {number}")
            case "replace":
                await kept.replace(
                    PACK, OWNER, "memory", content, turn_id="t", call_id=f"call {number}"
                )
            case "hand":
                by_hand(file, content)
            case _:
                await kept.undo(PACK, OWNER, HAND, call_id=f"call {number}")


def _first_by_hand(acts: Sequence[Act]) -> str:
    """Of what stood there before our first change we only know the last text."""
    first = ""
    for what, content in acts:
        if what in ("append", "replace"):
            return first
        first = f"{content} by hand\n" if what == "hand" else first
    return first


@given(text=st.lists(PIECES | st.text(st.characters(codec="utf-8"), max_size=3)).map("".join))
@settings(deadline=None, max_examples=count(100, 25))
def test_what_a_person_writes_is_what_is_read_and_no_edit_by_hand(text: str) -> None:
    async def write() -> tuple[bool, list[str]]:
        with TemporaryDirectory() as folder:
            async with keeping(Path(folder)) as kept:
                files = kept.files(PACK, OWNER)
                read = digest(files.text("memory"))
                await kept.write(PACK, OWNER, "memory", text, read, PERSON)
                again = await kept.write(PACK, OWNER, "memory", text, read, PERSON)
                await append(kept, "- more")
                return again, await origins(kept)

    again, found = asyncio.run(write())

    assert not again
    assert found in (["hand", "summary"], ["summary"])


async def test_of_two_who_read_the_same_text_only_the_first_writes(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        read = digest(kept.files(PACK, OWNER).text("memory"))

        async def write(text: str) -> bool:
            try:
                return await kept.write(PACK, OWNER, "memory", text, read, PERSON)
            except ChangedMeanwhile:
                return False

        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            tasks = [group.create_task(write(f"- {number}")) for number in range(5)]

        assert sum(task.result() for task in tasks) == 1
        assert await origins(kept) == ["hand"]
