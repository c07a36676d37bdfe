"""Says how model services failed: what happened, and for the owner what to edit."""

from __future__ import annotations

from collections.abc import Mapping

from aouo.facts import errors
from aouo.facts.languages import bundled
from aouo.words.catalogue import text
from aouo.words.money import usd

_FAR_S = 20 * 3600.0
_SOON_S = 60.0
_BOUNDS = frozenset({"service", "budget", "window"})
_REASONS: Mapping[str, str] = bundled("aouo.words", "failures.yml")
_FOR_OWNER = frozenset({"computing", "region", "tools", "broke", "no-path"})
_FOR_OTHERS = frozenset({"region", "tools", "broke", "no-path"})


def offered(name: str, window_tokens: int, *, sees: bool, cost: tuple[float, float] | None) -> str:
    """Return the line about a model that may be chosen; `cost` is USD for a million tokens of
    input and of output, None = nobody knows it."""
    told = text("models.offer-unpriced")
    if cost is not None:
        told = text("models.offer-price", input=usd(cost[0]), output=usd(cost[1]))
        told = told if any(cost) else text("models.offer-free")
    sight = text("models.offer-sees" if sees else "models.offer-blind")
    window = f"{window_tokens // 1000} k"
    return text("models.offer", name=name, window=window, sight=sight, cost=told)


def failed(error: errors.ProviderError, reference: str, *, for_owner: bool) -> str:
    """Return the sentence for a turn that no model answered; `reference` is its id in the log."""
    match error:
        case errors.ProviderBusy():
            return _busy(error, for_owner=for_owner)
        case errors.ModelGone():
            return _gone(error, for_owner=for_owner)
        case errors.NoModelService() | errors.ProxyRefused() | errors.CertificateRefused():
            return _no_way(error, reference, for_owner=for_owner)
        case _:
            kind = next(
                (
                    name
                    for kind, name in _REASONS.items()
                    if isinstance(error, getattr(errors, kind))
                ),
                "else",
            )
    scope = error.scope if isinstance(error, errors.ScopeMissing) else ""
    said = text(f"models.failed-{kind}", reference=reference, scope=scope)
    if for_owner and kind in _FOR_OWNER:
        return f"{said} {text(f'models.owner-{kind}')}"
    if not for_owner and kind in _FOR_OTHERS:
        return f"{said} {text(f'models.other-{kind}')}"
    return said


def cut_off(bound: errors.Bound, *, for_owner: bool) -> str:
    """Return the sentence for a model that used all its room before its first word.

    `bound` is what limited the room.
    """
    said = text("models.cut-off")
    if not for_owner:
        return said
    more = text(f"models.cut-off-{bound if bound in _BOUNDS else 'tokens'}")
    ollama = f" {text('models.cut-off-ollama')}" if bound not in ("service", "budget") else ""
    return f"{said} {more}{ollama}"


def no_answer_because(error: str) -> str:
    """Return why a model did not answer, after its name; `error` is the class of its error."""
    return text(f"models.because-{_REASONS.get(error, 'else')}")


def try_again() -> str:
    """Return the advice that stands last where somebody asked."""
    return text("models.try-again")


def _busy(error: errors.ProviderBusy, *, for_owner: bool) -> str:
    steps_in = f" {text('models.step-in')}" if for_owner else ""
    match error:
        case errors.QuotaUsedUp() if error.until:
            return text("models.quota-until", until=_hour(error)) + steps_in
        case errors.QuotaUsedUp():
            return text("models.quota") + steps_in
        case errors.PlanTooSmall():
            return text("models.plan-yours" if for_owner else "models.plan") + steps_in
        case errors.Stumbled():
            return text("models.stumbled")
        case errors.ProviderBusy(retry_after_s=asked_s) if asked_s > _SOON_S and error.until:
            return text("models.busy-until", until=_hour(error)) + steps_in
        case _:
            return f"{text('models.busy')} {try_again()}"


def _hour(error: errors.ProviderBusy) -> str:
    assert error.until is not None
    far = error.retry_after_s > _FAR_S
    return f"{error.until:%H:%M on %d %B}" if far else f"{error.until:%H:%M}"


def _gone(error: errors.ModelGone, *, for_owner: bool) -> str:
    said = text("models.gone-named", name=error.model) if error.model else text("models.gone")
    if not for_owner:
        return f"{said} {text('models.gone-other')}"
    if error.living:
        said = f"{said} {text('models.gone-living', names=', '.join(error.living))}"
    return f"{said} {text('models.gone-owner')}"


def _no_way(
    error: errors.NoModelService | errors.ProxyRefused | errors.CertificateRefused,
    reference: str,
    *,
    for_owner: bool,
) -> str:
    match error:
        case errors.NoModelService():
            said = text("models.no-service")
            if for_owner:
                return f"{said} {text('models.no-service-owner', reference=reference)}"
        case errors.ProxyRefused(cure=cure) | errors.CertificateRefused(cure=cure):
            if for_owner and cure:
                return text("models.cure", cure=cure)
            proxy = isinstance(error, errors.ProxyRefused)
            said = text("models.proxy" if proxy else "models.certificate")
    return f"{said} {text('models.doctor')}"
