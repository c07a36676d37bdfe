"""Translates a model service's refusal into our error, by its status and typed codes.

Only the status, typed names (`code`, `type`, `status`, `reason`, `param`) and numbers decide; the
known names are in `refusals`. Prose is quoted for the log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from aouo.facts import errors
from aouo.plumbing.web.certificates import wants_password
from aouo.providers import refusals
from aouo.providers.roads import retry_after_s, used_up_for_the_day

_MAX_QUOTE_CHARS = 300
_LEAST_ROOM = 256
_MOST_ASKED_ON = 8
"""The most nested errors that are read, of services that passed an error on to each other."""
_NUMBER = re.compile(r"(?<![\w.-])\d[\d,_]*(?![\w-])")
"""A separate number, not part of a name such as `gpt-4o-2024-08-06`."""


class ParameterRefused(errors.ProviderRejected):
    """The service names one field of our request that it does not take."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class FieldsRefused(errors.ProviderRejected):
    """No server behind the service takes all our optional fields, and it names none (OpenRouter:
    github.com/CodebuffAI/freebuff/issues/914, Jul 2026)."""


class AnswerTooLarge(errors.ProviderRejected):
    """The service gives less room for an answer than we asked for; `numbers` may say how much.

    OpenAI: `param: "max_tokens"`, "This model supports at most 4096 completion tokens"; Groq: "must
    be less than or equal to `16384`" (github.com/Alishahryar1/free-claude-code/issues/1354,
    2026-08); DeepSeek: no param, "the valid range of max_tokens is [1, 8192]" (github.com/Gitlawb/
    openclaude/issues/35, 2026-04); Anthropic: "max_tokens: 21333 > 4096"; vLLM: "(64000 > 64001 -
    24235)".
    """


_TYPED_FIRST = frozenset({401, 402})
"""These statuses say more than a code beside them."""
_NO_NAMES = ("", "validation_error")
"""Values of `param` that name no parameter: Cerebras (Kilo-Org/kilocode#10375, May 2026)."""
_OF_THE_REQUEST = frozenset({400, 416, 422})
_NO_PAGE = frozenset({401, 402, 407, 408, 409, 413, 425, 429})
"""Statuses with which also proxies and gateways answer, with a text for people."""


def parse_body(body: bytes) -> object:
    """Return the JSON of an answer, None when it is not JSON."""
    try:
        return json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def error_object(body: object) -> dict[str, Any]:
    """Return the `error` of a parsed answer in any of its usual shapes; {} when there is none."""
    if isinstance(body, list) and body:  # Gemini wraps it in a list
        body = cast("list[object]", body)[0]
    if not isinstance(body, dict):
        return {}
    whole = cast("dict[str, Any]", body)
    inner = whole.get("error")
    if isinstance(inner, dict):
        return cast("dict[str, Any]", inner)
    if isinstance(inner, str):
        return {**whole, "message": whole.get("message") or inner}
    if whole.get("object") == "error" or "code" in whole or "message" in whole or "detail" in whole:
        return whole
    return {}


def refused(
    provider: str,
    status: int,
    body: bytes,
    *,
    headers: Mapping[str, str],
    mask: Callable[[str], str] = str,
    model: str = "",
) -> errors.ProviderError:
    """Return the error to raise for a whole answer with `status`; see `failure`."""
    whole = parse_body(body)
    page = body.strip()
    if status < 400:  # only 200 is an answer
        where = mask(headers.get("location", ""))[:_MAX_QUOTE_CHARS]
        return errors.NoModelService(f"{provider}: HTTP {status}, and no answer {where}".rstrip())
    # A body that begins like JSON is JSON of which only the beginning was read.
    if whole is None and page and page[:1] not in b"{[" and status not in _NO_PAGE:
        quote = mask(page[:_MAX_QUOTE_CHARS].decode("utf-8", "replace"))
        said = f"{provider}: HTTP {status}, and no JSON: {quote}"
        if status in _OF_THE_REQUEST and not page.startswith(b"<"):
            return errors.UnexplainedRefusal(said)  # old servers refuse in plain words
        if 400 <= status < 500:
            return errors.NoModelService(said)
    return failure(provider, status, error_object(whole), headers=headers, mask=mask, model=model)


def failure(
    provider: str,
    status: int,
    error: Mapping[str, Any],
    *,
    headers: Mapping[str, str] | None = None,
    mask: Callable[[str], str] = str,
    model: str = "",
) -> errors.ProviderError:
    """Return the error to raise for `status` and the service's `error` object.

    `mask` takes secrets out of the service's words (some quote the key). Status 0 = unknown: an
    error inside a stream that began well. `model` is the name that we asked for.
    """
    kind = _kind(status, error, model)
    message = _message(error)
    code = next(_codes(error), "")
    where = f"HTTP {status}" if status else "error in the stream"
    quote = mask(message)[:_MAX_QUOTE_CHARS]
    text = ": ".join(part for part in (f"{provider}: {where}", mask(code), quote) if part)
    found = _made(kind, text, error, headers or {}, model)
    found.numbers = _numbers(message)
    return found


def _made(
    kind: type[errors.ProviderError],
    text: str,
    error: Mapping[str, Any],
    headers: Mapping[str, str],
    model: str,
) -> errors.ProviderError:
    if issubclass(kind, errors.ProviderBusy):
        daily = kind is errors.QuotaUsedUp
        asked_s = retry_after_s(headers, list(_parts(error)), daily=daily)
        return kind(text, retry_after_s=asked_s)
    if kind is errors.ModelGone:
        return errors.ModelGone(text, model=model)
    if kind is errors.ProxyRefused:
        return errors.ProxyRefused(text, cure=wants_password())
    if kind is errors.ProviderAuth and (scope := refusals.MISSING_SCOPE.search(_message(error))):
        return errors.ScopeMissing(text, scope=scope[1])
    if kind is errors.ProviderRejected and refusals.OTHER_FIELDS.fullmatch(_message(error).strip()):
        return FieldsRefused(text)
    parameter = _rejected_parameter(error)
    if kind in (errors.ProviderRejected, errors.UnexplainedRefusal) and parameter:
        return ParameterRefused(text, parameter)
    return kind(text)


def status_of(error: Mapping[str, Any]) -> int:
    """Return the HTTP status that an error inside a stream names, 0 = none."""
    for field in ("code", "status", "status_code"):
        value = error.get(field)
        if isinstance(value, str) and value.isdecimal():
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return 0


def _rejected_parameter(error: Mapping[str, Any]) -> str:
    """Return the parameter that a service names as the one it does not take, "" = none."""
    for part in _parts(error):
        param = part.get("param")
        if isinstance(param, str) and param not in _NO_NAMES:
            return param
    return _field_at_fault(error)


def _field_at_fault(error: Mapping[str, Any]) -> str:
    """Return the first field of `detail[].loc`, where FastAPI names a wrong field; "" = none.

    Mistral: 422, `param: null`, `message.detail[].loc: ["body", "stream_options",
    "include_usage"]` (github.com/dnakov/anon-kode/issues/53, 2025-03).
    """
    message = error.get("message")
    for holder in (error, message):
        detail = cast("dict[str, Any]", holder).get("detail") if isinstance(holder, dict) else None
        for item in cast("list[object]", detail) if isinstance(detail, list) else ():
            loc = cast("dict[str, Any]", item).get("loc") if isinstance(item, dict) else None
            if isinstance(loc, list):
                path = [str(part) for part in cast("list[object]", loc)]
                return ".".join(path[1:] if path[:1] == ["body"] else path)
    return ""


def _kind(status: int, error: Mapping[str, Any], model: str) -> type[errors.ProviderError]:
    parts, codes, message = list(_parts(error)), list(_codes(error)), _message(error)
    for part in parts:
        if (limit := str(part.get("limit_source", ""))) in refusals.BY_LIMIT:
            return refusals.BY_LIMIT[limit]
    if status in _TYPED_FIRST:
        return refusals.BY_STATUS[status]
    if 300 <= status < 400:  # to a login page, or to https
        return errors.NoModelService
    if status == 429 and refusals.NONE_OF_IT.search(message):
        return errors.ModelGone
    if status == 429 and used_up_for_the_day(parts, message):
        return errors.QuotaUsedUp
    if _is_more_than_a_minute(status, codes, message):
        return errors.PlanTooSmall
    if status == 413:
        return errors.PromptTooLong
    if any(part.get("flagged_input") or part.get("reasons") for part in parts):
        return errors.ContentFiltered  # OpenRouter's 403; source: openrouter.ai/docs/errors
    if any(map(_counts_too_many, parts)) or _window_in(message):
        return errors.PromptTooLong
    for sentence, kind in refusals.BY_SENTENCE.items():
        if sentence.fullmatch(message.strip()):
            return kind
    for code in codes:
        if code in refusals.BY_CODE:
            return refusals.BY_CODE[code]
    if refusals.refuses_tools(message):
        return errors.ToolsRefused
    if status == 404 and _names_the_model(error, model):
        return errors.ModelGone
    return _by_field(status, error, codes, message)


def _by_field(
    status: int, error: Mapping[str, Any], codes: list[str], message: str
) -> type[errors.ProviderError]:
    """Return the kind of a refusal without a code, by the field at fault, then by the status."""
    if status in _OF_THE_REQUEST:
        field = _rejected_parameter(error)
        if any(name in field or name in message for name in refusals.THE_ANSWER) and any(
            number >= _LEAST_ROOM for number in _numbers(message)
        ):
            return AnswerTooLarge
        if field in refusals.THE_PROMPT:
            return errors.PromptTooLong
        return errors.UnexplainedRefusal
    if status in refusals.BY_STATUS:
        return refusals.BY_STATUS[status]
    if status == 0 and "invalid_argument" in codes:
        return errors.UnexplainedRefusal
    if status in (404, 405):
        return errors.ProviderRejected if _rejected_parameter(error) else errors.NotServed
    # Without a status the stream broke on the service's side.
    return errors.ProviderBusy if status >= 500 or status == 0 else errors.ProviderRejected


def _is_more_than_a_minute(status: int, codes: list[str], message: str) -> bool:
    """Whether one request alone exceeds the plan's tokens per minute.

    Groq's 413 always means that; a 429 does if it counts more for the request than the limit.
    """
    if status == 413:
        return "rate_limit_exceeded" in codes or "tokens" in codes
    counted = refusals.PER_MINUTE.search(message) if status == 429 and "tokens" in codes else None
    return counted is not None and int(counted[2]) > int(counted[1])


def _counts_too_many(part: Mapping[str, Any]) -> bool:
    """Whether llama.cpp's counts show a prompt above the window; older servers send 500 with it."""
    prompt, window = part.get("n_prompt_tokens"), part.get("n_ctx")
    return isinstance(prompt, int) and isinstance(window, int) and prompt > window > 0


def _window_in(message: str) -> bool:
    counted = refusals.WINDOW.search(message)
    return counted is not None and int(counted[1]) >= int(counted[2])


def _names_the_model(error: Mapping[str, Any], model: str) -> bool:
    """Whether a 404 means that the model, not the address, does not exist.

    Services without a code for it name the field or the model that we asked for: Ollama, vLLM,
    Kimi, Gemini ("models/… is not found for API version v1beta"), Anthropic, OpenRouter ("No
    endpoints found for …", but not "No endpoints found that support tool use").
    """
    if _rejected_parameter(error) == "model" or error.get("status") == "NOT_FOUND":  # Google
        return True
    return bool(model) and model.removeprefix("models/") in _message(error)


def _numbers(message: str) -> tuple[int, ...]:
    found = (match[0].replace(",", "").replace("_", "") for match in _NUMBER.finditer(message))
    return tuple(int(number) for number in found if len(number) < 12)


def _codes(error: Mapping[str, Any]) -> Iterator[str]:
    """Yield the typed names in an error object, the most specific first, in lower case."""
    for part in _parts(error):
        for field in ("code", "error_code", "reason", "type", "status"):
            value = part.get(field)
            if isinstance(value, str) and value and not value.isdecimal():
                yield value.lower()


def _parts(error: Mapping[str, Any], asked_on: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in an error object that may name its kind, the innermost first."""
    for field in ("innererror", "details", "metadata"):  # Azure; Google; OpenRouter
        value = error.get(field)
        for item in cast("list[object]", value) if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                part = cast("dict[str, Any]", item)
                if asked_on < _MOST_ASKED_ON:
                    yield from _passed_on(part.get("raw"), asked_on + 1)
                yield part
    yield error


def _passed_on(raw: object, asked_on: int) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of the error of the service that OpenRouter asked, which it gives as text."""
    value = parse_body(raw.encode()) if isinstance(raw, str) else raw
    inner = error_object(value)
    if inner:
        yield from _parts(inner, asked_on)


def _message(error: Mapping[str, Any]) -> str:
    for field in ("message", "detail", "msg"):
        value = error.get(field)
        if value:
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return ""
