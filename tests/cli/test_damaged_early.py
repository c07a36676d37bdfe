"""A database damaged anywhere ends each verb with 3 and one sentence. Source: issue 44, 19."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from aouo.cli.main import Verbs, aouo
from aouo.plumbing.home import Home
from aouo.store.opening import opened

VERBS = (
    ["people"],
    ["usage"],
    ["session", "list"],
    ["cron", "list"],
    ["grants"],
    ["undo"],
    ["audit", "list"],
    ["audit", "verify"],
    ["trace"],
    ["ask", "hello"],
)
PAGE = 4096


async def _open(file: Path) -> None:
    async with opened(file):
        pass


def _make(file: Path) -> int:
    file.parent.mkdir(parents=True, exist_ok=True)
    asyncio.run(_open(file))
    return file.stat().st_size


def _damages(size: int) -> dict[str, tuple[int, bytes]]:
    noise = random.Random(44).randbytes
    return {
        "the head": (0, noise(100)),
        "the first page after its head": (100, noise(PAGE - 100)),
        "the words of the schema": (PAGE - 2000, noise(2000)),
        "all but the first page": (PAGE, noise(size - PAGE)),
        "zeroes": (100, bytes(size - 100)),
    }


@pytest.mark.parametrize("which", _damages(2 * PAGE))
def test_each_verb_ends_with_a_sentence(runner: CliRunner, home: Home, which: str) -> None:
    runner.invoke(aouo, ["init"])
    size = _make(home.database)
    at, damage = _damages(size)[which]
    with home.database.open("r+b") as file:
        file.seek(at)
        file.write(damage)

    for verb in VERBS:
        ended = runner.invoke(aouo, verb)

        told = verb, ended.output, repr(ended.exception)
        assert ended.exit_code in (0, 3) if which.startswith("all") else ended.exit_code == 3, told
        assert isinstance(ended.exception, SystemExit | None), told
        assert "Traceback" not in ended.output, told
        assert ended.exit_code == 0 or "aouo.db" in ended.output, told


@click.command()
def broken() -> None:
    raise sqlite3.DatabaseError("database disk image is malformed")


def test_a_verb_that_trips_over_a_damage_later_ends_so_too(runner: CliRunner) -> None:
    verbs = Verbs({"broken": ("tests.cli.test_damaged_early:broken", "")})

    ended = runner.invoke(verbs, ["broken"])

    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "malformed. See aouo doctor." in ended.stderr
