"""The first transaction of a turn: bind, choose the session, store what the person said."""

from __future__ import annotations

from dataclasses import dataclass

from aouo import notices
from aouo.errors import NothingToRetry
from aouo.flow import reacting
from aouo.outbound import wording
from aouo.routing.decide import RunTurn
from aouo.store import deliveries, jobs, media, routes, sessions, turns
from aouo.store.database import Database, Tx
from aouo.store.deliveries import Delivery
from aouo.store.jobs import Job
from aouo.store.turns import OpenTurn


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn that has begun.

    `resumed` is the line that tells of a restart, `live` the messages a former process was
    filling; both only if the turn was taken up. `stale_key` is what the route pointed to wrongly.
    """

    turn: OpenTurn
    session_key: str
    stale_key: str = ""
    resumed: Delivery | None = None
    live: tuple[Delivery, ...] = ()


async def begin(database: Database, job: Job, wanted: RunTurn, now: str) -> Begun:
    """Begin the job's turn, or take up the one that a former process left open.

    Raises:
        LostClaim: the job is not ours any more.
        NothingToRetry: it is to answer again, and nothing was asked here before.
    """

    def write(tx: Tx) -> Begun:
        jobs.hold(tx, job)
        return _taken_up(tx, job, now) or _begun(tx, job, wanted, now)

    return await database.transact(write, brief=True)


def _taken_up(tx: Tx, job: Job, now: str) -> Begun | None:
    turn = turns.reopen(tx, job.id)
    if turn is None:
        return None
    said = wording.word(notices.Resumed())
    row = deliveries.add(
        tx, job.inbound.address, "notice", said, now, turn_id=turn.id, key=f"resumed:{turn.id}"
    )
    live = deliveries.live_of(tx, turn.id)
    return Begun(
        turn,
        sessions.key_of(tx, turn.session_id),
        resumed=row if row.state == "queued" else None,
        live=live,
    )


def _begun(tx: Tx, job: Job, wanted: RunTurn, now: str) -> Begun:
    inbound = job.inbound
    address = inbound.address
    route = routes.get_or_create(tx, address, inbound.chat_kind, now)
    if (route.active_pack, wanted.skill or route.active_skill) != (wanted.pack, route.active_skill):
        routes.set_pack(tx, route, wanted.pack, now, skill=wanted.skill)
        route = routes.get_or_create(tx, address, inbound.chat_kind, now)
    session = sessions.resolve(tx, route, address, wanted.pack, now)
    if wanted.skill:
        sessions.pin_skill(tx, session.id, wanted.skill)
    # Whatever had to wait for a pack can go on behind this turn.
    jobs.replay_parked(tx, address)
    skill = route.active_skill or sessions.active_skill(tx, session.id)
    said = wanted.said
    if wanted.again:
        media.lend(tx, turns.newest_closed(tx, session.id), job.id)
        said = turns.take_back(tx, session.id, wording.taken_back_in_history, now)
        if not said:
            raise NothingToRetry("nothing was asked here before")
    off_record = job.off_record or wanted.off_record
    if not off_record and not wanted.again:
        said = "\n".join((*reacting.untold(tx, inbound, session.id), said))
    turn = turns.open_turn(
        tx, job.id, session.id, wanted.pack, skill, said, now, off_record=off_record
    )
    return Begun(turn, session.key, session.stale_key)
