"""What is temporary is bounded in bytes and in entries, and gone afterwards, at every level.

Source: issue 11, number 5. Each loop has an end, lest a missing wall fills a disk of a developer.
"""

from __future__ import annotations

import errno
import json
import tempfile
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from aouo.guard.sandbox.order import Ran
from aouo.plumbing import trees
from tests.guard.sandbox.places import HERE, LIMITS, Place, weaker
from tests.sampling import left

SMALL = replace(LIMITS, scratch_bytes=8_000_000, scratch_entries=500)
LEVELS = HERE | {name: level for name, level in weaker().items() if "Landlock" not in name}
pytestmark = [
    left(),
    pytest.mark.skipif(not HERE, reason="nothing on this machine confines a process"),
]


@pytest.fixture(params=LEVELS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path, LEVELS[request.param])


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """Where the folders of the runs are made; empty after each test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    left = [entry.name for entry in folder.iterdir()]
    trees.remove(folder)
    assert left == []


EXCESSES = {
    "many files": """
for n in range(1_000):
    open(f"{tempfile.gettempdir()}/{n % 400}-{n}", "wb").write(b"x" * 1_000_000)
""",
    "folders": """
for n in range(100_000):
    os.mkdir(f"{tempfile.gettempdir()}/{n}")
""",
    "empty files": """
for n in range(100_000):
    os.close(os.open(f"{tempfile.gettempdir()}/{n}", os.O_CREAT | os.O_WRONLY))
""",
    "folders in one another": """
os.chdir(tempfile.gettempdir())
for n in range(5_000):
    os.mkdir("d" * 20); os.chdir("d" * 20)
""",
    "files without a name": """
held = []
for n in range(100):
    held.append(tempfile.TemporaryFile(buffering=0))
    held[-1].write(b"x" * 1_000_000)
""",
    "files in memory": """
held = []
for n in range(100):
    held.append(os.memfd_create("x"))
    os.write(held[-1], b"x" * 1_000_000)
""",
}


@pytest.mark.parametrize("excess", EXCESSES)
async def test_too_much_is_refused_or_ends_it(place: Place, excess: str) -> None:
    ran = await place.attack(f"import tempfile{EXCESSES[excess]}\ntime.sleep(1000)", SMALL)

    assert ran.end == "scratch" or _had_no_room(ran), ran


def _had_no_room(ran: Ran) -> bool:
    error = json.loads(ran.stdout or "{}").get("error", "")
    return ran.end == "exit" and f"[Errno {errno.ENOSPC}]" in error


async def test_what_nobody_may_enter_is_removed_too(place: Place) -> None:
    """Or counts as too much, where we may not look into it either."""
    ran = await place.attack(
        """
import tempfile
os.makedirs(tempfile.gettempdir() + "/a/b")
open(tempfile.gettempdir() + "/a/b/file", "w").close()
os.mkdir(tempfile.gettempdir() + "/a/closed", 0)
os.chmod(tempfile.gettempdir() + "/a/b", 0)
os.chmod(tempfile.gettempdir() + "/a", 0)
return "made"
""",
        SMALL,
    )

    assert ran.end == "scratch" or json.loads(ran.stdout)["value"] == "made"


async def test_what_fits_is_there_for_the_whole_run(place: Place) -> None:
    said = await place.said("""
import tempfile
with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as nameless:
    for n in range(10):
        open(f"{folder}/{n}", "wb").write(b"x" * 900_000)
    nameless.write(b"x" * 900_000)
    time.sleep(0.3)
    return len(os.listdir(folder))
""")

    assert said == 10
