"""Fetches a page of the internet, or finds out whether it has changed: checked, bounded.

We resolve a host ourselves, all its addresses must be public, and the connection goes to one of
these, so a name that changes its address in between (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import socket
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from typing import IO, Any, TypeAlias, TypeVar

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from aouo.facts.errors import ToolFailed
from aouo.plumbing.web.addresses import Address, Permits, is_public, literal, target
from aouo.plumbing.web.certificates import trusted
from aouo.plumbing.web.session import of_environment

Lookup: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Resolves a host name and a port to addresses, as text."""
MAX_BYTES = 2_000_000
_LIMIT_S = 20.0
_MAX_REDIRECTS = 5
_DOWNLOAD_LIMIT_S = 120.0
_CHUNK_BYTES = 65_536
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SAYS_NOTHING = "application/octet-stream"
_CONDITIONS = frozenset({"If-None-Match", "If-Modified-Since"})
_HEADERS = {
    "User-Agent": "aouo",
    "Accept": "text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}


_Taken = TypeVar("_Taken")


@dataclass(frozen=True, slots=True)
class Page:
    """A fetched page: its final URL, its media type in lower case ("" = unknown), and at most
    `MAX_BYTES` of its body."""

    url: str
    host: str
    content_type: str
    charset: str
    body: bytes
    cut: bool


async def system_lookup(host: str, port: int) -> Sequence[str]:
    """Return the addresses that this machine's resolver finds; () = none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # the latter for a name with an empty part
        return ()
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(slots=True, eq=False, kw_only=True)
class Web:
    """A safe HTTP client, without cookies, kept connections and proxies.

    `lookup` and `admits` exist for tests, which have no network; no setting changes them.
    """

    lookup: Lookup = system_lookup
    admits: Callable[[Address], bool] = is_public
    limit_s: float = _LIMIT_S

    async def get(self, text: str, permits: Permits) -> Page:
        """Fetch the page at a URL.

        Raises:
            ToolFailed: it may not or could not be fetched; says why.
        """
        return await self._follow(text, permits, _page, _HEADERS, self.limit_s)

    async def ask(
        self,
        text: str,
        permits: Permits,
        take: Callable[[aiohttp.ClientResponse, URL], Awaitable[_Taken]],
        headers: Mapping[str, str],
        *,
        https: bool = False,
    ) -> _Taken:
        """Return what `take` makes of the answer; with `If-None-Match` or `If-Modified-Since` among
        `headers` that may be 304 as well. `https`: as for `download`.

        Raises:
            ToolFailed: as for `get`.
        """
        sent = {**_HEADERS, **headers}
        return await self._follow(text, permits, take, sent, self.limit_s, https=https)

    async def download(
        self, text: str, permits: Permits, out: IO[bytes], *, max_bytes: int, https: bool = True
    ) -> str:
        """Write the file at a URL to `out`, and return its final URL.

        `https`: the address and every redirect must be encrypted.

        Raises:
            ToolFailed: as for `get`, or it has more than `max_bytes`; `out` may hold a part of it.
        """

        async def take(answer: aiohttp.ClientResponse, url: URL) -> str:
            sent = 0
            async for chunk in answer.content.iter_chunked(_CHUNK_BYTES):
                sent += len(chunk)
                if sent > max_bytes:
                    raise ToolFailed(f"{url} is larger than {max_bytes // 1024 // 1024} MB.")
                out.write(chunk)
            return str(url)

        headers = {"User-Agent": _HEADERS["User-Agent"], "Accept-Encoding": "identity"}
        limit_s = max(self.limit_s, _DOWNLOAD_LIMIT_S)
        return await self._follow(text, permits, take, headers, limit_s, https=https)

    async def _follow(
        self,
        text: str,
        permits: Permits,
        take: Callable[[aiohttp.ClientResponse, URL], Awaitable[_Taken]],
        headers: Mapping[str, str],
        limit_s: float,
        *,
        https: bool = False,
    ) -> _Taken:
        """Return the result of `take` for the answer at the end of the redirects."""
        url = _checked(text, permits, https)
        try:
            async with asyncio.timeout(limit_s), self._session() as session:
                for _ in range(_MAX_REDIRECTS + 1):
                    self._check_address(url)
                    async with session.get(url, allow_redirects=False, headers=headers) as answer:
                        if not (moved := _target_of(answer, url)):
                            _check_status(answer, url, headers)
                            return await take(answer, url)
                    url = _checked(moved, permits, https)
        except TimeoutError as error:
            why = f"{url.host} did not answer in {limit_s:g} s."
            raise ToolFailed(why + _without_proxy(url)) from error
        except (aiohttp.ClientError, OSError, zlib.error) as error:
            why = f"{url.host} could not be reached: {_reason(error)}."
            raise ToolFailed(why + _without_proxy(url)) from error
        raise ToolFailed(f"More than {_MAX_REDIRECTS} redirects; the last one led to {url}.")

    def _check_address(self, url: URL) -> None:
        address = literal(url.raw_host or "")
        if address is not None and not self.admits(address):
            raise ToolFailed(_closed(url.raw_host or ""))

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=_CheckedResolver(self.lookup, self.admits),
                use_dns_cache=False,
                force_close=True,
                ssl=trusted(os.environ),
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )


@dataclass(slots=True, eq=False)
class _CheckedResolver(AbstractResolver):
    """Gives a connector only addresses that were checked."""

    lookup: Lookup
    admits: Callable[[Address], bool]

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        del family
        found = [ip_address(text) for text in await self.lookup(host, port)]
        if not found:
            url = URL.build(scheme="https", host=host, port=port)
            raise ToolFailed(f"There is no host {host}.{_without_proxy(url)}")
        if not all(self.admits(address) for address in found):
            raise ToolFailed(_closed(host))
        return [
            {
                "hostname": host,
                "host": str(address),
                "port": port,
                "family": socket.AF_INET if address.version == 4 else socket.AF_INET6,
                "proto": 0,
                "flags": int(socket.AI_NUMERICHOST),
            }
            for address in found
        ]

    async def close(self) -> None:
        """Nothing is kept open."""


def _checked(text: str, permits: Permits, https: bool) -> URL:
    url = target(text, permits)
    if https and url.scheme != "https":
        raise ToolFailed(f"{url} is not encrypted: use an address that begins with https://.")
    return url


def _target_of(answer: aiohttp.ClientResponse, url: URL) -> str:
    """Return where an answer redirects to, "" = nowhere."""
    location = answer.headers.get("Location", "")
    if answer.status not in _REDIRECTS or not location:
        return ""
    try:
        return str(url.join(URL(location)))
    except ValueError as error:
        raise ToolFailed(f"{url.host} redirects to no valid URL.") from error


def _check_status(answer: aiohttp.ClientResponse, url: URL, headers: Mapping[str, str]) -> None:
    unchanged = answer.status == HTTPStatus.NOT_MODIFIED and headers.keys() & _CONDITIONS
    if answer.status != HTTPStatus.OK and not unchanged:
        raise ToolFailed(f"{url.host} answered {_status(answer.status)} for {url}.")


async def _page(answer: aiohttp.ClientResponse, url: URL) -> Page:
    body, cut = await _body_of(answer)
    declared = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return Page(
        url=str(url),
        host=url.host or "",
        content_type="" if declared == _SAYS_NOTHING else declared,
        charset=answer.charset or "",
        body=body,
        cut=cut,
    )


async def _body_of(
    answer: aiohttp.ClientResponse, max_bytes: int = MAX_BYTES
) -> tuple[bytes, bool]:
    """Return at most `max_bytes`, as sent and as unpacked, and whether there was more."""
    unpack = _unpacker(answer.headers.get("Content-Encoding", ""))
    body = bytearray()
    sent = 0
    async for chunk in answer.content.iter_chunked(_CHUNK_BYTES):
        sent += len(chunk)
        body += unpack.decompress(chunk, max_bytes + 1 - len(body)) if unpack else chunk
        if max(sent, len(body)) > max_bytes:
            return bytes(body[:max_bytes]), True
    return bytes(body), False


def _unpacker(encoding: str) -> _Inflate | None:
    """Return a decoder of a content encoding, None = it needs none.

    It returns no more than it is asked for, so a decompression bomb stays small.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return _Inflate()
        case other:
            raise ToolFailed(f"The answer is packed as {other[:20]!r}, which cannot be read here.")


class _Inflate:
    """Decodes gzip and deflate, the latter also without its wrapper, as some servers send it."""

    def __init__(self) -> None:
        self._inner: Any = None

    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes:
        if self._inner is None:
            bare = data[:2] != b"\x1f\x8b" and data[:1] != b"\x78"
            self._inner = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32)
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def _without_proxy(url: URL) -> str:
    """Return a hint for a failure if the environment names a proxy for `url`, else ""."""
    if not of_environment(os.environ).leading_to(url):
        return ""
    return (
        " The proxy that the environment names is not used here, where every address is checked: "
        "the host has to be reachable directly."
    )


def _closed(host: str) -> str:
    return f"{host} is not a public host on the internet, so it is not fetched."


def _status(code: int) -> str:
    try:
        return f"{code} ({HTTPStatus(code).phrase})"
    except ValueError:
        return str(code)


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not valid"
    if isinstance(error, zlib.error):
        return "what it sent is damaged"
    named = isinstance(error, aiohttp.ClientConnectorError)  # its words hold addresses
    return type(error).__name__ if named or not str(error) else str(error)[:200]


_PROBE_BYTES = 1_000_000
"""What is compared of a page; more of it may change unnoticed."""
_VALIDATOR_CHARS = 500


async def probe(web: Web, text: str, permits: Permits, validator: str) -> tuple[str, str] | None:
    """Look at a URL; return a hash of what is there, and the validator by which its server knows
    it; None = its server says that it is as it was at `validator` ("" = never seen).

    Raises:
        ToolFailed: it may not or could not be fetched; says why.
    """
    etag, modified = json.loads(validator) if validator else ("", "")
    asked = {"If-None-Match": etag, "If-Modified-Since": modified}

    async def take(answer: aiohttp.ClientResponse, url: URL) -> tuple[str, str] | None:
        del url
        if answer.status == HTTPStatus.NOT_MODIFIED:
            return None
        found = tuple(
            answer.headers.get(name, "")[:_VALIDATOR_CHARS] for name in ("ETag", "Last-Modified")
        )
        if any(found) and found == (etag, modified):  # the server knows no conditions
            return None
        body, _ = await _body_of(answer, _PROBE_BYTES)
        return hashlib.sha256(body).hexdigest(), json.dumps(found) if any(found) else ""

    headers = {name: value for name, value in asked.items() if value}
    return await web.ask(text, permits, take, headers)
