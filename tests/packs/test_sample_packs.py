"""The packs we ship: they load without a word, stay small, and their calls really work."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from aouo.agent.tools.persist import Persist
from aouo.packs.authoring import validate
from aouo.packs.library import scan
from aouo.packs.load import Pack
from tests.fakes.clock import FastClock
from tests.packs.sample_calls import make, open_store, read_call, shown_calls

ROOT = Path(__file__).parents[2] / "packs"
NAMES = ("create", "notes", "vocab")
PACKS = {name: scan(ROOT, enabled=[name]).packs[name] for name in NAMES}
WRITES = {"save", "upsert", "update", "delete"}
_HOLE = re.compile(r"\{(\w+)\}")


@pytest.fixture(params=NAMES)
def pack(request: pytest.FixtureRequest) -> Pack:
    return PACKS[str(request.param)]


def texts(pack: Pack) -> Iterator[str]:
    """Everything of a pack that is shown to people without a model."""
    manifest = pack.manifest
    yield from (manifest.display_name, manifest.description, manifest.tagline)
    for skill in pack.skills.values():
        yield from (skill.display_name, skill.description)
    for page in pack.menu:
        yield from page.texts
    yield from pack.declared.texts


# What is there


def test_a_shipped_pack_has_no_problem_and_no_warning(pack: Pack) -> None:
    assert validate(pack.folder) == ()


def test_a_shipped_pack_is_whole(pack: Pack) -> None:
    """Issue 5, "Sample packs": skills, schedules, menus, two languages, evals, a database each."""
    manifest = pack.manifest

    assert manifest.version == "1.0.0"
    assert manifest.schema.scope == "person"
    assert {"onboarding", "aggregator"} <= set(pack.skills)
    assert pack.menu
    assert pack.declared.actions
    assert len((pack.folder / "README.md").read_text().splitlines()) <= 12


def test_schedules_are_off_until_somebody_wants_them(pack: Pack) -> None:
    assert [job.enabled_by_default for job in pack.manifest.cron_defaults] == [False, False]


def test_what_enters_every_prompt_is_small(pack: Pack) -> None:
    """First request body at most 6 KB, tool schemas included (design 1)."""
    assert 0 < len(pack.soul_additions.encode()) <= 200
    assert 0 < len(pack.rules_additions.encode()) <= 300
    cards = [skill.qualified + skill.description for skill in pack.skills.values()]
    assert len("".join(cards).encode()) <= 450
    assert all(len(skill.body.encode()) < 2500 for skill in pack.skills.values())


def test_the_shipped_commands_do_not_meet() -> None:
    library = scan(ROOT)

    assert sorted(library.commands()) == [
        *("add", "assess", "capture", "daily_note", "draft_post", "ingest_url", "posts"),
        *("prompt_me", "report", "review", "search", "study", "voices"),
    ]
    assert library.command_collisions() == ()


# What the skills tell the model to call


async def test_each_call_that_a_skill_shows_works(pack: Pack, tmp_path: Path) -> None:
    """A write that finds no row would leave the person with nothing done."""
    for number, shown in enumerate(shown_calls(pack)):
        (home := tmp_path / str(number)).mkdir()
        answer = await make(pack, shown, home, FastClock())

        if shown.tool == "persist" and shown.arguments["action"] in WRITES:
            assert "note" not in json.loads(answer), shown


def test_every_table_is_written_and_every_view_read_by_a_skill(pack: Pack) -> None:
    said = "\n".join(str(shown.arguments) for shown in shown_calls(pack))
    said += "\n".join(page.sql for page in pack.menu)
    made = re.findall(r"^CREATE (?:TABLE|VIEW) IF NOT EXISTS (\w+)", pack.schema_sql, re.MULTILINE)
    default = pack.manifest.schema.owned_tables[0]

    assert [name for name in made if name not in said] in ([], [default], ["cards"])


def test_the_tools_that_the_skills_use_are_the_ones_it_asks_for(pack: Pack) -> None:
    groups = {"write_file": "files", "fetch": "web", "onboarding_done": "msg"}
    used = {groups.get(shown.tool, shown.tool) for shown in shown_calls(pack)}

    assert used <= set(pack.manifest.permissions.tools)


def test_the_rules_show_calls_that_work(pack: Pack, tmp_path: Path) -> None:
    in_rules = re.findall(r"persist\(.*?\)", pack.rules_additions)
    wishes = [read_call(text)[1] for text in in_rules]
    with closing(open_store(pack, tmp_path)) as store:
        for number, wish in enumerate(wishes):
            if "kind" in str(wish.get("data")):
                wish["data"] = {"content": "x", "kind": "quote"}
            action = str(Persist.model_validate(wish).action)
            rest = {key: value for key, value in wish.items() if key != "action"}
            store.run(action, rest, call_id=str(number), session_key="s", now="2026-02-01T00:00Z")


# Menus and languages


@pytest.mark.parametrize("filled", [False, True])
def test_every_menu_page_can_be_shown(pack: Pack, filled: bool, tmp_path: Path) -> None:
    with closing(open_store(pack, tmp_path, filled=filled)) as store:
        for page in pack.menu:
            rows = store.read(page.sql)
            shown = [page.row.format_map(row) for row in rows] or [page.empty]
            assert all(line and "None" not in line for line in shown), page.id


def test_every_page_leads_back(pack: Pack) -> None:
    _, *others = pack.menu
    reached = {button.data for page in pack.menu for row in page.rows for button in row}
    reached |= {f"nav:{action.page}" for action in pack.declared.actions.values()}

    assert {f"nav:{page.id}" for page in others} <= reached
    for page in others:
        assert "menu" in {button.data for row in page.rows for button in row}


@pytest.mark.parametrize("language", ["de", "es"])
def test_each_language_is_complete_and_has_nothing_left_over(pack: Pack, language: str) -> None:
    said = pack.translations[language]

    shown = set(texts(pack)) - {skill.name for skill in pack.skills.values()}

    assert {text for text in shown if re.search(r"[A-Za-z]", _HOLE.sub("", text))} <= set(said)
    assert set(said) <= shown
    for text, translated in said.items():
        assert set(_HOLE.findall(text)) == set(_HOLE.findall(translated))


# Evals


def test_there_are_evals_and_one_of_them_is_german(pack: Pack) -> None:
    """Their format is held by `aouo pack test`; here they only have to be there."""
    files = sorted((pack.folder / "evals").glob("*.yml"))
    evals = [yaml.safe_load(file.read_text()) for file in files]

    assert len(evals) >= 4
    assert "de" in {one.get("language", "en") for one in evals}
    assert all(step.get("expect") for one in evals for step in one["steps"])
