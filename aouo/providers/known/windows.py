"""Knows from a model's name its window, its price, and whether it sees, without the net.

Importing its data takes about 0.15 s and 10 MB, so the first lookup imports it, and never one for a
server on this machine or in a private network.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aouo.facts.languages import bundled

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

_DATED = "0.2.3", "2026-11"
"""The pinned version, and the month of its prices: the package itself does not say it."""


@dataclass(frozen=True, slots=True)
class _Rate:
    """USD per million tokens of input, of cached input and of output, for requests with more input
    than `above_tokens`."""

    above_tokens: int
    input: float
    cached: float
    output: float


def listed_window(base_url: str, model: str) -> int:
    """Return the window in tokens of `model` at the service with this address, 0 = unknown."""
    found = _model(base_url, model)
    return (found.context_window or 0) if found else 0


def listed_rates(base_url: str, model: str, at: datetime) -> tuple[_Rate, ...]:
    """Return the rates of `model` at the service with this address, for the smallest requests
    first; () = no price is known.

    They are those of a request made `at` that moment, since some services cost less at night.
    """
    found = _model(base_url, model)
    return _rates(found, at) if found else ()


def listed_unit(base_url: str, model: str, unit: str, at: datetime) -> float | None:
    """Return the USD that a `minute` of sound costs that a model hears, or `million_characters`
    that it speaks; None = it is not sold so, or no price is known."""
    found = _model(base_url, model)
    if not found or not found.prices:
        return None
    prices = found.get_prices(at)
    match unit:
        case "minute":
            hour: object = getattr(prices, "input_audio_hours", None)
            return None if hour is None else _at(hour, 0) / 60
        case "million_characters":
            characters: object = getattr(prices, "input_mchars", None)
            return None if characters is None else _at(characters, 0)
        case _:
            return None


def _model(base_url: str, model: str) -> ModelInfo | None:
    if not _is_public(base_url):
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(model, None, None, base_url)[1]
    except LookupError:
        return None


def version() -> tuple[str, str]:
    """Return the version of the catalogue, and the month of its prices: `2026-11`, "" = unknown."""
    installed = metadata.version("genai-prices")
    return installed, _DATED[1] if installed == _DATED[0] else ""


def _is_public(base_url: str) -> bool:
    """Whether an address may be a public service's: a name with a dot, or a global IP address."""
    host = ""
    try:
        host = urlsplit(base_url).hostname or ""
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith((".local", ".internal", ".lan", ".home.arpa"))


def _rates(model: ModelInfo, at: datetime) -> tuple[_Rate, ...]:
    """Return the rates at a moment; above a threshold another price counts for all tokens.

    Input may be written to a cache, for which some services charge more; they do not report how
    much was, so the higher price counts.
    """
    if not model.prices:
        return ()
    prices = model.get_prices(at)
    if prices.input_mtok is None or prices.output_mtok is None:
        return ()
    return tuple(_rate(prices, start) for start in (0, *_starts(prices)))


def _rate(prices: ModelPrice, start: int) -> _Rate:
    fresh = _at(prices.input_mtok, start)
    cached = _at(prices.cache_read_mtok, start) if prices.cache_read_mtok is not None else fresh
    written = _at(prices.cache_write_mtok, start)
    return _Rate(start, max(fresh, written), cached, _at(prices.output_mtok, start))


def _starts(prices: ModelPrice) -> list[int]:
    from genai_prices.types import TieredPrices

    found = (prices.input_mtok, prices.cache_read_mtok, prices.output_mtok)
    return sorted({t.start for one in found if isinstance(one, TieredPrices) for t in one.tiers})


def _at(price: object, start: int) -> float:
    """Return the price for requests with more input than `start`; 0 = there is none."""
    from genai_prices.types import TieredPrices

    if price is None:
        return 0.0
    if isinstance(price, TieredPrices):
        of_tiers = [tier.price for tier in price.tiers if tier.start <= start]
        return float(of_tiers[-1] if of_tiers else price.base)
    assert isinstance(price, Decimal)
    return float(price)


_UNKNOWN_WINDOW_TOKENS = 32_768


@dataclass(frozen=True, slots=True)
class _Known:
    """A context window in tokens, and whether the model accepts images."""

    window_tokens: int
    sees: bool = False


@cache
def _families() -> Mapping[str, _Known]:
    """Return what is known of families of models, by the beginning of their names."""
    table = bundled("aouo.providers.known", "windows.yml")
    return {
        family: _Known(tokens, sees=key == "sees")
        for key, families in table.items()
        for family, tokens in families.items()
    }


_SIZE = "0-9bkmxt."  # `llama-3-70b`: 70 is no part of the version


def known(model: str) -> _Known | None:
    """Return what is known of `model` by its name, None = its family is unknown.

    A vendor before a slash is ignored: `openai/gpt-4o` at a service that serves many.
    """
    name = _plain(model)
    matching = [family for family in _families() if _is_of(name, family)]
    return _families()[max(matching, key=len)] if matching else None


def window_of(model: str) -> int:
    """Return a model's window in tokens by its name; a small one if it is unknown."""
    found = known(model)
    return found.window_tokens if found else _UNKNOWN_WINDOW_TOKENS


def _plain(model: str) -> str:
    """Normalise a name: `google/gemma-3:12b` and `gemma3:12b` become `gemma3-12b`,
    `claude-opus-4-7` and `claude-opus-4.7` become `claude-opus4.7`."""
    name = model.rpartition("/")[2].lower().replace(":", "-").replace("_", "-")
    name = re.sub(r"(?<=[a-z])-(?=\d)", "", name)
    return re.sub(rf"(?<=\d)-(?=\d{{1,2}}(?![{_SIZE}]))", ".", name)


def _is_of(name: str, family: str) -> bool:
    """Whether a name begins with a family's; `gpt4` is neither `gpt41` nor `gpt4.7`."""
    if not name.startswith(family):
        return False
    return not (family[-1].isdigit() and re.match(r"\.?\d", name[len(family) :]))
