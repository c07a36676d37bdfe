"""Lists the built-in steps of the four pipelines: what a turn does, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aouo.facts.ports import Clock
from aouo.spending.quota import Quota
from aouo.store.database import Database
from aouo.turn.compaction import Compactor
from aouo.turn.past import Pasts
from aouo.turn.pipelines import Pipelines
from aouo.turn.prompt import Persona
from aouo.turn.steps import context, dispatch, turn_input, turn_output
from aouo.turn.steps.retrieval import retrieval


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
            turn_input.platform_gate(),
            turn_input.quota_gate(quota),
            turn_input.load_history(database, Pasts(), max_history_messages),
            turn_input.load_memory(read_memory),
            turn_input.system_prompt(persona, clock, compactor.estimator),
            retrieval(database, clock, compactor.estimator),
            context.stale_results(),
            turn_input.tool_view(),
            context.compact(
                compactor,
                threshold=compress_threshold,
                window_override=context_window,
            ),
        ),
        dispatch_input=(
            dispatch.loop_policy(max_dispatches, session_tokens_max),
            dispatch.listen(),
            dispatch.fit_to_window(max_tokens, context_window, compactor.estimator),
            dispatch.ordering_repair(),
        ),
        dispatch_output=(
            dispatch.record_usage(compactor.estimator),
            dispatch.decide(),
        ),
        turn_output=(turn_output.safety(redact),),
    )
