"""What people say on an ordinary day to the packs that come along, without a model.
Source: `everyday.yml` beside this file, which tells what has to hold."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from aouo.words.catalogue import text
from tests.path.looking import settled
from tests.path.world import ADA, Running, World

EVERYDAY: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parent / "everyday.yml").read_text("utf-8")
)
DECLINED = text("actions.no-model")
ASKED = ("What shall I keep?", "Which words?", "Which word?", "Which note?", "Which tag?")
TABLES = {"notes": ("entries", "text"), "vocab": ("words", "word")}


async def wrong(bot: Running, pack: str, message: dict[str, Any]) -> str:
    """Why this message was answered wrongly, "" = it was not."""
    table, column = TABLES[pack]
    stores, tenant = bot.app.shared.stores, f"tg_{ADA}"
    stores.open(pack, tenant)
    with closing(sqlite3.connect(stores.file(pack, tenant))) as file:
        before = [row[0] for row in file.execute(f"SELECT {column} FROM {table}")]
    told = await bot.ask(message["say"])
    if text("actions.button-no") in [button.text for button in told.buttons] or told.text in ASKED:
        await bot.ask("/stop")  # it asks first
    answer = told.text
    await settled(bot)
    with closing(sqlite3.connect(stores.file(pack, tenant))) as file:
        after = [row[0] for row in file.execute(f"SELECT {column} FROM {table}")]
    new = [one for one in after if one not in before]
    if "keeps" in message:
        return "" if message["keeps"] in (*after, new) else f"kept {new}: {answer}"
    if new or (len(after) < len(before)) != bool(message.get("deletes")):
        return f"wrote {new}: {answer}"
    if message.get("shows") and answer.startswith(DECLINED[:20]):
        return "was declined"
    return ""


@pytest.mark.parametrize("pack", EVERYDAY)
async def test_an_ordinary_day_without_a_model(world: World, pack: str) -> None:
    world.install(pack)
    world.config = {"provider": {"backend": "none"}}
    found: dict[str, str] = {}
    async with world.running() as bot:
        for message in EVERYDAY[pack]:
            found[message["say"]] = await wrong(bot, pack, message)
    found = {said: why[:160] for said, why in found.items() if why}

    assert not found, "\n".join(f"{said!r}: {why}" for said, why in found.items())
