"""Finds the login in an address, so that it can be hidden."""

from __future__ import annotations

import re
from urllib.parse import unquote

_LOGIN = re.compile(r"[a-z][a-z0-9+.-]*://([^/\s:]*:([^/\s]+)@)", re.IGNORECASE)
SHORTEST_SECRET = 6
"""Redacting a shorter secret everywhere would also redact ordinary words."""


def secrets_in(address: str) -> tuple[str, ...]:
    """Return the secrets of an address: its password, percent-encoded and decoded.

    With a password shorter than `SHORTEST_SECRET` also `user:password@` as a whole.
    """
    found = _LOGIN.match(address)
    if not found:
        return ()
    login, password = found[1], found[2]
    whole = (login,) if len(unquote(password)) < SHORTEST_SECRET else ()
    return password, unquote(password), *whole
