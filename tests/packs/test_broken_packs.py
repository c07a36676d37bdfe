"""Each broken or hostile pack: the exact file, the exact field, and words that help."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.packs.authoring import validate
from aouo.packs.format.problems import Problem
from aouo.packs.library import scan
from aouo.packs.load import load_pack
from tests.packs import broken
from tests.packs.broken import Expected
from tests.packs.writing import MakePack

NEEDS_OTHERS = {"dependency-not-there", "dependency-too-old"}
"""What is wrong with these shows only beside other packs."""


def matching(problems: tuple[Problem, ...], expected: Expected) -> list[Problem]:
    return [
        problem
        for problem in problems
        if (problem.file, problem.field) == (expected.file, expected.field)
        and expected.message in problem.message
    ]


def digest(folder: Path) -> str:
    """All names, kinds, links and contents below a folder as one number."""
    found = hashlib.sha256()
    for root, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted([*files, *folders]):
            path = Path(root, name)
            mode = path.lstat().st_mode
            found.update(os.fsencode(path.relative_to(folder)) + oct(mode).encode())
            if stat.S_ISLNK(mode):
                found.update(os.fsencode(path.readlink()))
            elif stat.S_ISREG(mode):
                found.update(path.read_bytes())
    return found.hexdigest()


def test_there_are_at_least_forty_of_them() -> None:
    assert len(broken.ALL) >= 40


@pytest.mark.parametrize("name", sorted(set(broken.ALL) - NEEDS_OTHERS))
def test_it_is_refused_by_file_field_and_message_and_nothing_is_written(
    tmp_path: Path, name: str
) -> None:
    expected = broken.ALL[name]
    folder = broken.install(name, tmp_path / "home" / "packs")
    before = digest(tmp_path)

    loaded = load_pack(folder)
    strict = load_pack(folder, strict=True)
    checked = CliRunner().invoke(aouo, ["pack", "validate", str(folder)])

    assert matching(loaded.problems, expected), loaded.problems
    assert (loaded.pack is not None) == expected.loads
    assert strict.pack is None
    assert [p.severity for p in matching(strict.problems, expected)] == ["error"], strict.problems
    assert checked.exit_code == 1
    assert any(
        expected.file in line and expected.field in line and expected.message in line
        for line in checked.output.splitlines()
    ), checked.output
    assert digest(tmp_path) == before


@pytest.mark.parametrize("name", sorted(NEEDS_OTHERS))
def test_what_it_depends_on_is_missing_or_too_old(tmp_path: Path, name: str) -> None:
    broken.install(name, tmp_path)
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "pack.yml").write_text("name: notes\nversion: 1.0.0\ndisplay_name: Notes\n")

    library = scan(tmp_path)

    assert library.names == ("notes",)
    assert matching(library.broken[name], broken.ALL[name])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "pack.yml").write_text("name: notes\nversion: 1.0.0\ndisplay_name: Notes\n")
    (folder / "rules-additions.md").write_text("x")
    (folder / "rules-additions.md").chmod(0)

    (problem,) = load_pack(folder).problems

    assert (problem.file, problem.severity) == ("rules-additions.md", "error")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "menu.json",
            '[{"id": "a", "title": "x", "rows": [[{"text": "x", "callback": "\\ud800"}]]}]',
        ),
        ("i18n/de.json", '{"x": "\\ud800"}'),
        ("pack.yml", 'fast_paths: {menu: "a\\0b", i18n: "x\\0y"}\n'),
        ("pack.yml", f"fast_paths: {{i18n: {'b' * 3000}}}\n"),
        ("evals/a.yml", f"steps: [{{say: x, expect: {{reply_matches: '{'(' * 5000}'}}}}]\n"),
        ("evals/a.yml", "steps: [{say: x, expect: {reply_matches: 'a{99999999999}'}}]\n"),
    ],
    ids=["button", "translation", "nul", "long path", "nested pattern", "endless pattern"],
)
def test_whatever_a_file_holds_it_is_a_problem_and_never_an_exception(
    make_pack: MakePack, tmp_path: Path, file: str, text: str
) -> None:
    """Each of these ended the process that looked for packs, or that looked at this one."""
    head = "name: test\nversion: 1.0.0\ndisplay_name: Test\nprovided_skills: [hello]\n"
    folder = make_pack(files={file: head + text if file == "pack.yml" else text})
    make_pack("other")

    found = validate(folder)

    assert [one for one in found if one.severity == "error"]
    assert "other" in scan(tmp_path / "packs").names
