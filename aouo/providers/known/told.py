"""Reads what a server says of its models, in the form of each service. Pure.

There is no standard beyond `id`; each service adds fields of its own to `GET /models`:

| who | fields | source |
|---|---|---|
| OpenAI | `shutdown_date` | dev.to/max_bob, 27 Oct 2026; null in lists of 2026 |
| OpenRouter | `context_length`, `top_provider`, `architecture.input_modalities`, \
`supported_parameters`, `pricing`, `expiration_date` | openrouter.ai/docs/models, the SDKs' Model |
| Groq | `context_window`, `active` | console.groq.com/docs/api-reference |
| Mistral | `max_context_length`, `capabilities`, `deprecation`, \
`deprecation_replacement_model`, `aliases` | docs.rs/mistral-openapi-client, BaseModelCard |
| Anthropic | `max_input_tokens`, `capabilities.image_input.supported` | the ModelInfo schema \
of its OpenAPI description, 23 Sep 2026 |
| Gemini (its own list) | `inputTokenLimit`, `thinking` | ai.google.dev/api/models |
| Kimi | `context_length`, `supports_image_in`, `supports_reasoning` | platform.moonshot.ai |
| vLLM | `max_model_len` | docs.vllm.ai, OpenAI-compatible server |
| LM Studio 0.3 `/api/v0/models` | `type`, `max_context_length`, `loaded_context_length` | \
lmstudio.ai/docs/api/rest-api |
| LM Studio 0.4 `/api/v1/models` | `key`, `capabilities`, `loaded_instances` | the same |
| Ollama `/api/show`, `/api/ps` | `model_info`, `capabilities`, `context_length` | \
docs.ollama.com/api, v0.40 |
| llama.cpp `/props` | `default_generation_settings.n_ctx`, `modalities` | its tools/server/README |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, cast

Entry = Mapping[str, Any]

_WINDOWS = (
    "context_length",
    "context_window",
    "max_context_length",
    "loaded_context_length",
    "max_model_len",
    "max_input_tokens",
    "inputTokenLimit",
)
_ENDS = ("shutdown_date", "expiration_date", "deprecation", "deprecation_date")
_SEES = ("vision", "image", "image_input", "images")
_TOOLS = ("tools", "tool_use", "function_calling", "trained_for_tool_use")
_NAME_CHARS = 200
"""The longest text that counts as a model's name."""
_THINKS = ("thinking", "reasoning")


@dataclass(frozen=True, slots=True)
class Told:
    """What a server says of one model; 0, None and "" = it does not say.

    `ends_on` is the day from which the model is gone or unsupported, `usd` the price of a million
    tokens of input, of cached input and of output, in small requests. Not `loaded`: the window is
    the model's largest, and the server may give it less once it is in memory.
    """

    window_tokens: int = 0
    sees: bool | None = None
    calls_tools: bool | None = None
    thinks: bool | None = None
    ends_on: date | None = None
    successor: str = ""
    active: bool = True
    loaded: bool = True
    usd: tuple[float, float, float] | None = None


def names(body: object) -> tuple[str, ...]:
    """Return the names in a server's list, in its order; () = it is no list of models."""
    return tuple(name for entry in _entries(body) if (name := _name(entry)))


def owners_of(body: object) -> set[str]:
    """Return the `owned_by` values of a list, where local servers write what they are."""
    return {str(entry.get("owned_by")) for entry in _entries(body)}


def entry_of(body: object, model: str) -> Entry | None:
    """Return a list's entry of `model`, by its name, an alias or Ollama's full name, or None.

    A variant that only OpenRouter's router knows (`vendor/name:nitro`) is its model.
    """
    wanted = {model, f"{model}:latest", model.removeprefix("models/")}
    found: Entry | None = None
    for entry in _entries(body):
        if _name(entry) in wanted:
            return entry
        variant = "/" in model and _name(entry) == model.rpartition(":")[0]
        if variant or model in _list(entry.get("aliases")):
            found = entry
    return found


def nearest(all_names: Sequence[str], model: str) -> tuple[str, ...]:
    """Return the listed names most like one that is missing; among thousands that takes tens of
    milliseconds."""
    import difflib  # for those whose model is gone

    by_bare = {name.rpartition("/")[2].lower(): name for name in all_names if name != model}
    close = difflib.get_close_matches(model.rpartition("/")[2].lower(), by_bare, n=3, cutoff=0.4)
    return tuple(by_bare[name] for name in close)


def told_by_list(entry: Entry) -> Told:
    """Return what one entry of a list says; of several windows the smallest counts."""
    replaced_by = entry.get("deprecation_replacement_model")
    return Told(
        window_tokens=min(_windows(entry), default=0),
        sees=_sees(entry),
        calls_tools=_can(entry, _TOOLS),
        thinks=_can(entry, _THINKS),
        ends_on=next((day for key in _ENDS if (day := _day(entry.get(key)))), None),
        successor=replaced_by if isinstance(replaced_by, str) else "",
        active=entry.get("active") is not False,
        loaded=_is_loaded(entry),
        usd=_usd(_dict(entry.get("pricing"))),
    )


def told_by_ollama(show: object, ps: object, model: str) -> Told:
    """Return what Ollama says of a model; the window of a loaded one is its real one.

    Before it is loaded only `num_ctx` of its Modelfile is certain; without that it becomes 4,096 on
    a machine with less than 24 GiB of video memory. Cloud models have their whole window.
    Source: github.com/ollama/ollama, docs/context-length.mdx.
    """
    shown = _dict(show)
    running = entry_of(ps, model)
    info = _dict(shown.get("model_info"))
    trained = [_whole(value) for key, value in info.items() if key.endswith(".context_length")]
    set_to = re.search(r"^num_ctx\s+(\d+)$", str(shown.get("parameters", "")), re.MULTILINE)
    fixed = _whole(_dict(running).get("context_length")) or (int(set_to[1]) if set_to else 0)
    abroad = bool(shown.get("remote_model")) or model.endswith("cloud")
    return Told(
        window_tokens=fixed or max(trained, default=0),
        sees=_can(shown, _SEES),
        calls_tools=_can(shown, _TOOLS),
        thinks=_can(shown, _THINKS),
        loaded=bool(fixed) or abroad,
    )


def told_by_llama_cpp(props: object) -> Told:
    """Return what llama.cpp's server says of the one model that it has loaded."""
    said = _dict(props)
    seen = _dict(said.get("modalities")).get("vision")
    return Told(
        window_tokens=_whole(_dict(said.get("default_generation_settings")).get("n_ctx")),
        sees=seen if isinstance(seen, bool) else None,
    )


def joined(first: Told, second: Told) -> Told:
    """Return both together: the second one's values where it has some, and the smaller window."""
    windows = [told.window_tokens for told in (first, second) if told.window_tokens]
    return Told(
        window_tokens=min(windows, default=0),
        sees=first.sees if second.sees is None else second.sees,
        calls_tools=first.calls_tools if second.calls_tools is None else second.calls_tools,
        thinks=first.thinks if second.thinks is None else second.thinks,
        ends_on=first.ends_on or second.ends_on,
        successor=first.successor or second.successor,
        active=first.active and second.active,
        loaded=second.loaded,
        usd=first.usd or second.usd,
    )


def _entries(body: object) -> Iterator[Entry]:
    whole = _dict(body)
    listed = _list(body) or _list(whole.get("data")) or _list(whole.get("models"))
    yield from map(_dict, listed)


def _name(entry: Entry) -> str:
    for key in ("id", "key", "name", "model"):
        value = entry.get(key)
        if isinstance(value, str) and 0 < len(value) <= _NAME_CHARS and value.isprintable():
            return value.removeprefix("models/")
    return ""


def _windows(entry: Entry) -> Iterator[int]:
    """Yield every window that an entry names, in tokens."""
    loaded = entry.get("loaded_instances")
    configs = [_dict(_dict(one).get("config")) for one in _list(loaded)]
    for part in (entry, _dict(entry.get("top_provider")), *configs):
        yield from (tokens for key in _WINDOWS if (tokens := _whole(part.get(key))))


def _is_loaded(entry: Entry) -> bool:
    """Whether a model is in memory; true unless the server (LM Studio) denies it."""
    if "loaded_instances" in entry:
        return bool(entry["loaded_instances"])
    return entry.get("state") != "not-loaded"


def _sees(entry: Entry) -> bool | None:
    modalities = _dict(entry.get("architecture")).get("input_modalities")
    modalities = modalities or entry.get("input_modalities")
    if isinstance(modalities, list):
        return "image" in modalities
    if entry.get("type") == "vlm":
        return True
    return _can(entry, _SEES)


def _can(entry: Entry, words: tuple[str, ...]) -> bool | None:
    """Whether a model can do something, by `capabilities`, `supported_parameters` or a field of
    its own; None = unknown."""
    can = entry.get("capabilities")
    if isinstance(can, dict):
        fields = cast("dict[str, object]", can)
        said = [_yes(fields[word]) for word in words if word in fields]
        return any(said) if said else None
    for key in ("capabilities", "supported_parameters"):
        listed = entry.get(key)
        if isinstance(listed, list) and (key == "capabilities" or words is not _SEES):
            return any(word in listed for word in words)
    for word in words:
        for key in (word, f"supports_{word}", f"supports_{word}_in"):
            if isinstance(entry.get(key), bool):
                return bool(entry[key])
    return None


def _usd(pricing: Entry) -> tuple[float, float, float] | None:
    """Return OpenRouter's prices, which are text per token; a router over many models says -1."""
    said = [pricing.get(key) for key in ("prompt", "input_cache_read", "completion")]
    fresh, cached, out = (_million(one) for one in said)
    if fresh is None or out is None:
        return None
    return fresh, fresh if cached is None else cached, out


def _million(value: object) -> float | None:
    try:
        usd = float(value) * 1_000_000 if isinstance(value, str) else -1.0
    except ValueError:
        return None
    return round(usd, 9) if 0 <= usd < float("inf") else None


def _yes(value: object) -> bool:
    """Whether a capability is given: a bool, or an object that says whether it is `supported`."""
    return value is True or _dict(value).get("supported") is True


def _day(value: object) -> date | None:
    """Parse a day: ISO 8601, with or without a time, or a Unix time."""
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value).date()
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return datetime.fromtimestamp(value, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _whole(value: object) -> int:
    """Return a number of tokens; 0 for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _dict(value: object) -> Entry:
    return cast("Entry", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
