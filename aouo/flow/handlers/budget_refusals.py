"""Handles the buttons of a budget's refusal: raise it, use a cheaper model, or stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

import structlog

from aouo.facts.accounts import Refusal
from aouo.facts.address import ConversationAddress
from aouo.facts.commands import RETRY, Carried, TurnHints
from aouo.facts.errors import BudgetExceeded, SetupError
from aouo.facts.events import Album, Attached, Command, Inbound, Text
from aouo.facts.ports import ChatModel, Clock, iso
from aouo.facts.taps import Tap
from aouo.facts.work import Delivery, Job
from aouo.flow.generation import Generation
from aouo.flow.generations import Generations
from aouo.flow.questions import settled_cards
from aouo.flow.replies import Replies
from aouo.store import budgets, deliveries, gone, jobs, media, routes, turns
from aouo.store.database import Database, Tx
from aouo.words import money, questions
from aouo.words.catalogue import message, text

log = structlog.get_logger()
_HOUR = timedelta(hours=1)


def refusal_by(error: Exception, turn_id: str) -> Refusal | None:
    """What is to be remembered of a turn that a budget stopped, None = it was something else."""
    if not isinstance(error, BudgetExceeded):
        return None
    provider, model = error.cheaper
    return Refusal(turn_id, error.day, error.kind, error.name, error.raise_usd, provider, model)


Ask: TypeAlias = Callable[[Tx, str], Delivery]
"""Queues the card that asks the owner about the budget that stopped a turn. It is of no turn: it
keeps no word of one that is off the record."""


@dataclass(slots=True, eq=False, kw_only=True)
class BudgetRefusals:
    """Decides refusals as their buttons are tapped, each once, and runs the refused words again.

    Only the owner may raise a budget: they are asked in their private chat.
    """

    database: Database
    clock: Clock
    generations: Generations
    replies: Replies

    async def asking(
        self, job: Job, error: Exception, turn_id: str, generation: Generation
    ) -> Ask | None:
        """The card with which the owner is asked to raise the budget that stopped a turn, None =
        it was something else, or they read it in this very chat, or they are not asked."""
        inbound = job.inbound
        chat = generation.owner.chat_apart(inbound.address)
        if not isinstance(error, BudgetExceeded) or chat is None:
            return None
        hour_ago = iso(self.clock.now() - _HOUR)

        def may(tx: Tx) -> bool:
            asked = deliveries.raises_asked_since(tx, hour_ago)
            return asked < generation.approvals.per_hour and not gone.is_closed(tx, chat)

        card = questions.raising(error, turn_id, inbound)
        key = deliveries.raise_key(turn_id)

        def ask(tx: Tx, now: str) -> Delivery:
            return deliveries.add(tx, chat, "notice", card, now, key=key)

        return ask if await self.database.read(may) else None

    async def model_for(self, address: ConversationAddress, generation: Generation) -> ChatModel:
        """The model that was chosen here for today, or the usual one."""
        usual, quota = generation.model, generation.quota
        if not quota.budgeted:
            return usual
        day = quota.day()

        def chosen(tx: Tx) -> tuple[str, str] | None:
            route = routes.find(tx, address)
            return budgets.chosen_model(tx, route.id, day) if route else None

        choice = await self.database.read(chosen)
        if choice is None or choice == (usual.provider, usual.model):
            return usual
        try:
            return await generation.other_model(*choice)
        except SetupError as error:
            log.warning("chosen_model_unusable", model=choice[1], error=str(error))
            return usual

    async def tap(self, job: Job, tap: Tap) -> None:
        """Decide a refusal, or explain why not."""
        inbound, turn_id = job.inbound, tap.values[0]
        day = self.generations.now.quota.day()

        def work(tx: Tx, now: str) -> str | list[Delivery]:
            refusal = budgets.refusal_of(tx, turn_id)
            asked = jobs.of_turn(tx, turn_id)
            if refusal is None or asked is None or not self._belongs(inbound, asked.address):
                return text("taps.unknown")
            if objection := self._objection(tap.name, refusal, asked, inbound):
                return objection
            decided = self._decide(tx, tap.name, refusal, asked, day, now)
            return _shown(tx, turn_id, *decided, inbound, asked.address, now)

        await self.replies.answer_tap(job, work, "a budget's button", wakes=True)

    def _belongs(self, tapped: Inbound, asked_at: ConversationAddress) -> bool:
        """Whether the button can have been in this chat."""
        if tapped.address == asked_at:
            return True
        owner = self.generations.now.owner
        return owner.is_owner(tapped) and tapped.address == owner.chat_apart(asked_at)

    def _objection(self, tap: str, refusal: Refusal, asked: Inbound, tapped: Inbound) -> str:
        """Why this tap does nothing, "" = it does."""
        if refusal.state != "open":
            return text("taps.expired")
        is_owner = self.generations.now.owner.is_owner(tapped)
        if tap == "budget_raise":
            return "" if is_owner else text("taps.for-the-owner")
        if tap == "budget_cheaper" and not refusal.model:
            return text("taps.unknown")
        mine = asked.person.id == tapped.person.id or is_owner
        return "" if mine else text("taps.not-yours")

    def _decide(
        self, tx: Tx, tap: str, refusal: Refusal, asked: Inbound, day: str, now: str
    ) -> tuple[str, str]:
        """Do what was tapped; returns what the refusal and what the owner's card say then."""
        if tap == "budget_stop":
            budgets.decide(tx, refusal, "stopped")
            return text("budgets.stopped"), text("budgets.card-stopped")
        again = _ask_again(tx, refusal.turn_id, asked, now)
        then = text(f"budgets.then-{'answered' if again else 'lost'}")
        if tap == "budget_raise":
            budgets.decide(tx, refusal, "raised")
            budgets.allow(tx, refusal, day, now)
            log.info("budget_raised", scope=refusal.kind, name=refusal.name, usd=refusal.raise_usd)
            usd = money.usd(refusal.raise_usd)
            return text("budgets.raised", usd=usd, then=then), text("budgets.card-raised", usd=usd)
        budgets.decide(tx, refusal, "cheaper")
        route = routes.get_or_create(tx, asked.address, asked.chat_kind, now)
        budgets.choose_model(tx, route.id, refusal, day)
        log.info("cheaper_model_chosen", model=refusal.model)
        shown = text("budgets.cheaper", model=refusal.model, then=then)
        return shown, text("budgets.card-cheaper", model=refusal.model)


def _shown(
    tx: Tx,
    turn_id: str,
    said: str,
    on_card: str,
    tapped: Inbound,
    asked_at: ConversationAddress,
    now: str,
) -> list[Delivery]:
    """The refusal becomes what was decided, and so does the card that asked the owner."""
    reply = deliveries.last_reply(tx, turn_id)
    card = deliveries.keyed(tx, deliveries.raise_key(turn_id))
    edits = reply.message_id if reply else 0
    if tapped.address == asked_at:
        edits = tapped.message_id
    rows = [deliveries.add(tx, asked_at, "notice", message(said), now, edits=edits)]
    if card:
        rows += settled_cards.become(tx, card, on_card, now)
    return rows


def _ask_again(tx: Tx, turn_id: str, asked: Inbound, now: str) -> bool:
    """Put the refused words into their lane once more; False when they were not kept.

    History forgets the refused turn, unless calls of it had taken effect.
    """
    carried = jobs.carried_by(tx, turn_id)
    if _tries_again(asked, carried):
        # Its own words: by now another turn may be the newest.
        words = turns.words(tx, turn_id)
        left = carried or Carried(TurnHints())
        carried = replace(left, hints=replace(left.hints, said=words, again=False))
        asked = replace(asked, content=Text(words))
    if asked.content == Text(""):
        return False
    if not turns.effects(tx, turn_id):
        turns.hide(tx, turn_id)
    media.lend(tx, turn_id, jobs.add(tx, asked.address.lane, asked, now, carried=carried))
    return True


def _tries_again(asked: Inbound, carried: Carried | None) -> bool:
    """Whether a refused turn was to answer the words of the one before it again."""
    content = asked.content
    command = content.command if isinstance(content, Attached | Album) else content
    if carried:
        return carried.hints.again
    return isinstance(command, Command) and command.name == RETRY.name
