"""Decides which addresses may be fetched: public ones, by a table, at hosts that a pack names."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from typing import TypeAlias

from yarl import URL

from aouo.facts.errors import ToolFailed

Address: TypeAlias = IPv4Address | IPv6Address

_CLOSED: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("closed_networks.json").read_text("utf-8")
)
"""Networks and why, written out: what Python's `is_global` covers differs between its versions."""
_CLOSED_4 = tuple(map(IPv4Network, _CLOSED["ipv4"]))
_CLOSED_6 = tuple(map(IPv6Network, _CLOSED["ipv6"]))
_OPEN_6 = IPv6Network("2000::/3")
_LOOKS_NUMERIC = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)\.?", re.IGNORECASE)


def is_public(address: Address) -> bool:
    """Whether `address` is a host on the public internet, not in a local network.

    Forms that carry an IPv4 address inside an IPv6 one (mapped, compatible, NAT64, 6to4,
    Teredo) are all closed. Source: IANA's special-purpose registries.
    """
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_4)
    if address.scope_id is not None or address not in _OPEN_6:
        return False
    return not any(address in network for network in _CLOSED_6)


def literal(host: str) -> Address | None:
    """Return the address that a URL's host spells; None = it is a name.

    Raises:
        ValueError: it is a number in another spelling (octal, hex, short, decimal), which a
            resolver might turn into an unchecked address.
    """
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        last = host.removesuffix(".").rpartition(".")[2]
        if ":" in host or "%" in host or _LOOKS_NUMERIC.fullmatch(last):
            raise ValueError(f"{host!r} is not a plain address") from None
        return None


_MAX_URL_CHARS = 4000
_PORTS = {"http": 80, "https": 443}
_OPEN_PORTS = frozenset(_PORTS.values())


@dataclass(frozen=True, slots=True)
class Permits:
    """The hosts that `who` may reach: `host`, `*.host` (subdomains), perhaps with `:port`; `*`."""

    who: str
    hosts: Sequence[str]

    def refusal(self, host: str, port: int) -> str:
        """Return why this host is closed; "" = it is open."""
        if any(_matches(pattern, host, port) for pattern in self.hosts):
            return ""
        host = f"[{host}]" if ":" in host else host
        if not self.hosts:
            return (
                f"The pack {self.who!r} may not use the network. In its pack.yml, "
                f'permissions.network has to name the host, for example ["{host}"].'
            )
        if port not in _OPEN_PORTS and any(_matches(p, host.strip("[]"), 80) for p in self.hosts):
            return f'Port {port} of {host} is closed; "{host}:{port}" would have to be named.'
        return (
            f"{host} is not among the hosts that the pack {self.who!r} may use: "
            f"{', '.join(self.hosts)}. In its pack.yml, permissions.network has to name it."
        )


def target(text: str, permits: Permits) -> URL:
    """Parse and check a URL; the same value is then fetched, so it is not parsed twice.

    Raises:
        ToolFailed: it is not http(s), has credentials, is malformed or not permitted; says which.
    """
    if len(text) > _MAX_URL_CHARS or any(c.isspace() or c < " " or c in "\\\x7f" for c in text):
        raise ToolFailed("This is not a URL: it is too long, or holds spaces or backslashes.")
    try:
        url = URL(text)
        port = url.port
    except ValueError as error:
        raise ToolFailed(f"This is not a URL: {error}.") from error
    host = (url.raw_host or "").lower().removesuffix(".")
    if url.scheme not in _PORTS or not host or port is None:
        raise ToolFailed("Give a whole URL that begins with https:// or http://.")
    if url.raw_user is not None or url.raw_password is not None:
        raise ToolFailed("A URL with a user name or password in it is not fetched.")
    try:
        named = literal(url.raw_host or "") is None
    except ValueError as error:
        raise ToolFailed(f"{error}; write the host's name.") from error
    if named and "." not in host:
        raise ToolFailed(f"{host!r} is not a host on the internet.")
    if refusal := permits.refusal(host, port):
        raise ToolFailed(refusal)
    return url.with_fragment(None)


def _matches(pattern: str, host: str, port: int) -> bool:
    pattern = pattern.strip().lower()
    name, colon, wanted = pattern.rpartition(":")
    if colon and wanted.isascii() and wanted.isdigit() and (":" not in name or name.endswith("]")):
        ports: frozenset[int] = frozenset({int(wanted)})
    else:
        name, ports = pattern, _OPEN_PORTS
    if port not in ports:
        return False
    name = name.strip("[]").removesuffix(".")
    if name == "*":
        return True
    if name.startswith("*."):
        return host.endswith(name[1:])
    return host == name
