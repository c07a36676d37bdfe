"""Refuses model calls of a turn that has taken as many tokens as it may."""

from __future__ import annotations

from aouo.facts.errors import QuotaExceededError
from aouo.spending.money import own_key
from aouo.turn.context import TurnContext


def refuse_over(turn: TurnContext, session_tokens_max: int) -> None:
    """Refuse another model call of a turn that has taken what its pack allows one, or a whole
    session may take; 0 = no cap.

    Raises:
        QuotaExceededError: names the cap.
    """
    pack, used = turn.pack, turn.total.input_tokens + turn.total.output_tokens
    for cap, key in (
        (pack.turn_tokens_max, pack.turn_tokens_key or own_key("turn_tokens", pack.name)),
        (session_tokens_max, "advanced.session_tokens_max"),
    ):
        if cap and used >= cap:
            raise QuotaExceededError("turn", used, cap, key)
