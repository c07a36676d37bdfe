"""Checks whether a URL may be fetched: its form, its port, and the pack's permitted hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yarl import URL

from aouo.facts.errors import ToolFailed
from aouo.web.addresses import literal

MAX_URL_CHARS = 4000
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
    if len(text) > MAX_URL_CHARS or any(c.isspace() or c < " " or c in "\\\x7f" for c in text):
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
