"""Handles /status: says what is at work, and to the owner how the bot is, without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aouo.commands.builtin import pack_here
from aouo.commands.registry import CommandCall, Handler, Result
from aouo.facts.events import Inbound
from aouo.packs.library import Library
from aouo.store import jobs, routes
from aouo.store.database import Tx
from aouo.words.catalogue import message, text
from aouo.words.commands import at_work


def status(is_owner: Callable[[Inbound], bool], bot: Callable[[Tx], Sequence[str]]) -> Handler:
    """Make the handler; only the owner is told of the `bot` and of other conversations, and not in
    front of others."""

    def show(tx: Tx, call: CommandCall, library: Library) -> Result:
        address, alone = call.inbound.address, call.inbound.chat_kind == "private"
        route = routes.find(tx, address)
        bound = route.active_pack if route else ""
        pack = pack_here(tx, call, library)
        if pack:
            lines = [text("status.answers", pack=pack)]
        elif pack is None:
            which = "gone" if bound else "chosen"
            lines = [text(f"status.answers-{which}", pack=bound)]
        else:
            lines = [text("status.answers-none")]
        if route and route.off_record:
            lines.append(text("status.off-record"))
        running, waiting = jobs.behind(tx, address.lane)
        lines.append(at_work("here", int(running is not None), len(waiting)))
        if alone and is_owner(call.inbound):
            lines += ["", *bot(tx)]
        return Result(message("\n".join(lines)))

    return show
