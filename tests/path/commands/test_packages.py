"""Commands, post-actions and subscribers of the owner's Python packages.

Source: issue 14 ("An owner's package may bring commands, post-actions and subscribers").
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from aouo.facts.errors import SetupError
from tests.fakes.packages import lay_down
from tests.path.looking import eventually, said, settled
from tests.path.world import ADA, ROOT, World

NAME = "brought_ext"


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, NAME, raising=False)


def lay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, entry_points: str) -> None:
    lay_down(tmp_path / "site", monkeypatch, NAME, code, entry_points)


def module() -> Any:
    return __import__(NAME)


@pytest.mark.parametrize(
    ("code", "entry_points", "why"),
    [
        ("X = 1", "[aouo.commands]\nweather = {}:X\n", "command 'weather' .* is no AddedCommand"),
        ("X = 1", "[aouo.commands]\nnew = {}:X\n", "command 'new' .* has a name that is taken"),
        ("X = 1", "[aouo.commands]\nBad-Name = {}:X\n", "command 'Bad-Name' .* is misspelt"),
        ("import no_such", "[aouo.commands]\nx = {}:X\n", "command 'x' .* failed: ModuleNotFound"),
        ("X = 1", "[aouo.post_actions]\nkeep = {}:X\n", "post-action 'keep' .* cannot be called"),
        (
            "def x(): ...",
            "[aouo.post_actions]\nrotate = {}:x\n",
            "post-action 'rotate' .* has a name that is taken",
        ),
        ("X = 1", "[aouo.subscribers]\nears = {}:X\n", "subscriber 'ears' .* is no Subscriber"),
        ("1 / 0", "[aouo.subscribers]\nears = {}:X\n", "subscriber 'ears' .* failed: ZeroDiv"),
    ],
)
async def test_one_that_does_not_load_ends_the_start_and_is_named(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    entry_points: str,
    why: str,
) -> None:
    """As a pipeline step: an owner relies on it."""
    lay(tmp_path, monkeypatch, code, entry_points.format(NAME))

    with pytest.raises(SetupError, match=why):
        async with world.running():
            pass


SUBSCRIBERS = """
import asyncio

from aouo.facts.events import TurnSettled
from aouo.flow.chores.subscribers import Subscriber

heard = []


async def hear(event):
    heard.append(event)


async def raises(event):
    raise ZeroDivisionError


async def hangs(event):
    await asyncio.Event().wait()


HEARS = Subscriber(hear, (TurnSettled,))
RAISES, HANGS = Subscriber(raises), Subscriber(hangs)
"""


async def test_subscribers_that_raise_or_never_read_on_change_nothing_for_others(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = f"raises = {NAME}:RAISES\nhangs = {NAME}:HANGS\nhears = {NAME}:HEARS\n"
    lay(tmp_path, monkeypatch, SUBSCRIBERS, f"[aouo.subscribers]\n{names}")
    for number in range(3):
        world.model.say(f"word and word, {number}.", chunks=3)
    async with world.running() as bot:
        for number in range(3):
            answer = await bot.ask(f"part {number}")
            await settled(bot)
            assert answer.text.startswith("word")

        async def all_heard() -> bool:
            return len(module().heard) == 3

        await eventually(all_heard)


def blocks(name: str) -> dict[str, str]:
    """The fenced blocks of a document: its code by the file that its first line names."""
    parts = (ROOT / "docs" / name).read_text("utf-8").split("```")[1::2]
    found = [part.partition("\n")[2] for part in parts]
    return {one.partition("\n")[0].removeprefix("# "): one for one in found}


async def test_the_example_in_the_documentation_works(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/extending.md: a command, a post-action and a subscriber."""
    code = blocks("extending.md")
    monkeypatch.delitem(sys.modules, "my_aouo_commands", raising=False)
    groups = code["pyproject.toml, with commands"].replace('[project.entry-points."', "[")
    lines = [line.replace('"]', "]").replace('"', "") for line in groups.splitlines()[1:]]
    entry_points = "\n".join(lines)
    folder = tmp_path / "site"
    lay_down(folder, monkeypatch, "my_aouo_commands", code["my_aouo_commands.py"], entry_points)
    monkeypatch.chdir(tmp_path)
    world.install("notes")
    world.model.say("Three ideas: tea, bread, a walk.")
    async with world.running() as bot:
        dice = await bot.ask("/dice --sides=1")
        bad = await bot.ask("/dice --sides=many")
        await bot.people.say(ADA, ADA, "/ideas for Sunday")
        await said(world, "Kept in ideas.txt.")
        await settled(bot)

        async def counted() -> bool:
            return sys.modules["my_aouo_commands"].turns["ack"] == 1

        await eventually(counted)

    assert dice.text == "You rolled a 1."
    assert bad.text == "Write it like this: /dice --sides=6"
    assert (tmp_path / "ideas.txt").read_text() == "Three ideas: tea, bread, a walk.\n"
