"""A wish that names no row is on the one which the reason beside it names, or it is asked which.
Source: issue 43."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.clock import FastClock
from tests.path.everyday.test_corrections import NOON, kept
from tests.path.looking import settled
from tests.path.world import Running, World

TABLE: dict[str, list[list[Any]]] = yaml.safe_load(
    (Path(__file__).parent / "reasons.yml").read_text("utf-8")
)


async def there(bot: Running) -> Counter[str]:
    """The notes, and what is coming."""
    coming = await bot.rows(
        "SELECT say FROM schedules WHERE origin <> 'default' AND next_due <> ''"
    )
    return Counter((await kept(bot)).get("entries", [])) + Counter(
        str(row["say"]) for row in coming
    )


@pytest.mark.parametrize("language", [*TABLE])
async def test_the_row_that_shares_a_word_with_the_reason_is_the_one(
    world: World, language: str
) -> None:
    world.install("remind", "expenses", "notes", "vocab")
    world.config = {"provider": {"backend": "none"}, "packs": {"default": "notes"}}
    world.clock = clock = FastClock(start=NOON, speed=1)
    wrong: list[str] = []
    async with world.running() as bot:
        await bot.ask(f"/language {language}")
        for before, said, row in TABLE[language]:
            for words in before:
                await bot.ask(words)
            clock.jump(11 * 60)
            rows = await there(bot)
            answer = await bot.ask(said)
            await bot.ask("/stop")  # a question
            await settled(bot)
            gone = [*(rows - await there(bot)).elements()]
            if gone != [row] * bool(row):
                wrong.append(f"{said!r}: {gone} <- {answer.text!r}")

    assert not wrong, "\n".join(wrong)
