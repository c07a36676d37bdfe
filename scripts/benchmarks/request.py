"""What a model is sent first: the body of the request for "Hello", in bytes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from scripts.benchmarks.bots import ANSWER
from scripts.benchmarks.figures import MODEL, SERVICE, Bench, chats
from scripts.benchmarks.table import Row
from tests.fakes.models import ModelService, profile


def request(bench: Bench, *, quick: bool) -> list[Row]:
    """The first request body for "Hello", with packs/notes."""
    del quick
    body = asyncio.run(_first_request(bench))
    system = [m for m in body["messages"] if m["role"] == "system"]
    tools = body.get("tools", [])
    return [
        Row('first request for "Hello"', "bytes", len(_json(body)), aim="≤ 6144", digits=0),
        Row(f"  of it {len(tools)} tool schemas", "bytes", len(_json(tools)), digits=0),
        Row("  of it system messages", "bytes", len(_json(system)), digits=0),
    ]


async def _first_request(bench: Bench) -> dict[str, Any]:
    async with ModelService(profile(SERVICE)) as model:
        model.say(ANSWER)
        bot = bench.aouo(chats(1), model=model.settings(MODEL))
        token = bench.telegram.new_token()
        process = await asyncio.to_thread(bot.start, token)
        try:
            await asyncio.to_thread(
                bench.telegram.drive, token, chats(1), each=1, apart=True, text="Hello"
            )
        finally:
            await asyncio.to_thread(process.end)
        return model.requests[0]


def _json(value: object) -> bytes:
    """As it goes over the wire."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
