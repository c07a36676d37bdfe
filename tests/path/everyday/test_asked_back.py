"""What leaves half of a time in its words is asked about, by acts that a tap does. Issue 43."""

from __future__ import annotations

import pytest

from tests.path.everyday.test_tours import tapped
from tests.path.world import World


@pytest.mark.parametrize(
    ("said", "label", "text"),
    [
        ("remind me tomorrow to call Tom at 15:30", "15:30: call Tom", "call Tom"),
        ("remind me on Friday to book a table for 8 people at 20:00", "20:00: book a table", "ook"),
        ("erinnere mich morgen an den Anruf um 15:30", "15:30: den Anruf", "en Anruf"),
    ],
)
async def test_two_times_are_asked_about_and_a_tap_does_what_its_button_says(
    world: World, said: str, label: str, text: str
) -> None:
    world.install("remind", "notes")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}
    async with world.running() as bot:
        if said.startswith("erinnere"):
            await bot.ask("/language de")
        asked = await bot.ask(said)
        labels = [button.text for button in asked.buttons]
        assert labels, asked.text
        assert 1 <= len(labels) <= 3
        assert label in labels[0]
        assert not any("remind me" in one or "erinnere" in one for one in labels)
        rows = await bot.rows("SELECT * FROM schedules WHERE origin <> 'default'")
        assert rows == []
        await tapped(bot, asked, labels[0])
        (row,) = await bot.rows("SELECT say FROM schedules WHERE origin <> 'default'")

    assert text in str(row["say"])
