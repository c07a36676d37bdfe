"""Windows and prices of public services, out of genai-prices."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from aouo.agent.spending.money import Price
from aouo.app.services import DEFAULT_MODELS, budget_of
from aouo.config.settings import Settings
from aouo.providers.known.windows import listed_rates, listed_window
from tests.fakes.clock import FastClock

NIGHT = datetime(2026, 11, 23, 2, tzinfo=UTC)
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.mark.parametrize("backend", DEFAULT_MODELS)
def test_each_default_model_is_in_the_catalogue_with_window_and_price(backend: str) -> None:
    base_url = Settings().provider_endpoint(backend).base_url

    rate, *_ = listed_rates(base_url, DEFAULT_MODELS[backend], NOON)

    assert listed_window(base_url, DEFAULT_MODELS[backend]) >= 128_000
    assert 0 < rate.cached < rate.input < rate.output


def test_a_threshold_is_a_rate_of_its_own_and_what_is_written_to_a_cache_counts_as_input() -> None:
    """developers.openai.com/api/docs/pricing, as genai-prices 0.2.3 has it: $0.10 in, $0.125
    written to the cache; twice as much above 272,000 tokens of input."""
    rates = listed_rates("https://api.openai.com/v1", "gpt-6-luna", NOON)

    assert [rate.above_tokens for rate in rates] == [0, 272_000]
    assert rates[0].input == 0.125
    assert rates[1].input > rates[0].input


def test_a_price_is_that_of_the_hour() -> None:
    """DeepSeek's is doubled from 01:00 to 04:00 and from 06:00 to 10:00 UTC."""
    peak, cheap = (
        listed_rates("https://api.deepseek.com", "deepseek-flash", when) for when in (NIGHT, NOON)
    )

    assert peak[0].input > cheap[0].input


@pytest.mark.parametrize(
    ("base_url", "model"),
    [
        ("https://api.openai.com/v1", "my-own-finetune"),
        ("https://unheard.example/v1", "gpt-6-luna"),
        ("http://127.0.0.1:11434/v1", "gpt-6-luna"),
        ("http://gpu-box:8000/v1", "gpt-6-luna"),
        ("no address", "gpt-6-luna"),
    ],
)
def test_what_nobody_knows_has_no_price(base_url: str, model: str) -> None:
    assert listed_rates(base_url, model, NOON) == ()
    assert listed_window(base_url, model) == 0


async def test_a_budget_has_prices_without_the_owner_and_the_owners_count_more() -> None:
    settings = Settings.model_validate(
        {
            "openai": {"api_key": "k"},
            "providers": {"mine": {"base_url": "http://127.0.0.1:9/v1"}},
            "budgets": {"daily_usd": 1, "prices": {"gpt-4o": {"input": 9, "output": 9}}},
        }
    )
    prices = budget_of(settings, FastClock()).prices

    assert prices.of("openai", "gpt-4o-mini") == Price(0.15, 0.075, 0.6)
    assert prices.of("openai", "gpt-4o") == Price(9, 9, 9)
    assert prices.of("mine", "gpt-4o-mini") is None
    assert prices.of("unheard", "gpt-4o-mini") is None


def test_the_catalogue_is_imported_by_the_first_who_asks_for_a_public_service() -> None:
    program = (
        "import sys, aouo.app.wiring\n"
        "from aouo.providers.known.windows import listed_window\n"
        "listed_window('http://127.0.0.1:9/v1', 'gpt-6-luna')\n"
        "print('genai_prices' in sys.modules)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    ).stdout

    assert said.strip() == "False"
