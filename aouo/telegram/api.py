"""Makes the Bot API calls of the inbound side, whose updates are stored as raw JSON."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import aiohttp

from aouo.facts.errors import AouoError
from aouo.plumbing import failpoint
from aouo.web.certificates import cure_of

_CONNECT_S = 10.0


class ApiError(AouoError):
    """Telegram answered with an error; `code` is its error code, `retry_after_s` 0 = no pause."""

    def __init__(self, code: int, description: str, retry_after_s: float = 0.0) -> None:
        super().__init__(f"{code} {description}")
        self.code = code
        self.description = description
        self.retry_after_s = retry_after_s


class ApiUnreachable(AouoError):
    """No readable answer came: a passing failure of the network, a proxy or the server."""


class TelegramApi:
    """Calls one bot's methods over a shared session; no error text holds the token."""

    def __init__(self, *, session: aiohttp.ClientSession, base_url: str, token: str) -> None:
        self._session = session
        self._url = f"{base_url.rstrip('/')}/bot{token}"
        self._token = token

    async def call(self, method: str, timeout_s: float, **parameters: Any) -> Any:
        """Return the call's `result`.

        Raises:
            ApiError: Telegram refused the call.
            ApiUnreachable: no readable answer came.
        """
        failpoint.reached(f"before {method}")
        try:
            async with self._session.post(
                f"{self._url}/{method}",
                json=parameters,
                timeout=aiohttp.ClientTimeout(total=timeout_s, sock_connect=_CONNECT_S),
            ) as response:
                answer = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError, OSError) as error:
            raise ApiUnreachable(self._clean(error)) from None
        except (ValueError, RecursionError):
            raise ApiUnreachable(f"{method}: an answer that is not JSON") from None
        finally:
            failpoint.reached(f"after {method}")
        if not isinstance(answer, dict) or "ok" not in answer:
            raise ApiUnreachable(f"{method}: an answer in no known form")
        try:
            return _result(cast("dict[str, Any]", answer))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise ApiUnreachable(f"{method}: an answer in no known form") from None

    def _clean(self, error: BaseException) -> str:
        text = f"{type(error).__name__}: {error}".rstrip(": ")
        cure = cure_of(error)
        return (f"{cure} ({text})" if cure else text).replace(self._token, "***")


def _result(answer: dict[str, Any]) -> Any:
    if answer["ok"]:
        return answer["result"]
    parameters: dict[str, Any] = answer.get("parameters") or {}
    raise ApiError(
        int(answer.get("error_code", 0)),
        str(answer.get("description", "")),
        float(parameters.get("retry_after", 0)),
    )
