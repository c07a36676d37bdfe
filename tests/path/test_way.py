"""Messages take the way of docs/way.md: each hop is there, and they run in its order.

A failure names the line of the page to edit. Source: issue 13.
"""

from __future__ import annotations

import ast
import re
import sys
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import pytest

from tests.fakes.model_server import Says
from tests.fakes.models import ModelService, profile
from tests.fakes.models.asked import _NOTE
from tests.path.looking import cut_off, said, settled
from tests.path.packs.test_installing import install, shopping, tap
from tests.path.reloading.following import save, swap
from tests.path.scripted import persist
from tests.path.world import ADA, ROOT, World

PAGE = ROOT / "docs" / "way.md"
DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
HOP = re.compile(r"\[`([\w.]+)`\]\(\.\./(aouo/[\w/]+\.py)\)")


@dataclass(frozen=True, slots=True)
class Hop:
    """A function that the page names, and the line where it does."""

    line: int
    name: str
    file: str

    def __str__(self) -> str:
        return f"docs/way.md:{self.line}: {self.name} of {self.file}"


def _hops() -> dict[str, list[Hop]]:
    """The hops of each section of the page, in order."""
    found: dict[str, list[Hop]] = {}
    title = ""
    for number, line in enumerate(PAGE.read_text("utf-8").splitlines(), 1):
        if line.startswith("## "):
            title = line.removeprefix("## ")
        for name, file in HOP.findall(line):
            found.setdefault(title, []).append(Hop(number, name, file))
    return found


SECTIONS = _hops()


@dataclass
class Calls:
    """When each function of the house was called first, in any thread, while `on`."""

    first: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    on: bool = False

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if self.on and event == "call" and frame.f_code.co_filename.startswith(f"{ROOT}/aouo/"):
            name = frame.f_code.co_qualname.partition(".<locals>")[0]
            file = frame.f_code.co_filename.removeprefix(f"{ROOT}/")
            self.first.setdefault((file, name), len(self.first))


@pytest.fixture
def calls() -> Generator[Calls]:
    calls = Calls()
    before, before_in_threads = sys.getprofile(), threading.getprofile()
    threading.setprofile(calls)
    sys.setprofile(calls)
    yield calls
    sys.setprofile(before)
    threading.setprofile(before_in_threads)


Drive: TypeAlias = Callable[[World, Calls, Path], Awaitable[None]]


async def a_text(world: World, calls: Calls, tmp_path: Path) -> None:
    world.install("notes")
    world.model.reply(Says(calls=(persist("save", data={"text": "milk"}),)))
    async with world.running() as bot:
        calls.on = True
        await bot.ask("the milk is cold")
        await settled(bot)


async def a_voice(world: World, calls: Calls, tmp_path: Path) -> None:
    world.install("notes")
    async with ModelService(profile("groq"), api_key="key") as ears:
        groq = {"base_url": ears.url, "api_key": "key"}
        world.config |= {"stt": {"backend": "groq"}, "groq": groq}
        ears.say("buy milk tomorrow")
        async with world.running() as bot:
            calls.on = True
            await bot.people.send_file(ADA, ADA, "voice", _NOTE)
            await bot.people.next_message(ADA)
            await settled(bot)


async def a_command(world: World, calls: Calls, tmp_path: Path) -> None:
    async with world.running() as bot:
        calls.on = True
        await bot.ask("/whereami")
        await settled(bot)


async def a_phrase(world: World, calls: Calls, tmp_path: Path) -> None:
    world.install("notes")
    async with world.running() as bot:
        calls.on = True
        await bot.ask("note: buy tea")
        await settled(bot)


async def a_tap(world: World, calls: Calls, tmp_path: Path) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        picker = await bot.ask("plums")
        calls.on = True
        await bot.people.tap(ADA, ADA, picker.id, picker.buttons[0].data)
        await settled(bot)


async def a_question(world: World, calls: Calls, tmp_path: Path) -> None:
    world.install("notes")
    world.model.call("clarify", {"message": "Which colour?", "options": ["red", "green"]})
    async with world.running() as bot:
        calls.on = True
        await bot.ask("paint it")
        await bot.ask("green")
        await settled(bot)


async def a_pack(world: World, calls: Calls, tmp_path: Path) -> None:
    async with world.running() as bot:
        calls.on = True
        await install(bot, shopping(tmp_path / "shopping"))
        await tap(bot, "Install")
        await said(world, "“shopping” is installed, version 1.0.0.")


async def a_save(world: World, calls: Calls, tmp_path: Path) -> None:
    async with world.running() as bot:
        calls.on = True
        async with swap(bot):
            save(world, telegram={"max_parts": 3})


async def a_stop(world: World, calls: Calls, tmp_path: Path) -> None:
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        calls.on = True
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Stopped.")
        await settled(bot)


async def a_restart(world: World, calls: Calls, tmp_path: Path) -> None:
    world.model.reply(Says("word " * 40, chunks=4, stall_after=3))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        await cut_off(bot)
    calls.on = True
    world.model.say("the whole answer")
    async with world.running() as bot:
        await said(world, "the whole answer")
        await settled(bot)


WAYS: Mapping[str, Drive] = {
    "A text": a_text,
    "A voice message": a_voice,
    "A command": a_command,
    "A tap": a_tap,
    "A phrase": a_phrase,
    "A question to a person": a_question,
    "A pack sent as a file": a_pack,
    "A saved configuration": a_save,
    "A stop": a_stop,
    "A restart": a_restart,
}


def test_each_hop_is_a_function_of_the_file_that_it_links_to() -> None:
    hops = [hop for section in SECTIONS.values() for hop in section]

    assert [str(hop) for hop in hops if hop.name not in _functions(hop.file)] == []


def test_each_way_of_the_page_is_driven_here() -> None:
    assert list(SECTIONS) == list(WAYS)


@pytest.mark.parametrize("way", WAYS)
async def test_a_message_takes_the_hops_of_the_page_in_their_order(
    way: str, world: World, calls: Calls, tmp_path: Path
) -> None:
    # What is shown meanwhile would be sent first on a busy machine.
    world.config = {"telegram": {"streaming": "off"}}
    await WAYS[way](world, calls, tmp_path)

    assert _amiss(SECTIONS[way], calls) == []


@cache
def _functions(file: str) -> set[str]:
    """The functions of a module, and its methods as `Class.method`."""
    found: set[str] = set()
    for node in ast.parse((ROOT / file).read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, DEFS)}
        elif isinstance(node, DEFS):
            found.add(node.name)
    return found


def _amiss(hops: Sequence[Hop], calls: Calls) -> list[str]:
    """The lines of the page to edit: hops that did not run, or ran before the one above them."""
    found: list[str] = []
    before: Hop | None = None
    for hop in hops:
        at = calls.first.get((hop.file, hop.name))
        if at is None:
            found.append(f"{hop} did not run")
            continue
        if before and at < calls.first[before.file, before.name]:
            found.append(f"{hop} ran before {before.name}, which stands above it")
        before = hop
    return found
