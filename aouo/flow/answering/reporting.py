"""Reports a turn's stream and its end: events for the bus's subscribers, one line in the log."""

from __future__ import annotations

from collections.abc import Awaitable

import structlog

from aouo.facts.errors import BudgetExceeded, ProviderError, QuotaExceededError, Refused
from aouo.facts.events import (
    Hints,
    ResponseComplete,
    StreamBegin,
    StreamEnd,
    StreamFailed,
    TurnCompleted,
    TurnSettled,
)
from aouo.facts.ids import SessionId
from aouo.facts.transcript import UserSaid
from aouo.facts.work import Facts
from aouo.plumbing.bus import Bus
from aouo.queue.running import StopReason
from aouo.turn.context import Abort, Ack, Ending, Nack, TurnContext
from aouo.turn.pipelines import failed_in

log = structlog.get_logger()


async def streamed(
    bus: Bus, facts: Facts, hints: Hints, work: Awaitable[Ending | StopReason]
) -> Ending | StopReason:
    """Await the work of a turn whose words the chat sees come; publish where they begin to come,
    and where they end, however that is."""
    bus.publish(StreamBegin(facts.id, facts.session_id, hints))
    ended: Ending | StopReason = StopReason.SHUTDOWN
    failed: Exception | None = None
    try:
        ended = await work
        failed = ended.error if isinstance(ended, Nack) else None
    except Exception as error:
        failed = error
        raise
    finally:
        name = type(failed).__name__ if failed else _stopped_by(ended)
        bus.publish(StreamEnd(facts.id, facts.session_id, name))
        if failed:
            address = facts.address
            bus.publish(
                StreamFailed(facts.id, facts.session_id, address.platform, address.chat_id, name)
            )
    return ended


def _stopped_by(ended: Ending | StopReason) -> str:
    match ended:
        case StopReason():
            return ended.name.lower()
        case Abort():
            return "aborted"
        case _:
            return ""


def tell(
    bus: Bus,
    ctx: TurnContext,
    ended: Ending | StopReason,
    *,
    command: str,
    shown: int,
    ms: float,
    now: str,
) -> None:
    """Tell of a turn whose end is committed; `shown` is how many messages its commit queued.

    `command` is the name of the command that began it, "" = none did.
    """
    facts, total = ctx.facts, ctx.total
    log.info(
        "turn_done",
        turn_id=facts.id,
        pack=facts.pack,
        origin=facts.origin,
        **({"command": command} if command and not facts.off_record else {}),
        status=status_of(ended),
        duration_ms=round(ms),
        provider_ms=round(ctx.provider_ms),
        own_ms=round(ms - ctx.provider_ms),
        dispatches=ctx.dispatches,
        tool_calls=ctx.tool_calls,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        cost_usd=round(ctx.cost_usd, 9),
        deliveries=shown,
    )
    bus.publish(TurnSettled(facts.id, facts.session_id, status_of(ended)))
    if not isinstance(ended, Ack):
        return
    bus.publish(ResponseComplete(facts.id, facts.session_id, ended.text, tuple(ctx.thoughts)))
    if facts.off_record or not SessionId.parse(facts.session_id).is_current:
        return
    bus.publish(
        TurnCompleted(
            said_by_person(ctx),
            ended.text,
            facts.session_id,
            facts.address.platform,
            facts.address.chat_id,
            now,
        )
    )


def said_by_person(ctx: TurnContext) -> str:
    return next((entry.text for entry in ctx.said if isinstance(entry, UserSaid)), "")


def log_failure(error: Exception, ctx: TurnContext) -> None:
    """A refusal is a fact, a provider's failure a warning, anything else has a traceback."""
    turn_id = ctx.facts.id
    match error:
        case QuotaExceededError(scope=scope, used_tokens=used, cap_tokens=cap):
            log.info("quota_exceeded", turn_id=turn_id, scope=scope, used=used, cap=cap)
        case BudgetExceeded(kind=kind, name=name, used_usd=used, cap_usd=cap, worst_usd=worst):
            log.info(
                "budget_exceeded",
                turn_id=turn_id,
                scope=kind,
                name=name,
                used=used,
                cap=cap,
                worst=worst,
            )
        case ProviderError():  # the model has told each failure as `provider_error`
            log.warning("turn_failed", turn_id=turn_id, kind=type(error).__name__, error=str(error))
        case Refused():
            log.info("turn_refused", turn_id=turn_id, error=str(error))
        case _:
            log.error(
                "turn_failed",
                turn_id=turn_id,
                step=failed_in(error),
                error=repr(error),
                exc_info=error,
            )


def status_of(ended: Ending | StopReason) -> str:
    match ended:
        case Ack():
            return "ack"
        case Nack():
            return "nack"
        case Abort() | StopReason():
            return "aborted"
