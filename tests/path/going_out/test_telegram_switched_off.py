"""What is to go to a chat of Telegram waits while Telegram is switched off, and harms nothing."""

from __future__ import annotations

import asyncio
from typing import Any

from structlog.testing import capture_logs

from tests.fakes.model_server import Says
from tests.path.going_out.test_watching_a_session import session_of
from tests.path.looking import eventually
from tests.path.world import ADA, Running, World, texts


async def begun(bot: Running) -> list[dict[str, Any]]:
    return await bot.rows("SELECT id FROM deliveries WHERE state <> 'sent'")


async def test_an_answer_waits_for_telegram_and_is_sent_once_it_is_on_again(world: World) -> None:
    """The answer grows, so it is begun, edited and ended where nobody can send it."""
    async with world.running() as bot:
        await bot.ask("hello")
        session = await session_of(bot, ADA)
    world.config["telegram"] = {"enabled": False}
    world.model.reply(Says("nobody " * 300, chunks=20, stall_after=5))
    with capture_logs() as logs:
        async with world.running() as bot:
            async with asyncio.TaskGroup() as group:
                group.create_task(bot.app.asking.run_turn("hi", session))
                await eventually(lambda: begun(bot))
                world.model.release.set()
            (turn,) = await bot.rows("SELECT status FROM turns ORDER BY id DESC LIMIT 1")
            waiting = await bot.rows("SELECT kind FROM deliveries WHERE state = 'queued'")
    world.config["telegram"] = {"enabled": True}
    async with world.running() as bot:

        async def arrived() -> bool:
            return any("nobody" in text for text in texts(await bot.people.messages(ADA)))

        await eventually(arrived)

    assert [entry for entry in logs if entry["log_level"] in ("error", "critical")] == []
    assert turn == {"status": "ack"}
    assert waiting == [{"kind": "reply"}]
