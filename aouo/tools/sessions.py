"""`sessions`: look up what was said before in this conversation with this pack."""

from __future__ import annotations

from aouo.facts.errors import ToolFailed, TooMuchToRead
from aouo.store import search
from aouo.store.database import Database
from aouo.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.web.envelope import still_untrusted

SHOWN = 8


class Sessions(Arguments):
    query: str


def sessions(database: Database) -> Tool:
    """Make the tool; it also finds summarised messages and those of earlier sessions."""

    async def _run(wish: Sessions, context: ToolContext, call_id: str) -> str:
        del call_id
        if not any(character.isalnum() for character in wish.query):
            raise ToolFailed("sessions needs a query: a word or two that were said.")
        key = context.facts.session_key
        while await database.transact(lambda tx: search.catch_up(tx, key)):
            pass
        found: list[search.Hit] = []
        try:
            async with database.snapshot() as snapshot:
                for question in search.wanted(key, wish.query, SHOWN):
                    found = found or await snapshot.ask(question)
        except TooMuchToRead as error:
            raise ToolFailed(
                "That was said too often to look through. Try a rarer word."
            ) from error
        if not found:
            return f"Nothing was said here about {wish.query!r}. Try one word, or another one."
        return "\n".join(_line(hit) for hit in found)

    return tool(
        "sessions",
        "Search all that was said in this conversation, also long ago.",
        Sessions,
        _run,
        group="sessions",
        read_only=True,
    )


def _line(hit: search.Hit) -> str:
    who = "the person" if hit.role == "user" else "you"
    return f"- {hit.at[:10]}, in “{hit.title}”, {who}: {still_untrusted(hit.snippet, hit.text)}"
