"""Judges whether a service takes a request, by its profile and its memory only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from string import Template
from typing import Any, cast

from aouo.emulator.models import orders
from aouo.emulator.models.asked import Asked
from aouo.emulator.models.memory import Memory
from aouo.emulator.models.profile import Limit, Profile, Trouble, matches
from aouo.emulator.models.rules import broken


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal instead of an answer; `about` names the broken rule."""

    trouble: str
    about: str
    status: int
    body: Any
    headers: Mapping[str, str]
    inside: bool = False


def judge(
    asked: Asked, profile: Profile, memory: Memory, *, now_s: float, plan: str = ""
) -> Refused | None:
    """Return the first refusal of a request, None = it is answered."""
    model = profile.model_named(asked.model)
    if model is None:
        return refused(profile, "no_model", asked, "there is no such model")
    if model.dead:
        return refused(profile, model.dead, asked, "the model was shut down")
    if model.wires and asked.wire not in model.wires:
        return refused(profile, "wrong_wire", asked, "the model is not on this address")
    for rule in profile.rules:
        facts = broken(rule, asked, model, memory)
        if facts is not None:
            return refused(profile, rule.answer, asked, rule.about, facts)
    for limit in profile.plans.get(plan, ()):
        if found := _over(limit, asked, profile, memory, now_s):
            return found
    return None


def refused(
    profile: Profile, name: str, asked: Asked | None, about: str, facts: orders.Facts | None = None
) -> Refused:
    """Return the refusal for the trouble of that name, with the facts that it quotes."""
    trouble: Trouble = profile.troubles[name]
    known = {**_facts(asked, profile), **(facts or {})}
    headers = {key: str(_filled(value, known)) for key, value in trouble.headers.items()}
    body = _filled(trouble.body, known)
    return Refused(name, about, trouble.status, body, headers, trouble.inside)


def called_up(profile: Profile, name: str, asked: Asked, now_s: float) -> Refused:
    """Return a trouble that a test or a person asked for, with likely facts to quote."""
    likely = {
        "limit": 8_000,
        "used": 7_000,
        "requested": 12_000,
        "reset_ms": round((now_s + 10_800) * 1000),
        "reset_text": str(round((now_s + 10_800) * 1000)),
        "wait": "7.66",
        "wait_s": 8,
        "field": "temperature",
        "value": 0.7,
        "role": "system",
        "after": "assistant",
        "id": "call_1",
        "ids": "call_1",
        "name": "add",
        "at": 2,
    }
    return refused(profile, name, asked, "it was asked for", likely)


def _over(
    limit: Limit, asked: Asked, profile: Profile, memory: Memory, now_s: float
) -> Refused | None:
    if not matches(asked.model, limit.models):
        return None
    room = asked.max_tokens if limit.reserves else 0
    wanted = asked.prompt_tokens + room if limit.of == "tokens" else 1
    used, wait_s = memory.used(limit, now_s, wanted)
    if used + wanted <= limit.amount:
        return None
    alone = wanted > limit.amount
    name = limit.too_large if alone and limit.too_large else limit.used_up
    facts = {
        "limit": limit.amount,
        "used": used,
        "requested": wanted,
        "wait": f"{max(wait_s, 0.01):.2f}",
        "wait_s": max(1, ceil(wait_s)),
        "reset_ms": round((now_s + wait_s) * 1000),
        "reset_text": str(round((now_s + wait_s) * 1000)),
    }
    return refused(profile, name, asked, f"{limit.of} in {limit.seconds} s", facts)


def _facts(asked: Asked | None, profile: Profile) -> dict[str, Any]:
    if asked is None:
        return {"model": profile.model}
    model = profile.model_named(asked.model)
    size = model.in_force if model else 0
    return {
        "model": asked.model,
        "window": size,
        "prompt_tokens": asked.prompt_tokens,
        "max_tokens": asked.max_tokens,
        "total_tokens": asked.prompt_tokens + asked.max_tokens,
        "names": ", ".join(profile.living),
    }


def _filled(value: Any, facts: Mapping[str, Any]) -> Any:
    """Return a body with its `$names` replaced; a text of one name gets the fact's type."""
    if isinstance(value, str):
        alone = value[1:] if value.startswith("$") else ""
        return facts[alone] if alone in facts else Template(value).safe_substitute(facts)
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        return {key: _filled(one, facts) for key, one in known.items()}
    if isinstance(value, list):
        return [_filled(one, facts) for one in cast("list[Any]", value)]
    return value


filled = _filled
