"""What people do about a budget that is used up: the buttons of a refusal, and a cheaper model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from aouo import notices
from aouo.address import ConversationAddress
from aouo.errors import BudgetExceeded, SetupError
from aouo.events import Button, Inbound, Text
from aouo.notices import Notice
from aouo.outbound import wording
from aouo.outbound.outbox import Outbox
from aouo.ports import ChatModel, Clock, stamp
from aouo.store import budgets, deliveries, jobs, media, routes, turns
from aouo.store.budgets import Refusal
from aouo.store.database import Database, Tx
from aouo.store.deliveries import Delivery
from aouo.store.jobs import Job
from aouo.turn.quota import Quota

log = structlog.get_logger()


def refusal_by(error: Exception, turn_id: str) -> Refusal | None:
    """What is to be remembered of a turn that a budget stopped, None = it was something else."""
    if not isinstance(error, BudgetExceeded):
        return None
    provider, model = error.cheaper
    return Refusal(turn_id, error.day, error.kind, error.name, error.raise_usd, provider, model)


class Affording:
    """Decides refusals as their buttons are tapped, each once, and runs the refused words again.

    `model_of` makes the model of a (provider, name); `owner` is the id of the one person who may
    raise a budget, besides whoever sits at the terminal.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        outbox: Outbox,
        quota: Quota,
        owner: str,
        model_of: Callable[[str, str], Awaitable[ChatModel]],
        wake: Callable[[str], None],
    ) -> None:
        self._database = database
        self._clock = clock
        self._outbox = outbox
        self._quota = quota
        self._owner = owner
        self._model_of = model_of
        self._wake = wake
        self._models: dict[tuple[str, str], ChatModel] = {}

    def is_owner(self, inbound: Inbound) -> bool:
        return inbound.origin == "cli" or inbound.person.id == self._owner

    async def model_for(self, address: ConversationAddress, usual: ChatModel) -> ChatModel:
        """The model that was chosen here for today, or the usual one."""
        if not self._quota.budgeted:
            return usual
        day = self._quota.day()

        def chosen(tx: Tx) -> tuple[str, str] | None:
            route = routes.find(tx, address)
            return budgets.chosen_model(tx, route.id, day) if route else None

        choice = await self._database.read(chosen)
        if choice is None or choice == (usual.provider, usual.model):
            return usual
        try:
            if choice not in self._models:
                self._models[choice] = await self._model_of(*choice)
        except SetupError as error:
            log.warning("chosen_model_unusable", model=choice[1], error=str(error))
            return usual
        return self._models[choice]

    async def tap(self, job: Job, key: str) -> None:
        """Carry out `budget_<what>_<turn>`, or explain why not."""
        inbound = job.inbound
        now, day = stamp(self._clock), self._quota.day()
        what, _, turn_id = key.removeprefix("budget_").partition("_")

        def write(tx: Tx) -> str | Delivery:
            jobs.hold(tx, job)
            refusal = budgets.refusal_of(tx, turn_id)
            asked = jobs.of_turn(tx, turn_id)
            if refusal is None or asked is None or asked.address != inbound.address:
                said: str | Notice = wording.TAP_UNKNOWN
            else:
                said = self._objection(what, refusal, asked, inbound)
                said = said or self._decide(tx, what, refusal, asked, day, now)
            jobs.settle(tx, job, "done", "a budget's button", now)
            if isinstance(said, str):
                return said
            shown = wording.word(said)
            return deliveries.add(
                tx, inbound.address, "notice", shown, now, edits=inbound.message_id
            )

        said = await self._database.transact(write, durable=True)
        if isinstance(said, Delivery):
            self._outbox.put(said)
            self._wake(inbound.address.lane)
        if isinstance(inbound.content, Button):
            text = said if isinstance(said, str) else ""
            await self._outbox.answer_tap(
                inbound.address, inbound.content.answer_id, text, alert=bool(text)
            )

    def _objection(self, what: str, refusal: Refusal, asked: Inbound, tapped: Inbound) -> str:
        """Why this tap does nothing, "" = it does."""
        if refusal.state != "open":
            return wording.TAP_EXPIRED
        if what == "raise":
            return "" if self.is_owner(tapped) else wording.TAP_FOR_THE_OWNER
        if what not in ("cheaper", "stop") or (what == "cheaper" and not refusal.model):
            return wording.TAP_UNKNOWN
        mine = asked.person.id == tapped.person.id or self.is_owner(tapped)
        return "" if mine else wording.TAP_NOT_YOURS

    def _decide(
        self, tx: Tx, what: str, refusal: Refusal, asked: Inbound, day: str, now: str
    ) -> Notice:
        if what == "stop":
            budgets.decide(tx, refusal, "stopped")
            return notices.BudgetStopped()
        again = _ask_again(tx, refusal.turn_id, asked, now)
        if what == "raise":
            budgets.decide(tx, refusal, "raised")
            budgets.allow(tx, refusal, day, now)
            log.info("budget_raised", scope=refusal.kind, name=refusal.name, usd=refusal.raise_usd)
            return notices.BudgetRaised(refusal.raise_usd, again)
        budgets.decide(tx, refusal, "cheaper")
        route = routes.get_or_create(tx, asked.address, asked.chat_kind, now)
        budgets.choose_model(tx, route.id, refusal, day)
        log.info("cheaper_model_chosen", model=refusal.model)
        return notices.CheaperModel(refusal.model, again)


def _ask_again(tx: Tx, turn_id: str, asked: Inbound, now: str) -> bool:
    """Put the refused words into their lane once more; False when they were not kept.

    History forgets the refused turn, unless calls of it had taken effect.
    """
    if asked.content == Text(""):
        return False
    if not turns.effects(tx, turn_id):
        turns.hide(tx, turn_id)
    media.lend(tx, turn_id, jobs.add(tx, asked.address.lane, asked, now))
    return True
