"""Replaces the older messages of a history by one summary, and hands their facts to memory.

It makes two model calls (facts, then the summary), then stores one row. A crash before the row
leaves nothing; after it the facts wait in the row until memory has them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from aouo.agent import history
from aouo.agent.calls import record_all, spent_by
from aouo.agent.context import TurnContext
from aouo.agent.side_calls import SideCalls
from aouo.agent.spending.quota import Quota
from aouo.agent.tokens import Estimator, Scale, reserve_tokens
from aouo.facts import transcript
from aouo.facts.errors import EmptyAnswer, ProviderError, Refused
from aouo.facts.events import MemoryFlush
from aouo.facts.ids import ulid
from aouo.facts.ports import Clock, stamp
from aouo.facts.records import Draft, HistoryEntry, Past, Reach, Spent, Summary
from aouo.guard.targets import addresses
from aouo.plumbing.logs import log
from aouo.plumbing.web.envelope import said_by
from aouo.store import audit, sessions
from aouo.store.database import Database, Tx

KEPT_SHARE = 0.3
_SUMMARY_SHARE = 0.2
"""The largest share of the budget for a summary: with the kept share it is below any threshold."""
_SUMMARY_WORDS = 400
_SUMMARY_CHARS = 3_500
"""So that a chat can show it in one message."""
ENTRIES_MAX = 2_000
LEAST_LEFT_OUT = 20
"""Fewer messages that are left out are not worth the two calls."""
_LEAST_BUDGET_TOKENS = 400
"""Below this a summary has no room: the oldest turns are only left out."""
_REST_TURNS = 3
"""After a failure nothing is tried for so many turns of a session; each try costs time."""
TOO_LONG_TURNS = 2
"""After so many turns in a row whose unexplained refusal less history cured, the length is taken
for the cause; a single one may be an accident."""
_LINE_CHARS, _RESULT_CHARS = 2_000, 300


def budget_tokens(window: int, fixed_tokens: int) -> int:
    """Return what history may take: the window less its reserve and all that is sent anyway."""
    return window - reserve_tokens(window) - fixed_tokens


def cut(
    entries: Sequence[HistoryEntry],
    keep_tokens: int,
    scale: Scale,
    *,
    keep_entries: int = ENTRIES_MAX,
) -> tuple[Sequence[HistoryEntry], Sequence[HistoryEntry]]:
    """Return the entries that a summary is to stand for, and those that are kept: the newest turns
    that fit `keep_tokens`, with at most `keep_entries` entries; the newest turn may take half as
    many tokens again."""
    starts = [
        index
        for index, entry in enumerate(entries)
        if index == 0 or entry.turn_id != entries[index - 1].turn_id
    ]
    shortened = history.stale_shortened([entry.message for entry in entries])
    kept_from, used = len(entries), 0
    for start in reversed(starts):
        used += scale.entries(shortened[start:kept_from])
        room = keep_tokens if kept_from < len(entries) else keep_tokens * 3 // 2
        if used > room or len(entries) - start > keep_entries:
            break
        kept_from = start
    return entries[:kept_from], entries[kept_from:]


def _material(
    previous: str, older: Sequence[transcript.Message], max_tokens: int, scale: Scale
) -> str:
    """Return the summary so far and the older entries as lines; the oldest go if it is too long."""
    head = f"Summary so far: {previous}\n" if previous else ""
    left = max_tokens - scale.text(head)
    lines: list[str] = []
    for entry in reversed(older):
        line = _line(entry)
        left -= scale.text(line) + 1
        if left < 0:
            lines.append("[earlier messages are left out here]")
            break
        if line:
            lines.append(line)
    return head + "\n".join(reversed(lines))


def _shortened_to(text: str, max_tokens: int, scale: Scale) -> str:
    """Cut a summary to what fits, since a model may write more than it was asked for."""
    text = text[:_SUMMARY_CHARS]
    tokens = scale.text(text)
    while tokens > max_tokens and len(text) > 1:
        text = text[: min(len(text) - 1, len(text) * max_tokens // tokens)]
        tokens = scale.text(text)
    return text


def heading(summary: Summary | Draft) -> transcript.SystemSaid:
    """Return a summary as the entry that stands before the history."""
    return transcript.SystemSaid(f"[Previous conversation summary: {summary.text}]")


def _read_by_model(past: Past) -> list[transcript.Message]:
    """Return a session's past as a model reads it: the summary, then whole exchanges without
    repeats, with stale results as one line each."""
    kept = history.without_repeats(history.stale_shortened(history.sanitised(past.messages)))
    return [heading(past.reach.summary), *kept] if past.reach.summary else kept


@dataclass(slots=True, eq=False, kw_only=True)
class Compactor:
    """Summarises for turns and for `/compact`, and flushes facts to memory.

    By a session's id, `resting` are the turns that it still rests after a failure, `too_long` those
    in a row that were too long. Both outlive a compactor while their causes stay.
    """

    database: Database
    clock: Clock
    quota: Quota
    estimator: Estimator
    resting: dict[str, int]
    too_long: dict[str, int]

    def rests(self, session_id: str) -> bool:
        """Whether this turn comes too soon after a failure; it counts, so ask once a turn."""
        left = self.resting.pop(session_id, 0)
        if left > 1:
            self.resting[session_id] = left - 1
        return left > 0

    def rest(self, session_id: str) -> None:
        """Try no compaction in the session's next `_REST_TURNS` turns, because one failed."""
        self.resting[session_id] = _REST_TURNS

    def remember_too_long(self, session_id: str, turns: int) -> None:
        """Remember that requests passed only with less history in so many turns in a row."""
        self.too_long[session_id] = turns

    def was_too_long(self, session_id: str) -> int:
        """Return and forget what `remember_too_long` was told for the last turn, 0 = nothing."""
        return self.too_long.pop(session_id, 0)

    async def compact(
        self,
        ctx: TurnContext,
        budget: int,
        keep_tokens: int,
        scale: Scale,
        *,
        keep_entries: int = ENTRIES_MAX,
    ) -> bool:
        """Replace the older part of the history by a summary; False = the history is as it was.

        A failure of the model, or a limit, is logged and leaves the session as it was.
        """
        session_id = ctx.facts.session_id
        found = ctx.past.reach
        if budget < _LEAST_BUDGET_TOKENS:
            return False
        entries = await self.database.read(
            lambda tx: sessions.covered_by_summary(tx, found, ENTRIES_MAX)
        )
        older, kept = cut(entries, keep_tokens, scale, keep_entries=keep_entries)
        if not older:
            return False
        try:
            draft = await self.draft(ctx, found, older, budget, scale)
        except (ProviderError, Refused, TimeoutError) as error:
            log.warning("compaction_failed", session=session_id, error=repr(error))
            self.rest(session_id)
            return False
        now = stamp(self.clock)
        spent, ctx.spent = ctx.spent, []

        def write(tx: Tx) -> int:
            record_all(tx, spent, now)
            return sessions.add_summary(tx, session_id, draft, now, behind=found.newest_id)

        if not await self.database.transact(write):
            return False
        log.info("compacted", session=session_id, messages=draft.messages, tokens=draft.tokens)
        ctx.past = Past(
            await self.database.read(lambda tx: sessions.reach_of_summary(tx, session_id)),
            tuple(entry.message for entry in kept),
        )
        ctx.history = _read_by_model(ctx.past)
        ctx.summarised = ctx.past.reach.summary
        return True

    async def draft(
        self,
        ctx: TurnContext,
        found: Reach,
        older: Sequence[HistoryEntry],
        budget: int,
        scale: Scale,
        *,
        focus: str = "",
    ) -> Draft:
        """Ask for facts and a summary of these entries; store nothing.

        If the facts fail, the summary is made all the same.

        Raises:
            ProviderError, Refused, TimeoutError: there is no summary.
        """
        asking = self._asking(ctx)
        window = min(ctx.model.context_window, budget * 2)
        previous = found.summary.text if found.summary else ""
        text = _material(previous, [entry.message for entry in older], window // 2, scale)
        facts = ""
        if await ctx.toolbox.find("memory"):
            try:
                facts = await asking.facts(text)
            except (ProviderError, EmptyAnswer, TimeoutError) as error:
                log.warning("facts_failed", error=repr(error))
        words = min(_SUMMARY_WORDS, max(40, int(budget * _SUMMARY_SHARE / 2)))
        said = await asking.summary(text, words=words, focus=focus)
        said = _shortened_to(said, int(budget * _SUMMARY_SHARE), scale)
        said = said_by(", ".join(ctx.sources), said)  # it repeats them
        return Draft(
            ctx.facts.session_id,
            older[-1].id,
            len(older) + (found.summary.messages if found.summary else 0),
            said,
            scale.text(said),
            facts,
        )

    def _asking(self, ctx: TurnContext) -> SideCalls:
        def took(ms: float) -> None:
            ctx.provider_ms += ms

        return SideCalls(self.quota, ctx.model, spent_by(ctx, "summary"), ctx.spend, took)

    async def flush(self, ctx: TurnContext, summary: Summary) -> None:
        """Append a summary's facts to memory, through the guard like any other tool call.

        Appending the same facts twice is idempotent, so a crash in between does no harm.
        """
        facts = summary.facts
        if ctx.sources:  # nobody is asked here: no address that others may have brought
            lines = facts.splitlines()
            facts = "\n".join(line for line in lines if not any(addresses(line)))
        arguments = {"target": "memory", "action": "append", "content": facts}
        spent: list[Spent] = []
        if facts and await ctx.toolbox.find("memory"):
            call = transcript.ToolCall(ulid(), "memory", json.dumps(arguments, ensure_ascii=False))
            action = ctx.prepare(call)
            proposed = ctx.propose(action)
            at = stamp(self.clock)
            await self.database.transact(lambda tx: audit.append(tx, proposed, at))
            [judged] = await ctx.judge([action])
            outcome = await ctx.call_tool(judged)
            spent = [spent_by(ctx, "tool:memory")]
            if outcome.failed:
                log.warning("memory_flush_refused", summary=summary.id, error=outcome.text)
            else:
                ctx.publish(MemoryFlush(summary.session_id, tuple(summary.facts.splitlines())))
        now = stamp(self.clock)

        def write(tx: Tx) -> None:
            record_all(tx, spent, now)
            sessions.flushed_summary(tx, summary.id, now)

        await self.database.transact(write)


def _line(entry: transcript.Message) -> str:
    match entry:
        case transcript.UserSaid(text):
            return f"Person: {text[:_LINE_CHARS]}"
        case transcript.AssistantSaid(text, calls):
            asked = "".join(
                f" [called {call.name} {call.arguments[:_RESULT_CHARS]}]" for call in calls
            )
            return f"Assistant: {text[:_LINE_CHARS]}{asked}"
        case transcript.ToolReturned(name=name, text=text):
            return f"Result of {name}: {text[:_RESULT_CHARS]}"
        case transcript.SystemSaid(text):
            return text[:_LINE_CHARS]
