"""What became of calls can be checked, listed, exported and explained. Source: issue 31."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner, Result

from aouo.cli.main import aouo
from tests.path.looking import settled
from tests.path.scripted import persist
from tests.path.world import World


def said(world: World, *words: str) -> Result:
    return CliRunner().invoke(aouo, ["--home", str(world.home.path), *words])


@pytest.fixture
async def head(world: World) -> str:
    """The head after one saved row."""
    world.install("notes")
    world.model.calls(persist("save", data={"text": "figs"}))
    world.model.say("Saved.")
    async with world.running() as bot:
        await bot.ask("keep figs")
        await settled(bot)
    told = said(world, "audit", "verify")
    assert told.exit_code == 0, told.output
    return told.output.split()[-1]


async def test_it_is_listed_exported_and_explained(world: World, head: str) -> None:
    rows = [json.loads(line) for line in said(world, "audit", "export").output.splitlines()]
    listed = said(world, "audit", "list").output
    why = said(world, "guard", "explain", rows[0]["call_id"]).output

    assert [row["stage"] for row in rows] == ["PROPOSED", "EVALUATED", "EXECUTED"]
    assert head == f"{rows[-1]['id']}:{rows[-1]['chain']}"
    assert "EXECUTED   persist  own" in listed
    assert why.startswith("persist: it changes what is yours\nFor notes, begun by chat, ")
    assert "The conversation had read nobody else's words." in why
    assert said(world, "guard", "explain", "nothing").output.startswith("There is no such call")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE audit SET reason = 'fine' WHERE stage = 'EVALUATED'", "Row 2 is not what was"),
        ("DELETE FROM audit WHERE id = 2", "Row 3 is not what was written"),
        ("DELETE FROM audit WHERE id = 3", "Row 3, which was noted elsewhere, is gone"),
    ],
)
async def test_what_was_changed_is_told(world: World, head: str, change: str, told: str) -> None:
    with closing(sqlite3.connect(world.home.database)) as database, database:
        database.execute(change)

    checked = said(world, "audit", "verify", "--head", head)

    assert checked.exit_code == 1
    assert told in checked.output
