"""Packs that are broken or hostile, all at once: the others answer, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

from structlog.testing import capture_logs

from aouo.plumbing.home import Home
from tests.fakes.model_server import CallPart
from tests.packs import broken
from tests.packs.test_broken_packs import digest
from tests.path.looking import prompts
from tests.path.world import ADA, World


async def test_a_sound_pack_answers_beside_all_broken_ones_and_nothing_outside_changes(
    world: World, tmp_path: Path
) -> None:
    world.install("notes")
    for name in broken.ALL:
        broken.install(name, world.home.packs)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("untouched")
    before = digest(world.home.packs), digest(outside)
    save = {"action": "save", "data": {"text": "call the bank"}}
    world.model.calls(CallPart("persist", save))
    world.model.say("Kept.")

    with capture_logs() as logs:
        async with world.running() as bot:
            await bot.people.say(ADA, ADA, "/use notes")
            await bot.people.next_message(ADA, contains="answers here now")
            await bot.people.say(ADA, ADA, "note: call the bank")
            await bot.people.next_message(ADA, contains="Kept.")
            library = bot.app.generations.library

    refused = {name for name, expected in broken.ALL.items() if not expected.loads}
    said = {line["pack"]: line["problems"] for line in logs if line["event"] == "pack_broken"}
    assert prompts(world)[-1] == "note: call the bank"
    assert set(library.broken) == set(said) == refused
    for name in refused:
        expected = broken.ALL[name]
        assert any(
            problem.startswith(expected.file) and expected.message in problem
            for problem in said[name]
        ), said[name]
    assert (digest(world.home.packs), digest(outside)) == before
    assert _databases(world.home) == {"aouo.db", "notes"}


def _databases(home: Home) -> set[str]:
    """What was made below data/, by name: the runtime's own, and what the one pack keeps."""
    stores = {path.name.removesuffix(".db") for path in (home.path / "data" / "store").iterdir()}
    files = {path.name for path in (home.path / "data").glob("*.db")}
    kept = {path.name for path in (home.path / "data" / "packs").glob("*")}
    return files | stores | kept
