"""Holds what the owner's settings and the packs on disk make of the bot, as one value.

New work begins with the generation of now, and a turn keeps the one it began with.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from aouo.config.sections import (
    Advanced,
    Approvals,
    Cron,
    Heartbeat,
    Memory,
    Retention,
    Telegram,
    Ui,
)
from aouo.facts.attachments import Lack
from aouo.facts.people import Admission, Owner
from aouo.facts.ports import ChatModel
from aouo.facts.quiet_hours import AttentionRules
from aouo.guard.chain import Guard
from aouo.packs.format.names import DEFAULT_TOOLS
from aouo.packs.library import Library
from aouo.plumbing.logs import Level
from aouo.plumbing.redact import Redactor
from aouo.plumbing.resources import Holder
from aouo.sandbox.run import Sandbox
from aouo.speech.services import Ears
from aouo.spending.paid import Paid
from aouo.spending.quota import Quota
from aouo.tools.mcp_servers import Server
from aouo.tools.registry import Registry
from aouo.triggers.looking import Looking
from aouo.turn.compaction import Compactor
from aouo.turn.execute import Executor
from aouo.turn.pipelines import Pipelines
from aouo.turn.sight import Describe


@dataclass(frozen=True, slots=True)
class Generation:
    """Never changes; other settings and other packs make a new one. What it `held` open is closed
    when its last turn has ended, but for what a newer one holds, too."""

    held: Holder
    log_level: Level
    owner: Owner
    admission: Admission
    redactor: Redactor
    cron: Cron
    heartbeat: Heartbeat
    attention: AttentionRules
    looking: Looking
    memory: Memory
    library: Library
    scanned: Callable[[], Awaitable[Library]]
    """Reads packs from the disk as they lie there."""
    as_if: Callable[[Mapping[str, str]], Awaitable[Library]]
    """Reads them as if some were installed with these content hashes."""
    registry_of: Callable[[Library], Registry]
    """Makes the tools that there are with them."""
    trusted_keys: Mapping[str, str]
    """The signers of packs."""
    registry: Registry
    enabled: tuple[str, ...]
    """The tools that the owner has enabled besides the core's."""
    servers: Sequence[Server]
    sandbox: Sandbox
    guard: Guard
    approvals: Approvals
    model: ChatModel
    other_model: Callable[[str, str], Awaitable[ChatModel]]
    """Makes the model of a (provider, name) that shall answer in place of the usual one."""
    pipelines: Pipelines
    compactor: Compactor
    quota: Quota
    advanced: Advanced
    executor: Executor
    telegram: Telegram
    ui: Ui
    ears: Ears | Lack
    eyes: Describe | None
    """Understand files; None, or a lack, = it is not set up."""
    retention: Retention
    paid: tuple[Paid, ...]
    """What may cost money."""

    def permitted(self, pack: str) -> Sequence[str]:
        """The tools and groups that a turn of this pack, "" = of none, may call."""
        found = self.library.get(pack)
        return found.manifest.permissions.tools if found else DEFAULT_TOOLS

    def renewed(self, packs: Library) -> Generation:
        """The same with other packs."""
        registry = self.registry_of(packs)
        return replace(self, library=packs, registry=registry)
