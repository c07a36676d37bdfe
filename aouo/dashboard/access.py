"""Decides who may see the page: from this machine, not for another page, with the token. Pure."""

from __future__ import annotations

import hashlib
import hmac
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_WRONG_MAX, _WRONG_S = 20, 60.0
_OF_ITSELF = frozenset({"same-origin", "none"})
"""Asked by the page itself, or typed into the browser; another port of this machine is neither."""
Refusal: TypeAlias = Literal["", "host", "origin", "token", "page", "too many"]
PAGE_HEADER = "X-Aouo-Page"
"""Names the header in which the page proves that a change is its own."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request says of itself: the token that it brings ("" = none) in a header or in the
    address, the value of our cookie, and whether it may change something."""

    headers: Mapping[str, str]
    scheme: str = "http"
    token: str = ""
    cookie: str = ""
    changes: bool = False


class Access:
    """Knows the token, and how many wrong ones came lately. `host` is where the page listens."""

    def __init__(self, token: str, host: str) -> None:
        self._token = token.encode()
        self._host = host
        self._wrong = deque[float](maxlen=_WRONG_MAX)
        self.cookie = hmac.new(self._token, b"aouo dashboard", hashlib.sha256).hexdigest()
        """What a browser keeps in the place of the token."""
        self.page = hmac.new(self._token, b"aouo page", hashlib.sha256).hexdigest()
        """What the page sends with each change, as no other page can."""

    def is_foreign(self, asked: Asked) -> Refusal:
        """Return why a request is refused whatever it brings, "" = it is not: a name that leads
        here, or a page of somebody else's."""
        authority = asked.headers.get("Host", "")
        if not self._is_ours(_hostname(authority)):
            return "host"
        if asked.headers.get("Sec-Fetch-Site", "none") not in _OF_ITSELF:
            return "origin"
        own = f"{asked.scheme}://{authority}".lower()
        return "" if asked.headers.get("Origin", own).lower() == own else "origin"

    def refusal(self, asked: Asked, now_s: float) -> Refusal:
        """Return why the owner's pages are refused, "" = they are not; `now_s` is monotonic."""
        if asked.token:
            if len(self._wrong) == _WRONG_MAX and now_s - self._wrong[0] < _WRONG_S:
                return "too many"
            if _same(asked.token, self._token.decode()):
                return ""
            self._wrong.append(now_s)
            return "token"
        if not _same(asked.cookie, self.cookie):
            return "token"
        proven = not asked.changes or _same(asked.headers.get(PAGE_HEADER, ""), self.page)
        return "" if proven else "page"

    def _is_ours(self, name: str) -> bool:
        if name in LOOPBACK or name == self._host.lower():
            return True
        return self._host in ("0.0.0.0", "::") and _is_address(name)  # no name can be rebound then


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())


def _hostname(authority: str) -> str:
    try:
        return (urlsplit(f"//{authority}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
