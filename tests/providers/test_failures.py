"""The bodies that services refuse with, word for word as they were reported, and what each means.

Sources: issue 12 and the reference that it names; each row says where its body comes from.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from aouo.facts.errors import (
    ContentFiltered,
    ModelGone,
    NoModelService,
    NotServed,
    PlanTooSmall,
    PromptTooLong,
    ProviderAuth,
    ProviderBilling,
    ProviderBroke,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    QuotaUsedUp,
    RegionRefused,
    Stumbled,
    ToolsRefused,
    UnexplainedRefusal,
)
from aouo.providers.failures import AnswerTooLarge, ParameterRefused, refused
from aouo.providers.formats.chat_requests import encode
from aouo.providers.room import _room_left
from aouo.providers.service import _is_nearby

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
DATE = {"date": format_datetime(NOW, usegmt=True)}
MODEL = "acme/some-model-2"
USED_ALL = (
    "has either used all available credits or reached its monthly spending limit. To continue "
    "making API requests, please purchase more credits or raise your spending limit."
)
OLD_VLLM = (
    "This model's maximum context length is 16384 tokens. However, you requested 20000 tokens "
    "(3616 in the messages, 16384 in the completion). Please reduce the length of the messages."
)
NEW_VLLM = (
    "This model's maximum context length is 32768 tokens. However, you requested 16384 output "
    "tokens and your prompt contains at least 16385 input tokens, for a total of at least 32769 "
    "tokens. (parameter=input_tokens, value=16385)"
)
TPM = (
    "Request too large for model `m` in organization `org_x` service tier `on_demand` on tokens "
    "per minute (TPM): Limit 8000, Requested 20000, please reduce your message size and try again."
)
LM_STUDIO = (
    "The number of tokens to keep from the initial prompt is greater than the context length "
    "(n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length."
)


def error(message: str, **more: object) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def of(status: int, body: object, headers: dict[str, str] | None = None) -> ProviderError:
    data = body.encode() if isinstance(body, str) else encode(body)
    return refused("some", status, data, headers=headers or DATE, model=MODEL)


INVALID = "invalid_request_error"
TOO_LONG: list[tuple[str, int, object, type[ProviderError]]] = [
    ("openai", 400, error("…", param="messages", code="context_length_exceeded"), PromptTooLong),
    ("vllm, old", 400, error(OLD_VLLM, param=None, code=400), UnexplainedRefusal),
    ("vllm, new", 400, error(NEW_VLLM, param="input_tokens", code=400), PromptTooLong),
    ("openrouter", 400, error("…", code=400), UnexplainedRefusal),
    (
        "openrouter's own word for it",
        400,
        error("Provider returned error", code=400, metadata={"raw": '{"error": {"code": "c"}}'}),
        UnexplainedRefusal,
    ),
    ("deepseek", 400, error("…", type=INVALID, param=None, code=INVALID), UnexplainedRefusal),
    ("anthropic, compatible", 400, error("prompt is too long", type=INVALID), UnexplainedRefusal),
    (
        "xai",
        400,
        {"code": "Client specified an invalid argument", "error": "…"},
        UnexplainedRefusal,
    ),
    ("lm studio", 400, {"error": LM_STUDIO}, PromptTooLong),
    ("mistral", 400, {"object": "error", "message": "…", "type": INVALID}, UnexplainedRefusal),
    ("kimi", 400, error("…", type=INVALID), UnexplainedRefusal),
    (
        "llama.cpp",
        400,
        error("…", code=400, type="exceed_context_size_error", n_prompt_tokens=9, n_ctx=8),
        PromptTooLong,
    ),
    (
        "llama.cpp, older",
        500,
        error("…", code=500, type="server_error", n_prompt_tokens=14429, n_ctx=8192),
        PromptTooLong,
    ),
    (
        "llama.cpp, in the middle",
        500,
        error("Context size has been exceeded.", code=500, type="server_error"),
        PromptTooLong,
    ),
    ("groq", 413, error("…", type=INVALID, code="request_too_large"), PromptTooLong),
    (
        "openrouter, passed on",
        400,
        error("…", code=400, metadata={"raw": '{"error":{"code":"context_length_exceeded"}}'}),
        PromptTooLong,
    ),
    ("fastapi", 422, {"detail": [{"loc": ["body", "messages"], "msg": "…"}]}, PromptTooLong),
]
_RUNNER = "llama runner process has terminated: "
OTHERS: list[tuple[str, int, object, type[ProviderError]]] = [
    *(
        (f"ollama, {words}", 500, error(words, type="api_error", param=None, code=None), kind)
        for words, kind in (
            # continuedev/continue#12689 (Jun 2026); ollama/ollama#9782, #11750, #5941, #8770
            ("model requires more system memory (5 GiB) than is available (4 GiB)", ProviderBroke),
            (f"{_RUNNER}cudaMalloc failed: out of memory", ProviderBroke),
            (f"{_RUNNER}error:failed to allocate buffer, size = 16571.89 MiB", ProviderBroke),
            (f"{_RUNNER}error loading model: unable to allocate backend buffer", ProviderBroke),
            (f"{_RUNNER}exit status 2", ProviderBroke),
            ("You said: out of memory", ProviderBusy),
        )
    ),
    ("groq, a minute", 413, error(TPM, type="tokens", code="rate_limit_exceeded"), PlanTooSmall),
    ("openai, a minute", 429, error(TPM, type="tokens", code="rate_limit_exceeded"), PlanTooSmall),
    (
        "groq, some of a minute used",
        429,
        error("Limit 6000, Used 5034, Requested 1443.", type="tokens", code="rate_limit_exceeded"),
        ProviderBusy,
    ),
    (
        "groq, a call",
        400,
        error("…", type=INVALID, code="tool_use_failed", failed_generation="<tool-use>"),
        Stumbled,
    ),
    (
        "openrouter, moderation",
        403,
        error("…", code=403, metadata={"reasons": ["violence"], "flagged_input": "…"}),
        ContentFiltered,
    ),
    ("deepseek, moderation", 400, error("Content Exists Risk", type=INVALID), ContentFiltered),
    ("a key", 403, error("no"), ProviderAuth),
    (
        "openai, region",
        403,
        error("…", code="unsupported_country_region_territory", type="request_forbidden"),
        RegionRefused,
    ),
    ("gemini, region", 400, [error("…", code=400, status="FAILED_PRECONDITION")], RegionRefused),
    (
        "gemini through openrouter, region",
        400,
        error(
            "Provider returned error",
            code=400,
            metadata={"raw": '{"error": {"code": 400, "status": "FAILED_PRECONDITION"}}'},
        ),
        RegionRefused,
    ),
    (
        "openrouter, a day",
        429,
        error("Rate limit exceeded: free-models-per-day. Add 10 credits", code=429),
        QuotaUsedUp,
    ),
    ("openai, model", 404, error("…", type=INVALID, code="model_not_found"), ModelGone),
    ("groq, model", 400, error("…", type=INVALID, code="model_decommissioned"), ModelGone),
    ("deepseek, model", 400, error("Model Not Exist", type=INVALID, code=INVALID), ModelGone),
    ("openrouter, model", 400, error(f"{MODEL} is not a valid model ID", code=400), ModelGone),
    ("openrouter, none", 404, error(f"No endpoints found for {MODEL}.", code=404), ModelGone),
    (
        "openrouter, tools",
        404,
        error("No endpoints found that support tool use. To learn more …", code=404),
        ToolsRefused,
    ),
    ("ollama, tools", 400, error("library/gemma3:4b does not support tools"), ToolsRefused),
    (
        "groq, tools",
        400,
        error("`tool calling` is not supported with this model", type=INVALID),
        ToolsRefused,
    ),
    (
        "vllm, tools",
        400,
        error('"auto" tool choice requires --enable-auto-tool-choice and …', code=400),
        ToolsRefused,
    ),
    ("llama.cpp, tools", 500, error("tools param requires --jinja flag", code=500), ToolsRefused),
    (
        "openai, thoughts and tools",
        400,
        error("Function tools with reasoning_effort are not …", param="reasoning_effort"),
        ParameterRefused,
    ),
    (
        "openai, an item that nobody stored",
        404,
        error("Item with id 'rs_1' not found. Items are not …", type=INVALID, param="input"),
        ParameterRefused,
    ),
    (
        "openai, cyber",
        400,
        error("…", type="invalid_request", code="cyber_policy"),
        ContentFiltered,
    ),
    ("gemini, busy", 499, [error("…", code=499, status="CANCELLED")], ProviderBusy),
    ("a login", 302, "", NoModelService),
    ("nothing at all", 204, "", NoModelService),
    ("mistral, model", 400, {"message": "…", "type": "invalid_model", "code": "1500"}, ModelGone),
    ("ollama, model", 404, error(f'model "{MODEL}" not found, try pulling it first'), ModelGone),
    (
        "ollama, model, with its type",
        404,
        error(f'model "{MODEL}" not found, try pulling it first', type="api_error"),
        ModelGone,
    ),
    (
        "ollama, tools, with its type",
        400,
        error("registry.ollama.ai/library/gemma3:4b does not support tools", type="api_error"),
        ToolsRefused,
    ),
    (
        "ollama, a request",
        400,
        error("invalid message format", type="api_error"),
        UnexplainedRefusal,
    ),
    ("ollama, busy", 503, error("server busy, please try again.", type="api_error"), ProviderBusy),
    ("its own fault", 500, error("…", type="server_error"), ProviderBusy),
    (
        "ollama, memory",
        500,
        error(
            "model requires more system memory (19.3 GiB) than is available (14.8 GiB)",
            type="api_error",
        ),
        ProviderBroke,
    ),
    (
        "ollama, a template",
        500,
        error('template: :108:130: executing "" at <index .ToolCalls 0>', type="api_error"),
        ProviderRejected,
    ),
    (
        "llama.cpp, a template",
        500,
        error("\n---\nWhile executing\nError: Jinja Exception: No user query", type="server_error"),
        ProviderRejected,
    ),
    (
        "llama.cpp, tools, with its type",
        500,
        error("tools param requires --jinja flag", code=500, type="server_error"),
        ToolsRefused,
    ),
    (
        "vllm, tools, with its type",
        400,
        error(
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be '
            "set",
            type="BadRequestError",
            param=None,
            code=400,
        ),
        ToolsRefused,
    ),
    (
        "lm studio, nothing is loaded",
        404,
        error(
            "No models loaded. Please load a model in the developer page or use the 'lms load' "
            "command.",
            type=INVALID,
            param="model",
            code="model_not_found",
        ),
        ProviderBroke,
    ),
    ("lm studio, unloaded", 400, {"error": "Model is unloaded."}, ProviderBroke),
    (
        "lm studio, a path",
        200,
        {"error": "Unexpected endpoint or method. (POST /chat/completions)"},
        NoModelService,
    ),
    ("a redirect", 302, "", NoModelService),
    ("vllm, model", 404, error("…", type="NotFoundError", param="model", code=404), ModelGone),
    ("gemini, model", 404, [error("…", code=404, status="NOT_FOUND")], ModelGone),
    ("anthropic, model", 404, error(f"model: {MODEL}", type="not_found_error"), ModelGone),
    ("a wrong path", 404, {"detail": "Not Found"}, NotServed),
    ("a page", 404, "<html>Welcome to nginx!</html>", NoModelService),
    (
        "a page that blocks us",
        403,
        "<!DOCTYPE html><title>Just a moment...</title>",
        NoModelService,
    ),
    ("a page of a gateway", 502, "<html><h1>502 Bad Gateway</h1></html>", ProviderBusy),
    ("a page of a proxy", 400, "<html>400 The plain HTTP request was sent…", NoModelService),
    ("words", 400, "unknown field", UnexplainedRefusal),
    ("nothing", 400, "", UnexplainedRefusal),
    ("xai, no money", 429, {"code": "…", "error": f"Your team t {USED_ALL}"}, ProviderBilling),
    ("xai, words", 400, {"code": "…", "error": "No: Incorrect API"}, UnexplainedRefusal),
    (
        "mistral, a field",
        422,
        {
            "object": "error",
            "message": {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "stream_options", "include_usage"],
                        "msg": "Extra inputs are not permitted",
                    }
                ]
            },
            "type": INVALID,
            "param": None,
        },
        ParameterRefused,
    ),
    ("openai, a field", 400, error("…", param="temperature"), ParameterRefused),
    (
        "openai, no such field",
        400,
        error("Unsupported parameter: 'max_tokens' is not supported", param="max_tokens"),
        ParameterRefused,
    ),
]


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [row[1:] for row in TOO_LONG + OTHERS],
    ids=[row[0] for row in TOO_LONG + OTHERS],
)
def test_what_a_service_refuses_is_in_its_right_class(
    status: int, body: object, kind: type[ProviderError]
) -> None:
    found = of(status, body)

    assert type(found) is kind
    if isinstance(found, ParameterRefused) and status == 422:
        assert found.parameter == "stream_options.include_usage"
    if isinstance(found, ModelGone):
        assert found.model == MODEL


@pytest.mark.parametrize("depth", [1, 9, 490, 2_000, 100_000])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[", "]"),
        ('{"error":', "}"),
        ('{"message":[', "]}"),
        ('{"code":"c","metadata":{"raw":', "}}"),
        ('{"error":{"details":[{"raw":', "}]}}"),
    ],
    ids=["lists", "errors", "messages", "passed on", "details"],
)
def test_a_refusal_nested_to_any_depth_is_told_by_its_status(
    before: str, after: str, depth: int
) -> None:
    """Each release of Python gives up at another depth, and its reader not where we do."""
    body = before * depth + "{}" + after * depth
    found = refused("x", 503, body.encode(), headers={})

    assert type(found) is ProviderBusy


def test_of_services_that_pass_an_error_on_to_each_other_the_first_nine_are_heard() -> None:
    """OpenRouter quotes whom it asked; a body that quotes itself without end is read in part."""

    def passed_on(times: int) -> bytes:
        inner: dict[str, Any] = {"code": "insufficient_quota"}
        for _ in range(times):
            inner = {"code": 502, "metadata": {"raw": inner}}
        return encode({"error": inner})

    near, far = (refused("x", 502, passed_on(times), headers={}) for times in (8, 9))

    assert (type(near), type(far)) == (ProviderBilling, ProviderBusy)


@pytest.mark.parametrize(
    ("message", "param", "most"),
    [
        (
            "max_tokens is too large: 16384. This model supports at most 4096 completion tokens, "
            "whereas you provided 16384.",
            "max_tokens",
            4096,
        ),
        (
            "`max_completion_tokens` must be less than or equal to `8192`, the maximum value for "
            "`max_completion_tokens` is less than the `context_window` for this model",
            "max_completion_tokens",
            8192,
        ),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", None, 8192),
        (
            "The parameter `max_completion_tokens` specified in the request are not valid: integer "
            "above maximum value, expected a value <= 12288, but got 16384 instead.",
            "max_completion_tokens",
            12288,
        ),
        (
            "max_tokens: 16384 > 4096, which is the maximum allowed number of output tokens for "
            "claude-3-opus-20240229",
            None,
            4096,
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum "
            "context length is 8192 tokens and your request has 31 input tokens (16384 > 8192 - "
            "31).",
            None,
            8161,
        ),
        (
            "Unable to submit request because it has a maxOutputTokens value of 16384 but the "
            "supported range is from 1 (inclusive) to 8193 (exclusive).",
            None,
            8192,
        ),
    ],
)
def test_a_service_that_gives_less_room_for_an_answer_says_how_much(
    message: str, param: str | None, most: int
) -> None:
    """OpenAI, Groq, DeepSeek, Doubao, Anthropic, vLLM, Gemini."""
    found = of(400, error(message, type=INVALID, param=param))

    assert type(found) is AnswerTooLarge
    assert _room_left(found, 16_384) == most


@pytest.mark.parametrize(
    ("message", "asked", "left"),
    [(OLD_VLLM, 16_384, 12_768), (NEW_VLLM, 16_384, 16_383), (OLD_VLLM, 4_096, 0), ("…", 9, 0)],
)
def test_too_long_is_about_the_answer_where_the_service_counts_that(
    message: str, asked: int, left: int
) -> None:
    assert _room_left(of(400, error(message, code="context_length_exceeded")), asked) == left


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "86400"}, error("slow"), 86_400),
        (
            {"retry-after": format_datetime(NOW + timedelta(days=1), usegmt=True)},
            error("x"),
            86_400,
        ),
        (
            {},
            error(
                "free-models-per-day",
                metadata={
                    "headers": {
                        "X-RateLimit-Reset": f"{(NOW + timedelta(hours=5)).timestamp() * 1000:.0f}"
                    }
                },
            ),
            5 * 3600,
        ),
        (
            {},
            error(
                "…",
                status="RESOURCE_EXHAUSTED",
                details=[
                    {
                        "violations": [
                            {"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"},
                            {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"},
                        ]
                    },
                    {"retryDelay": "20s"},
                ],
            ),
            20 * 3600,  # midnight in California is 8:00 UTC in winter
        ),
        ({}, error("…", status="RESOURCE_EXHAUSTED", details=[{"retryDelay": "20s"}]), 20),
        (
            {},
            error("x", metadata={"retry_after_seconds": 17, "headers": {"Retry-After": "17"}}),
            17,
        ),
        ({}, error("Rate limit reached … (RPD) … Please try again in 7m12s. Visit …"), 432),
        ({}, error("Please try again in 1h2m3.5s."), 3_723.5),
        ({}, error("Please try again in 644ms."), 0.644),
        ({"retry-after": "20"}, error("Please try again in 19.6s."), 20),
        ({}, error("Please try again in a minute."), 0),
        ({"retry-after": "nan"}, error("x"), 0),
        ({"retry-after": "-5"}, error("x"), 0),
    ],
)
def test_how_long_to_wait_is_what_the_service_says_by_its_own_clock(
    headers: dict[str, str], body: object, seconds: float
) -> None:
    found = of(429, body, {**DATE, **headers})

    assert isinstance(found, ProviderBusy)
    assert found.retry_after_s == pytest.approx(seconds, rel=0.001, abs=0.01)


@pytest.mark.parametrize(
    ("url", "nearby"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://localhost:8080", True),
        ("http://[::1]:8080/v1", True),
        ("http://192.168.1.20:1234/v1", True),
        ("http://10.0.0.5/v1", True),
        ("http://172.20.3.4/v1", True),
        ("http://[fd12::1]/v1", True),
        ("http://workstation.local:11434/v1", True),
        ("http://gpu-box:8000/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://8.8.8.8/v1", False),
        ("no address", False),
        ("http://[broken", False),
    ],
)
def test_a_server_nearby_is_told_by_its_address(url: str, nearby: bool) -> None:
    assert _is_nearby(url) is nearby


def test_rejected_is_what_all_refusals_of_a_request_are() -> None:
    for kind in (AnswerTooLarge, NotServed, NoModelService, ParameterRefused, UnexplainedRefusal):
        assert issubclass(kind, ProviderRejected)
