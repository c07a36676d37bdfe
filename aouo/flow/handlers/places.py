"""Tells whose data a pack uses in a second place, and lets its person choose."""

from __future__ import annotations

from dataclasses import dataclass

from aouo.agent.tools.reminders import reminders_of
from aouo.facts.events import Inbound
from aouo.facts.people import PEOPLE, data_of
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import Tap, encode
from aouo.facts.work import Delivery, Job
from aouo.flow.replies import Replies
from aouo.packs.data.reading import has_rows
from aouo.packs.load import Pack
from aouo.plumbing.home import Home
from aouo.store import chats, deliveries, sessions
from aouo.store.database import Tx
from aouo.words.catalogue import message, text

_OFFERED = {"mine": ("all", "own"), "all": ("own",), "own": ("all", "mine")}
_OFFERED_ALONE = {"mine": ("own",), "own": ("mine",)}
"""By what holds now, what the buttons below it offer: in a group, and in a private chat."""


@dataclass(frozen=True, slots=True)
class Places:
    """Packs of scope `person` keep a person's data in their private chat and a group's in each
    group and topic. What a person has in the first place follows them into a topic, for them
    alone; elsewhere it is offered. Each is said once, with buttons that change it."""

    home: Home
    replies: Replies

    def settled(self, tx: Tx, inbound: Inbound, pack: Pack | None, now: str) -> Delivery | None:
        """Settle whose data a person's words in a new place are about; returns what tells it."""
        if pack is None or pack.manifest.schema.scope != "person":
            return None
        if inbound.origin not in PEOPLE or inbound.address.platform == "cli":
            return None
        name, person, place = pack.name, inbound.person.id, chats.place_of(tx, inbound)
        known = chats.data_in(tx, place, name, person)
        if known or sessions.any_with(tx, inbound.address, inbound.chat_kind, name):
            return None
        first, where = self._first(tx, inbound, pack)
        if not first:
            return None
        how = "mine" if inbound.address.thread_id and inbound.chat_kind != "private" else "own"
        chats.keep_data_in(tx, place, name, person, first if how == "mine" else place)
        said, key = _told(pack, inbound, how, where), f"data:{place}:{name}:{person}"
        return deliveries.add(tx, inbound.address, "aside", said, now, key=key)

    async def tap(self, job: Job, tap: Tap) -> None:
        """Use there from now on what its person tapped."""
        inbound, (how, name) = job.inbound, tap.values
        pack = self.replies.library().get(name)
        private = inbound.chat_kind == "private"

        def work(tx: Tx, now: str) -> str | list[Delivery]:
            place, person = chats.place_of(tx, inbound), inbound.person.id
            if pack is None or how not in (_OFFERED_ALONE if private else _OFFERED):
                return text("taps.unknown")
            if not chats.is_asked_about(tx, place, name, person):
                return text("taps.not-yours")
            first, where = self._first(tx, inbound, pack)
            if how != "own" and not first:
                return text("taps.unknown")
            whose = place if how == "own" else first
            chats.keep_data_in(tx, place, name, person, whose, everybody=how == "all")
            said, edits = _told(pack, inbound, how, where), inbound.message_id
            return [deliveries.add(tx, inbound.address, "notice", said, now, edits=edits)]

        await self.replies.answer_tap(job, work, "data chosen")

    def _first(self, tx: Tx, inbound: Inbound, pack: Pack) -> tuple[str, str]:
        """Return whose data somebody used first, and the title of that topic; "" = nobody's."""
        address, person = inbound.address, inbound.person.id
        tenant, where = data_of(address.platform, person), ""
        if inbound.chat_kind == "private":
            there = sessions.elsewhere(tx, address, person, pack.name)
            if there is None:
                return "", ""
            tenant, where = chats.tenant_at(tx, there[0], "group", person, pack.name), there[1]
        file = self.home.pack_database(pack.name, tenant)
        reminds = pack.manifest.schema.reminders and reminders_of(tx, tenant, pack.name)
        return (tenant, where) if reminds or (file.is_file() and has_rows(file)) else ("", "")


def _told(pack: Pack, inbound: Inbound, how: str, where: str) -> Rendered:
    """Return what holds here now, over what can be chosen instead."""
    private = inbound.chat_kind == "private"
    kind = "private" if private else "group"
    name = pack.said(inbound.person.language, pack.manifest.display_name)
    there = text("places.topic", title=where) if where else text("places.group")
    buttons = tuple(
        (ButtonSpec(text(f"places.do-{kind}-{one}"), encode("data", one, pack.name)),)
        for one in (_OFFERED_ALONE if private else _OFFERED)[how]
    )
    return message(text(f"places.{kind}-{how}", pack=name, where=there), *buttons)
