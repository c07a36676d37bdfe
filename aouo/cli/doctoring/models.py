"""Checks the configured models for `aouo doctor`: asks each, and reports refusals and concerns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from aouo.cli.doctoring.check import Check, quietly
from aouo.config.settings import Settings
from aouo.facts.errors import SetupError

if TYPE_CHECKING:
    from aouo.cli.doctoring.probing import Seen
    from aouo.spending.money import Price


_Prices: TypeAlias = "Mapping[tuple[str, str], Price | None]"
"""By backend and model; None = its server names none."""


def models(settings: Settings, *, fast: bool) -> tuple[Sequence[Check], _Prices]:
    """Check each model that may answer, in the order of the configuration; return also the prices
    that their servers name."""
    from aouo.app.services import price_told
    from aouo.cli.doctoring.probing import wanted_models

    wanted = tuple(dict.fromkeys(wanted_models(settings)))
    many = Counter(one.backend for one in wanted)
    names = {
        one: f"model {one.backend}" + (f" {one.model}" if many[one.backend] > 1 else "")
        for one in wanted
    }
    found = {one: _unasked(settings, one, names[one], fast=fast) for one in wanted}
    ready = [one for one, check in found.items() if check is None]
    seen = dict(zip(ready, _looked_at(settings, ready), strict=True))
    checks: list[Check] = []
    for one, check in found.items():
        checks += [check] if check else _said(names[one], seen[one])
    prices = {
        (one.backend, one.model): price_told(looked.facts)
        for one, looked in seen.items()
        if looked.inquiry and looked.inquiry.told
    }
    return checks, prices


def _looked_at(settings: Settings, ready: Sequence[Seen]) -> Sequence[Seen]:
    """Ask the models without a finding."""
    from aouo.cli.doctoring.probing import look
    from aouo.plumbing.clock import SystemClock

    if not ready:
        return ()
    return quietly(settings, look(settings, ready, SystemClock(), asks=True))


def _unasked(settings: Settings, one: Seen, name: str, *, fast: bool) -> Check | None:
    """Return the finding about a model that cannot be asked, None = it can be asked."""
    from aouo.app.services import key_missing

    if one.backend == "local":
        return _local(settings)
    if key_missing(settings, one.backend):
        return Check(name, "fail", "there is no key", f"Set {one.backend}.api_key.")
    if not one.model:
        return Check(name, "fail", "no model is chosen", f"Set {one.key}.")
    return Check(name, "skip", "needs the network") if fast else None


def _said(name: str, seen: Seen) -> Iterator[Check]:
    """Yield the finding about one model's answer, then the concerns about it."""
    reply, model = seen.tool, seen.model
    if reply is None:
        yield Check(name, "fail", seen.problem, seen.fix)
        return
    if reply.refusal:
        yield Check(name, "fail", f"{model}: {reply.refusal}", reply.fix)
    elif not reply.called:
        what = f"{model} answers, but did not call a tool when it was asked to"
        yield Check(name, "warn", what, "Packs need a model that calls tools.")
    else:
        sees = "sees pictures" if seen.facts and seen.facts.sees else "does not see pictures"
        what = f"{model} answers and calls tools; {seen.window_tokens:,} tokens; {sees}"
        yield Check(name, "ok", what)
    for one in seen.concerns:
        if reply.refusal or one.urgent:
            yield Check(name, "warn", one.what, one.fix)


def _local(settings: Settings) -> Check:
    from aouo.providers.embedded.model import find_weights

    try:
        weights = find_weights(settings.local.model_path)
    except SetupError as error:
        return Check("model local", "fail", error.problem, error.fix)
    if settings.local.model_path:
        return Check("model local", "ok", str(weights))
    return Check(
        "model local",
        "warn",
        "SmolLM2-135M is for trying things out, not for real work",
        "Set a key and provider.backend, or local.model_path to a GGUF file of a billion "
        "parameters or more.",
    )
