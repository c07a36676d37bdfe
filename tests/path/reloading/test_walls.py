"""Walls do not fall by one save, and never in silence. Source: issue 30, number 15."""

from __future__ import annotations

import os
from typing import Any

import pytest

from aouo.config.changing import UNSET, change
from aouo.config.file import ConfigBroken
from tests.path.looking import answers, said, settled
from tests.path.reloading.following import save, tree
from tests.path.world import World

FALLEN = (
    "A wall between packs and your files is down: {} in config.json. If that was not you, look at "
    "the file, and at who can write it."
)


@pytest.mark.parametrize(
    ("names", "value", "key"),
    [
        (("security", "sandbox"), "off", "security.sandbox"),
        (("security", "fence_mode"), "allow", "security.fence_mode"),
        (("security",), {"sandbox": "off"}, "security.sandbox"),
    ],
)
def test_neither_the_terminal_nor_the_page_takes_a_wall_down(
    world: World, names: tuple[str, ...], value: Any, key: str
) -> None:
    world.configure()
    before = tree(world)

    with pytest.raises(ConfigBroken) as refused:
        change(world.home.path, {names: value}, os.environ)

    assert f"{key}: this takes down a wall" in str(refused.value.problems)
    assert tree(world) == before


def test_other_keys_are_changed_while_a_wall_is_down(world: World) -> None:
    world.config["security"] = {"sandbox": "off"}
    world.configure()

    change(world.home.path, {("security", "fence_mode"): "ask"}, os.environ)
    change(world.home.path, {("security", "sandbox"): UNSET}, os.environ)

    assert tree(world)["security"] == {"fence_mode": "ask"}


async def test_the_owner_hears_of_it_once_whoever_did_it(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        save(world, security={"fence_mode": "allow"})
        await said(world, FALLEN.format("security.fence_mode"))
        save(world, ui={"language": "en"})
        await settled(bot)
        told = await answers(world)

    assert len([one for one in told if "A wall" in one]) == 1


async def test_a_start_tells_of_it_once(world: World) -> None:
    world.install("notes")
    world.config["security"] = {"sandbox": "off"}
    for _ in range(2):
        async with world.running() as bot:
            await said(world, FALLEN.format("security.sandbox"))
            await settled(bot)
    assert len([one for one in await answers(world) if "A wall" in one]) == 1
