"""The steps before a turn's first model call: may it run, what does it know, what may it use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import structlog

from aouo.facts.errors import PlatformRefused
from aouo.facts.history import Past
from aouo.facts.ports import Clock
from aouo.facts.transcript import AssistantSaid, Message, UserSaid
from aouo.spending.quota import Quota
from aouo.store import results, turns
from aouo.store.database import Database, Tx
from aouo.tools import load
from aouo.tools.results import NAME as RESULT_READ
from aouo.turn import prompt
from aouo.turn.compaction import heading
from aouo.turn.context import PackView, TurnContext
from aouo.turn.pack_prompt import allowed_memory, fit
from aouo.turn.past import Pasts
from aouo.turn.pipelines import Next, Step
from aouo.turn.prompt import Persona
from aouo.turn.tokens import Estimator
from aouo.turn.toolbox import LOAD_TOOLS

log = structlog.get_logger()


def platform_gate() -> Step[TurnContext]:
    """Refuse a pack on a platform that its `permissions.platforms` does not name."""

    async def run(ctx: TurnContext, call_next: Next) -> None:
        pack, here = ctx.pack, ctx.facts.address.platform
        if pack.platforms and here not in pack.platforms:
            raise PlatformRefused(pack.display_name, here, pack.platforms)
        await call_next()

    return Step("platform gate", run)


def quota_gate(quota: Quota) -> Step[TurnContext]:
    """Refuse a turn whose token caps are reached, before anything costs money."""

    async def run(ctx: TurnContext, call_next: Next) -> None:
        await quota.check(ctx.facts.pack)
        await call_next()

    return Step("quota gate", run, cost="io")


def load_history(database: Database, pasts: Pasts, max_messages: int) -> Step[TurnContext]:
    """Load the session's settled past after the summary of what came before it, and what this turn
    had recorded before a crash."""

    async def run(ctx: TurnContext, call_next: Next) -> None:
        facts = ctx.facts
        limit = min(ctx.pack.history_messages or max_messages, max_messages)

        def load(tx: Tx) -> tuple[Past, list[Message], bool]:
            past = pasts.read(tx, facts.session_id, limit)
            return past, turns.said(tx, facts.id), results.any_of(tx, facts.session_id)

        ctx.past, ctx.said, has_handles = await database.read(load)
        if ctx.images and ctx.said and isinstance(ctx.said[0], UserSaid):
            ctx.said[0] = replace(ctx.said[0], images=ctx.images)
        if has_handles:
            ctx.toolbox.reveal((RESULT_READ,))
        standing = ctx.past.reach.summary
        ctx.history = [heading(standing)] if standing else []
        ctx.history += ctx.past.messages
        ctx.history += ctx.recalled
        await call_next()

    return Step("history", run, provides=frozenset({"history"}), cost="io")


def load_memory(read: Callable[[str, str], Mapping[str, str]]) -> Step[TurnContext]:
    """Load the pack's memory files; `read` checks their times, so the next turn sees a write."""

    async def run(ctx: TurnContext, call_next: Next) -> None:
        policy = ctx.pack.memory_policy
        if policy != "none":
            ctx.memory = allowed_memory(read(ctx.facts.pack, ctx.facts.tenant), policy)
        await call_next()

    return Step("memory", run, provides=frozenset({"memory"}), cost="io")


def system_prompt(
    persona: Callable[[], Persona], clock: Clock, estimator: Estimator
) -> Step[TurnContext]:
    """Build the system prompt; its pack part is cut to the pack's `context.max_tokens`."""
    told: set[tuple[str, tuple[str, ...]]] = set()

    async def run(ctx: TurnContext, call_next: Next) -> None:
        scale = estimator.scale(ctx.model.provider, ctx.model.model)
        pack, memory, ctx.left_out = fit(ctx.pack, ctx.memory, scale)
        if ctx.left_out and (pack.name, ctx.left_out) not in told:
            told.add((pack.name, ctx.left_out))
            log.warning("prompt_cut", pack=pack.name, left_out=ctx.left_out)
        brief, now = ctx.model.brief, clock.now().astimezone()
        system = prompt.system(persona(), pack, memory, brief=brief)
        changing = prompt.changing(ctx.facts, memory, now, brief=brief)
        ctx.system, ctx.changing = prompt.whole(system), prompt.whole(changing)
        ctx.recording.written(system, changing)
        await call_next()

    needs = frozenset({"memory"})
    return Step("system prompt", run, requires=needs, provides=frozenset({"system"}))


def tool_view() -> Step[TurnContext]:
    """Choose the tools that the model is told of, those it had brought in before a crash too."""

    async def run(ctx: TurnContext, call_next: Next) -> None:
        brief = ctx.model.brief
        await ctx.toolbox.open(
            _loaded(ctx.said), brief=brief, examples=_examples(ctx.pack) if brief else None
        )
        await call_next()

    return Step("tool view", run, provides=frozenset({"tools"}), cost="io")


def _loaded(said: Sequence[Message]) -> list[str]:
    """Return the tools that this turn asked for or called already, to be shown again."""
    names: list[str] = []
    for entry in said:
        if isinstance(entry, AssistantSaid):
            for call in entry.calls:
                names += load.names_in(call.arguments) if call.name == LOAD_TOOLS else [call.name]
    return names


def _examples(pack: PackView) -> Mapping[str, Sequence[Mapping[str, object]]]:
    """Return the pack's examples by tool, for a model that reads only brief prompts."""
    shown: dict[str, list[Mapping[str, object]]] = {}
    for item in pack.examples:
        shown.setdefault(item.tool, []).append(
            {"user": item.say, "arguments": dict(item.arguments), "answer": item.answer}
        )
    return shown
