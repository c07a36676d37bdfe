"""What services call their refusals: the typed names, and the few whole sentences without one.

Prose decides nothing, for it is translated, reworded and may repeat what a person wrote. The
exceptions are a service's own sentences in the place of a code, compared whole and from the start.
"""

from __future__ import annotations

import re
from re import Pattern

from aouo.errors import (
    ContentFiltered,
    ModelGone,
    PromptTooLong,
    ProviderAuth,
    ProviderBilling,
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
    # passing
    "rate_limit_exceeded": ProviderBusy,
    "rate_limit_error": ProviderBusy,
    "resource_exhausted": ProviderBusy,
    "overloaded_error": ProviderBusy,
    "engine_overloaded_error": ProviderBusy,
    "capacity_exceeded": ProviderBusy,
    "server_error": ProviderBusy,
    "api_error": ProviderBusy,
    "internal_server_error": ProviderBusy,
    "cancelled": ProviderBusy,  # Gemini, 499 (github.com/google-gemini/gemini-cli/issues/20309)
    "unavailable": ProviderBusy,
    "unavailable_error": ProviderBusy,  # llama.cpp while it loads
    "deadline_exceeded": ProviderTimeout,
    "timeout": ProviderTimeout,
    "timeout_error": ProviderTimeout,
}

BY_STATUS: dict[int, type[ProviderError]] = {
    401: ProviderAuth,
    402: ProviderBilling,
    403: ProviderAuth,
    407: ProxyRefused,
    408: ProviderTimeout,
    409: ProviderBusy,
    413: PromptTooLong,
    425: ProviderBusy,
    429: ProviderBusy,
    504: ProviderTimeout,
    524: ProviderTimeout,
}

BY_SENTENCE: tuple[tuple[Pattern[str], type[ProviderError]], ...] = (
    # DeepSeek, with 400 and the code of any bad request (github.com/deepwn/addi/issues/13, 2026-03)
    (re.compile(r"Model Not Exist", re.IGNORECASE), ModelGone),
    (re.compile(r"Content Exists Risk", re.IGNORECASE), ContentFiltered),
    # OpenRouter, with 400 and no code but the status
    (re.compile(r"\S+ is not a valid model ID\.?"), ModelGone),
    # its guardrails, with 403 (developersdigest.tech/errors/api/openrouter/403-permission-denied)
    (re.compile(r"(?:permission_denied: )?Request blocked: .*"), ContentFiltered),
    # Anthropic, with 400 and the type of any bad request (github.com/anthropics/claude-code/issues/
    # 88711, 2026-08)
    (re.compile(r"Your credit balance is too low to access the \w+ API\..*"), ProviderBilling),
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
)

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

_NO_TOOLS = re.compile(
    r"does not support tools|no endpoints found that support tool use"
    r"|`?tool calling`? is not supported with this model"
    r"|tool choice requires --enable-auto-tool-choice|tools param requires --jinja"
)

_NAMES_PICTURES = re.compile(r"image|multi-?modal|vision|picture|mmproj|content must be a string")
_SAYS_NO = re.compile(
    r"not support|n't support|unsupported|only supported|not a multi-?modal|no endpoints found"
    r"|unknown variant|mmproj|must be a string|text.only|cannot (?:see|read|process) (?:image|pic)"
)
_OF_THIS_PICTURE = re.compile(r"format|media.?type|mime|too large|dimension|corrupt|decode|size")


def refuses_pictures(error: ProviderError) -> bool:
    """Whether a service says that its model reads no pictures at all.

    No service has a code for it; these are their words: vLLM "is not a multimodal model"
    (github.com/vllm-project/vllm/issues/23402), Ollama "this model does not support image input"
    (github.com/ollama/ollama/issues/17301), llama.cpp "image input is not supported … mmproj",
    OpenRouter "No endpoints found that support image input", DeepSeek "unknown variant `image_url`,
    expected `text`", Groq "content must be a string". One that refuses *this* picture says other
    things.
    """
    words = str(error).lower()
    says_no = _NAMES_PICTURES.search(words) and _SAYS_NO.search(words)
    return bool(says_no) and not _OF_THIS_PICTURE.search(words)


def refuses_this_picture(error: ProviderError) -> bool:
    """Whether a request that shows a picture is refused for it, as one that is too large or of
    another form: by a word for pictures, or by the size of the whole, which is the picture's.

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
