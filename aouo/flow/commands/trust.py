"""`/grants`: what is allowed for good, whose words a conversation has read, whom to trust."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from aouo.facts.events import Inbound
from aouo.facts.ids import ulid
from aouo.facts.ports import Rendered
from aouo.facts.records import AuditEntry
from aouo.facts.work import Route
from aouo.flow.commands.registry import CommandCall, Result
from aouo.guard.prepared import FOR_GOOD
from aouo.packs.library import Library
from aouo.plumbing.logs import log
from aouo.store import audit, gates, routes, sessions
from aouo.store.database import Tx
from aouo.store.snapshots import Snapshot
from aouo.words import permissions
from aouo.words.catalogue import say

NAME = "grants"
_MOST = 50
_HAS_READ = "the owner has read what others wrote in this conversation"


@dataclass(frozen=True, slots=True)
class Trust:
    """`changed` gives the tool servers that say something else of their tools than what is trusted:
    server → those tools."""

    is_owner: Callable[[Inbound], bool]
    changed: Callable[[], Mapping[str, Collection[str]]]

    async def show(self, snapshot: Snapshot, call: CommandCall, route: Route | None) -> Result:
        """`/grants`: list all of it, each with a button that ends it."""
        if not self.is_owner(call.inbound):
            return Result(say("commands.owners", name=NAME))
        granted = await snapshot.ask(gates.every_grant(FOR_GOOD, _MOST))
        session = route.session_id if route else ""
        sources = await snapshot.ask(sessions.sources_of(session))
        return Result(permissions.granted(granted, sources, self.changed(), call.inbound.person.id))

    def obey(self, tx: Tx, call: CommandCall, library: Library) -> Result:
        """`/grants back NUMBER` (or an id), `/grants read` and `/grants trust SERVER`."""
        del library
        if not self.is_owner(call.inbound):
            return Result(say("commands.owners", name=NAME))
        match call.words.args:
            case ("back", grant_id):
                return Result(_taken_back(tx, grant_id, call.inbound.person.id))
            case ("read",):
                return Result(self._has_read(tx, call))
            case ("trust", server):
                gates.trust_tools(tx, server)
                log.info("mcp_tools_trusted", server=server)
                return Result(say("grants.trusted", server=server))
            case _:
                return Result(say("commands.usage", line=f"/{NAME}"))

    def _has_read(self, tx: Tx, call: CommandCall) -> Rendered:
        """End the mistrust of a conversation; the audit says who did."""
        route = routes.find(tx, call.inbound.address)
        if route is None or not sessions.named(tx, route.session_id).sources:
            return say("grants.nothing-read")
        sessions.label(tx, route.session_id, ())
        number = ulid()
        about = number, number, NAME, route.active_pack, call.inbound.origin, "", _HAS_READ, "owner"
        audit.append(tx, AuditEntry("EXECUTED", "", *about), call.now)
        return say("grants.read")


def _taken_back(tx: Tx, grant_id: str, mine: str) -> Rendered:
    found = gates.revoke_grant(tx, grant_id)
    if found is None:
        return say("grants.gone")
    log.info("grant_revoked", pack=found.pack, tool=found.tool, origin="chat")
    return say("grants.taken-back", line=permissions.grant_line(found, mine))
