"""Makes the Bot API calls of the inbound side, also downloads; size limits of servers.

Source: core.telegram.org/bots/api#sending-files, #getfile and #using-a-local-bot-api-server
("upload files up to 2000 MB", "download files without a size limit"). A photo has 10 MB at most
everywhere: TDLib's `inputMessagePhoto`, github.com/tdlib/td/issues/2544.

`getFile` returns a path that is valid for an hour; the file is at `<base>/file/bot<token>/…`. A
local Bot API server in local mode returns a path on this machine instead.
Source: core.telegram.org/bots/api#getfile.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import quote

import aiohttp

from aouo.facts.errors import AouoError, FileNotFetched
from aouo.plumbing import failpoint
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import pause_s
from aouo.plumbing.web.certificates import cure_of

if TYPE_CHECKING:
    from aouo.facts.attachments import Attachment
    from aouo.facts.ports import Clock

_PUBLIC_URL = "https://api.telegram.org"
_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limits in bytes: of a download, of the uploads in one call, of a photo."""

    download: int
    upload: int
    photo: int


_PUBLIC = FileLimits(20 * _MB, 50 * _MB, 10 * _MB)
_OWN = FileLimits(2_000_000_000, 2_000_000_000, 10 * _MB)
"""The limits of a server in local mode (`--local`); another one answers 413 above 50 MB."""


def limits_of(base_url: str) -> FileLimits:
    """Return the limits of the server at `base_url` (`telegram.api_base_url`)."""
    return _PUBLIC if base_url.rstrip("/") == _PUBLIC_URL else _OWN


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


_TRIES = 4
_BACKOFF = partial(pause_s, first_s=0.5, factor=4, most_s=8)
_CALL_S = 15.0
_SILENCE_S = 20.0
_CHUNK_BYTES = 64 * 1024


class _Passing(Exception):
    """A passing failure: a retry after at least `wait_s` may work."""

    def __init__(self, why: str, wait_s: float = 0.0) -> None:
        super().__init__(why)
        self.wait_s = wait_s


@dataclass(eq=False, repr=False, kw_only=True)
class Downloads:
    """Downloads the files of one bot; no error text holds the token."""

    api: TelegramApi
    session: aiohttp.ClientSession
    clock: Clock
    base_url: str
    token: str
    limit_bytes: int = 0

    def __post_init__(self) -> None:
        base = self.base_url.rstrip("/")
        self._url = f"{base}/file/bot{self.token}"
        self.limit_bytes = self.limit_bytes or limits_of(base).download

    async def fetch(self, item: Attachment, to: Path) -> int:
        """Download the file to `to`, whole or not at all; return its size in bytes.

        Passing failures are retried three times, after growing pauses.

        Raises:
            FileNotFetched: it is too large or gone, or could not be downloaded or stored.
        """
        if item.size_bytes > self.limit_bytes:
            raise _too_big(item.size_bytes, self.limit_bytes)
        for attempt in range(1, _TRIES + 1):
            try:
                return await self._fetch(item, to)
            except _Passing as error:
                why = str(error).replace(self.token, "***")
                log.info("download_failed", kind=item.kind, attempt=attempt, error=why)
                if attempt == _TRIES:
                    raise FileNotFetched(why) from None
                await self.clock.sleep(_BACKOFF(attempt, asked_s=error.wait_s))
            except OSError as error:  # our own disk
                log.error("download_not_stored", error=str(error))
                raise FileNotFetched(f"not stored: {error}") from error
        raise AssertionError

    async def _fetch(self, item: Attachment, to: Path) -> int:
        found = await self._find(item)
        size = int(found.get("file_size") or 0)
        if size > self.limit_bytes:
            raise _too_big(size, self.limit_bytes)
        place = str(found.get("file_path") or "")
        if not place:
            raise _Passing("getFile: no path")
        await asyncio.to_thread(to.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
        draft = to.with_name(f".{to.name}.part")
        try:
            failpoint.reached("before download")
            size = await self._copy(place, draft)
            failpoint.reached("after download")
            draft.replace(to)
        finally:
            draft.unlink(missing_ok=True)
        return size

    async def _find(self, item: Attachment) -> dict[str, Any]:
        try:
            return await self.api.call("getFile", _CALL_S, file_id=item.file_id)
        except ApiUnreachable as error:
            raise _Passing(str(error)) from None
        except ApiError as error:
            if "too big" in error.description.lower():
                raise _too_big(item.size_bytes, _PUBLIC.download) from None
            if error.code == 429 or error.code >= 500:
                raise _Passing(str(error), error.retry_after_s) from None
            if "temporarily" in error.description.lower():  # or a wrong id: one text covers both
                raise _Passing(str(error)) from None
            raise FileNotFetched(str(error), gone=True) from None

    async def _copy(self, place: str, draft: Path) -> int:
        """Write the file into a draft that is private to us, and sync it to disk."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            if place.startswith("/") and await asyncio.to_thread(Path(place).is_file):
                await asyncio.to_thread(_copy_local, place, out)
            else:
                await self._stream(place, out)
            await asyncio.to_thread(os.fsync, out.fileno())
            return out.tell()

    async def _stream(self, place: str, out: BinaryIO) -> None:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CALL_S, sock_read=_SILENCE_S)
        url = f"{self._url}/{quote(place.lstrip('/'))}"
        written = 0
        try:
            async with self.session.get(url, timeout=timeout) as response:
                if response.status != 200:  # 404: the path is older than an hour
                    raise _Passing(f"the file: {response.status}")
                async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
                    written += len(chunk)
                    if written > self.limit_bytes:
                        raise _too_big(written, self.limit_bytes)
                    out.write(chunk)
                out.flush()
        except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError, OSError) as error:
            raise _Passing(f"{type(error).__name__}: {error}") from None


def _copy_local(place: str, out: BinaryIO) -> None:
    with Path(place).open("rb") as source:
        shutil.copyfileobj(source, out)
    out.flush()


def _too_big(size_bytes: int, limit_bytes: int) -> FileNotFetched:
    return FileNotFetched(f"{size_bytes} bytes, {limit_bytes} at most", limit_bytes=limit_bytes)
