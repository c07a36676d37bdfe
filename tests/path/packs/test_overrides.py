"""Skills that the owner wrote in place of packs' own. Source: contract "Home", docs/packs.md."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs

from aouo.cli.main import aouo
from tests.fakes.model_server import words_of
from tests.path.world import World

MINE = "---\nname: drill\ndescription: Drill\n---\nMy way."


def pack(world: World, name: str) -> None:
    folder = world.home.packs / name
    (folder / "skills" / "drill").mkdir(parents=True)
    (folder / "pack.yml").write_text(
        f"name: {name}\nversion: 1.0.0\ndisplay_name: {name.title()}\nprovided_skills: [drill]\n"
        "permissions: {tools: [skill_view]}\n"
    )
    (folder / "secret.md").write_text("not of the skill")
    drill = folder / "skills" / "drill"
    (drill / "SKILL.md").write_text(f"---\nname: drill\ndescription: Drill\n---\n{name}'s way.")
    (drill / "words.md").write_text(f"{name}'s words")


def override(world: World, place: str, text: str = MINE) -> Path:
    folder = world.home.skills / place
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    (folder / "mine.md").write_text("my file")
    return folder


async def read(world: World, name: str, *files: str) -> list[str]:
    """What `skill_view` says in a conversation with a pack: the skill, then these files."""
    for file in ("", *files):
        world.model.call("skill_view", {"name": "drill", "file": file})
    world.model.say("Read.")
    async with world.running() as bot:
        if len(list(world.home.packs.iterdir())) > 1:
            await bot.ask(f"/use {name}")
        await bot.ask("look")
    return [words_of(m) for m in world.model.requests[-1]["messages"] if m["role"] == "tool"]


async def test_what_lies_beside_the_packs_skill_is_read_with_the_owners_text_too(
    world: World,
) -> None:
    pack(world, "french")
    override(world, "drill")

    told = await read(world, "french", "words.md", "mine.md", "../../secret.md", "none.md")

    assert "My way." in told[0]
    assert told[0].endswith("Files beside it: mine.md, words.md")
    assert told[1:3] == ["french's words", "my file"]
    assert "closed to tools" in told[3]
    assert told[4].endswith("has no file 'none.md'. Files of this skill: mine.md, words.md.")


@pytest.mark.parametrize(
    ("place", "text"),
    [
        pytest.param("french/drill", MINE, id="by its folder"),
        pytest.param("drill", MINE.replace("---\nname", "---\npack: french\nname"), id="by pack:"),
    ],
)
async def test_the_owners_skill_for_one_pack_leaves_the_others_alone(
    world: World, place: str, text: str
) -> None:
    pack(world, "french")
    pack(world, "latin")
    override(world, place, text)

    with capture_logs() as logs:
        (french,) = await read(world, "french")
        (latin,) = await read(world, "latin")

    assert "My way." in french
    assert "latin's way." in latin
    assert not [line for line in logs if line["event"] == "pack_warning"]


async def test_one_that_may_be_meant_for_two_packs_is_used_for_none_and_the_owner_is_told(
    world: World,
) -> None:
    pack(world, "french")
    pack(world, "latin")
    folder = override(world, "drill")

    with capture_logs() as logs:
        (french,) = await read(world, "french")
    arguments = ["--home", str(world.home.path), "doctor", "--fast", "--json"]
    doctor = await asyncio.to_thread(CliRunner().invoke, aouo, arguments)

    told = (
        f"{folder}/SKILL.md: might be meant for french, latin, so it is not used: name one as "
        f"`pack:` in its front matter, or put it into {world.home.skills}/<pack>/drill/"
    )
    assert "french's way." in french
    warned = [line for line in logs if line["event"] == "pack_warning"]
    assert [(line["pack"], line["problem"]) for line in warned] == [
        ("french", told),
        ("latin", told),
    ]
    checks = [check for check in json.loads(doctor.output)["checks"] if check["detail"] == told]
    assert [check["status"] for check in checks] == ["warn", "warn"]


async def test_one_that_cannot_be_used_is_said_and_the_packs_own_is_read(world: World) -> None:
    """A folder in the file's place, and a `pack` that is no name; an empty one names none."""
    pack(world, "french")
    (world.home.skills / "french" / "drill" / "SKILL.md").mkdir(parents=True)
    file = override(world, "drill", MINE.replace("---\nname", "---\npack: [french]\nname"))

    with capture_logs() as logs:
        (french,) = await read(world, "french")
    (file / "SKILL.md").write_text(MINE.replace("---\nname", "---\npack:\nname"))
    mine = (await read(world, "french"))[-1]

    assert "french's way." in french
    assert "My way." in mine
    warned = [line["problem"] for line in logs if line["event"] == "pack_warning"]
    assert [text.removeprefix(str(world.home.skills)) for text in warned] == [
        "/french/drill/SKILL.md: french/drill/SKILL.md is not a file",
        "/drill/SKILL.md: pack: must be the name of one pack, so it is not used",
    ]
