"""The steps around each model call: they bound it, choose what it sees, and read its answer."""

from __future__ import annotations

from aouo.facts.errors import ContentFiltered, DispatchLimitReached, EmptyAnswer
from aouo.turn import history
from aouo.turn.caps import refuse_over
from aouo.turn.context import DispatchContext
from aouo.turn.pipelines import Next, Step
from aouo.turn.shown import last_words
from aouo.turn.steps.context import sent_anyway
from aouo.turn.tokens import Estimator, reserve_tokens

NUDGE = "[You gave no answer. Say what you found or did, or what you need from the person.]"
LENGTH_NOTE = "\n\n_(cut off: the model reached its answer limit)_"


def loop_policy(max_dispatches: int, session_tokens_max: int) -> Step[DispatchContext]:
    """Check the number of dispatches and the turn's token caps before each call; `Quota.stream`
    checks the money right after."""

    async def run(ctx: DispatchContext, call_next: Next) -> None:
        if ctx.iteration >= max_dispatches:
            raise DispatchLimitReached(max_dispatches)
        refuse_over(ctx.turn, session_tokens_max)
        await call_next()

    return Step("loop policy", run)


def listen() -> Step[DispatchContext]:
    """Append the person's edits since the last call, if the turn listens for them."""

    async def run(ctx: DispatchContext, call_next: Next) -> None:
        if ctx.turn.listen:
            await ctx.turn.listen()
        await call_next()

    return Step("edited messages", run)


def fit_to_window(
    max_tokens: int, window_override: int, estimator: Estimator
) -> Step[DispatchContext]:
    """Send as many of the newest turns as the window has room for; never cut this turn."""

    async def run(ctx: DispatchContext, call_next: Next) -> None:
        turn = ctx.turn
        window = window_override or turn.model.context_window
        scale = estimator.scale(turn.model.provider, turn.model.model)
        fixed = scale.tokens(sent_anyway(turn, estimator))
        room = window - min(max_tokens, reserve_tokens(window)) - fixed
        past = history.newest_that_fit(turn.history, room, scale)
        ctx.messages, ctx.past = [*past, *turn.said], len(past)
        await call_next()

    return Step("fit to window", run, requires=frozenset({"history", "system", "tools"}))


def ordering_repair() -> Step[DispatchContext]:
    """Drop this turn's calls without results: no provider accepts them, a crash may leave some."""

    async def run(ctx: DispatchContext, call_next: Next) -> None:
        past, said = ctx.messages[: ctx.past], ctx.messages[ctx.past :]
        ctx.messages = [*past, *history.sanitised(said)]
        await call_next()

    return Step("ordering repair", run)


def record_usage(estimator: Estimator) -> Step[DispatchContext]:
    """Add this call to the turn's total, and let the estimator learn from it; the rows are written
    with the next commit."""

    async def run(ctx: DispatchContext, call_next: Next) -> None:
        ctx.turn.total += ctx.usage
        ctx.turn.dispatches += 1
        if ctx.request:
            estimator.observe(*ctx.answered_by, ctx.request, ctx.usage)
        await call_next()

    return Step("record usage", run)


def decide() -> Step[DispatchContext]:
    """Decide what an answer means: calls go on, text ends the turn, silence is sent back once;
    after silence right after a `msg` its words are the answer."""

    async def run(ctx: DispatchContext, call_next: Next) -> None:
        await call_next()
        if ctx.stopped or ctx.again is not None or ctx.said.calls:
            return
        text = ctx.said.text.strip()
        if ctx.finish_reason == "content_filter":
            ctx.nack(ContentFiltered("the service ended the answer"))
        elif text and ctx.finish_reason == "length":
            ctx.ack(text + LENGTH_NOTE)
        elif text:
            ctx.ack(text, ctx.said.native)
        elif ctx.finish_reason == "length":  # the executor gave it all the room there is
            ctx.nack(EmptyAnswer(f"cut off in dispatch {ctx.iteration}", cut_off=ctx.bounded_by))
        elif shown := last_words(ctx.turn.said):
            ctx.ack(shown, shown=True)
        elif ctx.turn.nudges == 0:
            ctx.turn.nudges = 1
            ctx.retry(NUDGE)
        else:
            ctx.nack(EmptyAnswer(f"silent in dispatch {ctx.iteration}"))

    return Step("decide", run)
