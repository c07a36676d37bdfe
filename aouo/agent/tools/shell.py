"""`shell`: a command line in the sandbox, in the pack's own folder; off unless the owner names it.

It is judged by what it can reach, and nobody reads its text: without a network all that it changes
is in the folder, of which a copy is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from aouo.agent.tools.pack_tools import Workshop, egress, is_full, own_folder
from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.facts.errors import OutcomeUnknown, ToolFailed
from aouo.facts.records import Sink
from aouo.guard.sandbox import bubblewrap
from aouo.guard.sandbox.order import Command, Order, Ran, RunLimits
from aouo.guard.sandbox.run import NotConfined
from aouo.plumbing.web.envelope import said_by, untrusted

GROUP = "shell"
_LIMITS = RunLimits(time_s=60.0, output_bytes=200_000)
_SHELL = Path("/bin/sh").resolve()
_BOTH = 'exec /bin/sh -c "$0" 2>&1'


class Shell(Arguments):
    command: str
    """what sh runs, in this pack's own folder"""


def shell(shop: Workshop, hosts: Sequence[str], *, confined: Callable[[], bool]) -> Tool:
    """Make the tool; `hosts` are those that the policy opens to it, and `confined` tells whether
    there are walls around it at all."""

    async def _run(wish: Shell, context: ToolContext, call_id: str) -> str:
        if "\0" in wish.command or not wish.command.strip():
            raise ToolFailed("shell needs a command.")
        pack, tenant = context.facts.pack, context.facts.tenant
        own = await asyncio.to_thread(own_folder, shop.stores, pack, tenant)
        sources = context.sources()
        if sources:
            await shop.written.note(own, ", ".join(sources))
        order = Order(
            run=Command(_SHELL, ("sh", "-c", _BOTH, wish.command)),
            stdin=b"",
            folder=own,
            writable=(own,),
            programs=(*bubblewrap.system(), *bubblewrap.python_folders()),
            env=(("HOME", str(own)),),
            online=bool(hosts),
            limits=_LIMITS,
        )
        try:
            async with shop.files.watching(
                call_id, own, (), labelled=bool(sources) and own.name == tenant
            ):
                ran = await shop.sandbox.run(
                    order, egress(shop.proxy, GROUP, tuple(hosts)), lambda: is_full(own)
                )
        except NotConfined as error:
            raise ToolFailed(f"shell cannot run on this machine: {error}") from error
        text = _told(ran)
        return untrusted(text, GROUP) if hosts else said_by(await shop.written.source_of(own), text)

    def does(wish: Shell) -> Sink:
        return "run" if hosts or not confined() else "own"

    return tool(
        GROUP,
        "Run a command line in this pack's own folder, without a network.",
        Shell,
        _run,
        sink=does,
        group=GROUP,
        idempotent=False,
        mutates=True,
        timeout_s=_LIMITS.time_s + 30,
    )


def _told(ran: Ran) -> str:
    """Return what a command said, and how it ended.

    Raises:
        OutcomeUnknown: it was ended on the way.
    """
    said = ran.stdout.decode("utf-8", "replace").strip()
    if ran.end != "exit":
        raise OutcomeUnknown(f"The command was ended ({ran.end}). It said: {said[-1_000:]}")
    status = f"\n[status {ran.status}]" if ran.status else ""
    return f"{said or '(it said nothing)'}{status}"
