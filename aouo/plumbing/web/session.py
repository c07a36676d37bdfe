"""Makes HTTP sessions: through the proxy of an address, never over a line that slept, or offline.

`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` mean the same as for curl: the lower case
name counts before the upper case one, an empty value means none, `ALL_PROXY` is for schemes without
a variable. Addresses of this machine never use a proxy of the environment.

Source: everything.curl.dev/usingcurl/proxies/env.

`session_through` makes the same session for the runtime, `aouo doctor` and whoever asks a service.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import aiohttp
from yarl import URL

from aouo.facts.errors import SetupError
from aouo.facts.ports import Clock
from aouo.plumbing.clock import SystemClock, ahead_s, slept
from aouo.plumbing.redact import secrets_in
from aouo.plumbing.web.addresses import Address
from aouo.plumbing.web.certificates import trusted

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

_KNOWN = re.compile(r"(https?|socks5h?)://[^/\s]+/?", re.IGNORECASE)
_ENTRIES = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies for http and https addresses, "" = none.

    `without` are hosts that are reached directly; `local`: so is this machine.
    """

    http: str = ""
    https: str = ""
    without: tuple[str, ...] = ()
    local: bool = True

    def leading_to(self, url: URL) -> str:
        """Return the proxy for `url`, "" = none."""
        found = self.https if url.scheme in ("https", "wss") else self.http
        if not found or not url.raw_host:
            return ""
        if self.local and _is_here(url.raw_host):
            return ""
        return "" if any(_names(one, url) for one in self.without) else found

    @property
    def secrets(self) -> tuple[str, ...]:
        """The passwords in the proxies' addresses."""
        return tuple(sorted({*secrets_in(self.http), *secrets_in(self.https)}))


def only(proxy: str) -> Proxies:
    """Return one proxy for everything, this machine included."""
    return Proxies(proxy, proxy, local=False)


def of_environment(environ: Mapping[str, str]) -> Proxies:
    """Return the proxies that the environment names.

    Raises:
        SetupError: a variable holds no address of a usable proxy; names the variable.
    """
    others = _proxy(environ, "ALL_PROXY", "")
    return Proxies(
        http=_proxy(environ, "HTTP_PROXY", others),
        https=_proxy(environ, "HTTPS_PROXY", others),
        without=tuple(filter(None, _ENTRIES.split(_value(environ, "NO_PROXY") or ""))),
    )


def _proxy(environ: Mapping[str, str], name: str, others: str) -> str:
    value = _value(environ, name)
    if not value:
        return others if value is None else ""
    proxy = value if "://" in value else f"http://{value}"
    try:
        readable = bool(_KNOWN.fullmatch(proxy) and URL(proxy).host)
    except ValueError:  # a port that is none
        readable = False
    if not readable:
        raise SetupError(
            f"The environment's {name} is no address of a proxy.",
            fix=f"Begin {name} with http://, https:// or socks5://, or unset it.",
        )
    return proxy


def _value(environ: Mapping[str, str], name: str) -> str | None:
    for spelling in (name.lower(), name):
        if spelling in environ:
            return environ[spelling].strip()
    return None


def _is_here(host: str) -> bool:
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified  # connecting to 0.0.0.0 leads here


def _names(entry: str, url: URL) -> bool:
    """Whether an entry of NO_PROXY covers `url`.

    An entry is a host with its subdomains, an address or a network (10.0.0.0/8), each perhaps with
    a port; `*` = all.
    """
    if entry == "*":
        return True
    host = (url.raw_host or "").rstrip(".").lower()
    named, port = _split(entry.lower())
    if port and port != str(url.port):
        return False
    try:
        return ip_address(host) in ip_network(named, strict=False)
    except ValueError:
        name = named.removeprefix("*").strip(".")
        return bool(name) and (host == name or host.endswith(f".{name}"))


def _split(entry: str) -> tuple[str, str]:
    """Return host and port, "" = no port; an IPv6 address with a port has brackets."""
    if entry.startswith("["):
        host, _, port = entry[1:].partition("]")
        return host, port.removeprefix(":")
    host, colon, port = entry.rpartition(":")
    if colon and port.isdecimal() and ":" not in host:
        return host, port
    return entry, ""


_SOCKS_PORT = 1080
_BROKE_OFF = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientResponseError)
"""What a proxy's answer to CONNECT ends in that is none."""
_PROBED = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""A silent connection whose other side is gone is known for dead after a minute, in seconds."""


def session_through(
    proxy: str = "", *, clock: Clock | None = None, environ: Mapping[str, str] | None = None
) -> aiohttp.ClientSession:
    """A session through `proxy`; "" = as the environment says.

    http and https proxies tunnel, socks5 ones resolve names. A proxy that cannot be reached or
    says no is an `aiohttp.ClientConnectorError`, or a `ClientHttpProxyError`: the request was
    never written. `clock` tells what the machine slept through.

    Raises:
        SetupError: the environment names no proxy, or no certificates, that can be used.
    """
    environ = os.environ if environ is None else environ
    proxies = only(proxy) if proxy else of_environment(environ)
    return aiohttp.ClientSession(
        connector=_Roads(proxies, clock or SystemClock(), trusted(environ)), trust_env=False
    )


def secrets_of(
    configured: Iterable[str], environ: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Return every secret, for the redactor: those `configured`, and those of a proxy.

    Raises:
        SetupError: as for `session_through`.
    """
    proxies = of_environment(os.environ if environ is None else environ)
    return (*configured, *proxies.secrets)


class _Roads(aiohttp.TCPConnector):
    """Chooses the proxy of each request, and keeps no connection through a sleep.

    A connection that was kept while the machine slept looks alive: its time to be kept is
    counted by the monotonic clock, which stood still, and the other side left without a word that
    could be heard. A request written to it gets no answer, and nobody knows whether it was read.
    """

    def __init__(self, proxies: Proxies, clock: Clock, ssl: Any) -> None:
        options: Any = {"limit": 0, "ssl": ssl, "socket_factory": _probed}
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]
        self._proxies = proxies
        self._clock = clock
        self._trust = ssl
        self._through: dict[str, aiohttp.TCPConnector] = {}
        self._used: WeakKeyDictionary[Any, float] = WeakKeyDictionary()

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - as in the class above
    ) -> Connection:
        proxy = self._proxies.leading_to(req.url)
        kind, _, rest = proxy.partition("://")
        socks = kind.lower() in ("socks5", "socks5h")
        if proxy and not socks:
            _lead(req, URL(proxy))
        while True:
            if socks:
                connection = await self._socks(rest).connect(req, traces, timeout)
            elif proxy:
                connection = await self._tunnel(URL(proxy), req, traces, timeout)
            else:
                connection = await super().connect(req, traces, timeout)
            now_s = ahead_s(self._clock)
            before_s = self._used.get(connection.protocol, now_s)
            if not slept(before_s, now_s):
                self._used[connection.protocol] = now_s
                return connection
            connection.close()

    async def _tunnel(
        self, proxy: URL, req: ClientRequest, traces: list[Trace], limits: aiohttp.ClientTimeout
    ) -> Connection:
        try:
            return await super().connect(req, traces, limits)
        except (aiohttp.ClientConnectorError, aiohttp.ClientHttpProxyError):
            raise
        except _BROKE_OFF as error:
            raise _unusable(proxy, req, error) from error

    async def close(self, *, abort_ssl: bool = False) -> None:
        for through in self._through.values():
            await through.close(abort_ssl=abort_ssl)
        await super().close(abort_ssl=abort_ssl)

    def _socks(self, rest: str) -> aiohttp.TCPConnector:
        if rest not in self._through:
            self._through[rest] = _socks(URL(f"socks5://{rest}"), self._trust)
        return self._through[rest]


def _lead(req: ClientRequest, proxy: URL) -> None:
    """Send a request through a proxy; its password goes in a header, so that no error quotes it."""
    told: dict[str, str] = {}
    if proxy.user:
        login = b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
        told["Proxy-Authorization"] = f"Basic {login}"
    if told and not req.is_ssl():
        req.headers.update(told)
    req.update_proxy(proxy.with_user(None), None, told if req.is_ssl() else None)


def _probed(address: Any) -> socket.socket:
    """A socket that asks now and then whether the other side is still there."""
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBED:
        if option := getattr(socket, name, 0):
            made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made


def _socks(url: URL, ssl: Any) -> aiohttp.TCPConnector:
    import aiohttp_socks  # only for those who need it

    class Socks(aiohttp_socks.ProxyConnector):
        async def connect(
            self,
            req: ClientRequest,
            traces: list[Trace],
            timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - as in the class above
        ) -> Connection:
            try:
                return await super().connect(req, traces, timeout)
            except (
                aiohttp_socks.ProxyError,
                aiohttp_socks.ProxyConnectionError,
                aiohttp_socks.ProxyTimeoutError,
                asyncio.IncompleteReadError,
            ) as error:
                raise _unusable(url, req, error) from error

    url = url.with_port(url.explicit_port or _SOCKS_PORT)
    return Socks.from_url(str(url), rdns=True, limit=0, ssl=ssl)


def _unusable(
    proxy: URL, req: ClientRequest, error: Exception
) -> aiohttp.ClientProxyConnectionError:
    """Where no tunnel came to stand; nothing of the request was written."""
    key: Any = req.connection_key
    where = key._replace(host=proxy.host, port=proxy.port, is_ssl=False)
    return aiohttp.ClientProxyConnectionError(where, OSError(0, str(error)))


async def nobody_looks_up(host: str, port: int) -> Sequence[str]:
    """Refuse every name. Raises: OSError: always."""
    raise OSError(f"there is no network here, so {host}:{port} is not looked up")


def nowhere(address: Address) -> bool:
    del address
    return False
