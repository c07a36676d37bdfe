"""Which of our errors a model service's refusal is: one table over status and typed codes.

Only the status and the fields `code`, `type`, `status` and `reason` decide. Prose is quoted
for the log and never read: it is translated, reworded and may repeat what a person wrote.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast

import aiohttp

from aouo.errors import (
    ContentFiltered,
    PromptTooLong,
    ProviderAuth,
    ProviderBilling,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
)

if TYPE_CHECKING:
    import httpx2

MAX_QUOTE_CHARS = 300


class ParameterRefused(ProviderRejected):
    """The service names one optional field of ours that it does not take."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class UnexplainedRefusal(ProviderRejected):
    """Something is wrong with the request, and no typed word says what: Gemini's
    INVALID_ARGUMENT and other services' bare 400 and 422, which may also mean that the prompt is
    too long."""


class NotServed(ProviderRejected):
    """Nothing answers at this path, and no typed word says that it is about the model's name."""


_BY_CODE: dict[str, type[ProviderError]] = {
    # our request does not fit
    "context_length_exceeded": PromptTooLong,
    "context_window_exceeded": PromptTooLong,
    "model_context_window_exceeded": PromptTooLong,
    "exceed_context_size_error": PromptTooLong,  # llama.cpp
    "string_above_max_length": PromptTooLong,
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
    "responsibleaipolicyviolation": ContentFiltered,
    "data_inspection_failed": ContentFiltered,
    "invalid_prompt": ContentFiltered,  # OpenAI's Responses, as the next ones
    "bio_policy": ContentFiltered,
    "misalignment_policy_violation": ContentFiltered,
    "image_content_policy_violation": ContentFiltered,
    # a bug or a setting
    "model_not_found": ProviderRejected,
    "model_decommissioned": ProviderRejected,
    "not_found_error": ProviderRejected,
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
    "invalid_argument": UnexplainedRefusal,
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
    "unavailable": ProviderBusy,
    "unavailable_error": ProviderBusy,  # llama.cpp while it loads
    "deadline_exceeded": ProviderTimeout,
    "timeout": ProviderTimeout,
    "timeout_error": ProviderTimeout,
}

_BY_STATUS: dict[int, type[ProviderError]] = {
    401: ProviderAuth,
    402: ProviderBilling,
    403: ProviderAuth,
    408: ProviderTimeout,
    409: ProviderBusy,
    413: PromptTooLong,
    425: ProviderBusy,
    429: ProviderBusy,
    504: ProviderTimeout,
    524: ProviderTimeout,
}

# These statuses say more than a code next to them: a 413 whose code speaks of rate limits
# (Groq's tokens per minute) is met by asking for less, not by waiting.
_STATUS_FIRST = frozenset({401, 402, 413})


def parse_body(body: bytes) -> object:
    """The JSON of an answer, or None when it is not JSON."""
    try:
        return json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def error_object(body: object) -> dict[str, Any]:
    """The `error` of a parsed answer in any of its usual shapes; {} when there is none."""
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


def failure(
    provider: str,
    status: int,
    error: Mapping[str, Any],
    *,
    headers: Mapping[str, str] | None = None,
    mask: Callable[[str], str] = str,
) -> ProviderError:
    """The error to raise for `status` and the service's `error` object.

    `mask` takes secrets out of the service's own words (some quote the key). A status of 0
    means unknown: an error inside a stream that began well.
    """
    kind = _kind(status, error)
    code = next(_codes(error), "")
    quote = mask(_message(error))[:MAX_QUOTE_CHARS]
    where = f"HTTP {status}" if status else "error in the stream"
    text = ": ".join(part for part in (f"{provider}: {where}", mask(code), quote) if part)
    if kind is ProviderBusy:
        return ProviderBusy(text, retry_after_s=_retry_after_s(headers or {}, error))
    if kind is ProviderRejected and not any(code in _BY_CODE for code in _codes(error)):
        return _untyped(status, text, rejected_parameter(error))
    return kind(text)


def _untyped(status: int, text: str, parameter: str) -> ProviderRejected:
    """A refusal of which only the status, and perhaps a parameter, is known."""
    if parameter:
        return ParameterRefused(text, parameter)
    if status in (404, 405):
        return NotServed(text)
    return UnexplainedRefusal(text) if status in (400, 422) else ProviderRejected(text)


def broken(
    provider: str, error: httpx2.HTTPError | httpx2.InvalidURL, *, mask: Callable[[str], str] = str
) -> ProviderError:
    """The error to raise when a transport of `http` gave no answer, or not all of it."""
    import httpx2

    text = f"{provider}: {type(error).__name__}: {mask(str(error))[:MAX_QUOTE_CHARS]}"
    match error:
        case httpx2.ConnectTimeout():
            return ProviderBusy(text)  # nobody has read what we asked
        case httpx2.TimeoutException() | httpx2.ReadError():
            return ProviderTimeout(text)
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError():
            return ProviderRejected(text)
        case _ if isinstance(error.__cause__, aiohttp.ClientSSLError):
            return ProviderRejected(text)
        case _:
            return ProviderBusy(text)


def status_of(error: Mapping[str, Any]) -> int:
    """The HTTP status an error inside a stream names in its `code` or `status`, else 0."""
    for field in ("code", "status", "status_code"):
        value = error.get(field)
        if isinstance(value, str) and value.isdecimal():
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return 0


def rejected_parameter(error: Mapping[str, Any]) -> str:
    """The parameter a service names as the one it does not take, or "": in `param`, or as the
    place in the body of FastAPI's `detail` (Mistral)."""
    param = error.get("param")
    if isinstance(param, str) and param:
        return param
    places = [_place(item) for item in _detail(error)]
    return next((place for place in places if place), "")


def _detail(error: Mapping[str, Any]) -> list[object]:
    """FastAPI's list of what is wrong; Mistral wraps it in `message`."""
    message = error.get("message")
    outer = cast("dict[str, Any]", message) if isinstance(message, dict) else error
    detail = outer.get("detail")
    return cast("list[object]", detail) if isinstance(detail, list) else []


def _place(item: object) -> str:
    loc = cast("dict[str, Any]", item).get("loc") if isinstance(item, dict) else None
    names = cast("list[object]", loc) if isinstance(loc, list) else []
    return ".".join(str(name) for name in names if name != "body")


def _kind(status: int, error: Mapping[str, Any]) -> type[ProviderError]:
    if status in _STATUS_FIRST:
        return _BY_STATUS[status]
    for code in _codes(error):
        if code in _BY_CODE:
            return _BY_CODE[code]
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    # Without a status the stream broke on the service's side.
    return ProviderBusy if status >= 500 or status == 0 else ProviderRejected


def _codes(error: Mapping[str, Any]) -> Iterator[str]:
    """The typed names in an error object, the most specific first, in lower case."""
    for part in _parts(error):
        for field in ("code", "reason", "type", "status"):
            value = part.get(field)
            if isinstance(value, str) and value and not value.isdecimal():
                yield value.lower()


def _parts(error: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for field in ("innererror", "details"):  # Azure; Google
        value = error.get(field)
        for item in cast("list[object]", value) if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield cast("dict[str, Any]", item)
    yield error


def _message(error: Mapping[str, Any]) -> str:
    for field in ("message", "detail", "msg"):
        value = error.get(field)
        if value:
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return ""


def _retry_after_s(headers: Mapping[str, str], error: Mapping[str, Any]) -> float:
    """Seconds the service asks us to wait; 0 when it does not say or says nonsense."""
    for seconds in (
        _number(headers.get("retry-after-ms", "")) / 1000,
        _number(headers.get("retry-after", "")),
        _until(headers.get("retry-after", ""), headers.get("date", "")),
        *(_duration_s(part.get("retryDelay")) for part in _parts(error)),
    ):
        if seconds > 0:
            return seconds
    return 0.0


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0


def _until(moment: str, sent: str) -> float:
    """From the answer's own Date to `moment`, so that a wrong clock here changes nothing.

    Source: RFC 9110, 10.2.3 (HTTP-date) and 6.6.1 (Date).
    """
    try:
        return (parsedate_to_datetime(moment) - parsedate_to_datetime(sent)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _duration_s(value: object) -> float:
    """google.protobuf.Duration in JSON: `"34.5s"`."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)s", value) if isinstance(value, str) else None
    return float(match[1]) if match else 0.0
