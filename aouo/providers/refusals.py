"""Lists how services name their refusals: typed codes, and a few whole sentences without one.

Prose decides nothing, since it is translated, reworded and may repeat a person's words. Exceptions
are a service's own sentences that say more than their code, matched as a whole.
"""

from __future__ import annotations

import re
from re import Pattern

from aouo.facts.errors import (
    ContentFiltered,
    ModelGone,
    NoModelService,
    PromptTooLong,
    ProviderAuth,
    ProviderBilling,
    ProviderBroke,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    ProxyRefused,
    RegionRefused,
    Stumbled,
)

BY_CODE: dict[str, type[ProviderError]] = {
    # our request does not fit
    "context_length_exceeded": PromptTooLong,
    "context_window_exceeded": PromptTooLong,
    "model_context_window_exceeded": PromptTooLong,
    "exceed_context_size_error": PromptTooLong,  # llama.cpp
    "string_above_max_length": PromptTooLong,
    "string_too_long": PromptTooLong,  # OpenRouter, as the next
    "token_limit_exceeded": PromptTooLong,
    "request_too_large": PromptTooLong,
    "prompt_too_long": PromptTooLong,
    # no money; OpenAI sends this one with 429
    "insufficient_quota": ProviderBilling,
    "insufficient_balance": ProviderBilling,
    "billing_error": ProviderBilling,
    "billing_disabled": ProviderBilling,  # Gemini, with status 403
    "billing_not_active": ProviderBilling,
    "billing_hard_limit_reached": ProviderBilling,
    "exceeded_current_quota_error": ProviderBilling,
    "enforced_spend_limit_reached": ProviderBilling,  # Anthropic, with 429
    # where we are. OpenAI, with 403 (github.com/home-assistant/core/issues/120072, 2024-06; /
    # continuedev/continue/issues/11449, 2026-03); Gemini, with 400, also for a free tier that a
    # country does not have (ai.google.dev/gemini-api/docs/troubleshooting; github.com/
    # google-gemini/gemini-cli/issues/24641, 2026-04)
    "unsupported_country_region_territory": RegionRefused,
    "failed_precondition": RegionRefused,
    # the key
    "invalid_api_key": ProviderAuth,
    "api_key_invalid": ProviderAuth,  # Gemini, with status 400
    "authentication_error": ProviderAuth,
    "invalid_authentication_error": ProviderAuth,
    "permission_error": ProviderAuth,
    "permission_denied": ProviderAuth,
    "organization_restricted": ProviderAuth,  # Groq, with 400
    "unauthenticated": ProviderAuth,
    "account_deactivated": ProviderAuth,
    # declined
    "content_filter": ContentFiltered,
    "content_policy_violation": ContentFiltered,
    "moderation_blocked": ContentFiltered,
    "responsibleaipolicyviolation": ContentFiltered,
    "data_inspection_failed": ContentFiltered,
    "invalid_prompt": ContentFiltered,  # OpenAI's Responses, as the next ones
    "bio_policy": ContentFiltered,
    "cyber_policy": ContentFiltered,  # github.com/microsoft/PyRIT/pull/2714, 2026-09
    "misalignment_policy_violation": ContentFiltered,
    "image_content_policy_violation": ContentFiltered,
    # the model
    "model_not_found": ModelGone,
    "model_decommissioned": ModelGone,  # Groq, with status 400
    # not for our account; Groq, with 403 (console.groq.com/docs/model-permissions)
    "model_permission_blocked_org": ModelGone,
    "model_permission_blocked_project": ModelGone,
    "invalid_model": ModelGone,  # Mistral, with 400 (github.com/tmc/langchaingo/issues/1233)
    **dict.fromkeys(  # a picture, at OpenAI; also inside a stream
        (
            "empty_image_file",
            "image_file_too_large",
            "image_parse_error",
            "image_too_large",
            "image_too_small",
            "invalid_base64_image",
            "invalid_image",
            "invalid_image_format",
            "unsupported_image_media_type",
        ),
        ProviderRejected,
    ),
    # it wrote what is no call: Groq, with 400 or inside a stream (github.com/agno-agi/agno/issues/
    # 4090; github.com/anomalyco/opencode/issues/1018, 2025-07)
    "tool_use_failed": Stumbled,
    # passing; `api_error` and `server_error` say no more than the status: Ollama writes the first
    # with 400 and 404 too (github.com/louisho5/picobot/issues/6, 2026-02)
    "rate_limit_exceeded": ProviderBusy,
    "rate_limit_error": ProviderBusy,
    "resource_exhausted": ProviderBusy,
    "overloaded_error": ProviderBusy,
    "engine_overloaded_error": ProviderBusy,
    "capacity_exceeded": ProviderBusy,
    "cancelled": ProviderBusy,  # Gemini, 499 (github.com/google-gemini/gemini-cli/issues/20309)
    "unavailable": ProviderBusy,
    "unavailable_error": ProviderBusy,  # llama.cpp while it loads
    "deadline_exceeded": ProviderTimeout,
    "timeout": ProviderTimeout,
    "timeout_error": ProviderTimeout,
}

BY_LIMIT: dict[str, type[ProviderError]] = {
    # OpenRouter's `metadata.limit_source`, with 402 and 403 (developersdigest.tech/errors/api/
    # openrouter, 18 Oct 2026); the first one passes by itself
    "openrouter_in_flight_budget": ProviderBusy,
    "openrouter_credits": ProviderBilling,
    "openrouter_guardrail_budget": ProviderBilling,
    "openrouter_key_limit": ProviderBilling,
    "openrouter_workspace_budget": ProviderBilling,
}

BY_STATUS: dict[int, type[ProviderError]] = {
    401: ProviderAuth,
    402: ProviderBilling,
    403: ProviderAuth,
    407: ProxyRefused,
    408: ProviderTimeout,
    409: ProviderBusy,
    410: ModelGone,  # Ollama's cloud (github.com/photoprism/photoprism/issues/5726, 2026-07)
    413: PromptTooLong,
    425: ProviderBusy,
    429: ProviderBusy,
    504: ProviderTimeout,
    524: ProviderTimeout,
}

OTHER_FIELDS = re.compile(r"No endpoints found that can handle the requested parameters\b.*")

BY_SENTENCE: tuple[tuple[Pattern[str], type[ProviderError]], ...] = (
    # DeepSeek, with 400 and the code of any bad request (github.com/deepwn/addi/issues/13, 2026-03;
    # since V4: github.com/QuantumNous/new-api/pull/4428, 2026-04)
    (re.compile(r"Model Not Exist", re.IGNORECASE), ModelGone),
    (re.compile(r"The supported API model names are .+, but you passed .*"), ModelGone),
    (re.compile(r"Content Exists Risk", re.IGNORECASE), ContentFiltered),
    # OpenRouter, with 400 and no code but the status
    (re.compile(r"\S+ is not a valid model ID\.?"), ModelGone),
    # its guardrails, with 403 (developersdigest.tech/errors/api/openrouter/403-permission-denied)
    (re.compile(r"(?:permission_denied: )?Request blocked: .*"), ContentFiltered),
    # Anthropic, with 400 and the type of any bad request (github.com/anthropics/claude-code/issues/
    # 88711, 2026-08)
    (re.compile(r"Your credit balance is too low to access the \w+ API\..*"), ProviderBilling),
    # as well, at the limit that the owner set for a month (issues/38035 there, 2026-03), and with
    # 404 and the type of any wrong path (issues/68126 there, 2026-06)
    (re.compile(r"You have reached your specified (?:\w+ )?API usage limits\..*"), ProviderBilling),
    (re.compile(r"Claude [\w. ]+ is not available\. Please use .*"), ModelGone),
    # Gemini, with 429 and the status of any limit;
    # the first with 402 by now (discuss.ai.google.dev/t/183654, 2026)
    (re.compile(r"Your prepayment credits are depleted\..*"), ProviderBilling),
    (re.compile(r"Your project has exceeded its monthly spending cap\..*"), ProviderBilling),
    # OpenAI, with 400 and the field `stream` (github.com/Lamb-Project/lamb/issues/54, 2025-10)
    (re.compile(r"Your organization must be verified to (?:use|stream) .*"), ModelGone),
    # xAI: with 400 (github.com/continuedev/continue/issues/11704, 2026-03); with 403 or 429, and
    # one code for all three (issues/12670, 2026-06, and 10740, 2026-02, there; github.com/
    # Wei-Shaw/sub2api/pull/5359, 2026-08; github.com/UKGovernmentBEIS/inspect_ai/pull/2267)
    (re.compile(r"Incorrect API key provided: .*"), ProviderAuth),
    (
        re.compile(r"Your newly created team doesn't have any credits or licenses.*"),
        ProviderBilling,
    ),
    (re.compile(r"Your team \S+ has either used all available credits or .*"), ProviderBilling),
    (re.compile(r"Content violates usage guidelines\..*"), ContentFiltered),
    # llama.cpp, with 500 and `server_error`: the window was full before the answer ended, or the
    # prompt did not fit (github.com/ggml-org/llama.cpp/issues/19774, 2026-02; pull/15780)
    (re.compile(r"Context size has been exceeded\.?"), PromptTooLong),
    (re.compile(r"the request exceeds the available context size.*"), PromptTooLong),
    # a template that does not take what we sent (github.com/ggml-org/llama.cpp/issues/27367,
    # 2026-08); Ollama passes that on (ollama/ollama/issues/18241, 2026-09), and has its own
    (
        re.compile(
            r"(?:Unable to generate parser for this template|-+\s+While executing|\{\"error\":).*"
            r"Jinja Exception: .*|Error rendering prompt with jinja template: .*"
            r"|template: \S* executing .*",
            re.DOTALL,
        ),
        ProviderRejected,
    ),
    # Ollama, with 500 (github.com/continuedev/continue/issues/12795, 2026-06; ollama/ollama/issues/
    # 16645, 2026-06, and 13171)
    (re.compile(r"model requires more system memory .*"), ProviderBroke),
    (re.compile(r"llama(?: runner|-server) process has terminated.*", re.DOTALL), ProviderBroke),
    # LM Studio, with 400 or 404 (lmstudio-ai/lmstudio-bug-tracker/issues/1730, 2026-04; lms/issues/
    # 107; QwenLM/qwen-code/issues/3802, 2026-05)
    (re.compile(r"No models loaded\..*|Model is unloaded\.?|model is not loaded"), ProviderBroke),
    (re.compile(r"Failed to load model .*", re.DOTALL), ProviderBroke),
    (re.compile(r"The model has crashed .*", re.DOTALL), ProviderBroke),
    # LM Studio, with 200: a path that it does not serve (bug-tracker/issues/618, 2025-04; pssah4/
    # vault-operator/issues/73, 2026-08)
    (re.compile(r"Unexpected endpoint or method\..*"), NoModelService),
    # OpenRouter, with 403 (github.com/gptme/gptme/issues/1449, 2026-02)
    (re.compile(r"Key limit exceeded \(.*"), ProviderBilling),
    # Kimi, of a tool's parameters (github.com/earendil-works/pi/issues/4138, 2026-05)
    (
        re.compile(r"Invalid request: tools\.function\.parameters is not a valid .*", re.DOTALL),
        ProviderRejected,
    ),
    # llama.cpp: as a router, with 400 (tools/server/server-models.cpp; ggml-org/llama.cpp#17968,
    # 2025-12)
    (re.compile(r"model (?:'[^']*' )?not found"), ModelGone),
    # it wrote what is no call, with 500: llama.cpp (github.com/mostlygeek/llama-swap/issues/856 and
    # ggml-org/llama.cpp#24644, 2026-06), Ollama (ollama/ollama#16810, 2026-06, and 17638, 2026-08)
    (re.compile(r"The model produced output that does not match the .*", re.DOTALL), Stumbled),
    (re.compile(r"Failed to parse input at pos \d+:.*", re.DOTALL), Stumbled),
    (re.compile(r"error parsing tool call: .*", re.DOTALL), Stumbled),
    (re.compile(r"(?:failed to parse XML: |XML syntax error on line \d+: ).*"), Stumbled),
    (re.compile(r"expected element type <function> but have <\w+>"), Stumbled),
    # Ollama's cloud, with 403 (ollama/ollama#15741, 2026-05)
    (re.compile(r"this model requires a subscription, .*"), ModelGone),
    # as well, with 402, and others whose plan has the model as an extra only
    (re.compile(r".*\bextra usage only\b.*|.*\bonly available with extra usage\b.*"), ModelGone),
    # OpenRouter, with 404: `ParameterRefused`'s sibling `FieldsRefused`
    (OTHER_FIELDS, ProviderRejected),
)

MISSING_SCOPE = re.compile(r"Missing scopes: ([\w.]*\w)")
"""Of an OpenAI key that may call some endpoints only, with 401."""

THE_PROMPT = frozenset({"input_tokens", "messages", "prompt"})
"""Named as the parameter at fault they mean its length: vLLM `input_tokens`
(github.com/harbor-framework/harbor/pull/996, 2026), OpenAI `messages`."""

THE_ANSWER = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
"""Our own field for the room of an answer, which a refusal over its size names."""

WINDOW = re.compile(r"n_keep:? ?\(?(\d+)\)? ?>= ?n_ctx:? ?\(?(\d+)")
"""llama.cpp's own two parameters, in what LM Studio sends for a prompt that is too long, with 400
or inside a stream (github.com/Gitlawb/openclaude/issues/353, 2026-04)."""

PER_MINUTE = re.compile(r"Limit (\d+),.*?Requested ~?(\d+)")
"""What Groq and OpenAI write with the type `tokens`; a request above the limit alone never fits
(github.com/HunorLaczko/ha-groq-cloud-api/issues/27, 2026-05; /TheR1D/shell_gpt/issues/653)."""

NONE_OF_IT = re.compile(r"Quota exceeded for metric: \S+, limit: 0(?!\d)")
"""Gemini's 429 for a model that a plan does not have, which no day brings (github.com/continuedev/
continue/issues/12749, 2026-06); its `quotaId` may name a quota of a day all the same."""

_NAMES_PICTURES = re.compile(
    r"image|multi-?modal|vision|picture|mmproj|content'? (?:: value )?must be a string"
)
_NO_TOOLS = re.compile(
    r"does not support tools|no endpoints found that support tool use"
    r"|`?tool calling`? is not supported with this model"
    r"|tool choice requires --enable-auto-tool-choice|tools param requires --jinja"
    r"|unsupported param: tools"
)

_SAYS_NO = re.compile(
    r"not support|n't support|unsupported|only supported|not a multi-?modal|no endpoints found"
    r"|at most 0 (?:image|vision)|unknown variant|mmproj|must be a string|text.only"
    r"|cannot (?:see|read|process) (?:image|pic)"
)
_OF_THIS_PICTURE = re.compile(r"format|media.?type|mime|too large|dimension|corrupt|decode|size")


def refuses_pictures(error: ProviderError) -> bool:
    """Whether a service says that its model takes no pictures at all.

    No service has a code for it; these are their words: vLLM "is not a multimodal model"
    (github.com/vllm-project/vllm/issues/23402) and, from its multimodal/processing, "At most 0
    image(s) may be provided", Ollama "this model does not support image input"
    (github.com/ollama/ollama/issues/17301), llama.cpp "image input is not supported … mmproj",
    OpenRouter "No endpoints found that support image input", DeepSeek "unknown variant `image_url`,
    expected `text`", Groq "content must be a string". One that refuses *this* picture says other
    things.
    """
    words = str(error).lower()
    says_no = _NAMES_PICTURES.search(words) and _SAYS_NO.search(words)
    return bool(says_no) and not _OF_THIS_PICTURE.search(words)


def refuses_this_picture(error: ProviderError) -> bool:
    """Whether a request is refused for the picture in it, which is too large or in another format:
    by a word for pictures, or by the size of the request, which is the picture's.

    "image exceeds 5 MB maximum", "Could not process image", "image dimensions exceed max allowed
    size: 8000 pixels" (github.com/anthropics/claude-code/issues/19631, /8646 and /4778).
    """
    words = str(error).lower()
    if isinstance(error, PromptTooLong):
        return "http 413" in words
    return isinstance(error, ProviderRejected) and bool(_NAMES_PICTURES.search(words))


def refuses_tools(message: str) -> bool:
    """Whether a service says that its model takes no tools at all.

    No service has a code for it; these are their words: Ollama, OpenRouter (with 404:
    github.com/bobrware/bobrchat/issues/60, 2026-02), Groq, vLLM and llama.cpp (with 500).
    """
    return bool(_NO_TOOLS.search(message.lower()))
