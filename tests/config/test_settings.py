"""Configuration: every problem at once, with its path and what helps; secrets never shown."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeGuard, get_args, get_origin

import pytest
from pydantic import BaseModel

import aouo
from aouo.config.file import (
    ConfigBroken,
    Loaded,
    dump,
    load_settings,
    parse,
    read_text,
    save,
)
from aouo.config.keys import (
    _mask,
    differing,
    get,
    known_keys,
    nearest,
    plain,
    put,
    sample,
    schema,
    until_restart,
)
from aouo.config.sections import Endpoint
from aouo.config.settings import AFTER_RESTART, Settings, waits_for_restart
from aouo.facts.errors import SetupError

SECRET = "sk-this-must-never-be-printed"


def load(environ: dict[str, str] | None = None, **tree: Any) -> Settings:
    return parse(json.dumps(tree), environ or {}).settings


def problems(text: str | dict[str, Any], environ: dict[str, str] | None = None) -> tuple[str, ...]:
    text = text if isinstance(text, str) else json.dumps(text)
    with pytest.raises(ConfigBroken) as caught:
        parse(text, environ or {})
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value)
    return caught.value.problems


def test_the_sample_in_the_repository_is_what_init_writes():
    written = (Path(__file__).parents[2] / "config.sample.json").read_text("utf-8")

    assert written == dump(sample())


def test_the_sample_holds_every_key_and_loads_without_a_problem():
    tree = sample()

    assert [key for key in known_keys() if get(tree, key) is None] == ["provider.temperature"]
    assert tree["provider"]["temperature"] is None
    assert parse(dump(tree), {}).notes == ()


def test_defaults_are_those_of_the_contract():
    settings = load()

    assert settings.telegram.message_batch_ms == 0
    assert settings.provider.backend == "none"
    assert settings.provider.max_tokens == 16384
    assert settings.provider.temperature is None
    assert settings.provider.request_timeout_s == 300
    assert settings.provider.stream_idle_timeout_s == 300
    assert settings.advanced.turn_timeout_s == 900
    assert settings.security.fence_mode == "deny"
    assert settings.cron.enabled
    assert settings.dashboard.port == 9800
    assert settings.advanced.compress_threshold == 0.7
    assert settings.retention.messages_days == 0


def test_every_key_has_a_description_in_the_schema():
    made = schema()
    sections = [made, *made["$defs"].values()]

    silent = [
        (section.get("title"), name)
        for section in sections
        for name, field in section.get("properties", {}).items()
        if "description" not in field
    ]

    assert silent == []


def test_every_problem_is_reported_at_once_with_its_path():
    found = problems(
        {
            "telegram": {"allowed_user_id": [1], "bot_token": {"x": SECRET}, "transport": SECRET},
            "provder": {},
            "provider": {"backend": "gemni", "temperature": SECRET, "fallback": [{"backend": "x"}]},
            "groq": {"api_key": "${NOT_THERE}"},
            "cron": {"timezone": "Europe/Berln"},
            "heartbeat": {"quiet_hours": "22-8", "every": "30s"},
            "attention": {"digest_at": "8am", "quiet_hours": "08:00-08:00"},
            "mcp": {"servers": {"files": {}}},
            "providers": {"mine": {"base_url": "http://127.0.0.1/v1", "api_ky": SECRET}},
        },
        {"AOUO_TELEGRAM__MAX_PARTS": SECRET},
    )

    backends = "choose one of none, openai, groq, gemini, deepseek, mine or add it under providers"
    assert set(found) == {
        "telegram.allowed_user_id: unknown key (did you mean telegram.allowed_user_ids?)",
        "telegram.bot_token: input should be a valid string",
        "telegram.transport: input should be 'polling' or 'webhook'",
        "telegram.max_parts: input should be a valid integer, "
        "unable to parse string as an integer (set by AOUO_TELEGRAM__MAX_PARTS)",
        "provder: unknown key (did you mean provider?)",
        f"provider.backend: no such backend; {backends}",
        f"provider.fallback.0.backend: no such backend; {backends}",
        "provider.temperature: input should be a valid number, unable to parse string as a number",
        "groq.api_key: the environment variable NOT_THERE is not set",
        'cron.timezone: there is no time zone "Europe/Berln". Did you mean Europe/Berlin or '
        "Europe/Dublin or Europe/Belfast?",
        "heartbeat.every: give at least 1m",
        'heartbeat.quiet_hours: write it like "22:00-08:00", or "" for never',
        'attention.quiet_hours: it begins and ends at the same time: write "" for never',
        'attention.digest_at: write it like "08:00"',
        "mcp.servers.files: give either `command` or `url`",
        "providers.mine.api_ky: unknown key (did you mean providers.mine.api_key?)",
    }


@pytest.mark.parametrize(
    "address",
    [
        "",
        "127.0.0.1:11434",
        "localhost:1234/v1",
        "ftp://127.0.0.1/v1",
        "http:///v1",
        "http://127.0.0.1:99999/v1",
        "http://[::1",
    ],
)
def test_an_address_of_a_model_that_is_none_is_said_before_anything_is_asked(address: str):
    tree = {"openai": {"base_url": address}, "providers": {"mine": {"base_url": address}}}

    whole = "write it whole, such as http://127.0.0.1:11434/v1"
    assert set(problems(tree)) == {
        f"openai.base_url: {whole}",
        f"providers.mine.base_url: {whole}",
    }


def test_a_provider_cannot_take_the_name_of_a_backend_that_would_be_asked_in_its_place():
    tree = {"providers": {"openai": {"base_url": "http://127.0.0.1:8000/v1"}}}

    assert problems(tree) == ("providers: openai is a backend of its own: choose another name",)


def test_a_time_without_an_end_is_no_time():
    tree = '{"provider": {"request_timeout_s": Infinity, "stream_idle_timeout_s": NaN}}'

    assert all("finite number" in problem for problem in problems(tree))
    assert len(problems(tree)) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 100_000, "line 1 column 1: nested too deep"),
        ('{"a": 1,\n "b" 2}', "line 2 column 6: not JSON: Expecting ':' delimiter"),
        ("[]", "line 1 column 1: not a JSON object"),
        ('{"ui": {}, "ui": {}}', "the key 'ui' is there twice in the same object"),
    ],
)
def test_text_that_is_no_configuration_is_located(text: str, problem: str):
    assert problems(text) == (problem,)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("telegram.allowed_user_id", "telegram.allowed_user_ids"),
        ("telgram.bot_token", "telegram.bot_token"),
        ("bot_token", "telegram.bot_token"),
        ("tools.web_search.max_result", "tools.web_search.max_results"),
        ("provider.fallback.2.modell", "provider.fallback.2.model"),
        ("mcp.servers.files.comand", "mcp.servers.files.command"),
        ("zzzzzz", ""),
    ],
)
def test_a_typo_is_answered_with_the_nearest_key(written: str, meant: str):
    assert nearest(written) == meant


def test_a_file_of_an_older_system_loads_and_its_idle_keys_are_named_once():
    loaded = parse(
        json.dumps(
            {
                "version": "0.1.0",
                "provider": {"backend": "gemini", "model": "gemini-3-flash-preview"},
                "gemini": {"api_key": "", "vision_model": "gemini-3-flash-preview"},
                "telegram": {"enabled": True, "bot_token": "", "allowed_user_ids": [7]},
                "tools": {"enabled": ["file", "msg"], "web_search": {"backend": "tavily"}},
                "cron": {"default_platform": "telegram", "default_chat_id": 7},
                "tts": {"voice": "en-US-AriaNeural", "rate": "+0%"},
                "azure": {"speech_key": "", "speech_region": "eastasia"},
                "advanced": {"log_level": "info", "max_react_loops": 20},
                "store": {"url": ""},
            }
        ),
        {},
    )

    assert loaded.notes == (
        "keys without use here: version, azure, cron.default_platform, tts.rate, "
        "advanced.log_level, store",
    )
    assert loaded.settings.cron.default_chat_id == "7"
    assert loaded.settings.telegram.owner == 7


def test_the_environment_overrides_the_file():
    settings = load(
        {
            "AOUO_TELEGRAM__ALLOWED_USER_IDS": "1, 2",
            "AOUO_TOOLS__ENABLED": '["msg"]',
            "AOUO_PROVIDERS__MINE__BASE_URL": "http://127.0.0.1:1/v1",
            "AOUO_LOG__LEVEL": "debug",
            "AOUO_HOME": "/nowhere",
        },
        telegram={"allowed_user_ids": [3]},
    )

    assert settings.telegram.allowed_user_ids == (1, 2)
    assert settings.tools.enabled == ("msg",)
    assert settings.providers["mine"].base_url == "http://127.0.0.1:1/v1"
    assert settings.log.level == "debug"


def test_the_process_environment_is_not_read_behind_our_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AOUO_LOG__LEVEL", "debug")

    assert load().log.level == "info"


def test_an_unknown_override_is_a_problem_too():
    assert problems({}, {"AOUO_LOG__LEVELL": "debug"}) == (
        "log.levell: unknown key (did you mean log.level?) (set by AOUO_LOG__LEVELL)",
    )
    assert problems({}, {"AOUO_TOOLS__ENABLED": "[x"}) == (
        "tools.enabled: not JSON: Expecting value (set by AOUO_TOOLS__ENABLED)",
    )


def test_usual_variables_fill_only_an_empty_key():
    environ = {"OPENAI_API_KEY": "from-env", "GROQ_API_KEY": "from-env", "GOOGLE_API_KEY": "google"}
    settings = load(environ, openai={"api_key": "from-file"}, groq={"api_key": ""})

    assert settings.openai.api_key.get_secret_value() == "from-file"
    assert settings.groq.api_key.get_secret_value() == "from-env"
    assert settings.gemini.api_key.get_secret_value() == "google"


def test_a_value_may_name_a_variable_and_a_number_comes_out_of_it():
    settings = load(
        {"TOKEN": "1:a", "LOW": "3"},
        telegram={"bot_token": "${TOKEN}", "max_parts": "${LOW}"},
    )

    assert settings.telegram.bot_token.get_secret_value() == "1:a"
    assert settings.telegram.max_parts == 3


def test_printing_settings_shows_no_secret():
    settings = load(
        openai={"api_key": SECRET},
        mcp={"servers": {"a": {"command": "x", "env": {"KEY": SECRET}}}},
    )

    assert SECRET not in repr(settings)
    assert SECRET not in str(settings.model_dump(mode="json"))
    assert SECRET not in json.dumps(plain(settings, masked=True))
    assert settings.secrets() == (SECRET,)


def test_the_password_of_an_address_counts_as_a_secret():
    assert load(telegram={"proxy": "socks5://me:hunter22@127.0.0.1:1"}).secrets() == ("hunter22",)


def test_the_environment_of_a_tool_server_is_secret_but_for_places(tmp_path: Path):
    """A folder blanked out would hide what the owner is asked to approve."""
    env = {"TOKEN": SECRET, "DATA": str(tmp_path), "GONE": "/no/such/folder"}
    server = {"command": "run", "env": env, "args": ["http://me:hunter22@127.0.0.1"]}

    found = load(mcp={"servers": {"files": server}}).secrets()

    assert found == tuple(sorted(("/no/such/folder", SECRET, "hunter22")))


@pytest.mark.parametrize(("secret", "shown"), [("", ""), ("short", "****"), (SECRET, "****nted")])
def test_a_masked_secret_shows_four_characters_at_most(secret: str, shown: str):
    assert _mask(secret) == shown


@pytest.mark.parametrize(
    ("backend", "endpoint"),
    [
        ("openai", Endpoint("https://api.openai.com/v1", "o", 0)),
        ("groq", Endpoint("https://api.groq.com/openai/v1", "", 0)),
        ("deepseek", Endpoint("https://api.deepseek.com", "", 0)),
        ("none", Endpoint("", "", 0)),
        ("mine", Endpoint("http://127.0.0.1:1/v1", "m", 8000)),
    ],
)
def test_each_backend_has_an_endpoint(backend: str, endpoint: Endpoint):
    settings = load(
        openai={"api_key": "o"},
        providers={
            "mine": {"base_url": "http://127.0.0.1:1/v1/", "api_key": "m", "context_window": 8000}
        },
    )

    assert settings.provider_endpoint(backend) == endpoint


def test_an_unknown_backend_is_a_set_up_error():
    with pytest.raises(SetupError, match="nope"):
        load().provider_endpoint("nope")


def test_a_price_without_a_cached_part_costs_the_same_cached():
    price = load(budgets={"prices": {"m": {"input": 2, "output": 4}}}).budgets.prices["m"]

    assert (price.input, price.cached, price.output) == (2, 2, 4)


@pytest.mark.parametrize(
    ("tree", "fixes"),
    [
        ({}, ["telegram.bot_token"]),
        ({"telegram": {"bot_token": "1:a"}}, []),
        ({"telegram": {"enabled": False}}, []),
        (
            {"telegram": {"bot_token": "1:a", "transport": "webhook"}},
            ["telegram.webhook.secret_token", "telegram.webhook.url"],
        ),
        (
            {
                "telegram": {
                    "bot_token": "1:a",
                    "transport": "webhook",
                    "webhook": {
                        "url": "https://bot.example/",
                        "secret_token": "not allowed!",
                        "listen": "8443",
                    },
                }
            },
            ["telegram.webhook.secret_token", "telegram.webhook.listen"],
        ),
        (
            {
                "telegram": {
                    "bot_token": "1:a",
                    "transport": "webhook",
                    "webhook": {
                        "url": "https://bot.example/",
                        "secret_token": "A_long-1",
                        "listen": "[::1]:8443",
                    },
                }
            },
            [],
        ),
        ({"telegram": {"bot_token": "1:a", "proxy": "bot.example:1080"}}, ["telegram.proxy"]),
        ({"telegram": {"bot_token": "1:a", "proxy": "socks5://u:p@127.0.0.1:1080"}}, []),
        (
            {"telegram": {"bot_token": "1:a"}, "dashboard": {"host": "0.0.0.0"}},
            ["dashboard.token"],
        ),
    ],
)
def test_start_is_refused_with_what_to_set(tree: dict[str, Any], fixes: list[str]):
    refusals = load(**tree).refusals()

    assert len(refusals) == len(fixes)
    assert all(fix in refusal.fix for fix, refusal in zip(fixes, refusals, strict=True))


def test_no_file_means_the_defaults_and_leaves_no_trace(tmp_path: Path):
    assert load_settings(tmp_path, {}) == Loaded(Settings())
    assert list(tmp_path.iterdir()) == []


def test_a_broken_file_is_replaced_by_the_last_good_one(tmp_path: Path):
    file = tmp_path / "config.json"
    file.write_text('{"telegram": {"allowed_user_ids": [5], "bot_token": "${TOKEN}"}}')
    load_settings(tmp_path, {"TOKEN": SECRET})
    file.write_text('{"telegram": {"allowed_user_id": [5]}}')

    loaded = load_settings(tmp_path, {"TOKEN": SECRET})

    good = tmp_path / "config.last-good.json"
    assert loaded.from_last_good
    assert loaded.problems == (
        "telegram.allowed_user_id: unknown key (did you mean telegram.allowed_user_ids?)",
    )
    assert loaded.settings.telegram.allowed_user_ids == (5,)
    assert SECRET not in good.read_text()
    assert good.stat().st_mode & 0o777 == 0o600


def test_a_broken_file_without_a_good_one_is_a_set_up_error_naming_the_file(tmp_path: Path):
    (tmp_path / "config.json").write_text('{"ui": 1, "logg": {}}')

    with pytest.raises(SetupError) as caught:
        load_settings(tmp_path, {})

    assert caught.value.exit_code == 3
    assert caught.value.problem == (
        "config.json has 2 problems: "
        "ui: input should be a valid dictionary or instance of Ui; "
        "logg: unknown key (did you mean log?)."
    )
    assert caught.value.fix == f"Edit {tmp_path / 'config.json'}."


def test_saving_something_wrong_leaves_the_file_as_it_was(tmp_path: Path):
    save(tmp_path, {"ui": {"show_tool_calls": False}}, {})
    before = (tmp_path / "config.json").read_text()

    with pytest.raises(ConfigBroken):
        save(tmp_path, {"ui": {"show_tool_calls": "perhaps"}}, {})

    assert (tmp_path / "config.json").read_text() == before
    assert [file.name for file in tmp_path.iterdir()] == ["config.json"]
    assert (tmp_path / "config.json").stat().st_mode & 0o777 == 0o600


def test_putting_a_value_below_something_else_changes_nothing():
    tree: dict[str, Any] = {"a": 1}

    put(tree, "a.b", 2)
    put(tree, "c.d.e", 3)

    assert tree == {"a": 1, "c": {"d": {"e": 3}}}


# Keys that do something


def _leaves(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys that have more than one value, as paths."""
    for name, info in model.model_fields.items():
        kind: object = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind, (*path, name))
        elif get_origin(kind) is not Literal or len(get_args(kind)) > 1:
            yield (*path, name)


def _sections(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """The class of each section, and its key."""
    for name, info in model.model_fields.items():
        kind: object = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield kind.__name__, name
            yield from _sections(kind)


@dataclass
class Reads:
    """What a file reads of the settings."""

    keys: set[str] = field(default_factory=set[str])
    """`section.key`, as they stand there."""
    sections: set[str] = field(default_factory=set[str])
    """Sections that it takes in hand."""
    attributes: set[str] = field(default_factory=set[str])
    """Every attribute it looks at, of whatever."""

    def has(self, section: str, leaf: str) -> bool:
        taken = section in self.sections and leaf in self.attributes
        return taken or f"{section}.{leaf}" in self.keys


def _reads(file: Path) -> Reads:
    tree = ast.parse(file.read_text())
    classes = dict(_sections(Settings))
    reads, holders = Reads(), {"settings", "_settings", *classes.values()}
    if file.name in ("sections.py", "settings.py"):  # their methods; a refusal is no use
        for made in (node for node in tree.body if isinstance(node, ast.ClassDef)):
            uses = ast.Module(list(filter(_is_use, made.body)), [])
            section = classes.get(made.name)
            reads.keys |= {f"{section}.{n.attr}" for n in _attributes(uses) if _last(n) == "self"}
        tree = ast.Module([node for node in ast.walk(tree) if _is_use(node)], [])
        holders.add("self")
    attributes = _attributes(tree)
    inner = {id(node.value) for node in attributes}
    reads.attributes = {node.attr for node in attributes}
    reads.keys |= {f"{_last(node)}.{node.attr}" for node in attributes}
    reads.sections = {n.attr for n in attributes if _last(n) in holders and id(n) not in inner}
    names = {name.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for name in n.names}
    reads.sections |= {key for name, key in classes.items() if name in names}
    return reads


def _attributes(tree: ast.AST) -> list[ast.Attribute]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]


def _last(node: ast.Attribute) -> str:
    """The name of what an attribute is looked at in."""
    return ast.unparse(node.value).split(".")[-1]


def _is_use(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name != "refusals"


def test_every_key_is_read_by_something() -> None:
    aside = {"config/docs.py", "config/file.py", "config/keys.py"}
    root = Path(aouo.__file__).parent
    files = [file for file in root.rglob("*.py") if file.relative_to(root).as_posix() not in aside]
    found = [_reads(file) for file in files]
    keys = [".".join(key) for key in _leaves(Settings)]

    def is_read(key: str) -> bool:
        section, _, leaf = key.rpartition(".")
        return any(reads.has(section.split(".")[-1], leaf) for reads in found)

    assert [key for key in keys if not is_read(key)] == ["providers"]


EVERYTHING = {
    "telegram": {"bot_token": SECRET, "allowed_user_ids": [1, 2], "webhook": {"url": "https://a"}},
    "provider": {"backend": "mine", "temperature": 0.5, "fallback": [{"backend": "openai"}]},
    "providers": {
        "mine": {
            "base_url": "http://127.0.0.1:1/v1",
            "api_key": SECRET,
            "prices": {"a/b.c": {"input": 1, "output": 2.5}},
        }
    },
    "mcp": {"servers": {"hub": {"command": "x", "args": ["y"], "env": {"KEY": SECRET}}}},
    "budgets": {"per_pack_daily_usd": {"notes": 0.5}},
    "packs": {"trusted_keys": {"me": "RW"}},
    "cron": {"timezone": "Europe/Berlin"},
}


def test_a_running_bot_keeps_what_only_a_start_takes_up_and_takes_the_rest():
    running, wanted = Settings(), Settings.model_validate(EVERYTHING)
    kept = until_restart(running, wanted)
    later = {key for key in differing(kept, wanted) if waits_for_restart(key)}

    assert until_restart(wanted, wanted) == wanted
    assert set(differing(kept, wanted)) == later == {"telegram.bot_token", "telegram.webhook.url"}
    assert {key for key in AFTER_RESTART if key not in known_keys()} == set()


def test_what_differs_is_named_by_its_key_and_never_by_its_value():
    other = Settings.model_validate(
        EVERYTHING
        | {
            "mcp": {"servers": {"hub": {"command": "x", "args": ["z"], "env": {"KEY": "other"}}}},
            "providers": {},
            "provider": {},
        }
    )
    found = differing(Settings.model_validate(EVERYTHING), other)

    assert {"mcp.servers.hub.args", "mcp.servers.hub.env.KEY", "providers.mine"} <= set(found)
    assert SECRET not in str(found)


def test_a_configuration_that_is_a_pipe_blocks_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")

    with pytest.raises(ConfigBroken, match="it is no file"):
        read_text(tmp_path / "config.json")


def test_fields_of_a_request_cannot_take_the_place_of_what_is_asked() -> None:
    config = {"providers": {"lab": {"base_url": "http://lab/v1", "body": {"messages": []}}}}

    with pytest.raises(ConfigBroken, match=r"providers.lab.body.*messages: that is what is asked"):
        parse(json.dumps(config), {}, Path("config.json"))


def test_headers_of_a_service_are_secrets() -> None:
    config = {"providers": {"lab": {"base_url": "http://lab/v1", "headers": {"X-Key": "abcdef"}}}}

    assert "abcdef" in parse(json.dumps(config), {}, Path("config.json")).settings.secrets()
