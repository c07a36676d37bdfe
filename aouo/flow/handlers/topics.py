"""Keeps what topics are called, which pack that gives them, and whether they are open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from aouo.commands import builtin
from aouo.commands.registry import CommandCall
from aouo.facts.events import TopicShut
from aouo.facts.ports import Clock, Rendered, stamp
from aouo.facts.work import Job
from aouo.flow.replies import Replies
from aouo.routing.decisions import NameTopic
from aouo.routing.installed import pack_of
from aouo.store import jobs, routes, topics
from aouo.store.database import Database, Tx

log = structlog.get_logger()


@dataclass(slots=True, eq=False, kw_only=True)
class TopicEvents:
    """Keeps the routes of topics in step with what Telegram tells of them."""

    database: Database
    clock: Clock
    replies: Replies

    async def name(self, job: Job, named: NameTopic) -> None:
        """Remember the title; a pack of that name answers here from now on, and says so once.

        A title that names no pack changes nothing else: the topic keeps what it has.
        """
        bound: list[str] = []

        def work(tx: Tx, now: str) -> Sequence[Rendered]:
            inbound = job.inbound
            route = routes.get_or_create(tx, inbound.address, inbound.chat_kind, now)
            routes.set_title(tx, route, named.title)
            topics.settle(tx, inbound.address.around, named.pack)
            if not named.pack or route.active_pack == named.pack:
                return []
            bound.append(named.pack)
            call, library = CommandCall(inbound, "", now), self.replies.library()
            said = builtin.bind(tx, call, library, named.pack).output
            return [said] if isinstance(said, Rendered) else []

        await self.replies.settle(job, work, outcome="topic named")
        if bound:
            log.info("tg_topic_auto_bound", pack=bound[0])
            self.replies.wake(job.inbound.address.lane)

    async def first_message(self, job: Job) -> Job:
        """Bind a topic that nobody has bound by the title that came with what is said in it.

        That title is the one it was created with, so one that a service message told counts more.
        """
        inbound = job.inbound
        if job.active_pack or not inbound.title:
            return job
        now = stamp(self.clock)

        def write(tx: Tx) -> tuple[str, str]:
            jobs.check_claim(tx, job)
            route = routes.get_or_create(tx, inbound.address, inbound.chat_kind, now)
            title = route.title or inbound.title
            pack = route.active_pack or pack_of(title, self.replies.library().names)
            if pack and not route.active_pack:
                routes.set_pack(tx, route, pack, now)
                log.info("tg_topic_auto_bound", pack=pack)
            return title, pack

        title, pack = await self.database.transact(write)
        return replace(job, active_pack=pack, inbound=replace(inbound, title=title))

    async def shut(self, job: Job, shut: TopicShut) -> None:
        """Remember that a topic was closed or opened again: `routes.is_paused` tells of it."""

        def work(tx: Tx, now: str) -> Sequence[Rendered]:
            inbound = job.inbound
            routes.get_or_create(tx, inbound.address, inbound.chat_kind, now)
            routes.set_paused(tx, inbound.address, "closed" if shut.closed else "", now)
            return []

        await self.replies.settle(job, work, outcome="closed" if shut.closed else "opened again")
