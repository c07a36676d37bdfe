"""Which packs load, why the others do not, and whose skill a name or a command means."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from aouo.facts.errors import PackError, ToolFailed
from aouo.packs.authoring import validate
from aouo.packs.format.problems import Problem
from aouo.packs.library import Library, link, scan
from aouo.packs.load import load_pack
from aouo.packs.shipping.archive import content_hash
from tests.packs.writing import SCHEMA, SKILL, MakePack

HEAD = "name: test\nversion: 1.0.0\ndisplay_name: Test\nprovided_skills: [hello]\n"


def errors(problems: tuple[Problem, ...]) -> list[Problem]:
    return [problem for problem in problems if problem.severity == "error"]


def test_a_pack_is_read_whole(make_pack: MakePack, tmp_path: Path) -> None:
    folder = make_pack(
        "test",
        {
            "soul-additions.md": "Be kind.\n",
            "rules-additions.md": "No lies.\n",
            "templates/USER.md.tmpl": "# You\n",
        },
    )

    pack = scan(tmp_path / "packs").get("test")

    assert pack is not None
    assert (pack.name, pack.folder) == ("test", folder)
    assert (pack.soul_additions, pack.rules_additions) == ("Be kind.", "No lies.")
    assert pack.templates == {"USER.md": "# You\n"}
    assert pack.schema_sql == SCHEMA
    assert list(pack.skills) == ["hello"]


BROKEN: dict[str, tuple[dict[str, str | None], str, str]] = {
    # what: (files, the file at fault, the field at fault)
    "no name": ({"pack.yml": "version: 1.0.0\ndisplay_name: x\n"}, "pack.yml", "name"),
    "reserved name": ({"pack.yml": HEAD.replace("test", "state", 1)}, "pack.yml", "name"),
    "a name like a server's": ({"pack.yml": HEAD.replace("test", "mcp", 1)}, "pack.yml", "name"),
    "another's tools": ({"pack.yml": HEAD.replace("test", "a__b", 1)}, "pack.yml", "name"),
    "half of a mark": ({"pack.yml": HEAD.replace("test", "a_", 1)}, "pack.yml", "name"),
    "capital name": ({"pack.yml": HEAD.replace("test", "Test", 1)}, "pack.yml", "name"),
    "bad version": ({"pack.yml": HEAD.replace("1.0.0", "one")}, "pack.yml", "version"),
    "no YAML": ({"pack.yml": "name: [\n"}, "pack.yml", ""),
    "key twice": ({"pack.yml": HEAD + "name: b\n"}, "pack.yml", "name"),
    "not UTF-8 text": ({"pack.yml": HEAD + "description: \x07\n"}, "pack.yml", ""),
    "skill missing": ({"skills/hello/SKILL.md": None}, "skills/hello/SKILL.md", ""),
    "skill broken": ({"skills/hello/SKILL.md": "---\na: [\n---\nx"}, "skills/hello/SKILL.md", ""),
    "skill empty": ({"skills/hello/SKILL.md": "---\nname: a\n---\n"}, "skills/hello/SKILL.md", ""),
    "skill name leads out": (
        {"pack.yml": HEAD.replace("hello", "../hello")},
        "pack.yml",
        "provided_skills[0]",
    ),
    "schema missing": (
        {"pack.yml": HEAD + "schema: {owned_tables: [items]}\n", "schema.sql": None},
        "pack.yml",
        "schema.file",
    ),
    "schema leads out": (
        {"pack.yml": HEAD + "schema: {file: ../schema.sql}\n"},
        "pack.yml",
        "schema.file",
    ),
    "schema is no SQL": ({"schema.sql": "CREATE TABEL x (id);"}, "schema.sql", ""),
    "owned table not made": (
        {"pack.yml": HEAD + "schema: {owned_tables: [item]}\n"},
        "pack.yml",
        "schema.owned_tables[0]",
    ),
    "column type": (
        {"pack.yml": HEAD + 'schema: {extends_columns: {items: {x: "TEXT; DROP TABLE items"}}}\n'},
        "pack.yml",
        "schema.extends_columns.items.x",
    ),
    "schedule without skill": (
        {"pack.yml": HEAD + "cron_defaults: [{id: a, schedule: every 2h, skill: helo}]\n"},
        "pack.yml",
        "cron_defaults[0].skill",
    ),
    "tool leads out": (
        {"pack.yml": HEAD + "custom_tools: [{name: a, path: tools/../../a.py}]\n"},
        "pack.yml",
        "custom_tools[0].path",
    ),
    "tool missing": (
        {"pack.yml": HEAD + "custom_tools: [{name: a, path: tools/a.py}]\n"},
        "pack.yml",
        "custom_tools[0].path",
    ),
    "additions endless": ({"soul-additions.md": "x" * 20_000}, "soul-additions.md", ""),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_pack_says_where_and_the_others_load(
    make_pack: MakePack, tmp_path: Path, what: str
) -> None:
    files, file, field = BROKEN[what]
    folder = make_pack("aaa", files)
    make_pack("good")

    library = scan(tmp_path / "packs")

    assert library.names == ("good",)
    (found,) = library.broken.values()
    assert (file, field) in [(problem.file, problem.field) for problem in errors(found)]
    assert set(errors(found)) <= set(errors(validate(folder)))


def test_what_loading_forgives_validate_does_not(make_pack: MakePack, tmp_path: Path) -> None:
    folder = make_pack(
        "test",
        {
            "pack.yml": HEAD + "colour: red\n",
            "skills/hello/SKILL.md": SKILL.replace("command:", "comand:"),
            "skills/forgotten/SKILL.md": "Do.",
        },
    )

    assert scan(tmp_path / "packs").names == ("test",)
    assert [str(problem) for problem in validate(folder)] == [
        'pack.yml:4: provided_skills: "forgotten" lies below skills/ and is not listed, '
        "so nobody can use it",
        "pack.yml:5: colour: unknown key",
        'skills/hello/SKILL.md:4: comand: unknown key; did you mean "command"?',
    ]


def test_problems_of_the_manifest_do_not_hide_those_of_the_other_files(make_pack: MakePack) -> None:
    files = {"pack.yml": HEAD + "colour: red\n", "schema.sql": "x;", "skills/hello/SKILL.md": ""}

    found = {problem.file for problem in errors(validate(make_pack("test", files)))}

    assert found == {"pack.yml", "schema.sql", "skills/hello/SKILL.md"}


def test_views_and_triggers_that_name_what_is_not_there_are_found_before_their_first_use(
    make_pack: MakePack,
) -> None:
    """SQLite makes them, and then each save into `items` would fail."""
    folder = make_pack("test")
    with (folder / "schema.sql").open("a") as schema:
        schema.write(
            "CREATE VIEW fine AS SELECT name FROM items;\n"
            "CREATE VIEW IF NOT EXISTS worn AS SELECT nome FROM items;\n"
            "CREATE TRIGGER sound AFTER INSERT ON items\n"
            "  BEGIN UPDATE items SET count = 1; END;\n"
            "CREATE TRIGGER torn AFTER UPDATE OF count ON items\n"
            "  BEGIN DELETE FROM gone; END;\n"
            "CREATE TRIGGER instead INSTEAD OF INSERT ON fine\n"
            "  BEGIN INSERT INTO items (nmae) VALUES (new.name); END;\n"
        )

    assert [str(problem) for problem in validate(folder)] == [
        'schema.sql:9: the view "worn" does not work: no such column: nome',
        'schema.sql:12: the trigger "torn" does not work: no such table: main.gone',
        'schema.sql:14: the trigger "instead" does not work: table items has no column named nmae',
    ]
    assert scan(folder.parent).names == ("test",)


@pytest.mark.parametrize(
    "cut", ["INSERT", "INSERT INTO", "REPLACE INTO;", "INSERT OR REPLACE INTO"]
)
def test_a_first_row_that_is_cut_off_is_a_problem_and_never_an_exception(
    make_pack: MakePack, cut: str
) -> None:
    folder = make_pack("test", {"schema.sql": f"CREATE TABLE items (name);\n{cut}"})

    (problem,) = load_pack(folder).problems

    assert (problem.file, problem.line) == ("schema.sql", 2)


def test_a_pack_without_fault_passes_and_a_forgotten_skill_is_a_warning(
    make_pack: MakePack,
) -> None:
    assert validate(make_pack("test")) == ()
    (problem,) = validate(make_pack("other", {"skills/forgotten/SKILL.md": "Do."}))

    assert (problem.field, problem.severity) == ("provided_skills", "warning")


def test_a_folder_that_is_no_pack_is_one_problem(tmp_path: Path) -> None:
    assert [problem.message for problem in validate(tmp_path)] == [
        "there is no pack.yml in this folder"
    ]
    assert len(validate(tmp_path / "nowhere")) == 1


def test_hidden_folders_files_and_folders_without_a_manifest_are_not_packs(
    make_pack: MakePack, tmp_path: Path
) -> None:
    make_pack(".hidden")
    make_pack("_draft")
    (tmp_path / "packs" / "README").write_text("hi", encoding="utf-8")
    (tmp_path / "packs" / "empty").mkdir()

    assert scan(tmp_path / "packs") == Library({}, {}, {})


def test_nothing_there_is_an_empty_library(tmp_path: Path) -> None:
    assert scan(tmp_path / "nowhere", [tmp_path / "neither"]).names == ()


def test_links_are_followed_and_a_dangling_one_is_reported(
    make_pack: MakePack, tmp_path: Path
) -> None:
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "linked").symlink_to(make_pack("linked", root="elsewhere"))
    (tmp_path / "packs" / "gone").symlink_to(tmp_path / "nowhere")

    library = scan(tmp_path / "packs")

    assert library.names == ("linked",)
    assert "leads nowhere" in library.broken["gone"][0].message


def test_a_manifest_that_is_a_link_is_not_read(make_pack: MakePack, tmp_path: Path) -> None:
    folder = make_pack("test")
    (folder / "pack.yml").rename(tmp_path / "outside.yml")
    (folder / "pack.yml").symlink_to(tmp_path / "outside.yml")

    assert "links are not followed" in scan(tmp_path / "packs").broken["test"][0].message


def test_of_two_packs_with_one_name_the_homes_wins_and_it_is_said(
    make_pack: MakePack, tmp_path: Path
) -> None:
    mine, other = make_pack("test"), make_pack("test", root="more")

    library = scan(tmp_path / "packs", [tmp_path / "more"])

    assert library.packs["test"].folder == mine
    assert [problem.message for problem in library.warnings["test"]] == [
        f"{other} has the same name and is not used"
    ]


def test_a_copy_beside_what_was_installed_is_never_used_in_its_place(
    make_pack: MakePack, tmp_path: Path
) -> None:
    mine = make_pack("test")
    copy = shutil.copytree(mine, mine.with_name("copy of test"))
    pinned = {"test": content_hash(mine)}

    library = scan(tmp_path / "packs", pinned=pinned)
    (mine / "README.md").write_text("Changed.")
    changed = scan(tmp_path / "packs", pinned=pinned)

    assert library.packs["test"].folder == mine
    assert library.warnings["test"][0].message == f"{copy} has the same name and is not used"
    assert changed.names == ()
    assert "not those that were installed" in changed.broken["test"][0].message


def test_a_scan_dir_may_be_a_pack_itself(make_pack: MakePack, tmp_path: Path) -> None:
    folder = make_pack("test", root="more")

    assert scan(tmp_path / "packs", [folder]).names == ("test",)


def test_only_the_enabled_ones_load_and_an_unknown_one_is_reported(
    make_pack: MakePack, tmp_path: Path
) -> None:
    make_pack("one")
    make_pack("two")

    library = scan(tmp_path / "packs", enabled=["two", "tree"])

    assert library.names == ("two",)
    assert library.broken["tree"][0].field == "packs.enabled"


def test_a_pack_whose_dependency_does_not_load_does_not_either(
    make_pack: MakePack, tmp_path: Path
) -> None:
    make_pack("base", {"schema.sql": "nonsense;"})
    make_pack("middle", {"pack.yml": HEAD.replace("test", "middle", 1) + "depends_on: [base]\n"})
    make_pack("top", {"pack.yml": HEAD.replace("test", "top", 1) + "depends_on: [middle]\n"})
    make_pack("free")

    library = scan(tmp_path / "packs")

    assert library.names == ("free",)
    assert library.broken["top"][0].message == 'the pack "middle" does not load'


def test_a_bare_and_a_qualified_name_resolve_inside_the_pack_only(
    make_pack: MakePack, tmp_path: Path
) -> None:
    make_pack("one")
    make_pack("two")
    library = scan(tmp_path / "packs")

    assert library.resolve_skill("one", "hello").qualified == "one:hello"
    assert library.resolve_skill("two", "two:hello").qualified == "two:hello"
    with pytest.raises(ToolFailed, match="belongs to another pack"):
        library.resolve_skill("one", "two:hello")
    with pytest.raises(ToolFailed, match='did you mean "hello"'):
        library.resolve_skill("one", "helo")
    with pytest.raises(ToolFailed, match="Skills here: none"):
        library.resolve_skill("gone", "hello")


def test_the_first_of_two_commands_wins_outside_the_packs_and_it_is_reported(
    make_pack: MakePack, tmp_path: Path
) -> None:
    make_pack("one")
    make_pack("two")
    library = scan(tmp_path / "packs")

    assert library.commands() == {"hello": "one:hello"}
    assert library.commands("two") == {"hello": "two:hello"}
    (problem,) = library.command_collisions()
    assert problem.message == "/hello runs one:hello outside this pack"


def test_a_library_knows_its_names_commands_and_workflows_without_looking_again(
    make_pack: MakePack, tmp_path: Path
) -> None:
    """Every job asks for them."""
    make_pack("two")
    make_pack("one")
    library = scan(tmp_path / "packs")

    assert library.names == ("one", "two")
    assert library.workflows == {"one:hello", "two:hello"}
    assert library.names is library.names
    assert library.workflows is library.workflows
    assert library.commands("two") is library.commands("two")
    assert library.commands("gone") is library.commands()


def test_a_skill_of_the_owner_takes_the_place_of_the_packs(
    make_pack: MakePack, tmp_path: Path
) -> None:
    make_pack("test")
    folder = tmp_path / "skills" / "hello"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("Shout hello.", encoding="utf-8")

    library = scan(tmp_path / "packs", overrides=tmp_path / "skills")

    assert library.resolve_skill("test", "hello").body == "Shout hello."
    assert library.commands() == {"hello": "test:hello"}


def test_a_linked_pack_is_installed_and_linking_again_changes_nothing(
    make_pack: MakePack, tmp_path: Path
) -> None:
    folder, home = make_pack("test", root="work"), tmp_path / "home" / "packs"

    first = link(folder, home)
    made = os.lstat(first).st_ino
    second = link(folder, home)

    assert (first, second) == (home / "test", home / "test")
    assert os.lstat(second).st_ino == made
    assert scan(home).names == ("test",)


def test_a_dangling_link_is_replaced_and_another_pack_is_not(
    make_pack: MakePack, tmp_path: Path
) -> None:
    home = tmp_path / "packs"
    home.mkdir()
    (home / "test").symlink_to(tmp_path / "nowhere")

    link(make_pack("test", root="work"), home)
    with pytest.raises(PackError, match="already installed"):
        link(make_pack("test", root="other"), home)

    assert (home / "test").resolve() == tmp_path / "work" / "test"


def test_a_broken_pack_is_not_linked(make_pack: MakePack, tmp_path: Path) -> None:
    folder = make_pack("test", {"schema.sql": "nonsense;"}, root="work")

    with pytest.raises(PackError, match=r"schema\.sql:1"):
        link(folder, tmp_path / "packs")

    assert not (tmp_path / "packs").exists()


@pytest.mark.parametrize("version", ["1.0.0.4", "1.0.0 beta", "1234567.0.0", "1.0.0\u202e"])
def test_a_version_written_oddly_keeps_no_other_pack_from_loading(
    make_pack: MakePack, tmp_path: Path, version: str
) -> None:
    """A manifest asks for three numbers at its beginning, so whatever follows has to do."""
    base = HEAD.replace("test", "base", 1).replace("1.0.0", json.dumps(version))
    make_pack("base", {"pack.yml": base})
    needs = "depends_on: [{name: base, version: '>=1'}]\n"
    make_pack("top", {"pack.yml": HEAD.replace("test", "top", 1) + needs})

    assert scan(tmp_path / "packs").names == ("base", "top")
