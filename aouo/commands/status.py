"""Handles /status: says what is at work, and to the owner how the bot is, without a model."""

from __future__ import annotations

from collections.abc import Callable

from aouo.commands.builtin import pack_here
from aouo.commands.registry import CommandCall, Handler, Result
from aouo.facts.events import Inbound
from aouo.facts.notices_commands import BotState, StatusShown
from aouo.packs.library import Library
from aouo.store import jobs, routes
from aouo.store.database import Tx


def status(is_owner: Callable[[Inbound], bool], bot: Callable[[Tx], BotState]) -> Handler:
    """Make the handler; only the owner is told of the `bot` and of other conversations, and not in
    front of others."""

    def show(tx: Tx, call: CommandCall, library: Library) -> Result:
        address, alone = call.inbound.address, call.inbound.chat_kind == "private"
        route = routes.find(tx, address)
        bound = route.active_pack if route else ""
        pack = pack_here(tx, call, library)
        if pack:
            answers = "here"
        elif pack is None:
            answers = "gone" if bound else "chosen"
        else:
            answers = "none"
        running, waiting = jobs.behind(tx, address.lane)
        return Result(
            StatusShown(
                pack or bound,
                answers,
                running is not None,
                len(waiting),
                route.off_record if route else False,
                bot(tx) if alone and is_owner(call.inbound) else None,
            )
        )

    return show
