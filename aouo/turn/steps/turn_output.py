"""The step after a turn's answer: it takes secrets out before the answer is committed."""

from __future__ import annotations

from collections.abc import Callable

from aouo.turn.context import Ack, TurnContext
from aouo.turn.pipelines import Next, Step


def safety(redact: Callable[[str], str]) -> Step[TurnContext]:
    """Redact secrets in the answer, whoever put them there."""

    async def run(ctx: TurnContext, call_next: Next) -> None:
        if isinstance(ctx.ending, Ack):
            text, native = ctx.ending.text, ctx.ending.native
            clean = redact(text) == text and redact(native) == native
            ctx.ending = Ack(redact(text), native if clean else "", ctx.ending.shown)
        await call_next()

    return Step("safety", run)
