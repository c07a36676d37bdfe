"""What a turn does, in order: the steps before, around each model call, and after its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from aouo.agent import history, past_steps, prompt
from aouo.agent.claims import says_done
from aouo.agent.compaction import Compactor, heading
from aouo.agent.context import Ack, DispatchContext, TurnContext
from aouo.agent.history import last_words
from aouo.agent.loop import refuse_over
from aouo.agent.past import Pasts
from aouo.agent.past_steps import retrieval, sent_anyway
from aouo.agent.pipelines import Next, Pipelines, Step
from aouo.agent.prompt import Persona, allowed_memory, fit
from aouo.agent.spending.quota import Quota
from aouo.agent.tokens import Estimator, reserve_tokens
from aouo.agent.toolbox import LOAD_TOOLS
from aouo.agent.tools import load
from aouo.agent.tools.results import NAME as RESULT_READ
from aouo.facts.errors import ContentFiltered, DispatchLimitReached, EmptyAnswer, PlatformRefused
from aouo.facts.people import PEOPLE
from aouo.facts.ports import Clock
from aouo.facts.records import Past
from aouo.facts.transcript import AssistantSaid, Message, UserSaid
from aouo.plumbing.logs import log
from aouo.store import contents, turns
from aouo.store.database import Database, Tx
from aouo.words.catalogue import text as sentence
from aouo.words.sentences import TOOK_EFFECT


def _platform_gate() -> Step[TurnContext]:
    """Refuse a pack on a platform that its `permissions.platforms` does not name."""

    async def run(ctx: TurnContext, call_next: Next) -> None:
        pack, here = ctx.pack, ctx.facts.address.platform
        if pack.platforms and here not in pack.platforms:
            raise PlatformRefused(pack.display_name, here, pack.platforms)
        await call_next()

    return Step("platform gate", run)


def _quota_gate(quota: Quota) -> Step[TurnContext]:
    """Refuse a turn whose token caps are reached, before anything costs money."""

    async def run(ctx: TurnContext, call_next: Next) -> None:
        await quota.check(ctx.facts.pack)
        await call_next()

    return Step("quota gate", run, cost="io")


def load_history(
    database: Database, pasts: Pasts, max_messages: int, owner: str
) -> Step[TurnContext]:
    """Load the session's settled past after the summary of what came before it, and what this turn
    had recorded before a crash."""

    async def run(ctx: TurnContext, call_next: Next) -> None:
        facts = ctx.facts
        limit = min(ctx.pack.history_messages or max_messages, max_messages)

        def load(tx: Tx) -> tuple[Past, list[Message], bool]:
            own = () if facts.chat_kind == "private" else (facts.person.id, owner)
            past = pasts.read(tx, facts.session_id, limit, own)
            return past, turns.said(tx, facts.id), contents.any_results(tx, facts.session_id)

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


def _load_memory(read: Callable[[str, str], Mapping[str, str]]) -> Step[TurnContext]:
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
        system = prompt.system(persona(), pack, memory)
        changing = prompt.changing(ctx.facts, memory, clock.now().astimezone())
        ctx.system, ctx.changing = prompt.whole(system), prompt.whole(changing)
        ctx.recording.written(system, changing)
        await call_next()

    needs = frozenset({"memory"})
    return Step("system prompt", run, requires=needs, provides=frozenset({"system"}))


def tool_view() -> Step[TurnContext]:
    """Choose the tools that the model is told of, those it had brought in before a crash too."""

    async def run(ctx: TurnContext, call_next: Next) -> None:
        await ctx.toolbox.open(_loaded(ctx.said))
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


_NUDGE = "[You gave no answer. Say what you found or did, or what you need from the person.]"
_NOTHING_DONE = (
    "[You said that something was done, but no call of this turn has changed or sent anything. If "
    "it is to be done, do it with a tool now. Otherwise answer once more, and say what is so.]"
)
_NEWEST = 3
"""So many entries back stands what an attempt before this one had done."""
_LENGTH_NOTE = "\n\n_(cut off: the model reached its answer limit)_"


def _loop_policy(max_dispatches: int, session_tokens_max: int) -> Step[DispatchContext]:
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


def _fit_to_window(
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


def _ordering_repair() -> Step[DispatchContext]:
    """Drop this turn's calls without results: no provider accepts them, a crash may leave some."""

    async def run(ctx: DispatchContext, call_next: Next) -> None:
        past, said = ctx.messages[: ctx.past], ctx.messages[ctx.past :]
        ctx.messages = [*past, *history.sanitised(said), *_pictured(ctx.turn)]
        await call_next()

    return Step("ordering repair", run)


_PICTURES_MAX = 4


def _pictured(ctx: TurnContext) -> Iterator[Message]:
    """Yield what shows a model that sees the newest pictures that tools returned in this turn: no
    service takes them in a result."""
    if ctx.pictures and ctx.model.sees:
        newest = tuple(ctx.pictures[-_PICTURES_MAX:])
        yield UserSaid("[The newest pictures of the tools' results, in order]", newest)


def _record_usage(estimator: Estimator) -> Step[DispatchContext]:
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
    """Decide what an answer means: calls go on, text ends the turn, silence is sent back once, and
    so is what says that something was done where nothing was; after silence right after a `msg` its
    words are the answer."""

    async def run(ctx: DispatchContext, call_next: Next) -> None:
        await call_next()
        if ctx.stopped or ctx.again is not None or ctx.said.calls:
            return
        text = ctx.said.text.strip()
        if ctx.finish_reason == "content_filter":
            ctx.nack(ContentFiltered("the service ended the answer"))
        elif text and ctx.finish_reason == "length":
            ctx.ack(text + _LENGTH_NOTE)
        elif text and _is_unfounded(ctx.turn, text):
            if ctx.turn.doubted:
                ctx.ack(f"{text}\n\n{sentence('receipts.nothing-done')}")
            else:
                ctx.turn.doubted = True
                await ctx.turn.view.start_over()
                ctx.retry(_NOTHING_DONE)
        elif text:
            ctx.ack(text, ctx.said.native)
        elif ctx.finish_reason == "length":  # the executor gave it all the room there is
            ctx.nack(EmptyAnswer(f"cut off in dispatch {ctx.iteration}", cut_off=ctx.bounded_by))
        elif shown := last_words(ctx.turn.said):
            ctx.ack(shown, shown=True)
        elif ctx.turn.nudges == 0:
            ctx.turn.nudges = 1
            ctx.retry(_NUDGE)
        else:
            ctx.nack(EmptyAnswer(f"silent in dispatch {ctx.iteration}"))

    return Step("decide", run)


def _is_unfounded(turn: TurnContext, answer: str) -> bool:
    """Whether an answer to a person says that something was done, and nothing was."""
    if turn.effects or turn.facts.resumes or turn.facts.origin not in PEOPLE:
        return False
    if any(TOOK_EFFECT in entry.text for entry in turn.history[-_NEWEST:]):
        return False
    asked = next((one.text for one in turn.said if isinstance(one, UserSaid)), "")
    return says_done(answer, asked, looked=turn.tool_calls > 0)


def _safety(redact: Callable[[str], str]) -> Step[TurnContext]:
    """Redact secrets in the answer, whoever put them there."""

    async def run(ctx: TurnContext, call_next: Next) -> None:
        if isinstance(ctx.ending, Ack):
            text, native = ctx.ending.text, ctx.ending.native
            clean = redact(text) == text and redact(native) == native
            ctx.ending = Ack(redact(text), native if clean else "", ctx.ending.shown)
        await call_next()

    return Step("safety", run)


def default(
    *,
    database: Database,
    clock: Clock,
    quota: Quota,
    persona: Callable[[], Persona],
    read_memory: Callable[[str, str], Mapping[str, str]],
    redact: Callable[[str], str],
    max_history_messages: int,
    owner: str,
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
            _platform_gate(),
            _quota_gate(quota),
            load_history(database, Pasts(), max_history_messages, owner),
            _load_memory(read_memory),
            system_prompt(persona, clock, compactor.estimator),
            retrieval(database, clock, compactor.estimator),
            past_steps.stale_results(),
            tool_view(),
            past_steps.compact(
                compactor, threshold=compress_threshold, window_override=context_window
            ),
        ),
        dispatch_input=(
            _loop_policy(max_dispatches, session_tokens_max),
            listen(),
            _fit_to_window(max_tokens, context_window, compactor.estimator),
            _ordering_repair(),
        ),
        dispatch_output=(_record_usage(compactor.estimator), decide()),
        turn_output=(_safety(redact),),
    )
