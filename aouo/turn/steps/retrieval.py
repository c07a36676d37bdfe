"""The step that reminds a turn of what was noted and said before, where it shares words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from aouo.facts.history import NEWEST, Stretch
from aouo.facts.ports import Clock
from aouo.facts.transcript import UserSaid
from aouo.store import journal, search
from aouo.store.database import Database, Tx
from aouo.turn import retrieval as choose
from aouo.turn.context import TurnContext
from aouo.turn.pipelines import Next, Step
from aouo.turn.tokens import Estimator


def retrieval(database: Database, clock: Clock, estimator: Estimator) -> Step[TurnContext]:
    """Add to what changes the few notes and older messages that fit the person's words.

    It writes nothing, and looks only where this turn's history comes from, at what the model is
    not sent anyway.
    """

    async def run(ctx: TurnContext, call_next: Next) -> None:
        said = _said(ctx)
        if words := choose.useful_words(said):
            key, sent, now = ctx.facts.session_key, ctx.past.sent, clock.now()
            hits = await database.read(lambda tx: fitting(tx, key, sent, words, now))
            notes = [
                noted
                for file in ctx.left_out
                for noted in choose.notes_with(words, file, ctx.memory.get(file, ""))
            ]
            notes += await database.read(lambda tx: _journal(tx, ctx, words))
            scale = estimator.scale(ctx.model.provider, ctx.model.model)
            if part := choose.reminder(notes, hits, said, scale):
                ctx.changing = f"{ctx.changing}\n\n{part}"
        await call_next()

    needs = frozenset({"history", "memory", "system"})
    return Step("retrieval", run, requires=needs, cost="io")


def _said(ctx: TurnContext) -> str:
    """The words to look for, "" = nothing is looked for in this turn."""
    facts, first = ctx.facts, ctx.said[0] if ctx.said else None
    quiet = facts.off_record or ctx.model.brief or ctx.pack.memory_policy == "none"
    quiet = quiet or facts.origin in ("journal", "consolidate")
    return first.text if isinstance(first, UserSaid) and not quiet else ""


def _journal(tx: Tx, ctx: TurnContext, words: Sequence[str]) -> list[choose.Noted]:
    """Return the newest lines of the journal that fit the words."""
    if ctx.pack.memory_policy != "full":
        return []
    return choose.journal_with(
        words, journal.newest(tx, ctx.facts.pack, ctx.facts.tenant, choose.JOURNAL_LINES)
    )


def fitting(
    tx: Tx, session_key: str, sent: Sequence[Stretch], words: Sequence[str], now: datetime
) -> list[search.Hit]:
    """Return the messages of these sessions that fit the words best and are not `sent` anyway."""
    if len(sent) == 1 and sent[0].until == NEWEST and not search.is_more(tx, session_key, sent[0]):
        return []
    found = search.holding(tx, session_key, words)
    if not any(found):
        return []
    weights = choose.ranked(words, found, search.ids_in(tx, sent))
    if not weights:
        return []
    chosen = choose.best(weights, search.candidates(tx, session_key, weights), now)
    return [hit for one in chosen if (hit := search.hit(tx, one, words))]
