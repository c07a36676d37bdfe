"""Decides what the failure of a model means for the next try. Pure.

One policy of ours holds for all providers, instead of their SDKs', since an SDK knows neither a
stream that was cut after it began nor the next model. With a fallback a failing model is not asked
again: each of the others is tried once, in order. Without one a passing failure is retried after a
pause.

| failure | without a fallback | with one |
|---|---|---|
| busy, cut stream, time-out in the middle | asked again, `max_retries` times | the next model |
| time-out before any byte, unreadable call | asked again once | the next model |
| time-out before any byte of a server nearby | raised: it is still at work | the next model |
| quota of a day, a pause over a minute | raised | the next model |
| more than a plan has a minute | raised, after less room was asked for | the next model |
| it cannot run its model now (memory, a crash) | asked again once | the next model |
| key refused, no money, model gone, region, tools | raised | the next model: another may work |
| no model service, proxy, certificate | raised | the next model: another road may work |
| refused without a reason | raised | raised while the history can shrink, then the next model |
| rejected, too long, filtered | raised | raised: the next one reads the same request |
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from aouo.facts import errors
from aouo.facts.transcript import ModelRequest
from aouo.plumbing import waiting

_BACKOFF = partial(waiting.pause_s, first_s=1, factor=2, most_s=20, jitter=0.5)
_MAX_RETRY_AFTER_S = 60.0
"""A service that asks for a longer pause is not retried."""
MAX_COOLING_S = 3600.0
_PASSING = (errors.ProviderBusy, errors.ProviderTimeout, errors.ProviderBroke)
MOVES_ON = (
    *_PASSING,
    errors.ProviderAuth,
    errors.ProviderBilling,
    errors.ModelGone,
    errors.RegionRefused,
    errors.NoModelService,
    errors.ProxyRefused,
    errors.CertificateRefused,
    errors.ToolsRefused,
)
_NOT_SOON = (errors.QuotaUsedUp, errors.ModelGone, errors.RegionRefused)


def pause_s(error: errors.ProviderError, failures: int, spread: float) -> float:
    """Return the seconds to pause after so many failures, of one call or of all.

    `spread` is a random number from 0 to 1, so that many waiting calls do not retry together.
    """
    if isinstance(error, errors.ProviderBusy) and error.retry_after_s > 0:
        return error.retry_after_s * (1 + spread / 10)
    if isinstance(error, _NOT_SOON):
        return MAX_COOLING_S
    return _BACKOFF(failures, chance=spread)


def _may_be_asked_again(error: errors.ProviderError) -> bool:
    """Whether asking the same model again makes sense."""
    match error:
        case errors.QuotaUsedUp() | errors.PlanTooSmall() | errors.StillComputing():
            return False
        case errors.ProviderBusy(retry_after_s=asked_s):
            return asked_s <= _MAX_RETRY_AFTER_S
        case _:
            return isinstance(error, _PASSING)


def moves_on(error: errors.ProviderError, request: ModelRequest) -> bool:
    """Whether another model is asked.

    A request that is refused without a reason may be too long: then less history is tried first.
    """
    if isinstance(error, errors.UnexplainedRefusal):
        return not request.may_shrink
    return isinstance(error, MOVES_ON)


def only_once_more(error: errors.ProviderError) -> bool:
    """Whether a failure of this kind is retried only once.

    A model seldom writes at the third time what it could not write before, a server that died
    twice stays down, and a silent service may charge for each try.
    """
    if isinstance(error, errors.ProviderTimeout):
        return error.silent
    return isinstance(error, errors.Stumbled | errors.ProviderBroke)


def further(tries: Sequence[int], error: errors.ProviderError, *, again: bool) -> Sequence[int]:
    """Return which models to ask after the first of `tries` failed with `error`; () = none.

    `again`: a failure that is retried only once has been retried.
    """
    which, *following = tries
    if which not in following:
        return following
    if not _may_be_asked_again(error) or (again and only_once_more(error)):
        return ()
    return following[:1] if only_once_more(error) else following
