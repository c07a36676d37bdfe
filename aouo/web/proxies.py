"""Chooses the proxy for an address; the only reader of the environment's proxy variables.

`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` mean the same as for curl: the lower case
name counts before the upper case one, an empty value means none, `ALL_PROXY` is for schemes without
a variable. Addresses of this machine never use a proxy of the environment.

Source: everything.curl.dev/usingcurl/proxies/env.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from yarl import URL

from aouo.facts.errors import SetupError
from aouo.plumbing.logins import secrets_in

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
