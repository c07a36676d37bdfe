"""What a table reads has no silent end. Source: issue 43, item 4."""

from __future__ import annotations

import pytest

from aouo.packs.data.reading import ALL
from tests.path.buttons.test_menus import tap
from tests.path.buttons.test_tapped_rows import keep, now
from tests.path.world import ADA, World


@pytest.fixture(autouse=True)
def packs(world: World) -> None:
    world.install("notes")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}


async def test_a_page_says_how_many_there_are_and_all_can_be_reached(world: World) -> None:
    async with world.running() as bot:
        keep(bot, *(f"note {number}" for number in range(201)))
        page = await bot.ask("my notes")
        first = page.text
        for _ in range(40):
            await tap(bot, page, "›")
            page = await now(bot, page)

    assert first.startswith("Newest · 1 of 41\n")
    assert page.text.startswith("Newest · 41 of 41\n")
    assert page.text.rstrip().endswith("note 0")


async def test_what_a_file_and_a_packs_tool_read_is_every_row(world: World) -> None:
    async with world.running() as bot:
        keep(bot, *(f"{number} " + "long " * 60 for number in range(2_000)))
        rows = bot.app.shared.stores.open("notes", f"tg_{ADA}").read(
            "SELECT text FROM entries", limit=ALL
        )

    assert len(rows) == 2_000
