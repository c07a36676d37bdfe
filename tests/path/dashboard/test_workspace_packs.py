"""What the page says of packs is what the terminal says of them."""

from __future__ import annotations

import asyncio
import json
import shutil

from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.installer import offers
from aouo.installer.changes import TERMINAL
from tests.path.dashboard.looking import dashboard, resting
from tests.path.world import ROOT, World


async def told(world: World, *words: str) -> dict[str, object]:
    runner = CliRunner(env={"AOUO_HOME": str(world.home.path)})
    done = await asyncio.to_thread(runner.invoke, aouo, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


async def test_packs_are_those_of_the_terminal(world: World) -> None:
    world.install("notes", "vocab")
    crooked = world.home.packs / "crooked"
    crooked.mkdir()
    (crooked / "pack.yml").write_text("name: crooked\nfoo: <script>\n")
    async with dashboard(world) as shown:
        _, found = await shown.get("/api/packs")
        _, notes = await shown.get("/api/packs/notes")
        _, broken = await shown.get("/api/packs/crooked")
        status, refused = await shown.get("/api/packs/crooked/storage")
    async with resting(world) as shown:
        _, at_rest = await shown.get("/api/packs")
    listed = await told(world, "pack", "list")
    info = await told(world, "pack", "info", "notes")

    assert {key: found[key] for key in listed} == listed
    assert {key: notes[key] for key in info} == info
    assert at_rest == found
    assert (broken["loads"], broken["problems"]) == (False, found["broken"]["crooked"])
    assert (status, refused["error"]) == (409, "The pack crooked does not load; About says why.")


async def test_a_card_says_in_words_what_a_pack_may_and_brings(world: World) -> None:
    world.install("notes")
    async with dashboard(world) as shown:
        _, notes = await shown.get("/api/packs/notes")

    assert "keep data, for each person apart: entries, weekly_summaries" in notes["may"]
    assert "commands: /daily_note, /search, /review" in notes["brings"]
    assert notes["signed"] == "Not signed: nothing says who made it."


async def test_a_pack_that_changed_or_went_away_in_its_folder_is_told(world: World) -> None:
    for name in ("notes", "vocab"):
        shutil.copytree(ROOT / "packs" / name, world.home.packs / name)
    async with dashboard(world) as shown:
        with (world.home.packs / "notes" / "pack.yml").open("a") as manifest:
            manifest.write("\n# changed\nrequires_core: '>=0.1'\n")
        shutil.rmtree(world.home.packs / "vocab")
        _, found = await shown.get("/api/packs")
        notes = await shown.get("/api/packs/notes")
        vocab = await shown.get("/api/packs/vocab")

    assert found["unread"] == {
        "notes": "changed in the folder; the bot goes on with what it read before",
        "vocab": "not in the folder any more; the bot goes on with it",
    }
    assert (notes[0], notes[1]["unread"]) == (200, found["unread"]["notes"])
    assert vocab[0] == 409
    assert "vocab" in vocab[1]["error"]


async def test_an_upgrade_that_waits_for_a_yes_is_told(world: World) -> None:
    async with dashboard(world) as shown:
        await offers.offer(
            shown.bot.runtime.app.packs.kit, str(ROOT / "packs" / "notes"), TERMINAL, upgrade=""
        )
        _, found = await shown.get("/api/packs")

    (change,) = found["changes"]
    assert (change["pack"], change["state"], change["version"]) == ("notes", "offered", "1.0.0")
