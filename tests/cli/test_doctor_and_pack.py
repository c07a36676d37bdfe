"""`aouo doctor` and `aouo pack`: what is wrong, where, and what mends it."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.plumbing.home import Home

TOKEN = "123456789:AAbbCCddEEffGGhhIIjjKKllMMnnOOppQQr"
FAKES = Path(__file__).parents[1] / "fakes"
PACK = {"name": "tiny", "version": "1.0.0", "display_name": "Tiny"}


WEBHOOK: dict[str, Any] = {}
"""What Telegram says of the bot's webhook."""


class Services(BaseHTTPRequestHandler):
    """A Bot API and a model's server, each with one good credential."""

    def do_GET(self) -> None:
        status, body = self.answer()
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def answer(self) -> tuple[int, dict[str, Any]]:
        if self.path.startswith("/bot"):
            if self.path == f"/bot{TOKEN}/getMe":
                return 200, {"ok": True, "result": {"username": "my_bot"}}
            if self.path == f"/bot{TOKEN}/getWebhookInfo":
                return 200, {"ok": True, "result": WEBHOOK}
            return 401, {"ok": False, "error_code": 401}
        good = self.headers.get("Authorization") == "Bearer good-key"
        return (200, {"data": []}) if good and self.path == "/v1/models" else (401, {})

    def do_POST(self) -> None:
        """A model that calls the tool which it is offered."""
        good = self.headers.get("Authorization") == "Bearer good-key"
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not good:
            text, status = b'{"error": {"message": "wrong key", "code": "invalid_api_key"}}', 401
        else:
            name = body["tools"][0]["function"]["name"]
            call = {"index": 0, "id": "1", "function": {"name": name, "arguments": "{}"}}
            delta = {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
            text, status = f"data: {json.dumps(delta)}\n\ndata: [DONE]\n\n".encode(), 200
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Quiet."""


@pytest.fixture
def services() -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Services) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def configure(home: Home, services: str, *, token: str = TOKEN, key: str = "good-key") -> None:
    home.create()
    home.config.write_text(
        json.dumps(
            {
                "telegram": {
                    "bot_token": token,
                    "allowed_user_ids": [1],
                    "api_base_url": services,
                },
                "provider": {"backend": "mine", "model": "any"},
                "providers": {"mine": {"base_url": f"{services}/v1", "api_key": key}},
            }
        )
    )
    home.config.chmod(0o600)


def checks(runner: CliRunner, *arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    result = runner.invoke(aouo, ["doctor", "--json", *arguments])
    facts = json.loads(result.stdout)
    assert facts["ok"] == (result.exit_code == 0)
    return result.exit_code, {check["name"]: check for check in facts["checks"]}


def write_pack(folder: Path, **changes: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "pack.yml").write_text(json.dumps({**PACK, **changes}))
    return folder


def test_a_sound_home_passes_and_privacy_mode_is_mentioned(
    runner: CliRunner, home: Home, services: str
):
    configure(home, services)

    code, found = checks(runner)

    assert code == 0
    assert found["telegram"]["status"] == "ok"
    assert "privacy mode" in found["telegram"]["detail"]
    assert found["model mine"]["status"] == "ok"


def test_a_refused_token_and_a_refused_key_fail_without_being_shown(
    runner: CliRunner, home: Home, services: str
):
    configure(home, services, token=TOKEN + "x", key="wrong-key")

    code, found = checks(runner)

    assert code == 1
    assert found["telegram"]["status"] == "fail"
    assert "BotFather" in found["telegram"]["fix"]
    assert found["model mine"]["status"] == "fail"
    assert TOKEN not in json.dumps(found)


def test_a_server_that_is_not_there_fails_within_the_time_limit(runner: CliRunner, home: Home):
    configure(home, "http://127.0.0.1:9")

    code, found = checks(runner)

    assert code == 1
    assert "Cannot connect" in found["telegram"]["detail"]


@pytest.mark.parametrize(
    ("transport", "info", "status", "words"),
    [
        ("polling", {"url": ""}, None, ""),
        ("polling", {"url": "https://other.example/"}, "warn", "https://other.example/"),
        ("webhook", {"url": ""}, "warn", "Telegram calls none"),
        ("webhook", {"url": "https://other.example/"}, "warn", "https://other.example/"),
        ("webhook", {"url": "https://bot.example/", "pending_update_count": 2}, "ok", "2 updates"),
        (
            "webhook",
            {
                "url": "https://bot.example/",
                "pending_update_count": 7,
                "last_error_date": 0,
                "last_error_message": "Connection timed out",
            },
            "warn",
            "7 updates wait; the last call failed at 1970-01-01 00:00:00 UTC: Connection timed out",
        ),
    ],
)
def test_what_telegram_says_of_the_webhook_is_shown(
    runner: CliRunner,
    home: Home,
    services: str,
    transport: str,
    info: dict[str, Any],
    status: str | None,
    words: str,
):
    configure(home, services)
    config = json.loads(home.config.read_text())
    hook = {"url": "https://bot.example/", "secret_token": "a-secret"}
    config["telegram"] |= {"transport": transport, "webhook": hook}
    home.config.write_text(json.dumps(config))
    WEBHOOK.clear()
    WEBHOOK.update(info)

    code, found = checks(runner)

    assert code == 0
    assert found.get("webhook", {}).get("status") == status
    assert words in found.get("webhook", {}).get("detail", "")


def test_a_command_of_the_owner_s_is_looked_at(runner: CliRunner, home: Home) -> None:
    home.create()
    assert "commands" not in checks(runner, "--fast")[1]
    home.commands.mkdir()
    (home.commands / "brief.md").write_text("---\ndescription: The day\n---\nSum it up.\n")
    sound = checks(runner, "--fast")[1]["commands"]
    (home.commands / "disk.md").write_text("---\ntype: local\nhandler: disk.sh\n---\n")
    wrong = checks(runner, "--fast")[1]["commands"]

    assert (sound["status"], sound["detail"]) == ("ok", "/brief")
    assert (wrong["status"], wrong["detail"]) == (
        "warn",
        "commands/disk.md: handler: commands/disk.sh is not there.",
    )


def test_fast_leaves_the_network_out(runner: CliRunner, home: Home):
    configure(home, "http://127.0.0.1:9")

    code, found = checks(runner, "--fast")

    assert code == 0
    assert found["telegram"]["status"] == "skip"
    assert found["model mine"]["status"] == "skip"


def test_a_missing_token_is_a_warning_and_the_last_line_says_what_it_keeps_from_starting(
    runner: CliRunner, home: Home
):
    configure(home, "http://127.0.0.1:9", token="")

    result = runner.invoke(aouo, ["doctor", "--fast"])

    assert result.exit_code == 0
    assert "warn telegram: there is no bot token" in result.stdout
    assert result.stdout.splitlines()[-1] == (
        "2 warnings. `aouo start` will refuse without a bot token."
    )


def test_the_last_line_counts_what_was_found(runner: CliRunner, home: Home):
    configure(home, "http://127.0.0.1:9")
    write_pack(home.packs / "tiny", version="one")
    before = runner.invoke(aouo, ["doctor", "--fast"]).stdout

    (home.packs / "tiny" / "pack.yml").write_text(json.dumps(PACK))
    after = runner.invoke(aouo, ["doctor", "--fast"]).stdout

    assert before.splitlines()[-1] == "1 failure."
    assert after.splitlines()[-1] == "No failures, no warnings."


def test_a_home_that_is_not_there_fails_and_names_init(runner: CliRunner):
    code, found = checks(runner, "--fast")

    assert code == 1
    assert "aouo init" in found["home"]["fix"]


def told(home: Home, runner: CliRunner, *arguments: str, **config: object) -> dict[str, Any]:
    """What the doctor finds with this configuration; name → (status, detail, fix)."""
    home.create()
    home.config.write_text(json.dumps(config))
    found = checks(runner, *arguments)[1]
    return {name: (one["status"], one["detail"], one["fix"]) for name, one in found.items()}


def test_a_budget_without_a_price_for_a_configured_model_is_a_warning(
    runner: CliRunner, home: Home
):
    price = {"input": 1, "output": 2}
    config = {
        "provider": {
            "backend": "openai",
            "model": "own",
            "fallback": [{"backend": "groq", "model": "small"}, {"backend": "gemini"}],
        },
        "budgets": {"daily_usd": 1, "prices": {"small": price}},
    }

    before = told(home, runner, "--fast", **config)
    config["budgets"] = {"daily_usd": 1, "prices": {"small": price, "own": price}}
    after = told(home, runner, "--fast", **config)
    config["budgets"] = {}
    without = told(home, runner, "--fast", **config)

    assert before["budgets"] == (
        "warn",
        "a budget is set and own has no price: nothing is asked, unless its server says one",
        "Set budgets.prices.own, or take the budget away.",
    )
    assert after["budgets"][0] == "ok"
    assert "budgets" not in without


def test_a_fallback_without_key_or_model_fails_as_the_start_would(runner: CliRunner, home: Home):
    found = told(
        home,
        runner,
        "--fast",
        provider={
            "backend": "openai",
            "fallback": [{"backend": "groq"}, {"backend": "mine"}],
        },
        openai={"base_url": "http://127.0.0.1:9/v1"},
        providers={"mine": {"base_url": "http://127.0.0.1:9/v1"}},
    )

    assert found["model openai"][0] == "skip"
    assert found["model groq"] == ("fail", "there is no key", "Set groq.api_key.")
    assert found["model mine"][:2] == ("fail", "no model is chosen")


def test_speech_that_was_chosen_without_a_key_is_a_warning(runner: CliRunner, home: Home):
    """The default of stt, groq without a key, was chosen by nobody."""
    plain = told(home, runner, "--fast")
    chosen = told(home, runner, "--fast", tts={"backend": "groq"}, stt={"backend": "openai"})
    sound = told(
        home,
        runner,
        "--fast",
        tts={"backend": "groq"},
        groq={"api_key": "k"},
    )

    assert not {"tts", "stt"} & set(plain)
    assert chosen["tts"][1:] == (
        "groq is chosen and there is no key",
        "Set groq.api_key, or tts.backend.",
    )
    assert chosen["stt"][2] == "Set openai.api_key, or stt.backend."
    assert sound["tts"] == ("ok", "groq", "")


def test_speech_on_this_machine_is_said_to_be_there_or_how_it_is_installed(
    runner: CliRunner, home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    fakes = FAKES / "speech_packages"
    monkeypatch.syspath_prepend(str(fakes))
    gone = str(tmp_path / "gone")
    there = told(home, runner, "--fast", tts={"backend": "local"}, stt={"backend": "local"})
    wrong = told(
        home,
        runner,
        "--fast",
        tts={"backend": "local", "model": gone},
        stt={"backend": "local", "model": gone},
    )
    monkeypatch.setattr("aouo.providers.speech.local.find_spec", nothing_installed)
    missing = told(home, runner, "--fast", tts={"backend": "local"}, stt={"backend": "local"})

    assert there["tts"] == there["stt"] == ("ok", "local, English only", "")
    assert wrong["stt"] == (
        "warn",
        f"stt.model: there is no model at {gone}",
        "Set stt.model to a folder with Whisper for CTranslate2, or leave it out.",
    )
    assert wrong["tts"][0] == "warn"
    found = ("warn", "local is chosen and not installed", "scripts/setup voice")
    assert missing["tts"] == missing["stt"] == found


def nothing_installed(_name: str) -> None:
    return None


def test_mcp_servers_are_connected_to_and_one_that_is_down_is_a_warning(
    runner: CliRunner, home: Home
):
    servers = {
        "fake": {"command": sys.executable, "args": [str(FAKES / "mcp_server.py")]},
        "down": {"url": "http://127.0.0.1:9/mcp"},
        "gone": {"command": "no-such-program"},
    }

    found = told(home, runner, mcp={"servers": servers})
    fast = told(home, runner, "--fast", mcp={"servers": servers})

    assert found["mcp:fake"] == ("ok", "8 tools", "")
    assert found["mcp:down"][0] == found["mcp:gone"][0] == "warn"
    assert "The server 'down' is down" in found["mcp:down"][1]
    assert "there is no program 'no-such-program'" in found["mcp:gone"][1]
    assert fast["mcp"][0] == "skip"


def test_a_missing_key_fails_and_names_it(runner: CliRunner, home: Home):
    home.create()
    home.config.write_text('{"provider": {"backend": "groq"}}')

    _, found = checks(runner, "--fast")

    assert (found["model groq"]["status"], found["model groq"]["fix"]) == (
        "fail",
        "Set groq.api_key.",
    )


def test_every_problem_of_the_file_is_a_failed_check(runner: CliRunner, home: Home):
    home.create()
    home.config.write_text('{"logg": {}, "uii": {}}')

    result = runner.invoke(aouo, ["doctor", "--fast"])

    assert result.exit_code == 1
    assert result.stdout.count("fail config: ") == 2
    assert "did you mean log?" in result.stdout


def test_a_home_on_a_network_file_system_is_a_warning_that_names_it(
    runner: CliRunner, home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Finding 37."""
    usual = told(home, runner, "--fast")["disk"]
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 8:1 / / rw - ext4 a rw\n2 1 0:44 / {tmp_path} rw - nfs4 nas:/ rw\n")
    monkeypatch.setattr("aouo.plumbing.home.TABLE", table)
    status, detail, fix = told(home, runner, "--fast")["disk"]

    assert usual[0] == "ok"
    assert (status, "lies on nfs4" in detail) == ("warn", True)
    assert fix.startswith("Move the home to a disk of this machine")


def test_a_broken_pack_fails_the_doctor_and_is_listed_as_broken(runner: CliRunner, home: Home):
    home.create()
    write_pack(home.packs / "tiny", version="one")

    _, found = checks(runner, "--fast")
    listed = json.loads(runner.invoke(aouo, ["pack", "list", "--json"]).stdout)

    assert found["pack tiny"]["status"] == "fail"
    assert list(listed["broken"]) == ["tiny"]


def test_a_linked_pack_is_listed(runner: CliRunner, home: Home, tmp_path: Path):
    folder = write_pack(tmp_path / "work" / "tiny")

    linked = runner.invoke(aouo, ["pack", "link", str(folder)])
    listed = runner.invoke(aouo, ["pack", "list"])

    assert linked.exit_code == 0, linked.output
    assert listed.stdout.split() == ["tiny", "1.0.0", str(folder)]
    assert (home.packs / "tiny").is_symlink()


def test_linking_what_is_no_pack_is_a_set_up_error(runner: CliRunner, tmp_path: Path):
    result = runner.invoke(aouo, ["pack", "link", str(tmp_path)])

    assert result.exit_code == 3
    assert "pack.yml" in result.stderr


def test_validate_is_0_for_a_sound_pack_and_1_with_file_and_field(
    runner: CliRunner, tmp_path: Path
):
    sound = write_pack(tmp_path / "tiny")
    wrong = write_pack(tmp_path / "wrong", versoin="1")

    good = runner.invoke(aouo, ["pack", "validate", str(sound)])
    bad = runner.invoke(aouo, ["pack", "validate", str(wrong)])

    assert (good.exit_code, bad.exit_code) == (0, 1), good.output
    assert "pack.yml" in bad.stderr
    assert "versoin" in bad.stderr


def test_validate_looks_into_the_folder_as_dev_does(runner: CliRunner, tmp_path: Path):
    folder = write_pack(tmp_path / "tiny", fast_paths={"menu": "menu.json"})
    forgotten = folder / "skills" / "forgotten" / "SKILL.md"
    forgotten.parent.mkdir(parents=True)
    forgotten.write_text("---\ndescription: Nobody lists it\n---\nDo.\n")
    (folder / "menu.json").write_text("{")

    broken = runner.invoke(aouo, ["pack", "validate", str(folder)])
    (folder / "menu.json").write_text('[{"id": "main", "title": "Tiny"}]')
    facts = json.loads(runner.invoke(aouo, ["pack", "validate", str(folder), "--json"]).stdout)

    assert broken.exit_code == 1
    assert "error: menu.json:1: is not JSON" in broken.stderr
    assert (facts["ok"], facts["pack"]) == (True, "tiny")
    assert [problem["severity"] for problem in facts["problems"]] == ["warning"]
    assert '"forgotten" lies below skills/' in facts["problems"][0]["message"]


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        ("deny: [{sink: spend}]", "ok", "mine.yml: every rule can decide"),
        ("deny: [{sink: spend}, {sink: spend, pack: x}]", "warn", "deny 2 (no name) never decides"),
        ("deny: [{sinc: spend}]", "fail", "deny.0.sinc: Extra inputs are not permitted"),
    ],
)
def test_a_policy_is_read_and_what_never_decides_is_named(
    runner: CliRunner, home: Home, text: str, status: str, told: str
) -> None:
    """Issue 31."""
    runner.invoke(aouo, ["init"])
    (home.path / "mine.yml").write_text(text)
    runner.invoke(aouo, ["config", "set", "security.policy", "mine.yml"])
    checks = json.loads(runner.invoke(aouo, ["doctor", "--fast", "--json"]).stdout)["checks"]
    done = runner.invoke(aouo, ["guard", "check"])

    (found,) = [check for check in checks if check["name"] == "policy"]
    assert found["status"] == status
    assert told in found["detail"]
    assert (done.exit_code == 0) is (status == "ok")


def test_a_rule_is_named_whose_tool_app_or_person_is_not_here(
    runner: CliRunner, home: Home
) -> None:
    """Issue 44: `tool: send_money` denied nothing while the server called it otherwise."""
    runner.invoke(aouo, ["init"])
    (home.path / "mine.yml").write_text(
        "deny: [{tool: send_money}, {tool: 'fetc*'}, {pack: nots}, {person: [7, bob]}]"
    )
    runner.invoke(aouo, ["config", "set", "security.policy", "mine.yml"])
    runner.invoke(aouo, ["config", "set", "telegram.allowed_user_ids", "[7]"])
    checked = runner.invoke(aouo, ["guard", "check"])
    runner.invoke(aouo, ["config", "set", "mcp.servers.bank.command", "bank"])
    unconnected = runner.invoke(aouo, ["guard", "check"])

    assert (checked.exit_code, checked.stdout.splitlines()) == (
        1,
        [
            "deny 1 (no name) names tool send_money, which is not here",
            "deny 3 (no name) names pack nots, which is not here",
            "deny 4 (no name) names person bob, which is not here",
        ],
    )
    assert "send_money" not in unconnected.stdout
    assert "pack nots" in unconnected.stdout
