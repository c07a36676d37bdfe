"""No text of a pack that is not active is in any request body; issue 5 "Isolation"."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from aouo.plumbing.home import Home
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, ModelServer
from tests.fakes.telegram import LocalTelegram
from tests.packs import broken
from tests.packs.test_broken_packs import digest
from tests.path.looking import prompts
from tests.path.world import ADA, World
from tests.sampling import count

MARKS = {"alpha": "markofalpha", "beta": "markofbeta"}
"""Each is in everything that its pack has to say, and nowhere else."""

CALLS = (
    CallPart("persist", {"action": "summary"}),
    CallPart("persist", {"action": "recent"}),
    CallPart("persist", {"action": "query", "sql": "SELECT name FROM sqlite_master"}),
    CallPart("memory", {"target": "memory", "action": "read"}),
    CallPart("memory", {"target": "user", "action": "read"}),
    CallPart("skill_view", {"name": "one"}),
    CallPart("skill_view", {"name": "nothing"}),
    CallPart("skill_view", {"name": "alpha:one"}),
    CallPart("skill_view", {"name": "beta:one"}),
    CallPart("skill_view", {"name": "one", "file": "../../../beta/pack.yml"}),
    CallPart("skill_view", {"name": "one", "file": "nothing"}),
    CallPart("load_skills", {"names": ["nothing", "one", "beta:one"]}),
    CallPart("load_tools", {"names": ["nothing", "files", "sessions"]}),
    CallPart("sessions", {"query": "hello"}),
    CallPart("list_dir", {"path": "."}),
    CallPart("read_file", {"path": "../beta/MEMORY.md"}),
    CallPart("nothing", {}),
)


def _files(name: str, mark: str) -> dict[str, str]:
    """A pack that says its mark wherever a pack can say something."""
    manifest = {
        "name": name,
        "version": "1.0.0",
        "display_name": f"{name} {mark}",
        "description": f"About {mark}",
        "provided_skills": ["one", f"{mark}-skill"],
        "schema": {"owned_tables": ["items", f"{mark}_rows"], "scope": "person"},
        "permissions": {
            "tools": ["core", "files", "sessions", "db", "pack"],
            "external_commands": [f"{mark}_tool"],
        },
        "runtime": {
            "external_tools": [
                {"name": f"{mark}_tool", "command": "true", "description": f"Does {mark}"}
            ]
        },
        "context": {"skill_loading": "eager" if name == "alpha" else "lazy"},
    }
    page = {"id": "main", "title": mark, "rows": [[{"text": mark, "callback": mark}]]}
    skill = "---\nname: {0}\ndescription: Does {0}\ntriggers: [{0}]\n---\nFollow {0}.\n"
    return {
        "pack.yml": json.dumps(manifest),
        "schema.sql": f"CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, {mark} TEXT);\n"
        f"CREATE TABLE IF NOT EXISTS {mark}_rows (id INTEGER PRIMARY KEY);\n"
        f"INSERT INTO items ({mark}) VALUES ('{mark}');\n",
        "skills/one/SKILL.md": skill.format(mark),
        f"skills/one/{mark}.md": mark,
        f"skills/{mark}-skill/SKILL.md": skill.format(mark),
        "soul-additions.md": f"Soul of {mark}.",
        "rules-additions.md": f"Rules of {mark}.",
        "templates/USER.md.tmpl": f"- Person of {mark}.\n",
        "templates/MEMORY.md.tmpl": f"- Memory of {mark}.\n",
        "examples.yml": f"examples: [{{say: {mark}, tool: persist, arguments: {{}}}}]\n",
        "menu.json": json.dumps([page]),
        "i18n/de.json": json.dumps({mark: f"{mark} auf Deutsch"}),
    }


def _install(home: Home) -> None:
    for name, mark in MARKS.items():
        for path, text in _files(name, mark).items():
            file = home.packs / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


class Untitled(FastClock):
    """No session gets a title: the model would say one of the scripted answers for it."""

    async def sleep(self, seconds: float) -> None:
        if seconds >= 10:
            await asyncio.Event().wait()
        await super().sleep(seconds)


async def _play(folder: Path, moves: list[tuple[str, CallPart]]) -> list[tuple[str, str]]:
    """(active pack, body) of every request, the model's own words in it left out."""
    home = Home(folder)
    home.create()
    _install(home)
    found: list[tuple[str, str]] = []
    async with LocalTelegram() as emulator, ModelServer() as model:
        world = World(home, emulator, model, clock=Untitled())
        async with world.running() as bot:
            active = ""
            for number, (pack, call) in enumerate(moves):
                if pack != active:
                    said = await bot.people.say(ADA, ADA, f"/use {pack}")
                    await bot.people.next_message(ADA, after=said.id, contains="answers here now")
                    active = pack
                model.calls(call)
                model.calls(CallPart("persist", {"action": "recent", "table": "items"}))
                model.say(f"done {number}")
                before = len(model.requests)
                await bot.people.say(ADA, ADA, "hello")
                await bot.people.next_message(ADA, contains=f"done {number}")
                found += [(pack, json.dumps(body)) for body in model.requests[before:]]
    return found


MOVES = st.lists(
    st.tuples(st.sampled_from(sorted(MARKS)), st.sampled_from(CALLS)), min_size=2, max_size=5
)


@settings(
    max_examples=count(4, 1),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(moves=MOVES)
@example(moves=[(pack, call) for call in CALLS for pack in MARKS])
def test_whatever_is_asked_only_the_active_pack_is_in_a_request(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[str, CallPart]]
) -> None:
    bodies = asyncio.run(_play(tmp_path_factory.mktemp("home"), moves))

    assert len(bodies) >= 2 * len(moves)
    for pack, body in bodies:
        present = {name for name, mark in MARKS.items() if mark in body.lower()}
        assert present <= {pack}, (pack, body)
    assert {pack for pack, body in bodies if MARKS[pack] in body} == {pack for pack, _ in moves}


# Packs that are broken or hostile, all at once: the others answer, and nothing else changes


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
            await bot.people.say(ADA, ADA, "keep call the bank")
            await bot.people.next_message(ADA, contains="Kept.")
            library = bot.app.generations.library

    refused = {name for name, expected in broken.ALL.items() if not expected.loads}
    said = {line["pack"]: line["problems"] for line in logs if line["event"] == "pack_broken"}
    assert prompts(world)[-1] == "keep call the bank"
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
