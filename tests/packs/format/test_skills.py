"""SKILL.md, the files beside it, and the owner's own version of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import ToolFailed
from aouo.packs.format.needs import with_overrides
from aouo.packs.format.skills import Skill, load_skill, parse_skill

FULL = """\
---
name: dictation
display_name: Listening Dictation
pack: test
description: Listen and write
command: true
triggers: [dictation, 听写]
requires: [voice]
fallback: reading
license: MIT
---

# Dictation

Do it.
"""


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    folder = tmp_path / "pack" / "skills" / "dictation"
    (folder / "data").mkdir(parents=True)
    (folder / "SKILL.md").write_text(FULL, encoding="utf-8")
    (folder / "data" / "words.txt").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("key", encoding="utf-8")
    skill, _, problems = load_skill("test", tmp_path / "pack", "dictation", strict=True)
    assert problems == ()
    assert skill is not None
    return skill


def test_front_matter_and_body_are_read(skill: Skill) -> None:
    assert skill == Skill(
        pack="test",
        name="dictation",
        display_name="Listening Dictation",
        description="Listen and write",
        command=True,
        body="# Dictation\n\nDo it.",
        folder=skill.folder,
        triggers=("dictation", "听写"),
        requires=("voice",),
        fallback="reading",
    )
    assert skill.qualified == "test:dictation"


def test_a_skill_without_front_matter_is_its_text() -> None:
    skill, _, problems = parse_skill("# Hi\n\nGreet them.\n", "test", Path("hello"))

    assert (skill.name, skill.description) == ("hello", "Greet them.")
    assert [problem.severity for problem in problems] == ["warning"]


@pytest.mark.parametrize(
    ("name", "command"),
    [("daily-note", "daily_note"), ("Über 1", "_ber_1"), ("x" * 40, "x" * 32)],
)
def test_a_command_name_is_one_that_telegram_takes(name: str, command: str) -> None:
    skill, _, _ = parse_skill("Do.", "test", Path(name))

    assert skill.command_name == command


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("---\ncommand: yes please\n---\nDo.", 2, "command"),
        ("---\nname: a\nname: b\n---\nDo.", 3, "name"),
        ("---\nname: [a]\n---\nDo.", 2, "name"),
        ("---\ntriggers: [{a: b}]\n---\nDo.", 2, "triggers"),
        ("---\nname: !!js/function x\n---\nDo.", 2, ""),
        ("---\nname: a\n---\n\n", 0, ""),
        ("---\nname: a\nno end", 3, ""),
    ],
)
def test_a_broken_skill_says_where(text: str, line: int, field: str) -> None:
    _, _, problems = parse_skill(text, "test", Path("hello"))

    first = next(problem for problem in problems if problem.severity == "error")
    assert first.line == line
    assert first.field.startswith(field)


def test_attachments_are_listed_and_read(skill: Skill) -> None:
    assert skill.attachments == ("data/words.txt",)
    assert skill.attachment("data/words.txt") == "one\ntwo\n"


@pytest.mark.parametrize(
    "file",
    [
        *("../../../secret.txt", "/etc/passwd", "data/../../../../secret.txt"),
        *("link", "door/secret.txt", "", ".", "data", "nothing.txt", "a\0b"),
    ],
)
def test_only_files_of_the_skill_can_be_read(skill: Skill, tmp_path: Path, file: str) -> None:
    (skill.folder / "link").symlink_to(tmp_path / "secret.txt")
    (skill.folder / "door").symlink_to(tmp_path)

    with pytest.raises(ToolFailed) as failed:
        skill.attachment(file)

    assert "key" not in str(failed.value)
    assert "data/words.txt" in str(failed.value)


@given(st.text())
def test_no_name_reads_anything_outside_or_breaks(file: str) -> None:
    skill = Skill("test", "x", "x", "", False, "Do.", Path(__file__).parent / "no-such-folder")

    with pytest.raises(ToolFailed):
        skill.attachment(file)


def test_a_file_too_large_for_a_prompt_is_refused(skill: Skill) -> None:
    (skill.folder / "big.txt").write_text("x" * 70_000, encoding="utf-8")

    with pytest.raises(ToolFailed, match="larger than 64 kB"):
        skill.attachment("big.txt")


def test_a_skill_that_is_a_link_out_of_the_pack_does_not_load(tmp_path: Path) -> None:
    (tmp_path / "pack" / "skills").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "SKILL.md").write_text("Do.", encoding="utf-8")
    (tmp_path / "pack" / "skills" / "out").symlink_to(tmp_path / "elsewhere")

    skill, _, problems = load_skill("test", tmp_path / "pack", "out")

    assert skill is None
    assert "links are not followed" in problems[0].message


def override(tmp_path: Path, text: str) -> Path:
    folder = tmp_path / "home" / "skills" / "dictation"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return folder.parent


def test_the_owners_version_replaces_the_packs_and_keeps_what_it_does_not_say(
    skill: Skill, tmp_path: Path
) -> None:
    root = override(tmp_path, "---\nname: Mine\n---\nMy way.")

    changed, problems = with_overrides({"dictation": skill}, root)

    mine = changed["dictation"]
    assert (mine.body, mine.folder) == ("My way.", root / "dictation")
    assert (mine.description, mine.command) == ("Listen and write", True)
    assert mine.original == skill
    assert problems == ()


def test_an_override_for_another_pack_leaves_this_one_alone(skill: Skill, tmp_path: Path) -> None:
    root = override(tmp_path, "---\npack: other\ndescription: x\n---\nMy way.")

    changed, problems = with_overrides({"dictation": skill}, root)

    assert changed == {"dictation": skill}
    assert problems == ()


def test_a_broken_override_is_reported_and_not_used(skill: Skill, tmp_path: Path) -> None:
    root = override(tmp_path, "---\na: [\n---\nMy way.")

    changed, problems = with_overrides({"dictation": skill}, root)

    assert changed == {"dictation": skill}
    assert [problem.severity for problem in problems] == ["warning"]


def test_the_owners_version_never_opens_what_is_outside_the_two_folders(
    skill: Skill, tmp_path: Path
) -> None:
    root = override(tmp_path, "My way.")
    (tmp_path / "secret.md").write_text("closed", encoding="utf-8")
    (root / "dictation" / "out.md").symlink_to(tmp_path / "secret.md")
    mine = with_overrides({"dictation": skill}, root)[0]["dictation"]

    for file in ("../../../secret.md", "out.md", "/etc/passwd"):
        with pytest.raises(ToolFailed):
            mine.attachment(file)
    assert "out.md" not in mine.attachments
