"""Begins a turn in one transaction: its words, route and session; what is off the record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import cast

from aouo.facts.commands import Carried, TurnHints
from aouo.facts.errors import NothingToRetry, TooLate
from aouo.facts.events import Album, Attached, Button, Triggered
from aouo.facts.ids import SessionKind
from aouo.facts.people import TRIGGERS
from aouo.facts.ports import ChatModel, Rendered
from aouo.facts.transcript import AssistantSaid, Message, UserSaid
from aouo.facts.work import Delivery, Facts, Job, OpenTurn
from aouo.flow.answering.reporting import Bringing
from aouo.flow.generations import Generation
from aouo.flow.handlers import editing
from aouo.flow.handlers.installing import chosen, skill_of
from aouo.flow.intake import Audience, Intake, has_files
from aouo.flow.media import openers_of
from aouo.flow.replies import Replies
from aouo.outbound import payloads
from aouo.plumbing.web.envelope import of_others, sources_in
from aouo.queue import gathering
from aouo.queue.decide import RunTurn
from aouo.queue.running import Running, StopReason
from aouo.store import contents, deliveries, jobs, routes, sessions, turns
from aouo.store.chats import tenant_of
from aouo.store.database import Database, Tx
from aouo.store.sessions import Resolved
from aouo.words import sentences
from aouo.words.catalogue import say

_MESSAGES_MAX = 40


class OtrMemory:
    """Session → what its last turns said off the record, and whose words they had read; the first
    one on the record ends it."""

    def __init__(self) -> None:
        self._turns: dict[str, list[tuple[Facts, str, str, Sequence[str]]]] = {}

    def of(self, facts: Facts, owner: str) -> tuple[Sequence[Message], Sequence[str]]:
        """Return what a turn holds of those before, and whose words that brings to it; `owner` as
        in `begin`."""
        if not facts.off_record:
            self._turns.pop(facts.session_id, None)
        messages, sources = list[Message](), list[str]()
        own = (facts.person.id, owner)
        for before, said, answer, read in self._turns.get(facts.session_id, ()):
            is_own = facts.chat_kind == "private" or before.person.id in own
            theirs = () if is_own else (f"a message of {before.person.name or before.person.id}",)
            messages += (UserSaid(of_others(said, theirs)), AssistantSaid(answer))
            sources += (*read, *theirs)
        return messages, sources

    def add(self, facts: Facts, said: str, answer: str, sources: Iterable[str]) -> None:
        """Remember one answered turn, if it was off the record."""
        if facts.off_record:
            before = self._turns.setdefault(facts.session_id, [])
            before.append((facts, said, answer, tuple(sources)))
            del before[: -_MESSAGES_MAX // 2]


_MISSED = "a file could not be taken in"


@dataclass(slots=True, eq=False, kw_only=True)
class Words:
    """Takes in what turns are to answer."""

    replies: Replies
    running: Running
    intake: Intake
    bringing: Bringing

    async def taken_in(
        self, job: Job, wanted: RunTurn, model: ChatModel, generation: Generation
    ) -> RunTurn | None:
        """What the turn is to answer; None = there will be no turn, and the job is settled or
        given back."""
        if has_files(job) and not wanted.again:
            return await self._with_files(job, wanted, model, generation)
        if not wanted.said.strip() and not wanted.again:
            if job.isolated:
                return await self._give_up(job, say("turns.empty-message"), "")
            await self.replies.answer(job, say("turns.empty-message"))
            return None
        return wanted

    async def _with_files(
        self, job: Job, wanted: RunTurn, model: ChatModel, generation: Generation
    ) -> RunTurn | None:
        permitted = generation.permitted(wanted.pack)
        allowed = generation.registry.allowed(permitted, generation.enabled, wanted.pack)
        openers = openers_of(allowed, off_record=job.off_record or wanted.off_record)
        audience = Audience(model, wanted.pack, openers, generation)
        limit_s = generation.advanced.turn_timeout_s
        try:
            taken = await self.running.run(
                job.id, limit_s, lambda: self.intake.take_in(job, wanted.said, audience)
            )
        except asyncio.CancelledError:
            await self.replies.give_back(job)
            raise
        match taken:
            case str():
                return replace(wanted, said=taken)
            case StopReason.TIMEOUT:
                return await self._give_up(job, say("media.took-too-long"), _MISSED)
            case StopReason():
                await self.replies.end_early(job, taken)
                if taken is not StopReason.SHUTDOWN:
                    self.intake.forget(job)
                return None
            case said:
                return await self._give_up(job, said, _MISSED)

    async def _give_up(self, job: Job, said: Rendered, why: str) -> None:
        if job.isolated:
            await self.bringing.give_up(job, said.text)
            return
        await self.replies.give_up(job, said, state="done", why=why)
        self.intake.forget(job)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A turn that has begun.

    `resumed` is the line that tells of a restart, `live` the messages a former process was
    filling, `behind` those that other messages of the turn stand below; all only if the turn was
    taken up. `stale_key` is what the route pointed to wrongly. `chosen` is the edit that shows
    which button began the turn. `carried` is what it has from the command of the turn that it
    tries again, `told` what says whose data it uses.
    """

    facts: Facts
    stale_key: str = ""
    resumed: Delivery | None = None
    live: tuple[Delivery, ...] = ()
    behind: tuple[Delivery, ...] = ()
    chosen: Delivery | None = None
    carried: Carried | None = None
    told: Delivery | None = None


async def begin(
    database: Database,
    job: Job,
    wanted: RunTurn,
    now: str,
    *,
    onboards: bool = False,
    owner: str = "",
    place: Callable[[Tx], Delivery | None] = lambda tx: None,
) -> _Begun:
    """Begin the job's turn, or take up the one that a former process left open.

    In a room of several people, the words of whoever is neither its person nor the `owner` are
    others' words. `onboards`: the pack's first conversation with somebody may be had now. `place`
    settles whose data it uses, and returns what tells that.

    Raises:
        LostClaim: the job is not ours any more.
        StopAsked: its person does not want it any more.
        NothingToRetry: it is to answer again, and this person has asked nothing here before.
        TooLate: a button of its message was tapped before.
    """

    def write(tx: Tx) -> _Begun:
        jobs.check_claim(tx, job, unless_stopped=True, begins=True)
        if taken_up := _taken_up(tx, job, wanted, now):
            return taken_up
        told = place(tx)
        return replace(_begun(tx, job, wanted, now, onboards=onboards, owner=owner), told=told)

    return await database.transact(write, brief=True)


def _taken_up(tx: Tx, job: Job, wanted: RunTurn, now: str) -> _Begun | None:
    turn = turns.reopen(tx, job.id)
    if turn is None:
        return None
    if job.isolated:
        return _Begun(facts_of(tx, job, turn, sessions.named(tx, turn.session_id)))
    if wanted.act:  # done at once, so that nothing has to be explained
        return _Begun(facts_of(tx, job, turn, sessions.named(tx, turn.session_id)))
    said = say("turns.resumed")
    row = deliveries.add(
        tx,
        job.inbound.address,
        "aside",
        said,
        now,
        turn_id=turn.id,
        key=deliveries.resumed_key(turn.id),
    )
    live, newest = deliveries.live_of(tx, turn.id), deliveries.newest_said(tx, turn.id)
    facts = facts_of(tx, job, turn, sessions.named(tx, turn.session_id))
    first = turn.skill == skill_of(turn.pack) and routes.is_onboarding(tx, turn.pack, facts.tenant)
    return _Begun(
        replace(facts, onboarding=first),
        resumed=row if row.state == "queued" else None,
        live=tuple(row for row in live if row.id > newest),
        behind=tuple(row for row in live if row.id < newest),
    )


def facts_of(
    tx: Tx, job: Job, turn: OpenTurn, session: Resolved, *, planned: bool = False
) -> Facts:
    """Return what is fixed of a turn that has begun; of one that is only `planned`, nothing is
    settled."""
    inbound = job.inbound
    tenant = tenant_of(tx, inbound, turn.pack)
    return Facts(
        *astuple(turn),
        session_key=session.key,
        sources=session.sources,
        tenant=tenant if planned else turns.settle_tenant(tx, turn.id, tenant),
        address=inbound.address,
        person=inbound.person,
        origin=inbound.origin,
        chat_kind=inbound.chat_kind,
    )


def _settled(tx: Tx, job: Job, wanted: RunTurn, now: str) -> tuple[Resolved, str]:
    """Bind the pack and choose the session; returns it and its skill, "" = none."""
    inbound = job.inbound
    address = inbound.address
    route = routes.get_or_create(tx, address, inbound.chat_kind, now)
    if (route.active_pack, wanted.skill or route.active_skill) != (wanted.pack, route.active_skill):
        routes.set_pack(tx, route, wanted.pack, now, skill=wanted.skill)
        route = routes.get_or_create(tx, address, inbound.chat_kind, now)
    if wanted.fresh:
        fresh = sessions.create(tx, address, wanted.pack, now)
        routes.set_session(tx, route, fresh, now)
        route = routes.get_or_create(tx, address, inbound.chat_kind, now)
    session = sessions.resolve(tx, route, address, wanted.pack, now)
    if wanted.skill:
        sessions.pin_skill(tx, session.id, wanted.skill)
    return session, route.active_skill or sessions.active_skill(tx, session.id)


def _begun_acting(tx: Tx, job: Job, wanted: RunTurn, now: str) -> _Begun:
    """Begin a turn that asks no model, in the newest session with its pack; the route stays."""
    inbound, pack = job.inbound, wanted.pack
    session_id = sessions.of_result(tx, inbound.address, inbound.chat_kind, pack, now)
    hidden = job.off_record or wanted.off_record
    turn = turns.open_turn(tx, job.id, session_id, pack, "", wanted.said, now, off_record=hidden)
    return _Begun(facts_of(tx, job, turn, sessions.named(tx, session_id)))


def _read(
    tx: Tx, session: Resolved, job: Job, said: str, others: Iterable[str], *, off_record: bool
) -> Resolved:
    """Return the session with whose words a message brings to it, forwarded, quoted or in a picture
    or document that a model sees, and those of the `others` there; it is known from now on."""
    content = job.inbound.content
    files = content.items if isinstance(content, Attached | Album) else ()
    seen = [one.theirs or one.kind for one in files if not one.is_heard]
    found = (*sources_in(said), *seen, *others)
    if off_record:  # known to this turn alone
        return replace(session, sources=(*session.sources, *found))
    return sessions.read(tx, session, found)


def _begun(tx: Tx, job: Job, wanted: RunTurn, now: str, *, onboards: bool, owner: str) -> _Begun:
    if job.isolated:
        return _begun_isolated(tx, job, wanted, now)
    if wanted.act:
        return _begun_acting(tx, job, wanted, now)
    inbound = job.inbound
    session, skill = _settled(tx, job, wanted, now)
    # Whatever had to wait for a pack can go on after this turn.
    gathering.replay(tx, inbound.address)
    said, carried = wanted.said, None
    if wanted.again:
        before = turns.newest_closed(tx, session.id, inbound.person.id)
        contents.lend_files(tx, before, job.id)
        carried = _carried_on(tx, job, before)
        said = turns.take_back(tx, before, sentences.taken_back_in_history, now)
        if not said:
            raise NothingToRetry("nothing was asked here before")
    off_record = job.off_record or wanted.off_record
    own = () if inbound.chat_kind == "private" else (inbound.person.id, owner)
    others = turns.of_others(tx, session.id, own) if own else {}
    tenant, first = tenant_of(tx, inbound, wanted.pack), False
    if onboards and not off_record:
        skill, first = chosen(
            tx, wanted.pack, tenant, session.id, skill, now, asked=bool(wanted.skill)
        )
    if not off_record and not wanted.again:
        said = "\n".join((*editing.untold(tx, inbound, session.id, own), said))
    turn = turns.open_turn(
        tx, job.id, session.id, wanted.pack, skill, said, now, off_record=off_record
    )
    session = _read(tx, session, job, said, others.values(), off_record=off_record)
    tapped = None if wanted.fresh else _show_choice(tx, job, turn.id, now)
    facts = replace(facts_of(tx, job, turn, session), onboarding=first)
    return _Begun(facts, session.stale_key, chosen=tapped, carried=carried)


def _carried_on(tx: Tx, job: Job, turn_id: str) -> Carried | None:
    """Keep with the job what the turn that it tries again was to do with its answer and did not."""
    before = jobs.carried_by(tx, turn_id)
    if before is None or before.post_action is None:
        return None
    carried = replace(before, hints=TurnHints(again=True))
    jobs.keep(tx, job, carried)
    return carried


def _begun_isolated(tx: Tx, job: Job, wanted: RunTurn, now: str) -> _Begun:
    """Begin a turn in a session of its own; nothing of the conversation changes."""
    origin = job.inbound.origin
    kind = cast("SessionKind", origin) if origin in TRIGGERS else "isolated"
    asked = job.inbound.content
    wished = asked.session if isinstance(asked, Triggered) else ""
    session_id = sessions.create_isolated(tx, kind, job.inbound.address, now, wanted=wished)
    turn = turns.open_turn(tx, job.id, session_id, wanted.pack, wanted.skill, wanted.said, now)
    session = Resolved(session_id, session_id)
    session = _read(tx, session, job, wanted.said, (), off_record=False)
    return _Begun(facts_of(tx, job, turn, session))


def _show_choice(tx: Tx, job: Job, turn_id: str, now: str) -> Delivery | None:
    """The message that held the tapped button says which it was, and loses its buttons."""
    inbound = job.inbound
    if not isinstance(inbound.content, Button) or not inbound.message_id:
        return None
    key = f"chosen:{inbound.address.platform}:{inbound.address.chat_id}:{inbound.message_id}"
    if deliveries.has_key(tx, key):
        raise TooLate(key)
    row = deliveries.of_message(tx, inbound.address, inbound.message_id)
    if row is None or not row.message.buttons:
        return None
    if deliveries.menu_pack(tx, inbound.address, inbound.message_id):
        return None  # a menu stays, and may be tapped again
    shown = payloads.chosen(row.message, inbound.content.label)
    return deliveries.add(
        tx,
        inbound.address,
        "chosen",
        shown,
        now,
        turn_id=turn_id,
        key=key,
        edits=inbound.message_id,
    )
