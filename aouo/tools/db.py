"""`db`: read the pack's own database without changing it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from aouo.facts.errors import ToolFailed
from aouo.packs.data.storage import PackStore
from aouo.tools.registry import Arguments, Tool, ToolContext, tool


class Db(Arguments):
    sql: str = ""
    params: list[Any] | dict[str, Any] | str = ""


def db(open_store: Callable[[str, str], PackStore]) -> Tool:
    """Make the tool; `open_store` gives a pack's database for a tenant."""

    async def _run(wish: Db, context: ToolContext, call_id: str) -> str:
        del call_id
        if not context.facts.pack:
            raise ToolFailed("There is no pack here, so there is no database. Use memory instead.")

        def look() -> dict[str, object]:
            store = open_store(context.facts.pack, context.facts.tenant)
            return store.look(wish.sql, wish.params) if wish.sql.strip() else store.describe()

        return json.dumps(await asyncio.to_thread(look), ensure_ascii=False, default=str)

    return tool(
        "db",
        "Read this pack's database: one SELECT, or nothing for its schema.",
        Db,
        _run,
        read_only=True,
    )
