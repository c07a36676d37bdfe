"""Decides who may see the page, what it shows of, and whose data something is."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import date, tzinfo
from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal, TypeAlias

from aouo.config.settings import Settings
from aouo.dashboard.endpoints import NotFound
from aouo.facts.errors import Refused
from aouo.facts.people import AT_HOME, Owner, data_name, data_of
from aouo.facts.ports import Clock
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.plumbing.control import Facts
from aouo.plumbing.home import Home
from aouo.plumbing.redact import Redactor
from aouo.store.chats import NAMES, TOPICS, is_tenant
from aouo.store.snapshots import Snapshot

if TYPE_CHECKING:
    from aouo.app.lifecycle import Runtime

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_AUTHORITY = re.compile(r"(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9.-]{1,253}))(?::[0-9]{1,5})?", re.ASCII)
_WRONG_MAX, _WRONG_S = 20, 60.0
_OF_ITSELF = frozenset({"same-origin", "none"})
"""Asked by the page itself, or typed into the browser; another port of this machine is neither."""
COOKIE_S = 30 * 86_400
"""So long a browser stays signed in."""
_HEX = re.compile(r"[0-9a-f]{1,12}")
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

    def __init__(
        self, token: str, host: str, key: bytes = b"", wall_s: Callable[[], float] = time.time
    ) -> None:
        self._wall_s = wall_s
        self._token = token
        self._host = host
        self._wrong = deque[float](maxlen=_WRONG_MAX)
        self._secret = key + hashlib.sha256(token.encode()).digest()
        self.page = self._mac(b"page")
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
            if _same(asked.token, self._token):
                return ""
            if len(self._wrong) == _WRONG_MAX and now_s - self._wrong[0] < _WRONG_S:
                return "too many"
            self._wrong.append(now_s)
            return "token"
        if not self._is_of_late(asked.cookie):
            return "token"
        proven = not asked.changes or _same(asked.headers.get(PAGE_HEADER, ""), self.page)
        return "" if proven else "page"

    def cookie(self, at_s: float) -> str:
        """What a browser keeps in the place of the token, made at a Unix time."""
        made = f"{int(at_s):x}"
        return f"{made}.{self._mac(b'cookie' + made.encode())}"

    def _is_of_late(self, cookie: str) -> bool:
        """Whether we made the cookie, and not too long ago."""
        made = cookie.partition(".")[0]
        if not _HEX.fullmatch(made) or not _same(cookie, self.cookie(int(made, 16))):
            return False
        return self._wall_s() - int(made, 16) < COOKIE_S

    def _mac(self, use: bytes) -> str:
        return hmac.new(self._secret, use, hashlib.sha256).hexdigest()

    def _is_ours(self, name: str) -> bool:
        if name in _LOOPBACK or name == self._host.lower():
            return True
        return self._host in ("0.0.0.0", "::") and _is_address(name)  # no name can be rebound then


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())


def _hostname(authority: str) -> str:
    found = _AUTHORITY.fullmatch(authority)
    return (found[1] or found[2]) if found else ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the rooms of the page stand on. `snapshot` opens one state of the database, read beside
    the event loop; `environ` is what the configuration is read with; `trusted_keys` are signers by
    name; `runtime` is None while no bot runs, and all is read only then."""

    home: Home
    environ: Mapping[str, str]
    clock: Clock
    snapshot: Callable[[], AbstractAsyncContextManager[Snapshot]]
    zone: Callable[[], tzinfo]
    library: Callable[[], Library]
    settings: Callable[[], Settings]
    redactor: Callable[[], Redactor]
    owner: Callable[[], Owner]
    trusted_keys: Callable[[], Mapping[str, str]]
    health: Callable[[], Awaitable[Facts]]
    status: Callable[[], Awaitable[Facts]]
    runtime: Runtime | None = None

    @property
    def today(self) -> date:
        """The local day."""
        return self.clock.now().astimezone(self.zone()).date()

    @property
    def bot(self) -> Runtime:
        """The bot that runs. Raises: Refused."""
        if self.runtime is None:
            raise Refused("No bot runs; this is what is stored, to be read only.")
        return self.runtime

    def pack(self, name: str) -> Pack:
        """Return an installed pack that loads. Raises: NotFound, Refused."""
        library = self.library()
        if pack := library.get(name):
            return pack
        if name in library.broken:
            raise Refused(f"The pack {name} does not load; About says why.")
        raise NotFound(f"There is no pack {name!r}.")


_TENANTS_MAX = 1_000
_PERSON = re.compile(r"tg_([0-9]+)")
_CHAT = re.compile(r"tg_(-[0-9]+)")


async def described(shown: Shown, tenants: Iterable[str]) -> list[Facts]:
    """Say of each tenant whether it is a person, a group or a terminal, and its name; "" = all
    of them together. The owner comes first."""
    async with shown.snapshot() as snapshot:
        names = await snapshot.ask(NAMES)
        topics = await snapshot.ask(TOPICS)
    titles = {
        data_name("tg", f"{chat}:{thread}"): title for (chat, thread), title in topics.items()
    }
    owner = shown.owner().data_name

    def facts(tenant: str) -> Facts:
        kind, label = _kind(tenant, names, titles)
        return {"tenant": tenant, "kind": kind, "label": label, "is_owner": tenant == owner}

    known = [facts(tenant) for tenant in list(dict.fromkeys(tenants))[:_TENANTS_MAX]]
    return sorted(known, key=lambda one: (not one["is_owner"], one["kind"] != "person"))


def called(person: str, name: str) -> str:
    """Return how the page names a person, by whose id others of the same name differ."""
    return f"{name} ({person})"


def checked(tenant: str) -> str:
    """Return what can be a tenant's name, and so is no path. Raises: NotFound."""
    if is_tenant(tenant):
        return tenant
    raise NotFound(f"There is nobody of the name {tenant[:80]!r}.")


def _kind(tenant: str, names: dict[str, str], titles: dict[str, str]) -> tuple[str, str]:
    if not tenant:
        return "all", "everybody together"
    if person := _PERSON.fullmatch(tenant):
        name = names.get(person[1])
        return "person", called(person[1], name) if name else f"person {person[1]}"
    if tenant == data_of("web", AT_HOME):
        return "person", "person at this machine"
    if tenant.startswith("cli_"):
        return "terminal", f"terminal {tenant.removeprefix('cli_')}"
    chat = _CHAT.match(tenant)
    group = f"group {chat[1]}" if chat else tenant
    return "group", f"{group}, topic {titles[tenant]}" if tenant in titles else group
