"""Judges whether a service takes a request, by the rules of its profile and its memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from string import Template
from typing import Any, cast

from tests.fakes.models.asked import Asked, AskedCall, Entry, at
from tests.fakes.models.memory import Facts, Memory, wrong_order
from tests.fakes.models.profile import SOUNDS, Back, Limit, Model, Profile, Rule, Trouble, matches


def _broken(rule: Rule, asked: Asked, model: Model, memory: Memory) -> Facts | None:
    """Return the facts that a refusal by this rule quotes, None = the request keeps the rule."""
    named = asked.wire in rule.wires or (not rule.wires and asked.wire not in SOUNDS)
    if not named or not matches(asked.model, rule.models):
        return None
    if rule.terms and memory.terms_accepted:
        return None
    body = asked.body
    if any(_absent(body, path) for path in rule.has):
        return None
    if any(not _absent(body, path) for path in rule.lacks):
        return None
    if any(at(body, path) in values for path, values in rule.unless.items()):
        return None
    if (rule.thinking and not thinks(asked, model)) or (
        rule.pictures and not any(entry.images for entry in asked.entries)
    ):
        return None
    facts: dict[str, Any] = {"field": rule.has[-1]} if rule.has else {}
    facts |= {"value": at(body, rule.has[-1])} if rule.has else {}
    for check in (_values, _structure, _length):
        found = check(rule, asked, model)
        if found is None:
            return None
        facts |= found
    if rule.back is None:
        return facts
    missing = _not_back(rule.back, asked, memory)
    return None if missing is None else facts | dict(missing)


def _values(rule: Rule, asked: Asked, _model: Model) -> Facts | None:
    for path, allowed in rule.differs.items():
        value = at(asked.body, path)
        if value is ... or value in allowed:
            return None
        return {"field": path, "value": value}
    for path, most in rule.above.items():
        value = at(asked.body, path)
        return {"field": path, "value": value} if _number(value) > most else None
    for path, least in rule.below.items():
        value = at(asked.body, path)
        return {"field": path, "value": value} if value is not ... and value < least else None
    if rule.fields:
        unknown = [name for name in asked.body if name not in rule.fields]
        return {"field": unknown[0], "value": asked.body[unknown[0]]} if unknown else None
    return {}


def _structure(rule: Rule, asked: Asked, _model: Model) -> Facts | None:
    if rule.order:
        return wrong_order(rule.order, asked)
    if rule.roles:
        for place, entry in enumerate(asked.entries):
            if entry.role not in rule.roles:
                return {"role": entry.role, "at": place}
        return None
    if rule.message_fields:
        for place, entry in enumerate(asked.entries):
            unknown = [name for name in entry.raw if name not in rule.message_fields]
            if unknown:
                return {"field": unknown[0], "role": entry.role, "at": place}
        return None
    if rule.unmatched:
        for call in (call for entry in asked.entries for call in entry.calls):
            if not re.fullmatch(rule.unmatched, call.id):
                return {"id": call.id}
        return None
    return {}


def _length(rule: Rule, asked: Asked, model: Model) -> Facts | None:
    if not rule.too_long:
        return {}
    more = asked.max_tokens if rule.too_long == "with_answer" else 0
    return {} if asked.prompt_tokens + more > model.in_force else None


def _not_back(back: Back, asked: Asked, memory: Memory) -> Facts | None:
    """Return the facts of a call that lacks what must be sent back, None = none does."""
    users = [place for place, entry in enumerate(asked.entries) if entry.role == "user"]
    since = users[-1] if users and back.turn else 0
    sent = {_key(_at(back, *one)) for one in memory.issued.values()}
    for place, entry in enumerate(asked.entries):
        if place < since:
            continue
        for call in entry.calls[: 1 if back.first else None]:
            if _lost(back, entry, call, memory, sent):
                return {"id": call.id, "name": call.name, "at": place + 1}
    return None


def _lost(back: Back, entry: Entry, call: AskedCall, memory: Memory, sent: set[str]) -> bool:
    """Whether a call lacks what must be sent back.

    Its id need not be the one that was sent: the fields that came with it show its origin.
    """
    found = _at(back, entry.raw, call.raw)
    if found is ... or (back.filled and not found):
        issued = memory.issued.get(call.id)
        return back.foreign or (issued and _at(back, *issued) is not ...) is True
    if back.paired and not _named(found) <= {one.id for one in entry.calls}:
        return True
    if any(word in str(found) for word in back.accept):
        return False
    return back.same and _key(found) not in sent


def _named(found: Any) -> set[str]:
    items = cast("list[dict[str, Any]]", found if isinstance(found, list) else [])
    return {str(item["id"]) for item in items if item.get("id")}


def _at(back: Back, message: Any, call: Any) -> Any:
    return at(message if back.within == "message" else call, back.at)


def _key(value: Any) -> str:
    """Return a key that is equal for details of thoughts in pieces and joined."""
    if not isinstance(value, list):
        return str(value)
    pieces = cast("list[dict[str, Any]]", value)
    names = ("text", "summary", "data", "signature")
    return str(["".join(str(piece.get(name) or "") for piece in pieces) for name in names])


def thinks(asked: Asked, model: Model) -> bool:
    """Whether the model thinks at this request."""
    if model.thinks in ("always", "never"):
        return model.thinks == "always"
    asked_for = (
        at(asked.body, "reasoning_effort"),
        at(asked.body, "reasoning.effort"),
        at(asked.body, "thinking.type"),
        at(asked.body, "generationConfig.thinkingConfig.thinkingBudget"),
    )
    if any(value in ("none", "disabled", 0) for value in asked_for):
        return False
    return model.thinks == "on" or any(value is not ... for value in asked_for)


def _absent(body: Any, path: str) -> bool:
    """Whether there is no value at a path; an empty list and null count as none."""
    return at(body, path) in (..., None, [])


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else float("-inf")


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
        facts = _broken(rule, asked, model, memory)
        if facts is not None:
            return refused(profile, rule.answer, asked, rule.about, facts)
    for limit in profile.plans.get(plan, ()):
        if found := _over(limit, asked, profile, memory, now_s):
            return found
    return None


def refused(
    profile: Profile, name: str, asked: Asked | None, about: str, facts: Facts | None = None
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
