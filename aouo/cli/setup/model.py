"""The model of `aouo setup`: what is offered, and the question that a chosen one has to answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import click

from aouo.agent.spending.money import Offer
from aouo.app.services import budget_of, offers
from aouo.cli.asking import aligned
from aouo.cli.doctoring import models as doctor_models
from aouo.cli.doctoring import parts
from aouo.config.changing import change, read_tree
from aouo.config.file import dump, parse
from aouo.config.keys import put_at
from aouo.config.settings import Settings
from aouo.facts.ports import NO_MODEL
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home

Changes: TypeAlias = Mapping[tuple[str, ...], object]


@dataclass(frozen=True, slots=True)
class Preset:
    """A service that may be chosen by a number; `base_url` "" = a backend of our own, `variable`
    is that of the environment which usually holds its key, `model` "" = the backend's default."""

    name: str
    key_at: str = ""
    variable: str = ""
    base_url: str = ""
    model: str = ""


SERVICES: Final = (
    Preset("groq", "console.groq.com/keys", "GROQ_API_KEY"),
    Preset("openai", "platform.openai.com/api-keys", "OPENAI_API_KEY"),
    Preset("gemini", "aistudio.google.com/apikey", "GEMINI_API_KEY"),
    Preset("deepseek", "platform.deepseek.com/api_keys", "DEEPSEEK_API_KEY"),
    Preset(
        *("openrouter", "openrouter.ai/settings/keys", "OPENROUTER_API_KEY"),
        *("https://openrouter.ai/api/v1", "openai/gpt-oss-120b"),
    ),
    Preset(
        *("anthropic", "platform.claude.com/settings/keys", "ANTHROPIC_API_KEY"),
        *("https://api.anthropic.com/v1", "claude-haiku-5-5"),
    ),
)
"""Addresses and models as of 28 November 2026, in genai-prices of that month."""
_HERE: Final = (
    Preset("ollama", base_url="http://127.0.0.1:11434/v1"),
    Preset("lmstudio", base_url="http://127.0.0.1:1234/v1"),
)
_SHOWN: Final = 20


def ask(home: Home, settings: Settings) -> str:
    """Ask for a model until one answers, is kept all the same, or none is wanted; return it in
    words."""
    local = [(one, found) for one in _HERE if (found := _served(settings, one.base_url, ""))]
    lines = _lines(settings)
    for one, found in local:
        lines.append(f"{one.name}, on this machine: {', '.join(found[:3])}")
    lines.append("another address that speaks as OpenAI does")
    click.echo("Which model answers? (Its window, USD for a million tokens in / out, what it sees)")
    for number, line in enumerate(lines, 1):
        click.echo(f"  {number}  {line}")
    click.echo("  0  none: apps act by phrases, buttons and schedules")
    while True:
        number = click.prompt("Number", type=click.IntRange(0, len(lines)), default=0)
        if not number:
            change(home.path, {("provider", "backend"): NO_MODEL}, os.environ)
            return "none"
        if number <= len(SERVICES):
            chosen = SERVICES[number - 1]
            wanted = of_service(chosen, _key(f"Key from {chosen.key_at}"))
        elif number < len(lines):
            chosen, found = local[number - 1 - len(SERVICES)]
            wanted = _own(chosen.name, chosen.base_url, "", _which(found))
        else:
            wanted = _asked_address(settings)
        if kept := keep(home, wanted, insist=lambda: click.confirm("Keep it all the same?")):
            return kept


def _lines(settings: Settings) -> list[str]:
    """Each service with its model, window in tokens, price and whether it sees."""
    tree: dict[str, Any] = {"provider": {"backend": SERVICES[0].name}, "providers": {}}
    named: list[dict[str, str]] = []
    for one in SERVICES:
        if one.base_url:
            tree["providers"][one.name] = {"base_url": one.base_url}
            named.append({"backend": one.name, "model": one.model})
        else:
            tree[one.name] = {"api_key": "-"}
    tree["models"] = {"offered": named}
    shop = Settings.model_validate(tree)
    prices = budget_of(shop, SystemClock()).prices
    found = {one.provider: one for one in offers(shop, prices)}
    return aligned([_cells(found[one.name]) for one in SERVICES], (0, 26, 0, 0, 0))


def _cells(offer: Offer) -> Sequence[str]:
    price = offer.price()
    cost = f"${price.input:g} / ${price.output:g}" if price else "price unknown"
    sight = "pictures" if offer.sees else ""
    return offer.provider, offer.model, f"{offer.window_tokens // 1000} k", cost, sight


def of_service(one: Preset, key: str) -> Changes:
    """Return the changes that let a service answer."""
    if one.base_url:
        return _own(one.name, one.base_url, key, one.model)
    return {
        (one.name, "api_key"): key,
        ("provider", "backend"): one.name,
        ("provider", "model"): one.model,
    }


def _own(name: str, base_url: str, key: str, model: str) -> Changes:
    return {
        ("providers", name, "base_url"): base_url,
        ("providers", name, "api_key"): key,
        ("provider", "backend"): name,
        ("provider", "model"): model,
    }


def _asked_address(settings: Settings) -> Changes:
    base_url = click.prompt("Address (most end in /v1)").strip().rstrip("/")
    key = _key("Key (empty = it asks for none)")
    return _own("own", base_url, key, _which(_served(settings, base_url, key)))


def _key(question: str) -> str:
    return str(click.prompt(question, default="", show_default=False, hide_input=True)).strip()


def _which(found: Sequence[str]) -> str:
    """Ask for one of the models that a server names, or of any name if it names none."""
    if len(found) == 1:
        return found[0]
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        click.echo(f"  It has {', '.join(found[:_SHOWN])}{more}.")
    return click.prompt("Model", default=found[0] if found else None).strip()


def _served(settings: Settings, base_url: str, key: str) -> Sequence[str]:
    """Return the names of the models that a server lists, none without an answer."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    _, body = parts.fetched(f"{base_url}/models", headers, settings, within_s=3)
    rows = cast("dict[str, Any]", body).get("data") if isinstance(body, dict) else None
    listed = cast("list[dict[str, Any]]", rows) if isinstance(rows, list) else []
    return [str(row["id"]) for row in listed if "id" in row]


def keep(home: Home, wanted: Changes, *, insist: Callable[[], bool]) -> str:
    """Try a model as the bot would ask it, keep it if it answers or somebody insists, and return it
    in words; "" = it is not kept."""
    tree = read_tree(home.path)
    for names, value in wanted.items():
        put_at(tree, names, value)
    settings = parse(dump(tree), os.environ, home.config).settings
    click.echo("It is asked one small question …")
    checks = doctor_models.primary(settings)
    for check in checks:
        click.echo(check.line)
    if any(check.status == "fail" for check in checks) and not insist():
        return ""
    change(home.path, wanted, os.environ)
    return f"{settings.provider.backend} {settings.provider.model}".strip()
