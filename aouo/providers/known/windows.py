"""Knows from a model's name its window, its price, and whether it sees, without the net.

Importing its data takes about 0.15 s and 10 MB, so the first lookup imports it, and never one for a
server on this machine or in a private network.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib import metadata
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

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


_KNOWN = {
    "chatgpt": _Known(128_000, sees=True),
    "claude2": _Known(100_000),
    "claude3": _Known(200_000, sees=True),
    "claude3.5": _Known(200_000, sees=True),
    "claude3.7": _Known(200_000, sees=True),
    "claude-haiku4": _Known(200_000, sees=True),
    "claude-haiku4.5": _Known(200_000, sees=True),
    "claude-opus4": _Known(200_000, sees=True),
    "claude-opus4.1": _Known(200_000, sees=True),
    "claude-opus4.5": _Known(200_000, sees=True),
    "claude-sonnet4": _Known(200_000, sees=True),
    "claude-sonnet4.5": _Known(200_000, sees=True),
    "claude": _Known(1_000_000, sees=True),
    "codellama": _Known(16_384),
    "codestral": _Known(256_000),
    "command-a": _Known(256_000),
    "command-r": _Known(128_000),
    "deepseek-chat": _Known(128_000),
    "deepseek-coder": _Known(16_384),
    "deepseek-r1": _Known(128_000),
    "deepseek-reasoner": _Known(128_000),
    "deepseek-v2": _Known(32_768),
    "deepseek-v3": _Known(128_000),
    "deepseek-v3.1": _Known(128_000),
    "deepseek-v3.2": _Known(128_000),
    "deepseek-v4": _Known(1_048_576),
    "deepseek": _Known(1_000_000, sees=True),
    "devstral": _Known(131_072),
    "gemini": _Known(1_048_576, sees=True),
    "gemma2b": _Known(8_192),
    "gemma7b": _Known(8_192),
    "gemma2": _Known(8_192),
    "gemma3-1b": _Known(32_768),
    "gemma3-270m": _Known(32_768),
    "gemma3n": _Known(32_768),
    "gemma": _Known(131_072, sees=True),
    "glm4": _Known(128_000),
    "glm4.1v": _Known(65_536, sees=True),
    "glm4.5": _Known(131_072),
    "glm4.5v": _Known(65_536, sees=True),
    "glm4.6": _Known(200_000),
    "glm4.6v": _Known(131_072, sees=True),
    "glm4.7": _Known(200_000),
    "glm5": _Known(202_752),
    "glm5.1": _Known(202_752),
    "glm5v": _Known(202_752, sees=True),
    "glm": _Known(1_000_000),
    "gpt-oss": _Known(131_072),
    "gpt3.5": _Known(16_385),
    "gpt4": _Known(8_192),
    "gpt4-turbo": _Known(128_000, sees=True),
    "gpt4.1": _Known(1_047_576, sees=True),
    "gpt4.5": _Known(128_000, sees=True),
    "gpt4o": _Known(128_000, sees=True),
    "gpt5": _Known(400_000, sees=True),
    "gpt5-chat": _Known(128_000, sees=True),
    "gpt5.1": _Known(400_000, sees=True),
    "gpt5.2": _Known(400_000, sees=True),
    "gpt5.3": _Known(400_000, sees=True),
    "gpt5.4-mini": _Known(400_000, sees=True),
    "gpt5.4-nano": _Known(400_000, sees=True),
    "gpt": _Known(1_050_000, sees=True),
    "granite": _Known(131_072),
    "grok2": _Known(131_072),
    "grok3": _Known(131_072),
    "grok4": _Known(256_000, sees=True),
    "grok-build": _Known(256_000),
    "grok-code": _Known(256_000),
    "grok": _Known(500_000, sees=True),
    "kimi-k2": _Known(131_072),
    "kimi": _Known(256_000, sees=True),
    "llama2": _Known(4_096),
    "llama3": _Known(8_192),
    "llama3.1": _Known(131_072),
    "llama3.2": _Known(131_072),
    "llama3.2-11b-vision": _Known(131_072, sees=True),
    "llama3.2-90b-vision": _Known(131_072, sees=True),
    "llama3.2-vision": _Known(131_072, sees=True),
    "llama3.3": _Known(131_072),
    "llama": _Known(131_072, sees=True),
    "llava": _Known(4_096, sees=True),
    "magistral": _Known(40_960, sees=True),
    "minicpm-v": _Known(32_768, sees=True),
    "minimax": _Known(204_800),
    "ministral": _Known(131_072, sees=True),
    "mistral7b": _Known(32_768),
    "mistral-large2": _Known(128_000),
    "mistral-large2407": _Known(128_000),
    "mistral-large2411": _Known(128_000),
    "mistral-nemo": _Known(128_000),
    "mistral-small24b": _Known(32_768),
    "mistral-small3": _Known(32_768),
    "mistral-tiny": _Known(32_768),
    "mistral": _Known(128_000, sees=True),
    "mixtral": _Known(32_768),
    "nemotron": _Known(131_072),
    "o1": _Known(200_000, sees=True),
    "o1-mini": _Known(128_000),
    "o1-preview": _Known(128_000),
    "o3": _Known(200_000, sees=True),
    "o3-mini": _Known(200_000),
    "o4-mini": _Known(200_000, sees=True),
    "phi3": _Known(4_096),
    "phi4": _Known(16_384),
    "pixtral": _Known(128_000, sees=True),
    "qwen1.5": _Known(32_768),
    "qwen2": _Known(32_768),
    "qwen2-vl": _Known(32_768, sees=True),
    "qwen2.5": _Known(32_768),
    "qwen2.5-vl": _Known(32_768, sees=True),
    "qwen2.5vl": _Known(32_768, sees=True),
    "qwen3": _Known(32_768),
    "qwen3-32b": _Known(131_072),
    "qwen3-coder": _Known(262_144),
    "qwen3-max": _Known(262_144),
    "qwen3-next": _Known(262_144),
    "qwen3-vl": _Known(131_072, sees=True),
    "qwen": _Known(262_144, sees=True),
    "qwq": _Known(32_768),
}
"""By family. The line without a version is for members that are not listed, by the newest one of
November 2026. What a server or a catalogue says of a model counts more.

Windows: genai-prices 0.2.3 (November 2026). Pictures: vercel.com/ai-gateway/models (gpt-6),
api-docs.deepseek.com (deepseek-flash), github.com/anomalyco/models.dev/pull/3110 (grok),
github.com/ollama/ollama/issues/17301 (glm-5.2 is blind), docs.mistral.ai; older ones are well
known. Where two sources disagree the smaller window is here (kimi-k3: 256k and 1M).
"""

_SIZE = "0-9bkmxt."  # `llama-3-70b`: 70 is no part of the version


def known(model: str) -> _Known | None:
    """Return what is known of `model` by its name, None = its family is unknown.

    A vendor before a slash is ignored: `openai/gpt-4o` at a service that serves many.
    """
    name = _plain(model)
    found = [family for family in _KNOWN if _is_of(name, family)]
    return _KNOWN[max(found, key=len)] if found else None


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
