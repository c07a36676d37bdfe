"""Lists how services name their refusals: typed codes, and a few whole sentences without one.

Prose decides nothing, since it is translated, reworded and may repeat a person's words. Exceptions
are a service's own sentences that say more than their code, matched as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aouo.facts import errors
from aouo.facts.languages import bundled


def _kinds(names: Mapping[Any, str]) -> dict[Any, type[errors.ProviderError]]:
    return {key: getattr(errors, kind) for key, kind in names.items()}


_TABLE = bundled("aouo.providers", "refusals.yml")
BY_CODE, BY_LIMIT, BY_STATUS = map(_kinds, (_TABLE[key] for key in ("codes", "limits", "statuses")))
OTHER_FIELDS = re.compile(r"No endpoints found that can handle the requested parameters\b.*")
"""Of OpenRouter, with 404: `ParameterRefused`'s sibling `FieldsRefused`."""
BY_SENTENCE = {re.compile(text): kind for text, kind in _kinds(dict(_TABLE["sentences"])).items()}
BY_SENTENCE[OTHER_FIELDS] = errors.ProviderRejected

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


def refuses_pictures(error: errors.ProviderError) -> bool:
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


def refuses_this_picture(error: errors.ProviderError) -> bool:
    """Whether a request is refused for the picture in it, which is too large or in another format:
    by a word for pictures, or by the size of the request, which is the picture's.

    "image exceeds 5 MB maximum", "Could not process image", "image dimensions exceed max allowed
    size: 8000 pixels" (github.com/anthropics/claude-code/issues/19631, /8646 and /4778).
    """
    words = str(error).lower()
    if isinstance(error, errors.PromptTooLong):
        return "http 413" in words
    return isinstance(error, errors.ProviderRejected) and bool(_NAMES_PICTURES.search(words))


def refuses_tools(message: str) -> bool:
    """Whether a service says that its model takes no tools at all.

    No service has a code for it; these are their words: Ollama, OpenRouter (with 404:
    github.com/bobrware/bobrchat/issues/60, 2026-02), Groq, vLLM and llama.cpp (with 500).
    """
    return bool(_NO_TOOLS.search(message.lower()))
