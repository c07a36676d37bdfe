"""`persist` and `db`: keep and read rows in the pack's own database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Literal, cast

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.facts.errors import ToolFailed
from aouo.facts.ports import Clock, stamp
from aouo.packs.data.storage import PackStore
from aouo.plumbing.web.envelope import said_by


class Persist(Arguments):
    action: Literal["save", "practice", "upsert", "update", "delete", "recent", "query", "summary"]
    table: str = ""
    data: dict[str, Any] | str = ""
    where: dict[str, Any] | str = ""
    sql: str = ""
    params: list[Any] | dict[str, Any] | str = ""
    limit: int = 0
    free: SkipJsonSchema[dict[str, Any]] = Field(default_factory=dict[str, Any])
    """What is no argument of ours; the original's skills write columns so."""

    @model_validator(mode="before")
    @classmethod
    def _from_the_original(cls, given: Any) -> Any:
        """Take `persist(skill_type="vocab_practice", content="…")` as what it meant there."""
        payload = cast("dict[str, Any]", given)
        kept = {key: value for key, value in payload.items() if key in _OURS}
        free = {key: value for key, value in payload.items() if key not in _OURS}
        if not kept.get("action") and "sql" not in kept:
            kept["action"] = "save"
        if kept.get("action") == "recent_practice":
            kept["action"] = "recent"
        known = _FREE.get(str(kept.get("action")), _ANY)  # of a wrong action only that is reported
        if known and not free.keys() <= known:
            return kept | free  # validation refuses it and names what there is
        return kept | {"free": free}


_LOOKS = ("recent", "query", "summary")
_OURS = frozenset({"action", "table", "data", "where", "sql", "params", "limit"})
_ANY = frozenset[str]()
_FREE = dict.fromkeys(("save", "practice", "upsert", "update"), _ANY) | {
    "recent": frozenset({"skill_type", "db"}),
    "delete": frozenset({"db"}),
    "query": frozenset({"db"}),
    "summary": frozenset({"db"}),
}
"""The other names that each action takes; an empty set = any column."""


def persist(open_store: Callable[[str, str], PackStore], clock: Clock) -> Tool:
    """Make the tool; `open_store` gives a pack's database for a tenant. Calls are idempotent."""

    async def _run(wish: Persist, context: ToolContext, call_id: str) -> str:
        if not context.facts.pack:
            raise ToolFailed("There is no pack here, so there is no database. Use memory instead.")
        arguments = {
            key: value
            for key, value in wish.model_dump(exclude={"action", "free"}).items()
            if value not in ("", 0)
        }
        if wish.free.get("db", context.facts.pack) not in (context.facts.pack, "default"):
            raise ToolFailed("There is only the database of this pack: leave db out.")
        now = stamp(clock)

        def carry_out() -> tuple[dict[str, object], str]:
            store = open_store(
                context.facts.pack, context.facts.tenant
            )  # the first time, its schema is applied
            answer = store.run(
                wish.action,
                wish.free | arguments,
                call_id=call_id,
                session_key=context.facts.session_key,
                now=now,
                source=", ".join(context.sources()),
            )
            looks = wish.action in _LOOKS
            return answer, store.source_in(f"{wish.table} {wish.sql}") if looks else ""

        answer, source = await asyncio.to_thread(carry_out)
        return said_by(source, json.dumps(answer, ensure_ascii=False, default=str))

    return tool(
        "persist",
        "Keep and read rows in this pack's database; query: a SELECT in sql.",
        Persist,
        _run,
        sink=lambda wish: "look" if wish.action in _LOOKS else "own",
        mutates=lambda wish: wish.action not in _LOOKS,
        read_only=True,
    )


class Db(Arguments):
    sql: str = ""
    params: list[Any] | dict[str, Any] | str = ""


def db(open_store: Callable[[str, str], PackStore]) -> Tool:
    """Make the tool; `open_store` gives a pack's database for a tenant."""

    async def _run(wish: Db, context: ToolContext, call_id: str) -> str:
        del call_id
        if not context.facts.pack:
            raise ToolFailed("There is no pack here, so there is no database. Use memory instead.")

        def look() -> tuple[dict[str, object], str]:
            store = open_store(context.facts.pack, context.facts.tenant)
            if not wish.sql.strip():
                return store.describe(), ""
            return store.look(wish.sql, wish.params), store.source_in(wish.sql)

        found, source = await asyncio.to_thread(look)
        return said_by(source, json.dumps(found, ensure_ascii=False, default=str))

    return tool(
        "db",
        "Read this pack's database: one SELECT, or nothing for its schema.",
        Db,
        _run,
        sink="look",
        read_only=True,
    )
