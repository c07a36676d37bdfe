"""Shortens a long history, and reminds a turn of what was noted and said before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from aouo.agent import compaction, history
from aouo.agent import retrieval as choose
from aouo.agent.context import TurnContext
from aouo.agent.pipelines import Next, Step
from aouo.agent.tokens import Estimate, Estimator, estimate, estimate_entries
from aouo.facts.ports import Clock
from aouo.facts.records import NEWEST, Stretch
from aouo.facts.transcript import ToolReturned, UserSaid
from aouo.plumbing.logs import log
from aouo.store import journal, search
from aouo.store.database import Database, Tx


def stale_results() -> Step[TurnContext]:
    """Shorten stale results to one line each, and drop repeats."""

    async def run(ctx: TurnContext, call_next: Next) -> None:
        ctx.history = history.without_repeats(history.stale_shortened(ctx.history))
        await call_next()

    return Step("stale tool results", run, requires=frozenset({"history"}))


def compact(
    compactor: compaction.Compactor, *, threshold: float, window_override: int
) -> Step[TurnContext]:
    """Summarise the older messages once the history fills the share `threshold` of what it may
    take, or has more messages than are sent.

    After a person undid a summary, only a full history is summarised, and messages above the
    number are only left out. A pack that asks for a short history wants no summary of the rest.
    """

    async def run(ctx: TurnContext, call_next: Next) -> None:
        await _flush_what_waits(compactor, ctx)
        if not ctx.facts.off_record:
            ctx.make_room = lambda known: _make_room(ctx, compactor, known=known)
            session_id = ctx.facts.session_id
            turns = compactor.was_too_long(session_id)
            ctx.was_too_long = lambda: compactor.remember_too_long(session_id, turns + 1)
            known = turns >= compaction.TOO_LONG_TURNS
            await _compact_if_due(ctx, compactor, threshold, window_override, too_long=known)
        await call_next()

    needs = frozenset({"history", "system", "tools"})
    return Step("compact if needed", run, requires=needs, cost="model")


def sent_anyway(turn: TurnContext, estimator: Estimator) -> Estimate:
    """Estimate what every request of this turn holds besides the history."""
    return (
        estimate(turn.system + turn.changing)
        + estimator.tools(turn.toolbox.shown)
        + estimate_entries(turn.said, (turn.model.provider, turn.model.model))
    )


async def _compact_if_due(
    ctx: TurnContext,
    compactor: compaction.Compactor,
    threshold: float,
    window_override: int,
    *,
    too_long: bool,
) -> None:
    estimator = compactor.estimator
    scale = estimator.scale(ctx.model.provider, ctx.model.model)
    window = window_override or ctx.model.context_window
    budget = compaction.budget_tokens(window, scale.tokens(sent_anyway(ctx, estimator)))
    session_id = ctx.facts.session_id
    if too_long:
        budget = min(budget, scale.entries(ctx.history))  # whatever we thought would fit
    undone = ctx.past.reach.undone
    due = budget * (1.0 if undone else threshold)
    full = scale.at_most(ctx.history) >= due and scale.entries(ctx.history) >= due
    many = (
        ctx.past.left_out >= compaction.LEAST_LEFT_OUT
        and not undone
        and not ctx.pack.history_messages
    )
    if not (full or many) or compactor.rests(session_id):
        return
    keep_entries = ctx.past.rows if many else compaction.ENTRIES_MAX
    if await compactor.compact(
        ctx, budget, int(budget * compaction.KEPT_SHARE), scale, keep_entries=keep_entries
    ):
        await _flush_what_waits(compactor, ctx)


async def _make_room(ctx: TurnContext, compactor: compaction.Compactor, *, known: bool) -> bool:
    """Shorten the history once a turn, after a service refused a request; return whether it is.

    If the request is not `known` to be too long, only the newer half is tried: nothing is
    stored, and no estimate changes, before that has helped.
    """
    ctx.make_room = None
    provider, model = ctx.model.provider, ctx.model.model
    estimator = compactor.estimator
    if known:
        estimator.was_too_long(provider, model)
    scale = estimator.scale(provider, model)
    budget = scale.entries(ctx.history)
    event = "prompt_too_long" if known else "request_refused_unexplained"
    log.warning(event, provider=provider, model=model, history_tokens=budget)
    if known and await compactor.compact(ctx, budget, int(budget * compaction.KEPT_SHARE), scale):
        await _flush_what_waits(compactor, ctx)
        return True
    fewer = history.newest_that_fit(ctx.history, budget // 2, scale)
    smaller = len(fewer) < len(ctx.history)
    left = ctx.history[: len(ctx.history) - len(fewer)]
    ctx.unread = sum(not isinstance(one, ToolReturned) for one in left)
    ctx.history = fewer
    return smaller


async def _flush_what_waits(compactor: compaction.Compactor, ctx: TurnContext) -> None:
    """Give memory the summary's facts that it lacks, because they are new or a crash came."""
    summary = ctx.past.reach.summary
    if summary and summary.facts and not summary.flushed and not ctx.facts.off_record:
        await compactor.flush(ctx, summary)


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
            if part := choose.reminder(
                notes, hits, said, scale, shared=ctx.facts.chat_kind != "private"
            ):
                ctx.changing = f"{ctx.changing}\n\n{part}"
        await call_next()

    needs = frozenset({"history", "memory", "system"})
    return Step("retrieval", run, requires=needs, cost="io")


def _said(ctx: TurnContext) -> str:
    """The words to look for, "" = nothing is looked for in this turn."""
    facts, first = ctx.facts, ctx.said[0] if ctx.said else None
    quiet = facts.off_record or ctx.pack.memory_policy == "none"
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
