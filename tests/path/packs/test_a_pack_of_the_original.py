"""A pack written for the original, by its documentation, works here as it is; contract "Packs"."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from aouo.packs.authoring import validate
from aouo.packs.format.manifest_text import parse
from aouo.packs.format.problems import DEFAULT_TOOLS, errors
from aouo.packs.library import scan
from aouo.packs.load import load_pack
from tests.fakes.model_server import CallPart, words_of
from tests.packs.test_broken_packs import digest
from tests.path.looking import said, settled
from tests.path.packs.test_installing import install, shopping, tap
from tests.path.world import ADA, ROOT, World

PACK = ROOT / "tests" / "sample_packs" / "original" / "english"
JAVASCRIPT = (
    "JavaScript tools do not run here: port it to Python as tools/pronAssess.py and name that file"
)


def test_it_loads_unchanged_and_only_its_javascript_tool_is_refused() -> None:
    """The one key that even the original did not know is told, too."""
    loaded = load_pack(PACK)

    assert loaded.pack is not None
    assert [(problem.field, problem.message) for problem in loaded.problems] == [
        ("custom_tools[0].path", JAVASCRIPT),
        ("memory.user", "unknown key"),
    ]
    manifest = loaded.pack.manifest
    assert "web_search" in manifest.permissions.tools
    assert set(DEFAULT_TOOLS) < set(manifest.permissions.tools)
    assert manifest.custom_tools == ()
    assert [tool.name for tool in manifest.runtime.external_tools] == ["importer"]
    assert [job.id for job in manifest.cron_defaults] == ["morning", "weekly"]
    assert (manifest.memory.soul, manifest.memory.state) == (True, True)
    assert loaded.pack.menu[0].id == "english_main"
    assert loaded.pack.said("zh-hans", "Dictation") == "听写"


@pytest.mark.parametrize(
    ("written", "forgiven"),
    [
        ("runtime: {js: {tools: true}}", True),
        ("custom_tools: [{name: a, path: tools/a.ts}]", True),
        ("permissions: {web_search: true}", True),
        ("memory: {soul: memory/soul.md}", True),
        ("context: {memory_policy: summary_plus_query}", True),
        ("permissions: {web_search: true}\nbudget: {daily_usd: 1}", False),
        ("runtime: {js: {}}\nschema: {scope: person}", False),
        ("colour: red", False),
        ("custom_tools: [1, {path: 2}]\nmemory: []\nruntime: 3", False),
    ],
)
def test_what_only_the_original_reads_is_how_its_packs_are_known(
    written: str, forgiven: bool
) -> None:
    text = f"name: a\nversion: 1.0.0\ndisplay_name: A\n{written}\n"

    assert parse(text).of_original is forgiven


async def test_it_is_installed_and_the_card_says_what_of_it_does_nothing(
    world: World, tmp_path: Path
) -> None:
    """What loading only warns about, an install only warns about too; issue 11, number 27."""
    folder = tmp_path / "english"
    shutil.copytree(PACK, folder)
    world.install("notes")
    async with world.running() as bot:
        card = await install(bot, folder)
        await tap(bot, "Install")
        await said(world, "“english” is installed, version 1.2.0.")
        await settled(bot)

    assert "this of it does nothing here" in card
    assert "custom_tools[0].path: JavaScript tools do not run here" in card
    assert "memory.user: unknown key" in card
    assert "search the web" in card


async def test_a_pack_of_ours_with_an_unknown_key_is_not_installed(
    world: World, tmp_path: Path
) -> None:
    folder = shopping(tmp_path / "shopping")
    manifest = (folder / "pack.yml").read_text()
    (folder / "pack.yml").write_text(f"{manifest}colour: red\n")
    async with world.running() as bot:
        answer = await install(bot, folder)
        await settled(bot)

    assert "colour: unknown key" in answer


def test_a_shared_table_of_another_pack_is_a_warning_until_it_is_validated(tmp_path: Path) -> None:
    """The original read no `shared_tables`."""
    folder = tmp_path / "english"
    shutil.copytree(PACK, folder)
    manifest = (folder / "pack.yml").read_text()
    (folder / "pack.yml").write_text(
        manifest.replace("shared_tables: []", "shared_tables: [entries]")
    )
    said = './schema.sql makes no table "entries"'

    assert load_pack(folder).pack is not None
    assert said in [problem.message for problem in load_pack(folder).problems]
    assert said in [problem.message for problem in errors(validate(folder))]


def test_it_needs_the_pack_that_it_depends_on() -> None:
    library = scan(PACK.parent)

    assert library.broken["english"][-1].message == 'the pack "notes" is not installed'


async def test_it_saves_remembers_its_seeds_and_runs_its_commands(world: World) -> None:
    """Twice started, so that seeds would be there twice."""
    world.install("notes")
    (world.home.packs / "english").symlink_to(PACK)
    before = digest(PACK)
    row = {"skill_type": "english.dictation", "content": "It goes", "mood": "good", "score": 0.5}
    count = {"action": "query", "sql": "SELECT count(*) AS phrases FROM phrases"}
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/use english")
        await bot.people.next_message(ADA, contains="answers here now")
        world.model.calls(CallPart("persist", {"action": "practice", "data": row}))
        world.model.calls(CallPart("persist", {"action": "save", "data": {"content": "x"}}))
        world.model.say("Saved.")
        await bot.people.say(ADA, ADA, "It goes without saying")
        await bot.people.next_message(ADA, contains="Saved.")
    world.model.calls(CallPart("persist", count))
    world.model.calls(CallPart("persist", {"action": "recent"}))
    world.model.say("Three.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/dictation")
        await bot.people.next_message(ADA, contains="Three.")

    results = [
        words_of(message)
        for message in world.model.requests[-1]["messages"]
        if message["role"] == "tool"
    ]
    system = str(world.model.requests[-1]["messages"][0]["content"])
    assert "skill_type" in words_of(world.model.requests[2]["messages"][-1])
    assert '"phrases": 3' in results[-2]
    assert "english.dictation" in results[-1]
    assert "good" in results[-1]
    assert "Choose a phrase" in system
    assert "Be patient." in system
    assert "Correct one mistake" in system
    assert digest(PACK) == before


async def test_its_skills_call_persist_as_they_did_there(world: World) -> None:
    """Columns beside the action, which is save unless it is named; its own name as `db`."""
    world.install("notes")
    (world.home.packs / "english").symlink_to(PACK)
    row = {"skill_type": "english.dictation", "content": "It goes", "mood": "good", "score": 0}
    calls: list[dict[str, object]] = [
        {"action": "practice", "db": "english", **row},
        {**row, "content": "Without saying", "data": '{"content": "Without saying"}'},
        {**row, "data": {"content": "Other words"}},
        {"db": "notes", **row},
        {"action": "recent_practice", "skill_type": "english.dictation"},
        {"action": "query", "sql": "SELECT 1", "parms": []},
    ]
    for arguments in calls:
        world.model.call("persist", arguments)
    world.model.say("Saved.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/use english")
        await bot.people.next_message(ADA, contains="answers here now")
        await bot.people.say(ADA, ADA, "It goes without saying")
        await bot.people.next_message(ADA, contains="Saved.")

    messages = world.model.requests[-1]["messages"]
    told = [words_of(message) for message in messages if message["role"] == "tool"]
    assert '"saved": 1' in told[0]
    assert '"saved": 1' in told[1]
    assert "content is given twice, and differs" in told[2]
    assert "only the database of this pack" in told[3]
    rows = json.loads(told[4])["rows"]
    assert [(found["content"], found["score"]) for found in rows] == [
        ("Without saying", 0),
        ("It goes", 0),
    ]
    assert "It takes: action, table, data, where, sql, params, limit." in told[5]


async def test_the_owner_reads_in_the_log_what_is_not_there(world: World) -> None:
    world.install("notes")
    (world.home.packs / "english").symlink_to(PACK)
    with capture_logs() as logs:
        async with world.running() as bot:
            await bot.people.say(ADA, ADA, "/use english")
            await bot.people.next_message(ADA, contains="answers here now")

    told = [line["problem"] for line in logs if line["event"] == "pack_warning"]
    assert any(JAVASCRIPT in problem for problem in told)
