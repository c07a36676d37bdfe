"""The catalogue says what each key may be, and which the local page leaves alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import pytest

from aouo.app.services import configured
from aouo.config.catalogue import _is_harmless, keys_in
from aouo.config.file import parse
from aouo.config.keys import Tree, get, known_keys, plain
from aouo.config.sections import Fallback, McpServer, Price
from aouo.config.settings import Settings
from aouo.config.values import Name
from tests.fakes.models import names, profile

OWNERS: Tree = {"providers": {"my.lab": {}}, "mcp": {"servers": {"hub": {}}}}


def test_programs_paths_and_addresses_are_not_the_pages_to_change() -> None:
    """A new key of that kind has to be added here; one that is harmless is marked as a `Name`."""
    closed = [key.path for key in keys_in(OWNERS) if not key.on_page]

    assert closed == [
        "telegram.api_base_url",
        "telegram.webhook.url",
        "telegram.webhook.listen",
        "telegram.proxy",
        "roles.member.files",
        "roles.guest.files",
        "openai.base_url",
        "groq.base_url",
        "gemini.base_url",
        "deepseek.base_url",
        "providers",
        "providers.my.lab.base_url",
        "providers.my.lab.headers",
        "providers.my.lab.body",
        "stt.model",
        "tts.model",
        "tts.voice",
        "tools.web_search.base_url",
        "mcp.servers",
        "mcp.servers.hub.command",
        "mcp.servers.hub.args",
        "mcp.servers.hub.env",
        "mcp.servers.hub.url",
        "mcp.servers.hub.headers",
        "packs.scan_dirs",
        "packs.trusted_keys",
        "security.allowed_paths",
        "security.policy",
        "dashboard.host",
    ]


def test_a_text_is_closed_until_somebody_has_marked_it() -> None:
    texts = (str, tuple[str, ...], dict[str, str], str | None, Any, object, McpServer)
    marked = (Name, tuple[Name, ...], tuple[Fallback, ...])
    none = (float | None, Literal["a", "b"], dict[str, Price], bool)

    assert not any(map(_is_harmless, texts))
    assert all(map(_is_harmless, (*marked, *none)))


def test_every_key_is_in_the_catalogue_with_its_default() -> None:
    found = {key.path: key for key in keys_in({})}
    defaults = plain(Settings())
    groups = {key for key in known_keys() if any(one.startswith(f"{key}.") for one in known_keys())}

    assert set(found) == set(known_keys()) - groups
    assert all(field.about for field in found.values())
    assert {path: field.default for path, field in found.items()} == {
        path: get(defaults, path) for path in found
    }


# The pages of services in docs/operations.md: each can be copied as it stands


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
