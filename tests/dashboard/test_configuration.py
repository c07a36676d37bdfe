"""What the page says of each key: the file, what is in force, and why they differ."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aouo.config.catalogue import keys_in
from aouo.config.file import ConfigBroken, parse
from aouo.config.keys import Tree, put
from aouo.config.settings import Settings
from aouo.dashboard.configuration import configuration
from aouo.plumbing.home import Home
from aouo.plumbing.redact import Redactor

HUSH = "hushhush"
OWNERS: Tree = {"providers": {"lab": {}}, "mcp": {"servers": {"hub": {}}}}
SECRET_KEYS = [key.path for key in keys_in(OWNERS) if key.kind == "secret"]
SHAPES: list[Any] = [
    HUSH,
    [HUSH],
    {"a": HUSH},
    "${HUSHED}",
    f"x${{HUSHED}}{HUSH}",
    "${NOT_SET}" + HUSH,
]
MORE: list[tuple[str, Any]] = [
    ("mcp.servers.hub.env", {"TOKEN": HUSH}),
    ("mcp.servers.hub.headers", {"Authorization": HUSH}),
    ("mcp.servers.hub.url", f"http://me:{HUSH}@127.0.0.1/"),
    ("telegram.proxy", f"socks5://me:{HUSH}@127.0.0.1:1"),
    ("openai.apikey", HUSH),
    ("groq", HUSH),
    ("provider.fallback", [{"backend": "lab", "key": HUSH}]),
    ("telegram.max_parts", 0),
    ("budgets.prices", {"m": HUSH}),
]


def shown(text: str, environ: dict[str, str], settings: Settings | None = None) -> Any:
    """What the page shows of a file."""
    with TemporaryDirectory() as folder:
        home = Home(Path(folder))
        home.config.write_text(text)
        return configuration(home, settings or _settings(text, environ), environ, Redactor())


def _settings(text: str, environ: dict[str, str]) -> Settings:
    try:
        return parse(text, environ).settings
    except ConfigBroken:
        return Settings()


def row(facts: Any, key: str) -> dict[str, Any]:
    (found,) = [one for part in facts["sections"] for one in part["keys"] if one["key"] == key]
    return found


@given(
    st.dictionaries(st.sampled_from(SECRET_KEYS), st.sampled_from(SHAPES), max_size=5),
    st.lists(st.sampled_from(MORE), max_size=3),
    st.booleans(),
    st.booleans(),
)
def test_no_secret_is_shown_whatever_is_wrong_with_the_file(
    secrets: dict[str, Any], more: list[tuple[str, Any]], by_environment: bool, said_elsewhere: bool
) -> None:
    tree: Tree = {}
    for path, value in [*secrets.items(), *more]:
        put(tree, path, value)
    if said_elsewhere:
        put(tree, "deepseek.api_key", HUSH)
        put(tree, "provider.model", f"of {HUSH}")
    environ = {"HUSHED": HUSH}
    if by_environment:
        environ["AOUO_GEMINI__API_KEY"] = environ["OPENAI_API_KEY"] = HUSH
    facts = shown(json.dumps(tree), environ)

    assert HUSH not in json.dumps(facts)


def test_a_secret_says_where_it_is_from() -> None:
    text = json.dumps({"openai": {"api_key": "${MINE}"}, "deepseek": {"api_key": "written"}})
    facts = shown(text, {"MINE": "m", "GROQ_API_KEY": "g", "AOUO_DASHBOARD__TOKEN": "d"})

    told = {key: row(facts, f"{key}.api_key") for key in ("openai", "deepseek", "groq", "gemini")}
    assert {key: (one["set"], one["from"], one.get("variable")) for key, one in told.items()} == {
        "openai": (True, "reference", "MINE"),
        "deepseek": (True, "file", None),
        "groq": (True, "environment", "GROQ_API_KEY"),
        "gemini": (False, "", None),
    }
    assert row(facts, "dashboard.token")["variable"] == "AOUO_DASHBOARD__TOKEN"


def test_what_the_environment_overrides_is_shown_beside_the_file() -> None:
    text = json.dumps({"telegram": {"max_parts": 3}, "provider": {"model": "${MODEL}"}})
    facts = shown(text, {"AOUO_TELEGRAM__MAX_PARTS": "9", "MODEL": "tiny"})

    parts, model = row(facts, "telegram.max_parts"), row(facts, "provider.model")
    assert (parts["value"], parts["in_force"], parts["why"]) == (3, 9, "environment")
    assert parts["variable"] == "AOUO_TELEGRAM__MAX_PARTS"
    assert (model["value"], "in_force" in model) == ("${MODEL}", False)


def test_a_name_of_the_owners_may_hold_anything() -> None:
    name = "<script>.‮api_key"
    facts = shown(json.dumps({"providers": {name: {"base_url": "http://127.0.0.1"}}}), {})

    assert row(facts, "providers")["value"] == [name]
    assert row(facts, f"providers.{name}.base_url")["value"] == "http://127.0.0.1"
