"""`aouo init` and `aouo config`: nothing is overwritten, nothing wrong saved, no secret shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.plumbing.home import Home

SAMPLE = Path(__file__).parents[2] / "config.sample.json"
TOKEN = "123456789:AAbbCCddEEffGGhhIIjjKKllMMnnOOppQQr"


def test_init_writes_the_sample_for_the_owner_alone(runner: CliRunner, home: Home):
    result = runner.invoke(aouo, ["init"])

    assert result.exit_code == 0
    assert home.config.read_text() == SAMPLE.read_text()
    assert home.config.stat().st_mode & 0o777 == 0o600
    assert "aouo start" in result.stdout


def test_init_takes_the_token_and_the_owner(runner: CliRunner, home: Home):
    result = runner.invoke(aouo, ["init", "--token", TOKEN, "--owner", "42"])

    telegram = json.loads(home.config.read_text())["telegram"]
    assert telegram["bot_token"] == TOKEN
    assert telegram["allowed_user_ids"] == [42]
    assert TOKEN not in result.output


def test_init_again_overwrites_nothing_and_says_so(runner: CliRunner, home: Home):
    runner.invoke(aouo, ["init", "--owner", "42"])
    home.soul.write_text("mine")
    before = home.config.read_text()

    result = runner.invoke(aouo, ["init", "--owner", "43"])

    assert result.exit_code == 0
    assert home.config.read_text() == before
    assert home.soul.read_text() == "mine"
    assert "unchanged" in result.stderr


def steps(output: str) -> list[str]:
    return output.partition("Next:\n")[2].splitlines()


def test_init_again_without_a_token_still_names_it_and_with_one_the_person(runner: CliRunner):
    first = steps(runner.invoke(aouo, ["init"]).stdout)
    again = steps(runner.invoke(aouo, ["init"]).stdout)
    runner.invoke(aouo, ["config", "set", "telegram.bot_token", TOKEN])
    with_token = steps(runner.invoke(aouo, ["init"]).stdout)
    runner.invoke(aouo, ["config", "set", "telegram.allowed_user_ids", "1001"])
    with_person = steps(runner.invoke(aouo, ["init"]).stdout)

    assert first == again
    assert again[0].split()[:3] == ["aouo", "setup", "the"]
    assert with_token[0].split()[:3] == ["aouo", "setup", "owner"]
    assert with_person[0] == "  aouo pack install notes   install a pack that comes along"


def test_the_next_steps_are_aligned(runner: CliRunner):
    lines = steps(runner.invoke(aouo, ["init"]).stdout)
    reasons = ("the token", "install", "check", "run", "try it")

    columns = {line.rindex(reason) for line, reason in zip(lines, reasons, strict=True)}
    assert len(columns) == 1


def test_the_next_steps_name_a_home_that_would_not_be_found_else(
    runner: CliRunner, home: Home, tmp_path: Path
):
    other = tmp_path / "my bot"

    named = steps(runner.invoke(aouo, ["init", "--home", str(other)]).stdout)
    usual = steps(runner.invoke(aouo, ["init", "--home", str(home.path)]).stdout)

    assert all(line.startswith(f"  aouo --home '{other}' ") for line in named)
    assert not any("--home" in line for line in usual)


def test_init_refuses_what_is_no_token(runner: CliRunner, home: Home):
    assert runner.invoke(aouo, ["init", "--token", "hello"]).exit_code == 2
    assert not home.path.exists()


def test_init_as_json_tells_what_was_made(runner: CliRunner, home: Home):
    facts = json.loads(runner.invoke(aouo, ["init", "--json"]).stdout)

    assert facts["home"] == str(home.path)
    assert facts["config_written"]
    assert str(home.config) in facts["created"]


def test_show_and_get_mask_every_secret(runner: CliRunner):
    runner.invoke(aouo, ["init", "--token", TOKEN])
    runner.invoke(aouo, ["config", "set", "telegram.proxy", "socks5://me:hunter22@127.0.0.1:1"])

    for arguments in (["show"], ["show", "--json"], ["get", "telegram"]):
        shown = runner.invoke(aouo, ["config", *arguments]).output

        assert TOKEN not in shown
        assert "hunter22" not in shown
        assert "****" in shown


@pytest.mark.parametrize(
    ("key", "value", "stored"),
    [
        ("log.level", "debug", "debug"),
        ("telegram.message_batch_ms", "0", 0),
        ("telegram.resend_unknown", "true", True),
        ("telegram.allowed_user_ids", "1,2", [1, 2]),
        ("telegram.allowed_user_ids", "[3]", [3]),
        ("telegram.allowed_user_ids", "1001", [1001]),
        ("packs.enabled", "notes", ["notes"]),
        (
            "provider.fallback",
            '{"backend": "groq", "model": "m"}',
            [{"backend": "groq", "model": "m"}],
        ),
        ("cron.default_chat_id", "-100123", "-100123"),
        ("providers.mine.base_url", "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
    ],
)
def test_set_stores_a_value_of_the_key_s_type(
    runner: CliRunner, key: str, value: str, stored: object
):
    result = runner.invoke(aouo, ["config", "set", key, "--", value])

    assert result.exit_code == 0, result.stderr
    assert json.loads(runner.invoke(aouo, ["config", "get", key, "--json"]).stdout) == stored


@pytest.mark.parametrize(
    ("key", "value", "code", "words"),
    [
        ("telegram.allowed_user_id", "1", 2, "telegram.allowed_user_ids"),
        ("telegram.allowed_user_ids", "oops", 3, "telegram.allowed_user_ids.0"),
        ("telegram.allowed_user_ids", "true", 3, "should be a list"),
        ("provider.backend", "gemni", 3, "choose one of"),
    ],
)
def test_set_saves_nothing_wrong(
    runner: CliRunner, home: Home, key: str, value: str, code: int, words: str
):
    runner.invoke(aouo, ["init"])
    before = home.config.read_text()

    result = runner.invoke(aouo, ["config", "set", key, value])

    assert result.exit_code == code
    assert words in result.stderr
    assert home.config.read_text() == before


def test_get_of_an_unknown_key_names_the_nearest(runner: CliRunner):
    result = runner.invoke(aouo, ["config", "get", "telegram.bot_tokn"])

    assert result.exit_code == 2
    assert "telegram.bot_token" in result.stderr


def test_validate_prints_every_problem(runner: CliRunner, home: Home):
    home.create()
    home.config.write_text('{"logg": {}, "ui": {"show_tool_calls": "perhaps"}}')

    result = runner.invoke(aouo, ["config", "validate"])
    as_json = runner.invoke(aouo, ["config", "validate", "--json"])

    assert (result.exit_code, as_json.exit_code) == (3, 3)
    assert len(result.stderr.splitlines()) == 2
    assert not json.loads(as_json.stdout)["ok"]
    assert len(json.loads(as_json.stdout)["problems"]) == 2


def test_a_value_that_is_no_list_is_told_in_the_words_of_json(runner: CliRunner, home: Home):
    home.create()
    home.config.write_text('{"packs": {"enabled": true}}')

    validated = runner.invoke(aouo, ["config", "validate"])
    examined = runner.invoke(aouo, ["doctor", "--fast"])

    assert validated.stderr == "packs.enabled: input should be a list\n"
    assert "packs.enabled: input should be a list" in examined.stdout


def test_a_broken_file_is_told_while_the_last_good_one_is_shown(runner: CliRunner, home: Home):
    runner.invoke(aouo, ["init"])
    runner.invoke(aouo, ["config", "show"])
    home.config.write_text("{")

    result = runner.invoke(aouo, ["config", "get", "log.level"])

    assert (result.exit_code, result.stdout) == (0, "info\n")
    assert "line 1 column 2" in result.stderr
    assert "last good" in result.stderr


def test_edit_saves_what_is_valid_and_nothing_else(runner: CliRunner, home: Home):
    runner.invoke(aouo, ["init"])
    before = home.config.read_text()

    wrong = runner.invoke(aouo, ["config", "edit"], env={"EDITOR": "sed -i s/draft/drft/"})
    after_wrong = home.config.read_text()
    right = runner.invoke(aouo, ["config", "edit"], env={"EDITOR": "sed -i s/draft/edits/"})

    assert (wrong.exit_code, after_wrong) == (3, before)
    assert right.exit_code == 0
    assert json.loads(home.config.read_text())["telegram"]["streaming"] == "edits"
    assert list(home.run.iterdir()) == []


def test_edit_keeps_both_texts_when_somebody_else_changed_the_file(runner: CliRunner, home: Home):
    runner.invoke(aouo, ["init"])
    editor = home.path / "editor.sh"
    editor.write_text(f"sed -i s/draft/off/ '{home.config}'\nsed -i s/draft/edits/ \"$1\"\n")

    told = runner.invoke(aouo, ["config", "edit"], env={"EDITOR": f"sh '{editor}'"})

    (mine,) = home.path.glob("config.draft.*")
    assert told.exit_code == 3
    assert str(mine) in told.stderr
    assert json.loads(home.config.read_text())["telegram"]["streaming"] == "off"
    assert json.loads(mine.read_text())["telegram"]["streaming"] == "edits"
    assert mine.stat().st_mode & 0o777 == 0o600
    assert list(home.run.iterdir()) == []


def test_the_schema_is_json_and_refuses_unknown_keys(runner: CliRunner):
    schema = json.loads(runner.invoke(aouo, ["config", "schema"]).stdout)

    assert schema["additionalProperties"] is False
    assert "telegram" in schema["properties"]


@pytest.mark.parametrize("token", ["rubbish", "123456:short", "123456789", TOKEN + "!"])
def test_init_and_config_set_judge_a_token_alike(runner: CliRunner, home: Home, token: str) -> None:
    refused = runner.invoke(aouo, ["init", "--token", token])
    runner.invoke(aouo, ["init", "--token", TOKEN])
    before = home.config.read_text()
    also = runner.invoke(aouo, ["config", "set", "telegram.bot_token", token])
    taken_away = runner.invoke(aouo, ["config", "set", "telegram.bot_token", ""])

    assert (refused.exit_code, also.exit_code) == (2, 2)
    assert "that is not a bot token" in refused.output
    assert "that is not a bot token" in also.output
    assert token not in also.output
    assert TOKEN in before
    assert taken_away.exit_code == 0


def test_a_file_that_is_not_there_is_not_called_valid(runner: CliRunner, home: Home) -> None:
    before = runner.invoke(aouo, ["config", "validate"])
    runner.invoke(aouo, ["init"])
    after = runner.invoke(aouo, ["config", "validate"])
    sessions = runner.invoke(aouo, ["session", "list"])

    assert before.stdout == f"There is no {home.config}: defaults hold.\n"
    assert after.stdout == f"{home.config} is valid.\n"
    assert sessions.stdout == "There is no session yet.\n"


@pytest.mark.parametrize(
    ("value", "saved"), [('""', ""), ("", ""), ('"low"', "low"), ("low", "low"), ('"', '"')]
)
def test_a_text_may_be_written_as_json_writes_it(
    runner: CliRunner, home: Home, value: str, saved: str
):
    """The empty one above all: that is how the sample shows it."""
    runner.invoke(aouo, ["config", "set", "provider.effort", value])

    assert json.loads(home.config.read_text())["provider"]["effort"] == saved


@pytest.mark.parametrize("under", ["budgets", "providers.mine"])
def test_a_price_is_set_for_a_model_whose_name_has_dots(runner: CliRunner, home: Home, under: str):
    price = {"input": 1, "cached": 1, "output": 2}
    runner.invoke(aouo, ["config", "set", "providers.mine.base_url", "http://127.0.0.1:1"])
    key = f"{under}.prices.gpt-6.1-sol"
    for name, value in ((key, json.dumps(price)), (f"{key}.output", "3")):
        assert runner.invoke(aouo, ["config", "set", name, value]).exit_code == 0
    shown = runner.invoke(aouo, ["config", "get", key]).stdout
    wrong = runner.invoke(aouo, ["config", "set", f"{key}.outptu", "3"])

    assert json.loads(shown) == {**price, "output": 3}
    assert '"gpt-6.1-sol"' in home.config.read_text()
    assert "Did you mean" in wrong.stderr
    assert f"{key}.output" in wrong.stderr


def test_a_budget_for_what_has_no_price_says_so_when_it_is_set(runner: CliRunner, home: Home):
    """Source: issue 15, "Usage"."""
    for key, value in (
        ("providers.mine.base_url", "http://127.0.0.1:1"),
        ("provider.backend", "mine"),
        ("provider.model", "gpt-6.1-own"),
        ("tools.web_search.api_key", "tvly-1"),
    ):
        assert "note:" not in runner.invoke(aouo, ["config", "set", key, value]).stdout
    told = runner.invoke(aouo, ["config", "set", "budgets.daily_usd", "5"]).stdout
    prices = '{"input": 1, "output": 2}'
    priced = runner.invoke(aouo, ["config", "set", "budgets.prices.gpt-6.1-own", prices]).stdout
    key = "budgets.prices_per_call.web_search"
    both = runner.invoke(aouo, ["config", "set", key, "0.008"]).stdout
    per_minute = runner.invoke(
        aouo, ["config", "set", "budgets.prices_per_minute.gpt-6.1-ears", "0.1"]
    )

    assert told.splitlines()[1:] == [
        "note: a budget is set and gpt-6.1-own has no price: nothing is asked, unless its server "
        "says one. Set budgets.prices.gpt-6.1-own, or take the budget away.",
        "note: a budget is set and web_search has no price: what it does is not counted. "
        "Set budgets.prices_per_call.web_search.",
    ]
    assert [line.split(" has ")[0] for line in priced.splitlines()[1:]] == [
        "note: a budget is set and web_search"
    ]
    assert both.splitlines()[1:] == []
    assert per_minute.exit_code == 0
    assert '"gpt-6.1-ears": 0.1' in home.config.read_text()
