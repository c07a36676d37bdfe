"""Obeys `/model [NAME [EFFORT]]`: which model answers in a conversation, until it is changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aouo.agent.spending.money import Offer, Price
from aouo.facts.events import Inbound
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.facts.work import Job
from aouo.flow.commands.registry import CommandCall, Result
from aouo.flow.generations import Generation, Generations
from aouo.flow.replies import Replies
from aouo.queue.decide import ObeyCommand
from aouo.store import routes, usage
from aouo.store.database import Tx
from aouo.words import models
from aouo.words.catalogue import message, say, text

_USUAL = "usual"


@dataclass(frozen=True, slots=True)
class ChoosingModel:
    """Shows what may be chosen, and keeps a choice; the turn at work goes on with its model."""

    generations: Generations
    replies: Replies
    is_owner: Callable[[Inbound], bool]
    page: Callable[[], str]
    """Where the page is, "" = nowhere."""

    async def run(self, job: Job, said: ObeyCommand) -> None:
        """Answer `/model`, and settle its job."""
        now = self.generations.now
        prices = await asyncio.to_thread(lambda: {one.name: one.price() for one in now.offers})
        await self.replies.command(job, lambda tx, call: self._obey(tx, call, now, prices), said)

    def _obey(
        self, tx: Tx, call: CommandCall, now: Generation, prices: Mapping[str, Price | None]
    ) -> Result:
        inbound = call.inbound
        if not now.offers:
            return Result(self._connecting(inbound))
        route = routes.get_or_create(tx, inbound.address, inbound.chat_kind, call.now)
        wanted, effort = (*call.words.args, "", "")[:2]
        may = now.anybody_chooses or self.is_owner(inbound)
        if wanted and not may:
            return Result(say("models.choose-owners"))
        if wanted == _USUAL:
            usage.unchoose_model(tx, route.id)
        elif wanted:
            found = _named(now.offers, wanted)
            if len(found) != 1:
                known = ", ".join(one.name for one in found or now.offers)
                return Result(say("models.choose-unknown", name=wanted[:60], known=known))
            usage.unchoose_model(tx, route.id)
            usage.choose_model(
                tx, route.id, usage.Chosen(found[0].provider, found[0].model, effort)
            )
        chosen = usage.chosen_model(tx, inbound.address, now.quota.day())
        here = chosen or usage.Chosen(now.model.provider, now.model.model)
        others = [one for one in now.offers if one.name != ":".join(here[:2])]
        rows = [[_button(one)] for one in others] if may else []
        if may and chosen:
            usual = encode("command", f"model {_USUAL}")
            rows.append([ButtonSpec(text("models.button-usual"), usual)])
        effort = f" ({here.effort})" if here.effort else ""
        said = text("models.chosen" if wanted else "models.choose", model=here.model, effort=effort)
        lines = [_line(one, prices[one.name]) for one in now.offers]
        return Result(message("\n".join((said, "", *lines)), *rows))

    def _connecting(self, inbound: Inbound) -> Rendered:
        """Say that there is no model, to the owner also how one is connected."""
        lines = [text("models.choose-none")]
        if self.is_owner(inbound):
            lines = [text("models.choose-connect")]
            if page := self.page():
                lines.append(text("models.choose-page", page=page))
        return message("\n".join(lines))


def _named(offers: tuple[Offer, ...], wanted: str) -> list[Offer]:
    """Return the offers that a name means: wholly, else in part."""
    said = wanted.casefold()
    whole = [one for one in offers if said in (one.name.casefold(), one.model.casefold())]
    return whole or [one for one in offers if said in one.name.casefold()]


def _button(offer: Offer) -> ButtonSpec:
    return ButtonSpec(offer.model, encode("command", f"model {offer.name}"))


def _line(offer: Offer, price: Price | None) -> str:
    cost = (price.input, price.output) if price else None
    return models.offered(offer.name, offer.window_tokens, sees=offer.sees, cost=cost)
