"""`clarify`, `sessions`, `onboarding_done`: ask, look up what was said, end a beginning."""

from __future__ import annotations

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.facts.errors import ToolFailed, TooMuchToRead
from aouo.facts.ports import Clock, stamp
from aouo.store import routes, search
from aouo.store.database import Database

_MAX_OPTIONS = 10


class Clarify(Arguments):
    message: str
    options: list[str]


async def _ask(question: Clarify, context: ToolContext, call_id: str) -> str:
    options = [option.strip() for option in question.options if option.strip()]
    if not question.message.strip():
        raise ToolFailed("clarify needs a message: the question.")
    if len(options) > _MAX_OPTIONS:
        raise ToolFailed(f"clarify takes at most {_MAX_OPTIONS} options; offer the likeliest.")
    return await context.ask(call_id, question.message, options)


def clarify() -> Tool:
    return tool(
        "clarify",
        "Ask the person one question with buttons.",
        Clarify,
        _ask,
        sink="look",
        timeout_s=None,
    )


_SHOWN = 8


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
                for question in search.wanted(key, wish.query, _SHOWN):
                    found = found or await snapshot.ask(question)
        except TooMuchToRead as error:
            raise ToolFailed(
                "That was said too often to look through. Try a rarer word."
            ) from error
        if not found:
            return f"Nothing was said here about {wish.query!r}. Try one word, or another one."
        return "\n".join(_line(hit, shared=context.facts.chat_kind != "private") for hit in found)

    return tool(
        "sessions",
        "Search all that was said in this conversation, also long ago.",
        Sessions,
        _run,
        sink="look",
        group="sessions",
        read_only=True,
    )


def _line(hit: search.Hit, *, shared: bool) -> str:
    who = "the person" if hit.role == "user" else "you"
    return f"- {hit.at[:10]}, in {hit.named}, {who}: {hit.quoted(shared=shared)}"


GROUP = "onboarding"
"""It needs no permission, and exists only in turns of a first conversation."""
_SUMMARY_CHARS = 500


class OnboardingDone(Arguments):
    summary: str = ""


def onboarding_done(database: Database, clock: Clock) -> Tool:
    """Make the tool; a second call changes nothing."""

    async def _run(wish: OnboardingDone, context: ToolContext, call_id: str) -> str:
        del call_id
        now, summary = stamp(clock), wish.summary.strip()[:_SUMMARY_CHARS]
        await database.transact(
            lambda tx: routes.end_onboarding(
                tx, context.facts.pack, context.facts.tenant, "done", now, summary
            ),
            durable=True,
        )
        return "Recorded: it does not begin again. Go on with what the person wants."

    return tool(
        "onboarding_done",
        "End the first conversation, also if they want none.",
        OnboardingDone,
        _run,
        sink="own",
        group=GROUP,
        mutates=True,
    )
