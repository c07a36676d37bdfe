"""Lists the built-in steps of the four pipelines: what a turn does, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aouo.agent import past_steps, steps
from aouo.agent.compaction import Compactor
from aouo.agent.past import Pasts
from aouo.agent.past_steps import retrieval
from aouo.agent.pipelines import Pipelines
from aouo.agent.prompt import Persona
from aouo.agent.spending.quota import Quota
from aouo.facts.ports import Clock
from aouo.store.database import Database


def default(
    *,
    database: Database,
    clock: Clock,
    quota: Quota,
    persona: Callable[[], Persona],
    read_memory: Callable[[str, str], Mapping[str, str]],
    redact: Callable[[str], str],
    max_history_messages: int,
    max_dispatches: int,
    session_tokens_max: int,
    max_tokens: int,
    context_window: int,
    compress_threshold: float,
    compactor: Compactor,
) -> Pipelines:
    """Return the built-in pipelines; pack and skill of a turn are resolved before they run."""
    return Pipelines(
        turn_input=(
            steps.platform_gate(),
            steps.quota_gate(quota),
            steps.load_history(database, Pasts(), max_history_messages),
            steps.load_memory(read_memory),
            steps.system_prompt(persona, clock, compactor.estimator),
            retrieval(database, clock, compactor.estimator),
            past_steps.stale_results(),
            steps.tool_view(),
            past_steps.compact(
                compactor,
                threshold=compress_threshold,
                window_override=context_window,
            ),
        ),
        dispatch_input=(
            steps.loop_policy(max_dispatches, session_tokens_max),
            steps.listen(),
            steps.fit_to_window(max_tokens, context_window, compactor.estimator),
            steps.ordering_repair(),
        ),
        dispatch_output=(
            steps.record_usage(compactor.estimator),
            steps.decide(),
        ),
        turn_output=(steps.safety(redact),),
    )
