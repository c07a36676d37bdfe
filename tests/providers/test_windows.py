"""What is known of models by their names."""

from __future__ import annotations

import pytest

from aouo.providers.windows import known, sees


@pytest.mark.parametrize(
    ("model", "window_tokens", "seeing"),
    [
        ("gpt-4o-mini", 128_000, True),
        ("gpt-4.1-nano-2025-04-14", 1_047_576, True),
        ("gpt-4", 8_192, False),
        ("gpt-5-mini", 400_000, True),
        ("o3-mini", 200_000, False),
        ("o4-mini", 200_000, True),
        ("llama-3.3-70b-versatile", 131_072, False),
        ("meta-llama/llama-4-scout-17b-16e-instruct", 131_072, True),
        ("openai/gpt-oss-120b", 131_072, False),
        ("deepseek-chat", 128_000, False),
        ("gemini-2.5-flash", 1_048_576, True),
        ("models/gemini-2.5-pro", 1_048_576, True),
        ("Qwen/Qwen2.5-VL-72B-Instruct", 32_768, True),
        ("my-own-finetune", 32_768, False),
        ("", 32_768, False),
    ],
)
def test_a_name_tells_how_much_a_model_reads_and_whether_it_sees(
    model: str, window_tokens: int, seeing: bool
) -> None:
    assert known(model).window_tokens == window_tokens
    assert sees(model, "auto") is seeing


def test_the_owners_word_on_vision_counts_more_than_the_name() -> None:
    assert sees("my-own-finetune", "on")
    assert not sees("gpt-4o", "off")
