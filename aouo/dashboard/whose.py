"""Says whose data something is, so that the owner finds each person's apart."""

from __future__ import annotations

import re
from collections.abc import Iterable

from aouo.dashboard.endpoints import NotFound
from aouo.dashboard.shown import Shown
from aouo.facts.people import AT_HOME, data_name, data_of
from aouo.plumbing.verbs import Facts
from aouo.store.people import NAMES, TOPICS
from aouo.store.tenants import is_tenant

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
