"""Reports the end of a turn: one line in the log, and events for the bus's subscribers."""

from __future__ import annotations

import structlog

from aouo.facts.errors import BudgetExceeded, ProviderError, QuotaExceededError, Refused
from aouo.facts.events import ResponseComplete, TurnCompleted, TurnSettled
from aouo.facts.transcript import UserSaid
from aouo.plumbing.bus import Bus
from aouo.queue.running import StopReason
from aouo.turn.context import Abort, Ack, Ending, Nack, TurnContext
from aouo.turn.pipelines import failed_in

log = structlog.get_logger()


def tell(
    bus: Bus, ctx: TurnContext, ended: Ending | StopReason, *, shown: int, ms: float, now: str
) -> None:
    """Tell of a settled turn; `shown` is how many messages its commit queued."""
    facts, total, turn = ctx.facts, ctx.total, ctx.facts.turn
    log.info(
        "turn_done",
        turn_id=turn.id,
        pack=facts.pack.name,
        origin=facts.origin,
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
    bus.publish(TurnSettled(turn.id, turn.session_id, status_of(ended)))
    if not isinstance(ended, Ack):
        return
    bus.publish(ResponseComplete(turn.id, turn.session_id, ended.text, tuple(ctx.thoughts)))
    bus.publish(
        TurnCompleted(
            said_by_person(ctx),
            ended.text,
            turn.session_id,
            facts.address.platform,
            facts.address.chat_id,
            now,
        )
    )


def said_by_person(ctx: TurnContext) -> str:
    return next((entry.text for entry in ctx.said if isinstance(entry, UserSaid)), "")


def log_failure(error: Exception, ctx: TurnContext) -> None:
    """A refusal is a fact, a provider's failure a warning, anything else has a traceback."""
    turn_id = ctx.facts.turn.id
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
