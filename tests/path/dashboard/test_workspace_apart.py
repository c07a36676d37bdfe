"""The page keeps the memory of each person and group apart, wherever a pack's scope puts it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aouo.emulator import FAMILY
from tests.path.dashboard.looking import Dashboard, dashboard, resting
from tests.path.looking import settled
from tests.path.memory.test_memory import US, pack, remembers
from tests.path.world import ADA, BEN, World

MEMORY = "/api/packs/diary/memory"


async def every(shown: Dashboard) -> dict[str, tuple[str, Any]]:
    """Return by label whose it is: the tenant, and all that the page says of their memory."""
    _, found = await shown.get(MEMORY)
    return {
        one["label"]: (one["tenant"], (await shown.get(f"{MEMORY}/{one['tenant']}"))[1])
        for one in found["people"]
    }


@pytest.mark.parametrize("scope", ["shared", "person"])
async def test_each_ones_memory_is_their_own_running_and_at_rest(world: World, scope: str) -> None:
    pack(world, "diary", scope)
    secrets = {"ada-7731": ADA, "ben-9900": BEN}
    async with dashboard(world) as shown:
        for secret, user in secrets.items():
            remembers(world, secret)
            await shown.bot.ask("mine", user=user)
        remembers(world, "group-5500")
        await shown.bot.ask(f"{US} ours", user=BEN, chat=FAMILY)
        await settled(shown.bot)
        running = await every(shown)
    async with resting(world) as shown:
        at_rest = await every(shown)

    expected = {
        f"Ada ({ADA})": "ada-7731",
        f"Ben ({BEN})": "ben-9900",
        f"group {FAMILY}": "group-5500",
    }
    assert list(running) == list(expected)
    for label, (_, told) in running.items():
        text = json.dumps(told)
        assert [one for one in expected.values() if one in text] == [expected[label]]
    assert {label: told["files"] for label, (_, told) in at_rest.items()} == {
        label: told["files"] for label, (_, told) in running.items()
    }


async def test_an_edit_of_the_groups_memory_changes_nobody_elses(world: World) -> None:
    pack(world, "diary", "shared")
    async with dashboard(world) as shown:
        remembers(world, "ada-7731")
        await shown.bot.ask("mine")
        remembers(world, "group-5500")
        await shown.bot.ask(f"{US} ours", user=BEN, chat=FAMILY)
        await settled(shown.bot)
        before = await every(shown)
        tenant, told = before[f"group {FAMILY}"]
        file = next(one for one in told["files"] if "group-5500" in one["text"])
        status, _ = await shown.send(
            "POST",
            f"{MEMORY}/{tenant}/files/{file['name']}",
            {"text": "edited", "version": file["version"]},
        )
        after = await every(shown)

    assert status == 200
    assert after[f"Ada ({ADA})"] == before[f"Ada ({ADA})"]
    assert "edited" in json.dumps(after[f"group {FAMILY}"])
