"""Refuses model calls of a turn that has taken as many tokens as it may."""

from __future__ import annotations

from dataclasses import dataclass

from aouo.facts.errors import QuotaExceededError
from aouo.spending.money import own_key
from aouo.turn.context import TurnContext


@dataclass(frozen=True, slots=True)
class TurnCaps:
    """A turn's caps: the pack's own, and what a whole session may take; 0 = no cap."""

    session_tokens_max: int

    def refuse_over(self, turn: TurnContext) -> None:
        """Refuse another model call of a turn that has taken what it may.

        Raises:
            QuotaExceededError: names the cap.
        """
        pack, used = turn.pack, turn.total.input_tokens + turn.total.output_tokens
        for cap, key in (
            (pack.turn_tokens_max, pack.turn_tokens_key or own_key("turn_tokens", pack.name)),
            (self.session_tokens_max, "advanced.session_tokens_max"),
        ):
            if cap and used >= cap:
                raise QuotaExceededError("turn", used, cap, key)
