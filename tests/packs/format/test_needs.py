"""Skills that require a tool or another skill, and what takes their place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.packs.authoring import validate
from aouo.packs.format.folder import _FILES_MAX, look_around
from aouo.packs.format.problems import _numbers, accepts
from aouo.packs.library import scan
from tests.packs.writing import MakePack

HEAD = "name: test\nversion: 1.0.0\ndisplay_name: Test\nprovided_skills: [rich, plain]\n"
PLAIN = "---\nname: plain\ndescription: Without the web\n---\nAsk the person.\n"


def rich(front: str) -> str:
    return f"---\nname: rich\ndescription: With the web\ncommand: true\n{front}---\nLook it up.\n"


def files(front: str, tools: str = "[msg]") -> dict[str, str | None]:
    return {
        "pack.yml": HEAD + f"permissions: {{tools: {tools}}}\n",
        "schema.sql": None,
        "skills/hello/SKILL.md": None,
        "skills/plain/SKILL.md": PLAIN,
        "skills/rich/SKILL.md": rich(front),
    }


def bodies(make_pack: MakePack, front: str, tools: str, enabled: list[str]) -> dict[str, str]:
    folder = make_pack("test", files(front, tools))
    (pack,) = scan(folder.parent, enabled_tools=enabled).packs.values()
    return {name: skill.body for name, skill in pack.skills.items()}


BOTH = {"rich": "Look it up.", "plain": "Ask the person."}
INSTEAD = {"rich": "Ask the person.", "plain": "Ask the person."}
HIDDEN = {"plain": "Ask the person."}


@pytest.mark.parametrize(
    ("front", "tools", "enabled", "found"),
    [
        ("requires: [fetch]\n", "[msg, fetch]", [], BOTH),
        ("requires: [fetch]\n", "[msg, web]", [], BOTH),
        ("requires: web\n", "[web]", [], BOTH),
        ("requires: [plain]\n", "[msg]", [], BOTH),
        ("requires: [fetch]\n", "[msg]", [], HIDDEN),
        ("requires: [fetch]\nfallback: plain\n", "[msg]", [], INSTEAD),
        ("requires: [fetch]\nfallback: test:plain\n", "[msg]", [], INSTEAD),
        ("requires: [fetch]\nfallback: plain\n", "[web]", ["core"], INSTEAD),
        ("requires: [fetch]\nfallback: plain\n", "[web]", ["core", "web"], BOTH),
        ("requires: [fetch]\nfallback: rich\n", "[msg]", [], HIDDEN),
        ("requires: ['mcp:search']\n", "['mcp:search']", [], BOTH),
        ("requires: [mcp__search__find]\n", "['mcp:search']", [], BOTH),
        ("requires: ['mcp:search']\n", "['mcp:search']", ["core"], BOTH),
        ("requires: ['mcp:search']\n", "[msg]", [], HIDDEN),
        ("requires: [telepathy]\n", "[msg]", [], BOTH),
    ],
)
def test_a_skill_without_what_it_requires_is_its_fallback_or_not_there(
    make_pack: MakePack, front: str, tools: str, enabled: list[str], found: dict[str, str]
) -> None:
    """A word that nobody knows stops no skill: a pack of the original keeps loading."""
    assert bodies(make_pack, front, tools, enabled) == found


def test_a_fallback_keeps_the_name_and_the_command(make_pack: MakePack) -> None:
    folder = make_pack("test", files("requires: [fetch]\nfallback: plain\n"))

    library = scan(folder.parent)

    assert library.commands() == {"rich": "test:rich"}
    assert library.resolve_skill("test", "rich").body == "Ask the person."


def test_validate_says_which_skill_is_hidden_and_what_helps(make_pack: MakePack) -> None:
    folder = make_pack("test", files("requires: [fetch, telepathy]\n"))

    assert [str(problem) for problem in validate(folder)] == [
        'skills/rich/SKILL.md:5: requires: needs "fetch": add it to permissions.tools, or name a '
        "fallback; until then it is hidden",
        'skills/rich/SKILL.md:5: requires: no tool or skill is named "telepathy"',
    ]


def test_a_fallback_makes_a_missing_tool_no_problem(make_pack: MakePack) -> None:
    assert validate(make_pack("test", files("requires: [fetch]\nfallback: plain\n"))) == ()


@pytest.mark.parametrize("word", ["rate", "test__rate"])
def test_a_skill_may_require_a_tool_of_the_pack_by_either_name(
    make_pack: MakePack, word: str
) -> None:
    """It is a file in tools/, and no manifest names it."""
    tool = 'def rate() -> float:\n    """The rate of today."""\n    return 1.08\n'

    with_it = files(f"requires: [{word}]\n", "[msg, pack]") | {"tools/money.py": tool}
    folder = make_pack("test", with_it)
    assert validate(folder) == ()
    assert "rich" in scan(folder.parent, enabled_tools=["core"]).packs["test"].skills

    without = files(f"requires: [{word}]\n", "[msg]") | {"tools/money.py": tool}
    found = [problem.message for problem in validate(make_pack("test", without))]
    assert any(message.startswith(f'needs "{word}"') for message in found), found


def test_what_cannot_work_stays_away_where_the_owners_version_of_it_is_not_used(
    make_pack: MakePack, tmp_path: Path
) -> None:
    """Nobody said which of two packs it is meant for; it requires less than theirs."""
    texts = files("requires: [fetch]\n", "[web]")
    make_pack("test", texts)
    folder = make_pack(
        "other", texts | {"pack.yml": str(texts["pack.yml"]).replace("test", "other")}
    )
    own = tmp_path / "skills" / "rich"
    own.mkdir(parents=True)
    (own / "SKILL.md").write_text("---\nname: rich\nrequires: []\n---\nGuess.\n")

    library = scan(folder.parent, overrides=tmp_path / "skills", enabled_tools=["core"])

    assert {name: list(pack.skills) for name, pack in library.packs.items()} == {
        "other": ["plain"],
        "test": ["plain"],
    }


# Which versions a requirement accepts, and how one is not written


@pytest.mark.parametrize(
    ("rule", "yes", "no"),
    [
        (">=0.1,<2", ["0.1.0", "1.9.9", "0.1.0-beta"], ["0.0.9", "2.0.0"]),
        (">=0.1.0", ["0.1.0", "9.0.0"], ["0.0.1"]),
        (">0.1 <=0.3", ["0.1.1", "0.3.0"], ["0.1.0", "0.3.1"]),
        ("1.2.3", ["1.2.3"], ["1.2.4", "1.2.2"]),
        ("^1.2", ["1.2.0", "1.99.0"], ["2.0.0", "1.1.9"]),
        ("^0.2", ["0.2.9"], ["0.3.0"]),
        ("~1.2", ["1.2.9"], ["1.3.0"]),
        (">=1, !=1.1.0", ["1.0.0", "1.1.1"], ["1.1.0"]),
    ],
)
def test_a_requirement_accepts_what_it_says(rule: str, yes: list[str], no: list[str]) -> None:
    assert [version for version in yes + no if accepts(rule, version)] == yes


@pytest.mark.parametrize("rule", ["", "latest", ">=", "1.2.x", ">=1 || <3", "*", "2026-01-01 x"])
def test_what_is_no_requirement_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        accepts(rule, "1.0.0")


@given(*[st.integers(0, 999)] * 3)
def test_every_version_accepts_itself_and_nothing_below_it(a: int, b: int, c: int) -> None:
    version = f"{a}.{b}.{c}"

    assert accepts(f">={version}", version)
    assert not accepts(f"<{version}", version)
    assert _numbers(version) == (a, b, c)


# What of a folder is looked at before anything is read; hostile ones: test_broken_packs


def test_what_tools_of_an_author_leave_behind_does_not_count(make_pack: MakePack) -> None:
    folder = make_pack("test")
    for name in (".git", "node_modules", "__pycache__"):
        (folder / name).mkdir()
    (folder / ".git" / "config").symlink_to("/etc/passwd")
    for number in range(_FILES_MAX):
        (folder / "node_modules" / str(number)).touch()

    assert look_around(folder) == ()
    assert validate(folder) == ()


def test_a_link_that_stays_in_the_pack_is_no_problem(make_pack: MakePack) -> None:
    folder = make_pack("test")
    (folder / "skills" / "hello" / "schema.sql").symlink_to("../../schema.sql")

    assert look_around(folder) == ()


def test_links_in_a_circle_and_absolute_links_lead_out(make_pack: MakePack) -> None:
    folder = make_pack("test")
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    (folder / "c").symlink_to(folder / "schema.sql")

    assert [problem.file for problem in look_around(folder)] == ["a", "b", "c"]


def test_problems_without_end_are_cut_short(make_pack: MakePack) -> None:
    folder = make_pack("test")
    for number in range(100):
        (folder / f"link{number}").symlink_to("/etc/passwd")

    assert len(look_around(folder)) == 20


def test_a_folder_that_is_not_there_is_found_by_reading_it(make_pack: MakePack) -> None:
    folder = make_pack("test")

    assert look_around(folder / "nowhere") == ()
