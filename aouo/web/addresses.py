"""Decides which IP addresses are on the public internet; all others are closed, by a table."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

# Written out, because what `ipaddress.is_global` covers differs between versions of Python.
_CLOSED_4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network; 0.0.0.0 connects to loopback
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier NAT, where some clouds keep their metadata
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's host agent, on a public address
        "169.254.0.0/16",  # link-local, most clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",  # multicast, reserved, broadcast
    )
)
_OPEN_6 = IPv6Network("2000::/3")
_CLOSED_6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments; Teredo, which holds an IPv4 address
        "2001:db8::/32",
        "2002::/16",  # 6to4, which holds an IPv4 address
        "3fff::/20",
    )
)
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
