"""A pack's evals are run from the page, beside the bot, with a model that costs nothing."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.path.dashboard.looking import Dashboard, dashboard
from tests.path.looking import eventually
from tests.path.world import ROOT, World

KEPT = """\
name: a note is kept
steps:
  - say: "keep milk"
    model:
      - call: persist
        arguments: {action: save, data: {text: milk}}
      - say: "Kept."
    expect:
      reply: Kept
      rows: [{table: entries, count: 1}]
"""
WRONG = """\
name: --real
steps:
  - say: "hello"
    model: [{say: "Hello <b>you</b>."}]
    expect: {reply: Goodbye}
"""
LONG = "name: long\nsteps:\n" + '  - {say: "hello", model: [{say: "Hello."}]}\n' * 100
PAID = """\
name: a real one
model: real
steps: [{say: "hello", expect: {reply: hello}}]
"""


@pytest.fixture
def notes(world: World) -> Path:
    """The sample pack, with evals of ours."""
    folder = world.home.packs / "notes"
    shutil.copytree(ROOT / "packs" / "notes", folder, ignore=shutil.ignore_patterns("evals"))
    (folder / "evals").mkdir()
    return folder


def put(folder: Path, **evals: str) -> None:
    for name, text in evals.items():
        (folder / "evals" / f"{name}.yml").write_text(text)


async def listed(shown: Dashboard) -> dict[str, Any]:
    status, facts = await shown.get("/api/packs/notes/evals")
    assert status == 200, facts
    return facts


async def ended(shown: Dashboard) -> dict[str, Any]:
    """What is listed once no run goes on."""

    async def look() -> bool:
        return (await shown.get("/api/evals"))[1]["running"] is None

    await eventually(look)
    return await listed(shown)


async def test_all_are_run_and_each_check_that_failed_is_said(world: World, notes: Path) -> None:
    put(notes, kept=KEPT, paid=PAID, wrong=WRONG)
    async with dashboard(world) as shown:
        before = await listed(shown)
        begun = await shown.send("POST", "/api/packs/notes/evals/run", {})
        after = await ended(shown)
        jobs = await shown.bot.rows("SELECT count(*) AS n FROM jobs")

    kept, paid, wrong = after["evals"]
    assert [one["result"] for one in before["evals"]] == [None, None, None]
    assert (begun[0], begun[1]["evals"]) == (200, 2)
    assert after["last"]["problem"] == ""
    assert [(one["name"], one["result"]["outcome"]) for one in (kept, wrong)] == [
        ("a note is kept", "passed"),
        ("--real", "failed"),
    ]
    assert (paid["result"], "costs money" in paid["not_run"]) == (None, True)
    (step,) = wrong["result"]["steps"]
    assert "Goodbye" in step["wrong"][0]
    assert jobs == [{"n": 0}]


async def test_one_is_run_by_its_name_whatever_it_is(world: World, notes: Path) -> None:
    """A name is the author's word, and no option of a program."""
    put(notes, kept=KEPT, wrong=WRONG, paid=PAID)
    async with dashboard(world) as shown:
        begun = await shown.send("POST", "/api/packs/notes/evals/run", {"name": "--real"})
        after = await ended(shown)

    assert begun[1]["evals"] == 1
    assert {one["name"] for one in after["evals"] if one["result"]} == {"--real"}


async def test_while_one_run_goes_on_another_is_refused_and_it_can_be_stopped(
    world: World, notes: Path
) -> None:
    put(notes, long=LONG)
    async with dashboard(world) as shown:
        await shown.send("POST", "/api/packs/notes/evals/run", {})
        again = await shown.send("POST", "/api/packs/notes/evals/run", {})
        stopped = await shown.send("POST", "/api/packs/notes/evals/stop", {})
        after = await listed(shown)
        nothing = await shown.send("POST", "/api/packs/notes/evals/stop", {})

    assert again == (409, {"error": "Evals of notes run already: wait for them or stop them."})
    assert stopped == (200, {"running": None})
    assert after["last"]["problem"] == "It was stopped before its end, so it has no results."
    assert nothing == (409, {"error": "No eval of notes runs."})


async def test_a_run_ends_with_the_bot(world: World, notes: Path) -> None:
    """By itself this one would take minutes."""
    put(notes, **{f"long{number}": LONG for number in range(50)})
    before = asyncio.all_tasks()
    async with dashboard(world) as shown:
        await shown.send("POST", "/api/packs/notes/evals/run", {})

    async def look() -> bool:
        return not asyncio.all_tasks() - before - {asyncio.current_task()}

    await eventually(look)


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"name": "no such"}, 404, "There is no eval 'no such' in notes."),
        ({"name": "a real one"}, 409, "costs money"),
        ({"name": 1}, 400, "'name' has to be a text."),
    ],
)
async def test_what_cannot_be_run_gets_a_sentence(
    world: World, notes: Path, body: Any, status: int, told: str
) -> None:
    put(notes, kept=KEPT, paid=PAID)
    async with dashboard(world) as shown:
        refused = await shown.send("POST", "/api/packs/notes/evals/run", body)
        gone, _ = await shown.get("/api/packs/gone/evals")

    assert (refused[0], told in refused[1]["error"]) == (status, True)
    assert gone == 404


async def test_a_pack_without_evals_has_none_to_run(world: World, notes: Path) -> None:
    async with dashboard(world) as shown:
        refused = await shown.send("POST", "/api/packs/notes/evals/run", {})
        facts = await listed(shown)

    assert refused == (409, {"error": "notes has no eval that can be run."})
    assert (facts["evals"], facts["last"]) == ([], None)


async def test_a_file_that_is_no_eval_is_named_and_nothing_runs(world: World, notes: Path) -> None:
    put(notes, kept=KEPT, broken="steps: 1\n")
    async with dashboard(world) as shown:
        before = await listed(shown)
        await shown.send("POST", "/api/packs/notes/evals/run", {})
        after = await ended(shown)

    assert [(one["file"], one["line"]) for one in before["problems"]] == [("evals/broken.yml", 1)]
    assert "notes is not sound" in after["last"]["problem"]
    assert [one["result"] for one in after["evals"]] == [None]
