"""Answers jobs without a model: one transaction settles the job and queues the reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from aouo.agent.calls import record_all
from aouo.facts.address import Lane
from aouo.facts.errors import LostClaim, RouteRequiredError
from aouo.facts.events import Button, Text
from aouo.facts.people import Owner
from aouo.facts.ports import ButtonSpec, Clock, Rendered, stamp
from aouo.facts.records import Spent
from aouo.facts.taps import encode
from aouo.facts.work import Delivery, DeliveryKind, Gate, Job
from aouo.flow import waiting
from aouo.flow.command_results import Outcome, carry_out
from aouo.flow.commands.builtin import abouts, shown_packs
from aouo.flow.commands.registry import AddedCommand, CommandCall, PostActions, Result
from aouo.flow.media import remove_files
from aouo.flow.phrasing import Phrasing
from aouo.outbound.outbox import Outbox
from aouo.packs.library import Library
from aouo.plumbing.logs import log
from aouo.queue.decide import ObeyCommand
from aouo.queue.lexer import Installed, Phrased
from aouo.queue.running import Running, StopReason
from aouo.store import deliveries, edits, gates, jobs, off_record, routes, turns
from aouo.store.database import Database, Tx
from aouo.words import conversations
from aouo.words.catalogue import message, say, speaking, text, variants
from aouo.words.turns import Aside, set_aside

Said: TypeAlias = Sequence[Rendered | Delivery]
"""Messages that answer a job, and rows that are queued already."""
_TALKED_MAX = 1_000
_ENDED: Mapping[Aside, str] = {
    "broke": "three processes ended while they were at work on it",
    "unreadable": "what came cannot be read",
    "failed": "something broke",
}
"""By why a job was set aside, how its turn ended."""


@dataclass(slots=True, eq=False, kw_only=True)
class Replies:
    """Settles jobs that need no turn; `wake` is told the lane whose jobs became ready. `added` are
    the owner's commands, `media` is the folder of what people sent."""

    database: Database
    clock: Clock
    outbox: Outbox
    library: Callable[[], Library]
    running: Running
    wake: Callable[[Lane], None]
    owner: Callable[[], Owner]
    post_actions: PostActions
    added: Callable[[], Mapping[str, AddedCommand]]
    media: Path
    phrasing: Phrasing
    default: Callable[[], str]
    """The pack that answers where none is chosen, "" = people are asked."""
    keeps_from: Callable[[str, str], bool]
    """Whether a person's role does not use a pack, which is then not shown to them."""
    _talked: dict[Lane, str] = field(init=False, default_factory=dict[Lane, str])
    """What was said last of small talk."""

    def installed(self, active_pack: str) -> Installed:
        """What a decision may know; the active pack's skill commands come before all others'."""
        library = self.library()
        return Installed(
            library.names,
            library.commands(active_pack),
            library.workflows,
            {name: command.takes for name, command in self.added().items()},
            library.actions,
            self.phrasing,
            self.default(),
        )

    def shown_to(self, person: str) -> Library:
        """What is installed, as somebody sees it."""
        library = self.library()
        hidden = {name for name in library.names if self.keeps_from(person, name)}
        left = {name: pack for name, pack in library.packs.items() if name not in hidden}
        return replace(library, packs=left) if hidden else library

    async def answer(self, job: Job, said: Rendered, *, instead_of: int = 0) -> None:
        """Say one thing, in place of the message `instead_of`, and settle the job."""
        await self.settle(job, lambda tx, now: [said], in_place=lambda message: instead_of)

    async def back(self, job: Job, asked: Phrased) -> None:
        """Ask back what a text meant, or answer small talk, never twice in the same words."""
        kind, language = asked.talk
        if not kind:
            said = message(asked.back, *asked.options)
            await self.settle(job, lambda tx, now: [said], outcome=turns.UNSURE)
            return
        lane = job.inbound.address.lane
        with speaking(language):
            said = variants(f"talk.{kind}")
        chosen = next(
            one
            for one in (*said[job.id % len(said) :], *said)
            if one != self._talked.get(lane) or len(said) == 1
        )
        self._talked = {**dict([*self._talked.items()][-_TALKED_MAX:]), lane: chosen}
        await self.answer(job, message(chosen))

    async def answer_tap(
        self,
        job: Job,
        work: Callable[[Tx, str], str | Sequence[Delivery]],
        outcome: str,
        *,
        wakes: bool = False,
        then: Callable[[], None] | None = None,
    ) -> None:
        """Settle a tap in one durable transaction with what it does, and let the person know.

        `work` returns what shows that it is done, or one sentence: why it is not. `wakes`: jobs can
        go on in the tap's lane, and where that is shown. `then` is called before the person is
        told.
        """
        now = stamp(self.clock)

        def write(tx: Tx) -> tuple[str, Sequence[Delivery]]:
            jobs.check_claim(tx, job)
            done = work(tx, now)
            problem, shown = (done, ()) if isinstance(done, str) else ("", done)
            jobs.settle(tx, job, "done", problem or outcome, now)
            return problem, shown

        problem, shown = await self.database.transact(write, durable=True)
        self.outbox.put(*shown)
        if wakes:
            for lane in {job.inbound.address.lane, *(row.address.lane for row in shown)}:
                self.wake(lane)
        if then:
            then()
        await self.outbox.answer_tap(job.inbound, problem)

    async def begin_tap(self, job: Job, problem: str = "") -> bool:
        """Let the person know before what they tapped is done, which takes a while; False: there
        is a problem, which is all, and the job is settled."""
        await self.outbox.answer_tap(job.inbound, problem)
        if problem:
            await self.done(job, problem)
        return not problem

    async def give_up(self, job: Job, *said: Rendered, state: str, why: str) -> None:
        """Say that a job cannot be answered; the turn it had begun ends with it.

        What that turn was showing is taken away: half an answer would look like one.
        """

        def work(tx: Tx, now: str) -> Said:
            ended = waiting.end_turn(tx, job.id, job.inbound.address, why, now)
            return [*said, *ended]

        await self.settle(job, work, state=state)

    async def set_aside(
        self, job: Job, said: Rendered, why: Aside, *, broken: bool = False
    ) -> None:
        """Give a job up for good: its person is told, and the owner.

        `broken`: what its turn holds cannot be touched either, and stays as it is.
        """

        def work(tx: Tx, now: str) -> Said:
            turn = None if broken else turns.open_of(tx, job.id)
            ended = (
                waiting.end_turn(tx, job.id, job.inbound.address, _ENDED[why], now) if turn else []
            )
            told = self._tell_owner(tx, job, why, turn.id if turn else "", now)
            shown = said
            if why == "broke" and not (job.off_record or off_record.is_once(job.inbound)):
                offer_id, _ = edits.offer(tx, job.id, job.inbound, now)
                again = ButtonSpec(text("asides.again"), encode("edited", offer_id))
                shown = replace(said, buttons=((again,),))
            return [shown, *ended, *told]

        await self.settle(job, work, state="aside", unless_stopped=not broken)

    async def set_unreadable_aside(self, job: Job) -> None:
        """Give up a job of which nobody knows what it asks for."""
        log.error("job_unreadable")
        await self.set_aside(job, say("asides.unreadable"), "unreadable")

    def _tell_owner(self, tx: Tx, job: Job, why: Aside, turn_id: str, now: str) -> list[Delivery]:
        """Who, where and what to look at, unless the owner is told in that very chat."""
        owner, there = self.owner().chat, job.inbound.address
        if owner is None or there.platform != "tg" or there == owner:
            return []
        said = set_aside(job.inbound, why, turn_id)
        return [deliveries.add(tx, owner, "notice", said, now, key=f"aside:{job.id}")]

    async def put_aside(self, job: Job) -> None:
        """Settle a job of which not even that can be said; whatever its turn was stays open."""
        now = stamp(self.clock)

        def write(tx: Tx) -> None:
            jobs.settle(tx, job, "aside", "cannot be answered", now)
            if job.off_record or off_record.is_once(job.inbound):
                jobs.blank(tx, job)

        with suppress(LostClaim):
            await self.database.transact(write)

    async def end_stopped(self, job: Job, why: StopReason) -> None:
        """End a job without a word, and what its turn was showing."""
        await self.settle(
            job,
            lambda tx, now: waiting.end_turn(tx, job.id, job.inbound.address, why.value, now),
            outcome=why.value,
            unless_stopped=False,
        )

    async def end_early(self, job: Job, why: StopReason) -> None:
        """End a job that was stopped before its turn began; a shutdown gives it back."""
        if why is StopReason.SHUTDOWN:
            await self.give_back(job)
        else:
            await self.end_stopped(job, why)

    async def give_back(self, job: Job, spent: Sequence[Spent] = ()) -> None:
        """Let a job be taken up anew, by the next process perhaps; what it `spent` is recorded."""
        now = stamp(self.clock)

        def write(tx: Tx) -> None:
            record_all(tx, spent, now)
            jobs.release(tx, job)

        await self.database.transact(write)

    async def done(self, job: Job, outcome: str) -> None:
        """Settle without a word."""
        await self.settle(job, lambda tx, now: [], outcome=outcome, unless_stopped=False)

    async def defer(self, job: Job) -> None:
        """Let a job that bypassed its conversation's lane wait there after all."""
        self.wake(await self.database.transact(lambda tx: jobs.defer(tx, job)))

    async def form_question(self, job: Job) -> tuple[Gate, str] | None:
        """Return what an action of which pack asks this person here; None: nothing, or a model
        asks."""
        address, person = job.inbound.address, job.inbound.person.id

        def read(tx: Tx) -> tuple[Gate, str] | None:
            gate = gates.open_for(tx, address, person)
            by_form = gate and gate.call_id.startswith(f"{gate.turn_id}:")
            return (gate, turns.pack_of(tx, gate.turn_id)) if gate and by_form else None

        return await self.database.read(read)

    async def leave_question(self, job: Job) -> None:
        """End the turn that asks this person something, as /stop does, and let the job wait in its
        conversation's lane for that."""
        address, now = job.inbound.address, stamp(self.clock)

        def write(tx: Tx) -> tuple[Lane, int, list[Delivery]]:
            lane = jobs.defer(tx, job)
            gate = gates.open_for(tx, address, job.inbound.person.id)
            if gate is None:  # answered a moment ago
                return lane, 0, []
            stopped = jobs.stop_turn(tx, gate.turn_id)
            left = say("actions.left", question=gate.question)
            rows = waiting.close_asked(tx, address, job.id, now)
            return lane, stopped, [*rows, deliveries.add(tx, address, "aside", left, now)]

        lane, stopped, rows = await self.database.transact(write, durable=True)
        self.outbox.put(*rows)
        if stopped:
            self.running.stop(stopped, StopReason.PERSON)
        self.wake(lane)

    async def park(self, job: Job, gone: str) -> None:
        """Ask for a pack; the job waits until one is chosen, and begins anew with that one."""
        person = job.inbound.person
        library, language = self.shown_to(person.id), person.language
        ordered = self.phrasing.likeliest(job.inbound, library.names)
        library = replace(library, packs={name: library.packs[name] for name in ordered})
        said: list[Rendered] = []  # who waits already has been asked
        if not await self.database.read(lambda tx: jobs.any_parked(tx, job.inbound.address)):
            met = await self.database.read(lambda tx: routes.find(tx, job.inbound.address))
            about = () if met else abouts(library, language)
            shown = shown_packs(library, language)
            words = job.inbound.content.text if isinstance(job.inbound.content, Text) else ""
            said = [conversations.picker(shown, gone=gone, waiting=True, about=about, words=words)]
        await self.give_up(job, *said, state="parked", why="its pack is not there")

    async def command(
        self,
        job: Job,
        handler: Callable[[Tx, CommandCall], Result],
        said: ObeyCommand | None = None,
    ) -> None:
        """Run a handler and say its output, or let the job's turn run; then do what it leaves to
        the lane.

        The output takes the place of the message whose button says the command, but for one that a
        model made. A handler that needs a pack raises `RouteRequiredError`: its command waits for
        one, as words do.

        Raises:
            PostActionFailed: nothing was done.
        """
        results, outcomes = list[Result](), list[Outcome]()

        def work(tx: Tx, now: str) -> Said | None:
            call = CommandCall(job.inbound, "", now, job.id)
            if said:
                call = replace(call, name=said.name, rest=said.rest, words=said.words)
            result = handler(tx, call)
            library = self.shown_to(job.inbound.person.id)
            outcome = carry_out(tx, job, call, result, library, self.post_actions)
            results[:], outcomes[:] = [result], [outcome]
            if outcome.said is None:
                return None
            address, why = job.inbound.address, StopReason.PERSON.value
            rows = [
                row
                for dropped, waited in result.dropped  # one may have begun in a former process
                for row in waiting.end_dropped(tx, dropped, waited, why, now)
            ]
            if result.stopped:
                rows += waiting.close_asked(tx, address, job.id, now)
            return [*outcome.said, *rows]

        def in_place(message: Rendered) -> int:
            content = job.inbound.content
            tapped = isinstance(content, Button) and not content.by_model
            beside = results[0].beside or message.media is not None
            return job.inbound.message_id if tapped and not beside else 0

        try:
            await self.settle(job, work, in_place=in_place)
        except RouteRequiredError as error:
            await self.park(job, error.requested)
            return
        if waits := outcomes[0].waits:
            await self.park(job, waits.requested)
        for job_id, waited in results[0].dropped:
            if job.off_record or off_record.is_once(waited):
                remove_files(self.media, job_id, waited)
        for stopped in filter(None, (results[0].stopped, results[0].stopped_elsewhere)):
            self.running.stop(stopped, StopReason.PERSON)
        if results[0].replay:
            self.wake(job.inbound.address.lane)
        for lane in outcomes[0].wakes:
            self.wake(lane)

    async def settle(
        self,
        job: Job,
        work: Callable[[Tx, str], Said | None],
        *,
        state: str = "done",
        outcome: str = "answered",
        in_place: Callable[[Rendered], int] = lambda message: 0,
        kind: DeliveryKind = "reply",
        key: str = "job",
        turn_id: str = "",
        unless_stopped: bool = True,
    ) -> None:
        """Run `work`, queue what it says and settle the job, all in one transaction.

        What it has queued itself is sent after that. `in_place` returns the id of the message whose
        place the first of what it says takes, 0 = it is a new one. `key` is what the keys of its
        rows begin with, `turn_id` the turn that they are of. None: it has given the job back.

        Raises:
            StopAsked: `unless_stopped`, and its person said /stop.
        """
        now = stamp(self.clock)

        def write(tx: Tx) -> list[Delivery]:
            jobs.check_claim(tx, job, unless_stopped=unless_stopped)
            said = work(tx, now)
            if said is None:
                return []
            jobs.settle(tx, job, state, outcome, now)
            address = job.inbound.address
            rows = [
                deliveries.add(
                    tx,
                    address,
                    kind,
                    text,
                    now,
                    turn_id=turn_id,
                    key=f"{key}:{job.id}:{job.claim_number}:{n}",
                    edits=0 if n else in_place(text),
                )
                for n, text in enumerate(one for one in said if isinstance(one, Rendered))
            ]
            if job.off_record or off_record.is_once(job.inbound):
                off_record.wipe(tx, job.id, job.inbound, waits=state == "parked")
                for row in rows:
                    deliveries.hush(tx, row.id)
            return rows + [row for row in said if isinstance(row, Delivery)]

        self.outbox.put(*await self.database.transact(write))
