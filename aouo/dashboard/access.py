"""Decides who may see the page: from this machine, not for another page, with the token. Pure."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal, TypeAlias

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_AUTHORITY = re.compile(r"(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9.-]{1,253}))(?::[0-9]{1,5})?", re.ASCII)
_WRONG_MAX, _WRONG_S = 20, 60.0
_OF_ITSELF = frozenset({"same-origin", "none"})
"""Asked by the page itself, or typed into the browser; another port of this machine is neither."""
Refusal: TypeAlias = Literal["", "host", "origin", "token", "page", "too many"]
PAGE_HEADER = "X-Aouo-Page"
"""Names the header in which the page proves that a change is its own."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request says of itself: its headers, its address as it was sent, the token that it
    brings ("" = none) in a header or in the address, the value of our cookie, and whether it may
    change something."""

    headers: Mapping[str, str]
    target: str = "/"
    token: str = ""
    cookie: str = ""
    changes: bool = False


class Access:
    """Knows the token, and how many wrong ones came lately. `host` is where the page listens.

    `key` is as hard to guess as a short token is not: nobody makes a cookie from a guessed token,
    so that cookies need not be counted.
    """

    def __init__(self, token: str, host: str, key: bytes = b"") -> None:
        self._token = token
        self._host = host
        self._wrong = deque[float](maxlen=_WRONG_MAX)
        self.cookie = _made_from(token, key, b"cookie")
        """What a browser keeps in the place of the token."""
        self.page = _made_from(token, key, b"page")
        """What the page sends with each change, as no other page can."""

    def is_foreign(self, asked: Asked) -> Refusal:
        """Return why a request is refused whatever it brings, "" = it is not: a name that leads
        here, an address as proxies get it, or a page of somebody else's."""
        authority = asked.headers.get("Host", "").lower()
        if not self._is_ours(_hostname(authority)) or not asked.target.startswith("/"):
            return "host"
        if asked.headers.get("Sec-Fetch-Site", "none") not in _OF_ITSELF:
            return "origin"
        own = f"http://{authority}"
        return "" if asked.headers.get("Origin", own).lower() == own else "origin"

    def refusal(self, asked: Asked, now_s: float) -> Refusal:
        """Return why the owner's pages are refused, "" = they are not; `now_s` is monotonic."""
        if asked.token:
            if len(self._wrong) == _WRONG_MAX and now_s - self._wrong[0] < _WRONG_S:
                return "too many"
            if _same(asked.token, self._token):
                return ""
            self._wrong.append(now_s)
            return "token"
        if not _same(asked.cookie, self.cookie):
            return "token"
        proven = not asked.changes or _same(asked.headers.get(PAGE_HEADER, ""), self.page)
        return "" if proven else "page"

    def _is_ours(self, name: str) -> bool:
        if name in _LOOPBACK or name == self._host.lower():
            return True
        return self._host in ("0.0.0.0", "::") and _is_address(name)  # no name can be rebound then


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())


def _made_from(token: str, key: bytes, use: bytes) -> str:
    return hmac.new(key + hashlib.sha256(token.encode()).digest(), use, hashlib.sha256).hexdigest()


def _hostname(authority: str) -> str:
    found = _AUTHORITY.fullmatch(authority)
    return (found[1] or found[2]) if found else ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
