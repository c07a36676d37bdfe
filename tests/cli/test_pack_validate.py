"""`aouo pack validate`: all that is wrong with a pack at once, each with its file and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo

MANIFEST = """\
name: shop
version: 1.0.0
display_name: Shop
provided_skills: [keep, 7, plan]
permissions:
  tools: [msg]
  network: [5, "https://a.example/path"]
  crom: true
  cron: maybe
cron_defaults:
  - id: a
    schedule: at noon
  - {id: b, schedule: every 2h, skill: pln}
schema:
  owned_tables: [9, items, itms, others]
  extends_columns: {itms: {x: TEXT}, items: {y: TXT}}
context: {skill_loading: ahead}
memory: {soull: true}
version: 2.0.0
"""
SCHEMA = """\
CREATE TABLE items (id INTEGER PRIMARY KEY, text TEXT);
CREATE TABEL others (x);
ATTACH 'x' AS y;
CREATE INDEX i ON others (x);
INSERT INTO items (nope) VALUES (1);
"""
KEEP = """\
---
name: keep
description: Keeps things
command: maybe
fallback: pln
requires: [fetchh]
---
Keep it.
"""
PLAN = "---\nname: plan\nname: b\ndescription: Plans\nwhat: x\n---\nPlan.\n"
MENU = (
    '[{"id": "a", "title": "A", "sql": "SELECT nope FROM items", "row": "{x}",\n'
    '  "rows": [[{"text": "x", "callback": "skill:pln"}]]}]\n'
)
FILES = {
    "pack.yml": MANIFEST,
    "schema.sql": SCHEMA,
    "skills/keep/SKILL.md": KEEP,
    "skills/plan/SKILL.md": PLAN,
    "menu.json": MENU,
    "migrations/0001_a.sql": "ATTACH 'x' AS y;\nVACUUM;\n",
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def found(runner: CliRunner, folder: Path) -> list[dict[str, Any]]:
    result = runner.invoke(aouo, ["pack", "validate", str(folder), "--json"])
    return json.loads(result.stdout)["problems"]


def test_every_mistake_of_a_pack_is_said_at_once_with_its_file_and_line(
    runner: CliRunner, tmp_path: Path
):
    """Each of these once hid others."""
    folder = write(tmp_path / "shop", FILES)

    said = [(one["file"], one["line"], one["field"]) for one in found(runner, folder)]

    assert said == [
        ("pack.yml", 4, "provided_skills[1]"),
        ("pack.yml", 7, "permissions.network[0]"),
        ("pack.yml", 7, "permissions.network[1]"),
        ("pack.yml", 8, "permissions.crom"),
        ("pack.yml", 9, "permissions.cron"),
        ("pack.yml", 11, "cron_defaults[0].skill"),
        ("pack.yml", 12, "cron_defaults[0].schedule"),
        ("pack.yml", 13, "cron_defaults[1].skill"),
        ("pack.yml", 15, "schema.owned_tables[0]"),
        ("pack.yml", 15, "schema.owned_tables[2]"),
        ("pack.yml", 16, "schema.extends_columns.items.y"),
        ("pack.yml", 16, "schema.extends_columns.itms.x"),
        ("pack.yml", 17, "context.skill_loading"),
        ("pack.yml", 18, "memory.soull"),
        ("pack.yml", 19, "version"),
        ("skills/keep/SKILL.md", 4, "command"),
        ("skills/keep/SKILL.md", 5, "fallback"),
        ("skills/keep/SKILL.md", 6, "requires"),
        ("skills/plan/SKILL.md", 3, "name"),
        ("skills/plan/SKILL.md", 5, "what"),
        ("menu.json", 1, "[0].sql"),
        ("menu.json", 2, "[0].rows[0][0].callback"),
        ("schema.sql", 2, ""),
        ("schema.sql", 3, ""),
        ("schema.sql", 5, ""),
        ("migrations/0001_a.sql", 1, ""),
        ("migrations/0001_a.sql", 2, ""),
    ]


def test_a_manifest_that_cannot_be_read_does_not_hide_the_other_files(
    runner: CliRunner, tmp_path: Path
):
    folder = write(tmp_path / "shop", FILES | {"pack.yml": "name: [shop\n"})

    said = [(one["file"], one["line"]) for one in found(runner, folder)]

    assert said[0] == ("pack.yml", 2)
    assert {file for file, _ in said} == set(FILES)


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("memory: {soull: true}", "memory.soull", 'unknown key; did you mean "soul"?'),
        ("budget:\n  <<: {daily_usd: 1}", "budget.<<", "YAML 1.2 merges no keys: write them out"),
        ("skills: [a, 5]", "provided_skills[1]", "must be text"),
        ("cron: [{id: x, schedule: y}]", "cron_defaults[0].skill", "is required"),
    ],
)
def test_a_nested_value_is_named_with_its_line_and_the_nearest_key(
    runner: CliRunner, tmp_path: Path, text: str, field: str, message: str
):
    head = "name: tiny\nversion: 1.0.0\ndisplay_name: Tiny\n"
    folder = write(tmp_path / "tiny", {"pack.yml": f"{head}{text}\n"})

    one = next(each for each in found(runner, folder) if each["field"] == field)

    assert one["line"] == 4 + text.count("\n")
    assert message in one["message"]


def test_what_the_original_read_nothing_of_keeps_no_pack_from_loading(
    runner: CliRunner, tmp_path: Path
):
    text = (
        "name: tiny\nversion: 1.0.0\ndisplay_name: Tiny\n"
        "context: {skill_loading: on-demand, history_window: many}\nmemory: {soul: 5}\n"
    )
    folder = write(tmp_path / "tiny", {"pack.yml": text})

    linked = runner.invoke(aouo, ["pack", "link", str(folder)])
    listed = json.loads(runner.invoke(aouo, ["pack", "list", "--json"]).stdout)

    assert linked.exit_code == 0, linked.output
    assert [each.partition(": ")[2].split(":")[0] for each in listed["packs"][0]["warnings"]] == [
        "context.skill_loading",
        "context.history_window",
        "memory.soul",
    ]
    assert {one["severity"] for one in found(runner, folder)} == {"error"}
