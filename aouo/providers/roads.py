"""Translates a transport's failure, and reads how long a service asks us to wait.

Times are relative to the answer's own Date, so that a wrong clock here changes nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast

import aiohttp

from aouo.facts import errors
from aouo.plumbing.web.certificates import asks_password, cure_of
from aouo.plumbing.zones import zone_of

if TYPE_CHECKING:
    import httpx2

_PACIFIC = "America/Los_Angeles"
_MILLISECONDS_FROM = 100_000_000_000
"""A larger epoch is in milliseconds: in seconds it would be the year 5138."""

_TRY_AGAIN = re.compile(
    r"[Pp]lease try again in (?=\d)(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?"
    r"(?:(\d+(?:\.\d+)?)ms)?"
)


def retry_after_s(
    headers: Mapping[str, str], parts: list[Mapping[str, Any]], *, daily: bool = False
) -> float:
    """Return the seconds that the service asks us to wait; 0 when it gives none, or nonsense.

    `parts` are the objects of its error; `daily`: a quota of a day is used up.
    """
    sent = headers.get("date", "")
    told = [headers, *_headers_within(parts)]
    found = [
        *(_number(one.get("retry-after-ms", "")) / 1000 for one in told),
        *(_number(one.get("retry-after", "")) for one in told),
        *(_until(one.get("retry-after", ""), sent) for one in told),
        *(_number(part.get("retry_after_seconds")) for part in parts),
    ]
    resets = [_reset_s(one.get("x-ratelimit-reset", ""), sent) for one in told]
    delays = [_duration_s(part.get("retryDelay")) for part in parts]
    delays += [_named_s(str(part.get("message") or "")) for part in parts]
    if daily:
        # Gemini names a delay of seconds beside a quota of a day; its day ends in California.
        google = any("quotaId" in str(part.get("violations")) for part in parts)
        midnight = [_to_midnight_s(sent)] if google else []
        return max([*found, *resets, *midnight], default=0.0)
    return next((seconds for seconds in [*found, *delays, *resets] if seconds > 0), 0.0)


def used_up_for_the_day(parts: list[Mapping[str, Any]], message: str) -> bool:
    """Whether a daily limit was reached, by the limit's own name.

    Sources: Gemini `QuotaFailure.violations[].quotaId`, such as
    `GenerateRequestsPerDayPerProjectPerModel-FreeTier` (github.com/google-gemini/gemini-cli/issues/
    8437, 2025-09; when limits of a minute are named with it, those pass but the day's does not);
    OpenRouter `metadata.limit_source: openrouter_free_tier_daily` (github.com/
    Avarok-Cybersecurity/atlas/pull/543, 2026-08) or the limit's name `free-models-per-day…`
    (github.com/Gitlawb/openclaude/issues/936 and /1549, 2026); Kimi "request reached organization
    TPD rate limit" (github.com/MoonshotAI/kimi-cli/issues/1599, 2026-03).
    """
    for part in parts:
        if str(part.get("limit_source", "")).endswith("_daily"):
            return True
        violations = part.get("violations")
        if isinstance(violations, list):
            for one in cast("list[object]", violations):
                named = cast("dict[str, object]", one) if isinstance(one, dict) else {}
                if "PerDay" in str(named.get("quotaId", "")):
                    return True
    return "free-models-per-day" in message or "organization TPD rate limit" in message


def _headers_within(parts: list[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    """Yield the headers of the service that OpenRouter asked, from `metadata.headers`."""
    for part in parts:
        named = part.get("headers")
        if isinstance(named, dict):
            yield {
                str(key).lower(): str(value)
                for key, value in cast("dict[object, object]", named).items()
            }


def _number(value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else 0.0
    except ValueError:
        return 0.0
    return number if math.isfinite(number) and number > 0 else 0.0


def _moment(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None


def _until(moment: str, sent: str) -> float:
    """Return the seconds from `sent` to `moment`, 0 if either is no HTTP date.

    Source: RFC 9110, 10.2.3 (HTTP-date) and 6.6.1 (Date).
    """
    then, now = _moment(moment), _moment(sent)
    return (then - now).total_seconds() if then and now else 0.0


def _reset_s(reset: str, sent: str) -> float:
    """Return the seconds to an epoch in seconds or milliseconds (OpenRouter's header)."""
    epoch, now = _number(reset), _moment(sent)
    epoch = epoch / 1000 if epoch > _MILLISECONDS_FROM else epoch
    return max(0.0, epoch - now.timestamp()) if epoch and now else 0.0


def _to_midnight_s(sent: str) -> float:
    """Return the seconds to the next midnight in California.

    Source: ai.google.dev/gemini-api/docs/rate-limits, "Requests per day (RPD) quotas reset at
    midnight Pacific time".
    """
    now = _moment(sent)
    if now is None:
        return 0.0
    there = now.astimezone(zone_of(_PACIFIC))
    following = (there + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return (following.astimezone(UTC) - now).total_seconds()


def _duration_s(value: object) -> float:
    """Parse google.protobuf.Duration in JSON: `"34.5s"`."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)s", value) if isinstance(value, str) else None
    return float(match[1]) if match else 0.0


def _named_s(message: str) -> float:
    """Return the seconds in OpenAI's and Groq's sentence, which is all that they send in a stream:
    "Please try again in 7m12s", "1h2m3.5s", "644ms"
    (github.com/feder-cr/invisible_playwright_mcp/issues/109)."""
    if not (found := _TRY_AGAIN.search(message)):
        return 0.0
    hours, minutes, seconds, thousandths = (_number(part) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


_MAX_QUOTE_CHARS = 300


def broken(
    provider: str, error: httpx2.HTTPError | httpx2.InvalidURL, *, mask: Callable[[str], str] = str
) -> errors.ProviderError:
    """Return the error to raise when a transport of `http` gave no answer, or only a part."""
    import httpx2

    text = f"{provider}: {type(error).__name__}: {mask(str(error))[:_MAX_QUOTE_CHARS]}"
    if found := in_the_way(text, error):
        return found
    match error:
        case httpx2.ConnectTimeout():
            return errors.ProviderBusy(text)  # the request was not sent
        case httpx2.TimeoutException() | httpx2.ReadError():
            return errors.ProviderTimeout(text)
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError():
            return errors.ProviderRejected(text)
        case _:
            return errors.ProviderBusy(text)


def in_the_way(text: str, error: BaseException) -> errors.ProviderError | None:
    """Return the error of a proxy or certificate on the way, by the cause of `error`; None = no."""
    match error.__cause__:
        case aiohttp.ClientConnectorCertificateError() as cause:
            return errors.CertificateRefused(text, cure=cure_of(cause))
        case aiohttp.ClientHttpProxyError(status=status) as cause if status < 500:
            return errors.ProxyRefused(text, cure=cure_of(cause))
        case aiohttp.ClientProxyConnectionError() as cause if asks_password(cause):
            return errors.ProxyRefused(text, cure=cure_of(cause))
        case aiohttp.ClientSSLError():
            return errors.NoModelService(text)  # the server speaks no TLS, or none that we know
        case _:
            return None
