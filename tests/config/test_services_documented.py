"""The pages of services in docs/operations.md: each can be copied as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from aouo.app.services import configured
from aouo.config.file import parse
from aouo.emulator.models import names, profile

_DOCS = Path(__file__).parents[2] / "docs" / "operations.md"
_KEYS = ("OPENAI", "GROQ", "GEMINI", "DEEPSEEK", "ANTHROPIC", "OPENROUTER", "MISTRAL")
ENVIRON = {f"{name}_API_KEY": "k" for name in (*_KEYS, "MOONSHOT", "XAI")}


def pages() -> dict[str, str]:
    """Heading → text of each service's page."""
    section = _DOCS.read_text("utf-8").split("\n## Each service\n")[1].split("\n## ")[0]
    found = section.split("\n### ")[1:]
    return {page.partition("\n")[0]: page.partition("\n")[2] for page in found}


def settings_in(page: str) -> str:
    found = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    assert found
    return found[1]


@pytest.mark.parametrize("name", pages())
def test_what_a_page_says_to_set_loads_and_chooses_a_model(name: str) -> None:
    text = settings_in(pages()[name])
    assert len(text.splitlines()) <= 3

    loaded = parse(text, ENVIRON)

    ((backend, model),) = configured(loaded.settings)
    assert (backend, model) == (
        json.loads(text)["provider"]["backend"],
        json.loads(text)["provider"]["model"],
    )
    assert loaded.settings.provider_endpoint(backend).base_url


@pytest.mark.parametrize("name", pages())
def test_a_page_says_what_a_service_costs_and_what_it_cannot(name: str) -> None:
    assert "**Costs**" in pages()[name]
    assert "**Cannot**" in pages()[name]


def test_each_service_that_we_hold_ourselves_to_has_a_page() -> None:
    """Google's compatible address is no service of its own."""
    backends = {json.loads(settings_in(page))["provider"]["backend"] for page in pages().values()}

    assert backends == {profile(name).name for name in names()} - {"google"}
