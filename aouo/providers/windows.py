"""What is known of models by their names: how much they read at once, and whether they see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UNKNOWN_WINDOW_TOKENS = 32_768


@dataclass(frozen=True, slots=True)
class Known:
    """A context window in tokens, and whether images may be sent along."""

    window_tokens: int
    sees: bool = False


# By prefix, the longest one counts. From the services' own model pages; a server may be set up
# for less (`providers.<name>.context_window`).
_KNOWN = {
    "chatgpt-4o": Known(128_000, sees=True),
    "claude-": Known(200_000, sees=True),
    "codestral": Known(256_000),
    "command-a": Known(256_000),
    "command-r": Known(128_000),
    "deepseek-": Known(128_000),
    "deepseek-v4": Known(1_048_576),
    "gemini-": Known(1_048_576, sees=True),
    "gemma-3": Known(131_072, sees=True),
    "gemma": Known(8_192),
    "glm-4": Known(128_000),
    "gpt-": Known(128_000),
    "gpt-3.5": Known(16_385),
    "gpt-4": Known(8_192),
    "gpt-4-turbo": Known(128_000, sees=True),
    "gpt-4.1": Known(1_047_576, sees=True),
    "gpt-4.5": Known(128_000, sees=True),
    "gpt-4o": Known(128_000, sees=True),
    "gpt-5": Known(400_000, sees=True),
    "gpt-5-chat": Known(128_000, sees=True),
    "gpt-oss": Known(131_072),
    "grok-": Known(131_072),
    "kimi-k2": Known(131_072),
    "llama-3": Known(8_192),
    "llama-3.1": Known(131_072),
    "llama-3.2": Known(131_072),
    "llama-3.3": Known(131_072),
    "llama-4": Known(131_072, sees=True),
    "mistral-": Known(128_000),
    "mistral-7b": Known(32_768),
    "o1": Known(200_000, sees=True),
    "o1-mini": Known(128_000),
    "o3": Known(200_000, sees=True),
    "o3-mini": Known(200_000),
    "o4-mini": Known(200_000, sees=True),
    "pixtral": Known(128_000, sees=True),
    "qwen": Known(32_768),
    "qwen-2.5-vl": Known(32_768, sees=True),
    "qwen2.5-vl": Known(32_768, sees=True),
    "qwen3": Known(32_768),
    "qwen3-32b": Known(131_072),
    "qwen3-vl": Known(131_072, sees=True),
}


def known(model: str) -> Known:
    """What its name tells of `model`; one nobody knows has a small window and sees nothing.

    The vendor before a slash does not count: `openai/gpt-4o` at a service that serves many.
    """
    name = model.rpartition("/")[2].lower()
    prefixes = [prefix for prefix in _KNOWN if name.startswith(prefix)]
    return _KNOWN[max(prefixes, key=len)] if prefixes else Known(UNKNOWN_WINDOW_TOKENS)


def sees(model: str, vision: Literal["auto", "on", "off"]) -> bool:
    """Whether `model` gets images: the owner's word, else what its name tells."""
    return known(model).sees if vision == "auto" else vision == "on"
