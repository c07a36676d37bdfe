"""What is known of models by their names."""

from __future__ import annotations

import pytest

from aouo.providers.known.knowing import facts_of


@pytest.mark.parametrize(
    ("model", "window_tokens", "seeing"),
    [
        ("gpt-4o-mini", 128_000, True),
        ("gpt-4.1-nano-2025-04-14", 1_047_576, True),
        ("gpt-4", 8_192, False),
        ("gpt-4-1106-preview", 8_192, False),
        ("gpt-4-0613", 8_192, False),
        ("gpt-5-mini", 400_000, True),
        ("gpt-5.1-codex", 400_000, True),
        ("gpt-6-luna", 1_050_000, True),
        ("gpt-6.1-sol", 1_050_000, True),
        ("gpt-7-not-yet-made", 1_050_000, True),
        ("o3-mini", 200_000, False),
        ("o4-mini", 200_000, True),
        ("llama-3.3-70b-versatile", 131_072, False),
        ("llama-3-70b", 8_192, False),
        ("llama3:8b", 8_192, False),
        ("llama3.2-vision", 131_072, True),
        ("llama3.2-vision:11b", 131_072, True),
        ("llama-3.2-90b-vision-preview", 131_072, True),
        ("meta-llama/llama-4-scout-17b-16e-instruct", 131_072, True),
        ("openai/gpt-oss-120b", 131_072, False),
        ("gpt-oss:20b", 131_072, False),
        ("deepseek-chat", 128_000, False),
        ("deepseek-flash", 1_000_000, True),
        ("deepseek-v4-pro", 1_048_576, False),
        ("deepseek-r1:14b", 128_000, False),
        ("gemini-2.5-flash", 1_048_576, True),
        ("gemini-3.5-flash-lite", 1_048_576, True),
        ("models/gemini-2.5-pro", 1_048_576, True),
        ("Qwen/Qwen2.5-VL-72B-Instruct", 32_768, True),
        ("qwen2.5vl:7b", 32_768, True),
        ("qwen3:8b", 32_768, False),
        ("qwen3-30b-a3b", 32_768, False),
        ("qwen3.5:9b", 262_144, True),
        ("Qwen/Qwen3.8-27B", 262_144, True),
        ("gemma:2b", 8_192, False),
        ("gemma2:9b", 8_192, False),
        ("gemma3:1b", 32_768, False),
        ("gemma3:12b", 131_072, True),
        ("google/gemma-3-12b-it", 131_072, True),
        ("gemma4:e4b", 131_072, True),
        ("mistral:7b", 32_768, False),
        ("mistral-7b-instruct", 32_768, False),
        ("mistral-small-24b-instruct-2501", 32_768, False),
        ("mistral-small3.2", 128_000, True),
        ("mistral-small-latest", 128_000, True),
        ("grok-4", 256_000, True),
        ("grok-4.7", 500_000, True),
        ("grok-3-mini", 131_072, False),
        ("claude-3-5-haiku-latest", 200_000, True),
        ("claude-sonnet-4-20250514", 200_000, True),
        ("claude-haiku-4-5-20251001", 200_000, True),
        ("claude-opus-4-7", 1_000_000, True),
        ("anthropic/claude-opus-4.7", 1_000_000, True),
        ("kimi-k2-0905-preview", 131_072, False),
        ("kimi-k2.6", 256_000, True),
        ("glm-4.6", 200_000, False),
        ("glm-5.3-flash", 1_000_000, False),
        ("minimax-m3", 204_800, False),
        ("my-own-finetune", 32_768, False),
        ("", 32_768, False),
    ],
)
def test_a_name_tells_how_much_a_model_reads_and_whether_it_sees(
    model: str, window_tokens: int, seeing: bool
) -> None:
    """Dashes, dots and colons are spelt differently everywhere; an unknown member of a known
    family is taken for the newest one. Source: the table's, November 2026."""
    facts = facts_of(model, own_window=0, vision="auto", tries=False)

    assert (facts.window_tokens, facts.sees) == (window_tokens, seeing)


def test_the_owners_word_on_vision_counts_more_than_the_name() -> None:
    assert facts_of("my-own-finetune", own_window=0, vision="on", tries=False).sees
    assert not facts_of("gpt-4o", own_window=0, vision="off", tries=True).sees
