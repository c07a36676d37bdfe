"""Settles questions by what is tapped or written, and obeys what a budget's refusal offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

from aouo.facts.address import ConversationAddress
from aouo.facts.commands import RETRY, Carried, TurnHints
from aouo.facts.errors import BudgetExceeded, SetupError
from aouo.facts.events import Album, Attached, Command, Inbound, Text
from aouo.facts.letters import folded
from aouo.facts.ports import ChatModel, iso
from aouo.facts.records import Refusal
from aouo.facts.taps import Tap
from aouo.facts.work import Delivery, Gate, Job
from aouo.flow import waiting
from aouo.flow.approving import KIND as APPROVAL
from aouo.flow.generations import Generation, Generations
from aouo.flow.replies import Replies
from aouo.flow.waiting import show_settled
from aouo.plumbing.logs import log
from aouo.queue.decide import AnswerGate
from aouo.queue.running import Waiting
from aouo.store import contents, deliveries, gates, gone, jobs, routes, turns, usage
from aouo.store.database import Tx
from aouo.words import money, sentences
from aouo.words.catalogue import message, text

Answer: TypeAlias = AnswerGate | Tap
"""Words, or a `choice` or `approval`."""
_MOST_DIGITS = 18
ANSWERED = "answered a question"
"""The outcome of a job that settled one."""


class _NotAsked(Exception):
    """No question is open to these words any more."""


async def answer_gate(replies: Replies, waiting: Waiting, job: Job, given: Answer) -> None:
    """Settle a question, wake its turn, and show the outcome where it was asked."""
    inbound = job.inbound
    settled: list[Gate] = []

    def work(tx: Tx, now: str) -> str | list[Delivery]:
        gate = _gate_of(tx, given, inbound)
        if gate is None and isinstance(given, AnswerGate) and not given.gate_id:
            raise _NotAsked
        problem, answer = _judge(gate, given, inbound, now)
        if problem or gate is None:
            return problem
        gates.settle(tx, gate.id, "answered", answer, now)
        if not isinstance(given, AnswerGate):
            deliveries.seen(tx, gate.delivery_id, inbound.address, inbound.message_id)
        gates.answered_by(tx, gate.id, inbound.origin)
        settled[:] = filter(None, (gates.get(tx, gate.id),))
        return [row for gate in settled for row in show_settled(tx, gate, now)]

    def tell() -> None:
        for gate in settled:
            waiting.tell(gate)

    try:
        await replies.answer_tap(job, work, ANSWERED, then=tell)
    except _NotAsked:  # closed a moment ago: these words are no answer
        await replies.defer(job)


def _gate_of(tx: Tx, given: Answer, inbound: Inbound) -> Gate | None:
    """A tap names its question; words may, or answer the one that is open for this person here."""
    gate_id = given.gate_id if isinstance(given, AnswerGate) else given.values[0]
    if not gate_id:
        return gates.open_for(tx, inbound.address, inbound.person.id)
    return gates.get(tx, gate_id)


def _judge(gate: Gate | None, given: Answer, inbound: Inbound, now: str) -> tuple[str, str]:
    """(why not, the answer): a text is a label, a number or free words."""
    if gate is None:
        return text("taps.unknown"), ""
    if gate.kind == APPROVAL:
        return _judge_approval(gate, given, inbound, now)
    if gate.person != inbound.person.id:
        return text("taps.not-yours"), ""
    if gate.state == "closed":
        return text("taps.stopped"), ""
    if gate.state != "open":
        return text("taps.expired"), ""
    match given:
        case AnswerGate(said):
            return "", _meant(said.strip(), gate.options)
        case Tap("choice", (_, option)) if int(option) < len(gate.options):
            return "", gate.options[int(option)]
        case _:
            return text("taps.unknown"), ""


def _meant(text: str, options: tuple[str, ...]) -> str:
    """Return the option of this label, else of this number, else the words as they are."""
    wanted = folded(text)
    if label := next((option for option in options if folded(option) == wanted), ""):
        return label
    if _is_number(text) and 1 <= int(text) <= len(options):
        return options[int(text) - 1]
    return text


def _judge_approval(gate: Gate, given: Answer, inbound: Inbound, now: str) -> tuple[str, str]:
    """(why not, the answer): only a tap of the owner's counts, and only in time."""
    if gate.person != inbound.person.id:
        return text("taps.for-the-owner"), ""
    if gate.state == "closed":
        return text("taps.stopped"), ""
    if gate.state != "open" or gate.expires_at <= now:
        return text("taps.expired"), ""
    match given:
        case Tap("approval", (_, answer)) if answer in gate.options:
            return "", answer
        case _:
            return text("taps.unknown"), ""


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


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
        hour_ago = iso(self.replies.clock.now() - _HOUR)

        def may(tx: Tx) -> bool:
            asked = deliveries.raises_asked_since(tx, hour_ago)
            return asked < generation.approvals.per_hour and not gone.is_closed(tx, chat)

        card = sentences.raising(error, turn_id, inbound)
        key = deliveries.raise_key(turn_id)

        def ask(tx: Tx, now: str) -> Delivery:
            return deliveries.add(tx, chat, "notice", card, now, key=key)

        return ask if await self.replies.database.read(may) else None

    async def model_for(
        self, address: ConversationAddress, generation: Generation, pack: str, origin: str
    ) -> tuple[ChatModel, Generation]:
        """Return the model that was chosen here, for today or until changed, or that of the pack,
        of what began the turn, or the usual one, and the generation as it is with that."""
        usual, day = generation.model, generation.quota.day()
        chosen = await self.replies.database.read(lambda tx: usage.chosen_model(tx, address, day))
        choice = chosen or generation.named_model(pack, origin)
        if choice is None:
            return usual, generation
        if choice.effort:
            executor = replace(generation.executor, effort=choice.effort)
            generation = replace(generation, executor=executor)
        if choice[:2] == (usual.provider, usual.model):
            return usual, generation
        try:
            return await generation.other_model(*choice[:2]), generation
        except SetupError as error:
            log.warning("chosen_model_unusable", model=choice.model, error=str(error))
            return usual, generation

    async def tap(self, job: Job, tap: Tap) -> None:
        """Decide a refusal, or explain why not."""
        inbound, turn_id = job.inbound, tap.values[0]
        day = self.generations.now.quota.day()

        def work(tx: Tx, now: str) -> str | list[Delivery]:
            refusal = usage.refusal_of(tx, turn_id)
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
            usage.decide_refusal(tx, refusal, "stopped")
            return text("budgets.stopped"), text("budgets.card-stopped")
        again = _ask_again(tx, refusal.turn_id, asked, now)
        then = text(f"budgets.then-{'answered' if again else 'lost'}")
        if tap == "budget_raise":
            usage.decide_refusal(tx, refusal, "raised")
            usage.allow(tx, refusal, day, now)
            log.info("budget_raised", scope=refusal.kind, name=refusal.name, usd=refusal.raise_usd)
            usd = money.usd(refusal.raise_usd)
            return text("budgets.raised", usd=usd, then=then), text("budgets.card-raised", usd=usd)
        usage.decide_refusal(tx, refusal, "cheaper")
        route = routes.get_or_create(tx, asked.address, asked.chat_kind, now)
        usage.choose_model(tx, route.id, usage.Chosen(refusal.provider, refusal.model), day)
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
        rows += waiting.become_settled(tx, card, on_card, now)
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
    contents.lend_files(tx, turn_id, jobs.add(tx, asked.address.lane, asked, now, carried=carried))
    return True


def _tries_again(asked: Inbound, carried: Carried | None) -> bool:
    """Whether a refused turn was to answer the words of the one before it again."""
    content = asked.content
    command = content.command if isinstance(content, Attached | Album) else content
    if carried:
        return carried.hints.again
    return isinstance(command, Command) and command.name == RETRY.name
