"""Stores what comes in as jobs before it is acknowledged, and hands them out to the lanes.

The lanes' state is the jobs table, so a restart continues it; an open burst is a job that still
gathers. Nothing here runs a turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias, cast

from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.commands import COMMANDS, STOP
from aouo.facts.errors import Unstorable
from aouo.facts.events import (
    Album,
    Arrival,
    Attached,
    Button,
    Command,
    DraftStopped,
    Edited,
    Illegible,
    Inbound,
    Intruder,
    Migrated,
    Person,
    Report,
    Shown,
    Standing,
    Text,
    TopicNamed,
    TopicShut,
    Triggered,
    Unsupported,
)
from aouo.facts.ports import Clock, iso, stamp
from aouo.facts.work import Job
from aouo.plumbing.logs import log
from aouo.plumbing.redact import Redactor
from aouo.queue import gathering, joining
from aouo.store import chats, edits, gates, gone, jobs, routes, updates
from aouo.store.database import Database, Tx

_Tapped: TypeAlias = tuple[ConversationAddress, int, str]
_Fact: TypeAlias = tuple[str, dict[str, object]]
_SAID = (Text, Command, Button, Attached, Album, Shown, Unsupported)
_TWICE_WITHIN_S = 2.0
"""The same tap again within this time, and no other on that message between, counts once."""


@dataclass(frozen=True, slots=True)
class _Filed:
    """What one transaction did: lanes that have work, lines for the log, and the answer ids of
    repeated taps, which become no job."""

    lanes: tuple[Lane, ...]
    facts: tuple[_Fact, ...]
    repeated: tuple[str, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class Inbox:
    """Stores arrivals, closes bursts, hands out claims.

    `concerns_us` says of a message and its conversation's pack whether it is ours; `lane_of` which
    lane one takes, told whether a question to its person is open.
    `halts` says whether a text is the word that stops what runs.
    After the commit `ready` is told each lane that got work, and `waits` each lane that got a
    command, or anything while a question is open, which its person does not expect to wait.
    """

    database: Database
    clock: Clock
    concerns_us: Callable[[Inbound, str], bool]
    lane_of: Callable[[Inbound, bool], Lane]
    burst_s: Callable[[], float]

    ready: Callable[[Lane], None]
    redactor: Callable[[], Redactor]
    waits: Callable[[Lane], None] = lambda lane: None
    halts: Callable[[Inbound], bool] = lambda inbound: False
    _waited_in: set[Lane] = field(init=False, default_factory=set[Lane])
    _unclaimed: joining.Unclaimed = field(init=False, default_factory=joining.Unclaimed)
    _bursts_changed: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _tapped: dict[_Tapped, tuple[str, float]] = field(
        init=False, default_factory=dict[_Tapped, tuple[str, float]]
    )

    async def accept(
        self, bot_id: str, arrivals: Sequence[Arrival], next_update_id: int
    ) -> tuple[str, ...]:
        """Store updates, the jobs in them and the cursor in one durable transaction.

        After this returns, the platform may forget them. An update that is known is dropped.
        Returns the answer ids of taps that repeat one of a moment ago and become no job.
        """

        arrivals = [self._clean(arrival) for arrival in arrivals]

        tapped, unclaimed = self._tapped, self._unclaimed

        def file(tx: Tx) -> _Filed:
            self._tapped, self._unclaimed = dict(tapped), copy(unclaimed)
            updates.advance(tx, bot_id, next_update_id)
            return self._file_all(tx, bot_id, arrivals)

        try:
            filed = await self._commit(file)
        except BaseException:
            self._tapped, self._unclaimed = (
                tapped,
                unclaimed,
            )  # what is not on disk comes again, and must not count as repeated
            raise
        if any(arrival.inbound and joining.gathers_album(arrival.inbound) for arrival in arrivals):
            self._bursts_changed.set()
        return filed.repeated

    async def submit(self, inbound: Inbound) -> None:
        """Store a fact that comes from no platform's update, such as the terminal's."""
        clean = cast("Inbound", self.redactor().known_in(inbound))

        def file(tx: Tx) -> _Filed:
            return _Filed(tuple(self._file(tx, clean, self.clock.now())), ())

        await self._commit(file)

    async def ask(self, inbound: Inbound, filed: Callable[[int], None]) -> None:
        """Store what a program asks and waits for, as a job of its own: it joins nobody's burst,
        and answers no question. `filed` is told the job's id before anybody may claim it."""
        clean = cast("Inbound", self.redactor().known_in(inbound))

        def file(tx: Tx) -> _Filed:
            lane = self.lane_of(clean, False)
            filed(gathering.file_apart(tx, lane, clean, self.clock.now()))
            return _Filed((lane,), ())

        await self._commit(file)

    async def trigger(self, due: Callable[[Tx, datetime], Sequence[Inbound]]) -> int:
        """Store what `due` returns, in its own transaction; return how many there were.

        It is how triggers come in: what makes a due time count once is written by `due`.
        """
        fired: list[Inbound] = []

        def file(tx: Tx) -> _Filed:
            now = self.clock.now()
            fired[:] = due(tx, now)
            return _Filed(tuple(lane for one in fired for lane in self._file(tx, one, now)), ())

        await self._commit(file)
        return len(fired)

    async def recover(self) -> None:
        """Void the claims of an earlier process; ring every lane with work."""

        def take_back(tx: Tx) -> list[Lane]:
            jobs.void_claims(tx)
            return jobs.open_lanes(tx)

        for lane in await self.database.transact(take_back):
            self.ready(lane)

    async def claim(self, lane: Lane) -> Job | None:
        """Claim the oldest ready job of a lane; None = there is none, which costs only a read."""
        if not await self.database.read(lambda tx: jobs.any_ready(tx, lane), once=True):
            return None
        return await self.database.transact(lambda tx: jobs.claim(tx, lane), brief=True)

    async def close_bursts(self) -> None:
        """Close each burst when its window is over, for ever."""
        while True:
            self._bursts_changed.clear()
            due = await self.database.read(jobs.next_due, once=True)
            if not due:
                await self._bursts_changed.wait()
                continue
            wait_s = (datetime.fromisoformat(due) - self.clock.now()).total_seconds()
            if wait_s > 0:
                await self.clock.sleep(wait_s)
            now = stamp(self.clock)
            for lane in await self.database.transact(lambda tx, now=now: jobs.flush_due(tx, now)):
                log.info("burst_flushed", lane=lane)
                self.ready(lane)

    async def _commit(self, file: Callable[[Tx], _Filed]) -> _Filed:
        filed = await self.database.transact(file, durable=True)
        if self.burst_s():
            self._bursts_changed.set()
        for event, fields in filed.facts:
            level = logging.WARNING if event == "update_unreadable" else logging.INFO
            log.log(level, event, **fields)
        for lane in filed.lanes:
            self.ready(lane)
        while self._waited_in:
            self.waits(self._waited_in.pop())
        return filed

    def _clean(self, arrival: Arrival) -> Arrival:
        """Redact configured secrets: one that a person pastes is not stored and not sent on."""
        if self.redactor().known(arrival.raw) == arrival.raw:
            return arrival
        return cast("Arrival", self.redactor().known_in(arrival))

    def _file_all(self, tx: Tx, bot_id: str, arrivals: Sequence[Arrival]) -> _Filed:
        now = self.clock.now()
        self._unclaimed.forget_old(now)
        filed = [self._take_in(tx, bot_id, arrival, now) for arrival in arrivals]
        return _Filed(
            tuple(lane for one in filed for lane in one.lanes),
            tuple(fact for one in filed for fact in one.facts),
            tuple(answer_id for one in filed for answer_id in one.repeated),
        )

    def _take_in(self, tx: Tx, bot_id: str, arrival: Arrival, now: datetime) -> _Filed:
        """Store one update; of one that cannot be stored keep the id, and tell a private sender.

        Without its id it would come again for ever and block all that come after it.
        """
        try:
            return tx.apart(lambda tx: self._file_arrival(tx, bot_id, arrival, now))
        except Unstorable as error:
            why = str(error)
        unread = Arrival(arrival.update_id, "", _told(arrival.inbound), why=why, unreadable=True)
        with suppress(Unstorable):
            return tx.apart(lambda tx: self._file_arrival(tx, bot_id, unread, now))
        return self._file_arrival(tx, bot_id, replace(unread, inbound=None), now)

    def _file_arrival(self, tx: Tx, bot_id: str, arrival: Arrival, now: datetime) -> _Filed:
        inbound = _at_home(tx, arrival.inbound) if arrival.inbound else None
        ours = self._is_ours(tx, inbound)
        wanted = inbound if ours else self._hint(tx, inbound, now)
        raw = arrival.raw if ours and arrival.keep_raw else ""
        update: dict[str, object] = {"update_id": arrival.update_id}
        if not updates.add(tx, bot_id, arrival.update_id, raw, iso(now)):
            return _Filed((), (("update_duplicate", update),))
        facts: tuple[_Fact, ...] = ()
        if arrival.unreadable:
            facts = (("update_unreadable", {**update, "kind": arrival.why}),)
        elif arrival.why and not inbound:
            facts = (("update_ignored", {"kind": arrival.why}),)
        if inbound and inbound.address.thread_id:
            routes.found(tx, inbound.address)
        if wanted and (answer_id := self._repeats(wanted)):
            return _Filed((), facts, (answer_id,))
        if wanted:
            return _Filed(tuple(self._file(tx, self._unclaimed.claim(wanted), now)), facts)
        if inbound:
            self._unclaimed.keep(inbound, now)
        return _Filed((), facts)

    def _repeats(self, inbound: Inbound) -> str:
        """Return the answer id of a tap that was made just before, too; "" = it is not repeated."""
        content, now_s = inbound.content, self.clock.monotonic_s()
        if not isinstance(content, Button) or not content.answer_id or content.tap.asks_once:
            return ""  # a second tap on a button that asks once gets an answer of its own
        where = (inbound.address, inbound.message_id, inbound.person.id)
        before_s = now_s - _TWICE_WITHIN_S
        self._tapped = {at: tap for at, tap in self._tapped.items() if tap[1] > before_s}
        if where in self._tapped and self._tapped[where][0] == content.data:
            return content.answer_id
        self._tapped[where] = (content.data, now_s)
        return ""

    def _hint(self, tx: Tx, inbound: Inbound | None, now: datetime) -> Inbound | None:
        """Let whoever talks to nobody in a group read once how to call me; their words are not
        kept."""
        if inbound is None or not isinstance(inbound.content, Text) or inbound.address.thread_id:
            return None
        key = f"{inbound.address.chat_id} {inbound.person.id} calls nobody"
        if inbound.chat_kind == "private" or not updates.may_say_once(tx, key, iso(now)):
            return None
        return replace(inbound, content=Command("call", "", ""), addressed=True, message_id=0)

    def _is_ours(self, tx: Tx, inbound: Inbound | None) -> bool:
        if inbound is None:
            return False
        if isinstance(inbound.content, Edited):  # ours if the edited message is
            return edits.was_asked(tx, inbound.address, inbound.message_id)
        if isinstance(inbound.content, Standing):
            return chats.is_known(tx, inbound.address)
        if inbound.addressed or gathering.is_more(tx, inbound):
            return True
        route = routes.find(tx, inbound.address)
        if route and route.title:  # messages carry the title that the topic first had
            inbound = replace(inbound, title=route.title)
        return self.concerns_us(inbound, route.active_pack if route else "")

    def _file(self, tx: Tx, inbound: Inbound, now: datetime) -> list[Lane]:
        """Turn one fact into jobs; return the lanes that have something ready now.

        A message from a chat proves that we can write there, so jobs that waited for that go on.
        """
        if isinstance(inbound.content, Triggered):  # its person said nothing just now
            lane = self.lane_of(inbound, False)
            jobs.add(tx, lane, inbound, iso(now))
            return [lane]
        if isinstance(inbound.content, Report):
            return [gathering.file_report(tx, inbound, iso(now))]
        if isinstance(inbound.content, Intruder):
            hour_ago = iso(now - timedelta(hours=1))
            # People who write in the name of a chat have no id: they share its refusal an hour.
            faceless = bool(inbound.content.as_chat)
            who = inbound.address.chat_id if faceless else inbound.person.id
            asks = inbound.content.asked_id and not faceless
            if not updates.may_refuse(tx, who, iso(now), hour_ago, asks_id=asks):
                return []
        address, content = inbound.address, inbound.content
        if isinstance(content, Standing) and content.gone:
            gone.close(tx, address, content.gone, iso(now))
            return self._file_job(tx, inbound, now)
        heard = inbound.origin == "chat"
        back = gone.reopen(tx, address.platform, address.chat_id) if heard else []
        if isinstance(content, Standing):
            return back
        if not isinstance(content, Intruder | TopicNamed | TopicShut | Migrated):
            routes.heard_from(tx, address)
        return [*back, *self._file_job(tx, inbound, now)]

    def _file_job(self, tx: Tx, inbound: Inbound, now: datetime) -> list[Lane]:
        if isinstance(inbound.content, Button):
            inbound = edits.resolve(tx, inbound, inbound.content)
        gate = gates.open_for(tx, inbound.address, inbound.person.id)
        here = inbound.address.lane
        if gate is None and self.halts(inbound) and jobs.at_work(tx, here):
            inbound = replace(inbound, content=Command(STOP.name, "", f"/{STOP.name}"))
        lane = self.lane_of(inbound, gate is not None)
        if lane.bypasses:
            jobs.add(tx, lane, inbound, iso(now))
            _end_burst(tx, inbound)
            return [lane]
        if gate or isinstance(inbound.content, Command):
            self._waited_in.add(lane)
        return gathering.file(tx, lane, inbound, now, self.burst_s())


def _at_home(tx: Tx, inbound: Inbound) -> Inbound:
    """Return the inbound at its chat's new address, without its message id, if the chat moved."""
    address = gone.where_it_is(tx, inbound.address)
    if address == inbound.address or isinstance(inbound.content, Migrated | Standing):
        return inbound
    return replace(inbound, address=address, message_id=0)


def _told(inbound: Inbound | None) -> Inbound | None:
    """Return what tells the sender, in private only, that their message cannot be read."""
    if not inbound or inbound.chat_kind != "private" or not isinstance(inbound.content, _SAID):
        return None
    return Inbound(inbound.address, Person(inbound.person.id), Illegible())


def _end_burst(tx: Tx, inbound: Inbound) -> None:
    """Close the person's burst after a `/stop` or the like, so that later words do not join the
    ones that it drops."""
    content = inbound.content
    entry = COMMANDS.get(content.name) if isinstance(content, Command) else None
    if not (isinstance(content, DraftStopped) or (entry and entry.ends_burst)):
        return
    if opened := jobs.gathering(tx, inbound.address.lane, inbound.person.id):
        jobs.flush(tx, opened[0])
