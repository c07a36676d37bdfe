"""Decides by its address whether a server is on this machine or in its network."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

_NAMES = ("localhost", ".localhost", ".local", ".lan", ".internal", ".home.arpa")


def is_nearby(url: str) -> bool:
    """Whether `url` is on this machine or in its network.

    Sources: RFC 1918 (10, 172.16, 192.168), RFC 4193 (fd00), RFC 6762 (.local), RFC 6761
    (localhost), RFC 8375 (.home.arpa).
    """
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_private
    except ValueError:
        return ("." not in host and bool(host)) or host.endswith(_NAMES)
