"""`aouo models` and `aouo doctor` ask the configured models (issue 12, "`doctor` asks")."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, TypeAlias

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.plumbing.home import Home

TOKEN = "123456789:AAbbCCddEEffGGhhIIjjKKllMMnnOOppQQr"
KEY = "sk-very-secret-1234567890"
CALL = {"index": 0, "id": "1", "function": {"name": "note_word", "arguments": '{"word":"pong"}'}}
CALLS = {"tool_calls": [CALL]}
RED = {"content": "Red."}
UNSUPPORTED = {
    "error": {
        "message": "Function tools with reasoning_effort are not supported for this model.",
        "param": "tools",
        "code": "unsupported_value",
    }
}


Answer: TypeAlias = Callable[[dict[str, Any]], tuple[int, Any]]


def always(status: int, said: Any) -> Answer:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        del body
        return status, said

    return staticmethod(answer)


class Service(BaseHTTPRequestHandler):
    """One model's service: `lists` by path; `answer` decides about a question."""

    lists: ClassVar[dict[str, Any]] = {}
    answer: ClassVar[Answer]
    pause: ClassVar[dict[str, str]] = {}
    asked: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self) -> None:
        self.send(*((200, self.lists[self.path]) if self.path in self.lists else (404, {})))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path in self.lists:
            self.send(200, self.lists[self.path])
            return
        self.asked.append(body)
        status, said = type(self).answer(body)
        if status != 200:
            self.send(status, said)
            return
        usage = {
            "prompt_tokens": 50,
            "completion_tokens": 9,
            "completion_tokens_details": {"reasoning_tokens": 5},
        }
        done = {"choices": [{"delta": said, "finish_reason": "stop"}], "usage": usage}
        self.send_text(200, f"data: {json.dumps(done)}\n\ndata: [DONE]\n\n", "text/event-stream")

    def send(self, status: int, body: Any) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        self.send_text(status, text, "application/json")

    def send_text(self, status: int, text: str, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        for name, value in self.pause.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Quiet."""


def well(body: dict[str, Any]) -> tuple[int, Any]:
    """A model that calls tools and sees."""
    return 200, CALLS if body.get("tools") else RED


@pytest.fixture
def service() -> Generator[str]:
    Service.lists, Service.answer, Service.asked = {}, staticmethod(well), []
    Service.pause = {}
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def configure(home: Home, service: str, **more: Any) -> None:
    home.create()
    mine = {"base_url": service, "api_key": KEY, **more.pop("mine", {})}
    config = {
        "provider": {"backend": "mine", "model": "gpt-6-luna", **more.pop("provider", {})},
        "providers": {"mine": mine},
        **more,
    }
    home.config.write_text(json.dumps(config))
    home.config.chmod(0o600)


def doctor(runner: CliRunner) -> list[tuple[str, str, str]]:
    """What it says of the model: (status, detail, fix)."""
    said = runner.invoke(aouo, ["doctor", "--json"]).stdout
    assert KEY not in said
    checks = json.loads(said)["checks"]
    return [(c["status"], c["detail"], c["fix"]) for c in checks if c["name"].startswith("model")]


def outcome(runner: CliRunner) -> tuple[int, list[dict[str, Any]]]:
    result = runner.invoke(aouo, ["models", "test", "--json"])
    assert KEY not in result.stdout
    assert TOKEN not in result.stdout
    return result.exit_code, json.loads(result.stdout)


def test_doctor_asks_the_model_for_a_tool_and_says_what_is_known(
    runner: CliRunner, home: Home, service: str
) -> None:
    Service.lists = {"/v1/models": {"data": [{"id": "gpt-6-luna", "max_model_len": 32_768}]}}
    configure(home, service)

    assert doctor(runner) == [
        ("ok", "gpt-6-luna answers and calls tools; 32,768 tokens; sees pictures", "")
    ]
    (asked,) = Service.asked
    assert [tool["function"]["name"] for tool in asked["tools"]] == ["note_word"]
    assert asked["stream"]


def test_doctor_quotes_the_refusal_of_a_model_that_is_on_the_list(
    runner: CliRunner, home: Home, service: str
) -> None:
    """The list is no proof: current OpenAI models refuse tools on this line."""
    Service.lists = {"/v1/models": {"data": [{"id": "gpt-6-luna"}]}}
    Service.answer = always(400, UNSUPPORTED)
    configure(home, service)

    ((status, detail, fix),) = doctor(runner)

    assert status == "fail"
    assert "Function tools with reasoning_effort are not supported" in detail
    assert fix == (
        "Mend what it names, or set provider.model to a model that takes tools, as packs need."
    )


def test_doctor_names_the_nearest_of_the_living_to_a_model_that_is_gone(
    runner: CliRunner, home: Home, service: str
) -> None:
    living = ["gpt-6-luna", "gpt-6.1-sol", "whisper-1", *(f"vendor/{n}" for n in range(5_000))]
    Service.lists = {"/v1/models": {"data": [{"id": name} for name in living]}}
    gone = {"error": {"message": "The model does not exist", "code": "model_not_found"}}
    Service.answer = always(404, gone)
    configure(home, service, provider={"model": "gpt-6-lunar"})

    refused, unlisted = doctor(runner)

    assert refused[0] == "fail"
    assert "model_not_found" in refused[1]
    assert unlisted[1] == "mine does not list gpt-6-lunar"
    assert refused[2] == "Set provider.model to another one."
    assert unlisted[2].startswith("Its list has: gpt-6-luna, ")


def test_doctor_warns_of_the_day_on_which_a_model_ends(
    runner: CliRunner, home: Home, service: str
) -> None:
    Service.lists = {"/v1/models": {"data": [{"id": "gpt-6-luna", "shutdown_date": "2999-01-14"}]}}
    configure(home, service)

    answers, ends = doctor(runner)

    assert answers[0] == "ok"
    assert ends == (
        "warn",
        "mine says that gpt-6-luna ends on 14 January 2999",
        "Set provider.model to another one before that day.",
    )


@pytest.mark.parametrize(
    ("entry", "what", "fix"),
    [
        (
            {"deprecation": "2026-03-05T12:00:00Z", "deprecation_replacement_model": "gpt-7"},
            "mine says that gpt-6-luna ended on 5 March 2026",
            "Set provider.model to gpt-7.",
        ),
        (
            {"active": False},
            "mine has switched gpt-6-luna off",
            "Set provider.model to another one.",
        ),
    ],
)
def test_doctor_warns_of_a_model_that_its_service_has_given_up(
    runner: CliRunner, home: Home, service: str, entry: dict[str, Any], what: str, fix: str
) -> None:
    """The forms of Mistral and of Groq."""
    Service.lists = {"/v1/models": {"data": [{"id": "gpt-6-luna", **entry}]}}
    configure(home, service)

    assert doctor(runner)[1] == ("warn", what, fix)


def test_doctor_finds_ollamas_small_window_and_says_the_command(
    runner: CliRunner, home: Home, service: str
) -> None:
    Service.lists = {
        "/v1/models": {"data": [{"id": "qwen3:8b", "owned_by": "library"}]},
        "/api/show": {"capabilities": ["tools"], "model_info": {"qwen3.context_length": 40_960}},
        "/api/ps": {"models": [{"name": "qwen3:8b", "context_length": 4096}]},
    }
    configure(home, service, provider={"model": "qwen3:8b"}, mine={"context_window": 32_768})

    answers, cuts, differs = doctor(runner)

    assert answers[0] == "ok"
    assert cuts == (
        "warn",
        "Ollama gives qwen3:8b 4,096 tokens and drops in silence what does not fit",
        "Start it with `OLLAMA_CONTEXT_LENGTH=16384 ollama serve`.",
    )
    assert differs == (
        "warn",
        "providers.mine.context_window is 32,768 tokens, and the server gives qwen3:8b 4,096",
        "Set providers.mine.context_window to 4096, or 0 to ask the server.",
    )


def test_doctor_warns_of_a_small_window_of_another_server_of_ones_own(
    runner: CliRunner, home: Home, service: str
) -> None:
    """LM Studio loads a model with 4,096 tokens unless it is told otherwise."""
    entry = {"id": "m", "owned_by": "organization_owner"}
    Service.lists = {
        "/v1/models": {"data": [entry]},
        "/api/v0/models": {"data": [{**entry, "loaded_context_length": 4096}]},
    }
    configure(home, service, provider={"model": "m"})

    assert doctor(runner)[1:] == [
        (
            "warn",
            "LM Studio gives m 4,096 tokens and leaves little room for a conversation",
            "Load it there with a context length of 16384 or more.",
        )
    ]


def test_doctor_asks_through_the_proxies_of_the_environment_as_the_runtime_does(
    runner: CliRunner, home: Home, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service here is the proxy; the named host exists nowhere."""
    monkeypatch.setenv("HTTP_PROXY", service.removesuffix("/v1"))
    monkeypatch.setenv("HTTPS_PROXY", service.removesuffix("/v1"))
    monkeypatch.setenv("NO_PROXY", "")
    configure(home, "http://models.invalid/v1")

    assert doctor(runner)[0][0] == "ok"
    assert len(Service.asked) == 1


def test_a_server_that_answers_html_or_not_at_all_fails_with_its_reason(
    runner: CliRunner, home: Home, service: str
) -> None:
    Service.lists = {"/v1/models": "<html>It works!</html>"}
    Service.answer = always(502, "<html>Bad gateway</html>")
    configure(home, service)
    html = doctor(runner)
    configure(home, "http://127.0.0.1:9/v1")
    nobody = doctor(runner)

    assert [(status, "502" in detail) for status, detail, _ in html] == [("fail", True)]
    ((status, detail, fix),) = nobody
    assert status == "fail"
    assert "Cannot connect" in detail
    assert fix == "Check the address, the network and the proxy, if there is one."


def test_models_lists_each_with_window_price_and_who_says_so(
    runner: CliRunner, home: Home, service: str
) -> None:
    Service.lists = {"/v1/models": {"data": [{"id": "gpt-6-luna", "context_length": 65_536}]}}
    configure(
        home,
        service,
        provider={"fallback": [{"backend": "deepseek"}]},
        deepseek={"api_key": "k"},
        budgets={"prices": {"gpt-6-luna": {"input": 1, "output": 2}}},
    )

    listed = runner.invoke(aouo, ["models", "--json"])
    fast = runner.invoke(aouo, ["models", "--fast"])

    first, _ = json.loads(listed.stdout)
    assert (first["window_tokens"], first["window_from"]) == (65_536, "the server")
    assert first["usd_per_million"] == {"input": 1, "cached": 1, "output": 2}
    assert first["price_from"] == "you"
    assert listed.exit_code == 0
    assert Service.asked == []
    assert fast.stdout.splitlines()[0] == "mine gpt-6-luna  (provider.model)"
    assert "deepseek deepseek-flash  (provider.fallback.0.model)" in fast.stdout
    assert "per million tokens  — the catalogue" in fast.stdout


def test_models_test_asks_for_a_tool_and_shows_a_picture(
    runner: CliRunner, home: Home, service: str
) -> None:
    configure(home, service)

    code, (row,) = outcome(runner)

    assert code == 0
    assert (row["answers"], row["calls_tools"], row["reads_pictures"]) == (True, True, True)
    assert row["thinks"]
    parts = Service.asked[1]["messages"][-1]["content"]
    assert any(part["type"] == "image_url" for part in parts)


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (always(401, {"error": {"message": f"bad key {KEY} {TOKEN}"}}), {"answers": False}),
        (always(200, {"content": "pong"}), {"answers": True, "calls_tools": False}),
        (always(200, CALLS), {"calls_tools": True, "reads_pictures": False}),
    ],
)
def test_models_test_fails_with_a_model_that_does_not_do_what_it_should(
    runner: CliRunner,
    home: Home,
    service: str,
    answer: Answer,
    finding: dict[str, bool],
) -> None:
    Service.answer = answer
    configure(home, service, telegram={"bot_token": TOKEN})

    code, (row,) = outcome(runner)

    assert code == 1
    assert not row["ok"]
    assert {key: row[key] for key in finding} == finding


def test_models_test_says_which_key_is_missing(runner: CliRunner, home: Home) -> None:
    home.create()
    home.config.write_text(json.dumps({"provider": {"backend": "openai"}}))

    code, (row,) = outcome(runner)

    assert code == 1
    assert "openai.api_key" in row["problem"]


@pytest.mark.parametrize(
    ("reason", "what", "fix"),
    [
        ("stop", "the answer was empty", "Ask again; is its window too small where it runs?"),
        (
            "length",
            "the answer was cut off before its first word",
            "Its thoughts filled provider.max_tokens, or its window is too small where it runs.",
        ),
    ],
)
def test_an_answer_without_a_word_is_no_answer(
    runner: CliRunner, home: Home, service: str, reason: str, what: str, fix: str
) -> None:
    """LM Studio and Ollama, where a prompt does not fit (lmstudio-bug-tracker#2339, Aug 2026)."""
    silence = {"choices": [{"message": {"content": ""}, "finish_reason": reason}]}
    Service.lists = {"/v1/chat/completions": silence}
    configure(home, service)

    code, (row,) = outcome(runner)

    assert doctor(runner) == [("fail", f"gpt-6-luna: {what}", fix)]
    assert (code, row["answers"], row["refusal"], row["fix"]) == (1, False, what, fix)


def test_a_refused_picture_is_not_called_something_that_the_model_said(
    runner: CliRunner, home: Home, service: str
) -> None:
    gone = {"error": {"message": "model not found, try pulling it first", "type": "api_error"}}

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return (200, CALLS) if body.get("tools") else (404, gone)

    Service.answer = staticmethod(answer)
    configure(home, service)

    told = runner.invoke(aouo, ["models", "test"]).stdout

    assert "  sees      NO: mine: HTTP 404: api_error: model not found" in told


@pytest.mark.parametrize(
    ("message", "fix"),
    [
        (
            "model requires more system memory (19.3 GiB) than is available (14.8 GiB)",
            "Load the model there, if it is not. If it needs more memory than there is: end other "
            "programs there, give it a smaller window (OLLAMA_CONTEXT_LENGTH), or set "
            "provider.model to a smaller one. The server's own log knows more.",
        ),
        (
            "Context size has been exceeded.",
            "Give the model a larger window where it runs: this test is short.",
        ),
    ],
)
def test_what_a_server_of_ones_own_cannot_do_is_not_called_passing(
    runner: CliRunner, home: Home, service: str, message: str, fix: str
) -> None:
    Service.answer = always(500, {"error": {"message": message, "type": "api_error"}})
    configure(home, service)

    assert doctor(runner) == [("fail", f"gpt-6-luna: mine: HTTP 500: api_error: {message}", fix)]


def test_a_proxy_that_answers_in_the_services_place_is_told_with_its_cure(
    runner: CliRunner, home: Home, service: str
) -> None:
    """As it does for an address that begins with http://."""
    Service.answer = always(407, "")
    configure(home, service)

    ((_, detail, _),) = doctor(runner)

    assert "the proxy on the way asks for a password" in detail


def test_a_path_that_is_not_served_is_looked_for_in_the_address(
    runner: CliRunner, home: Home, service: str
) -> None:
    Service.answer = always(404, {"detail": "Not Found"})
    configure(home, service)

    ((_, detail, fix),) = doctor(runner)

    assert detail == "gpt-6-luna: mine: HTTP 404: Not Found"
    assert fix.startswith(
        "Look at providers.mine.base_url (most end in /v1), or set provider.model"
    )


def test_a_pause_of_a_day_is_named_and_not_called_a_minute(
    runner: CliRunner, home: Home, service: str
) -> None:
    Service.answer = always(429, {"error": {"message": "slow down"}})
    Service.pause = {"Retry-After": "86400"}
    configure(home, service)

    ((_, _, fix),) = doctor(runner)

    assert fix == (
        "It asks for a pause of 24 h 0 min; until then another model can step in: "
        "provider.fallback."
    )
