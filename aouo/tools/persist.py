"""`persist`: rows in the pack's own database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Literal

from aouo.errors import ToolFailed
from aouo.packs.storage import PackStore
from aouo.ports import Clock, stamp
from aouo.tools.registry import Arguments, Tool, ToolContext, tool


class Persist(Arguments):
    action: Literal["save", "practice", "upsert", "update", "delete", "recent", "query", "summary"]
    table: str = ""
    data: dict[str, Any] | str = ""
    where: dict[str, Any] | str = ""
    sql: str = ""
    params: list[Any] | dict[str, Any] | str = ""
    limit: int = 0


def persist(open_store: Callable[[str, str], PackStore], clock: Clock) -> Tool:
    """`open_store` gives a pack's database for an owner; a repeated call has no second effect."""

    async def _run(wish: Persist, context: ToolContext, call_id: str) -> str:
        if not context.pack:
            raise ToolFailed("There is no pack here, so there is no database. Use memory instead.")
        arguments = {
            key: value
            for key, value in wish.model_dump(exclude={"action"}).items()
            if value not in ("", 0)
        }
        now = stamp(clock)

        def carry_out() -> dict[str, object]:
            store = open_store(context.pack, context.owner)  # the first time, its schema is applied
            key = context.session_key
            return store.run(wish.action, arguments, call_id=call_id, session_key=key, now=now)

        answer = await asyncio.to_thread(carry_out)
        return json.dumps(answer, ensure_ascii=False, default=str)

    return tool(
        "persist",
        "Keep and read rows in this pack's database; query takes a SELECT in sql.",
        Persist,
        _run,
        effect=lambda wish: wish.action not in ("recent", "query", "summary"),
        reads=True,
    )
