"""Installs packs by `/install` with a card and a yes, and begins their first conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import Attachment
from aouo.facts.commands import INSTALL
from aouo.facts.errors import FileNotFetched, PackError
from aouo.facts.events import Album, Attached
from aouo.facts.ports import NO_MODEL, ChatModel, Fetch, Rendered
from aouo.facts.records import Change
from aouo.facts.taps import Tap
from aouo.facts.work import Delivery, Job
from aouo.flow.generations import Generation
from aouo.flow.intake import typing
from aouo.flow.replies import Replies, Said
from aouo.installer import offers
from aouo.installer.packs import Packs
from aouo.outbound import payloads
from aouo.packs.compare import Difference
from aouo.packs.load import load_pack
from aouo.schedules.proposals import Place
from aouo.store import deliveries, routes, turns
from aouo.store.chats import tenant_of
from aouo.store.database import Tx
from aouo.words import permissions as words
from aouo.words.catalogue import message, say, text
from aouo.words.packs import install_card


def may_begin(pack: str, model: ChatModel, generation: Generation) -> bool:
    """Whether this pack has a skill for it and there is a model to read it."""
    if model.provider == NO_MODEL:
        return False
    found = generation.library.get(pack)
    return found is not None and routes.ONBOARDING_SKILL in found.skills


def skill_of(pack: str) -> str:
    """The qualified name of the skill."""
    return f"{pack}:{routes.ONBOARDING_SKILL}"


def chosen(
    tx: Tx, pack: str, tenant: str, session_id: str, skill: str, now: str, *, asked: bool
) -> tuple[str, bool]:
    """(the turn's skill, whether it is a turn of the first conversation).

    `skill` is the session's, `asked` whether just now; any other skill than ours goes first. One
    that was begun by its name and is over does not stay.
    """
    own = skill_of(pack)
    if skill not in ("", own):
        return skill, False
    if routes.onboarding_step(tx, pack, tenant, session_id, now):
        return own, True
    return (own if asked and skill else ""), False


async def skip_onboarding(replies: Replies, job: Job) -> None:
    """Go on without it, as the person wants to; the button goes."""
    inbound = job.inbound

    def work(tx: Tx, now: str) -> Said:
        rows: list[Delivery] = []
        shown = deliveries.of_message(tx, inbound.address, inbound.message_id)
        pack = turns.pack_of(tx, shown.turn_id) if shown else ""
        if not pack and (route := routes.find(tx, inbound.address)):
            pack = route.active_pack
        skipped = routes.end_onboarding(tx, pack, tenant_of(tx, inbound, pack), "skipped", now)
        if shown and shown.message.buttons:
            key = f"skipped:{shown.id}"
            message = payloads.chosen(shown.message, "")
            edits = inbound.message_id
            rows += [
                deliveries.add(tx, inbound.address, "chosen", message, now, key=key, edits=edits)
            ]
        said = say("menus.introduction-skipped" if skipped else "menus.introduction-over")
        return [said, *rows]

    await replies.settle(job, work)


_OPEN = frozenset(
    {
        ("offered", "install_yes"),
        ("offered", "install_no"),
        ("begun", "install_yes"),
        ("begun", "install_no"),
        ("done", "install_yes"),
        ("failed", "install_yes"),
        ("declined", "install_no"),
    }
)
"""States of a change and taps that fit: a process may be killed between the change and its
answer, and the tap comes again."""


@dataclass(slots=True, eq=False, kw_only=True)
class Installing:
    """Installs packs by a command and a card. `bundled` are packs that come with aouo, by name;
    `provide` gives a pack its topic where there are topics."""

    packs: Packs
    replies: Replies
    bundled: Callable[[], dict[str, Path]]
    fetches: Mapping[str, Fetch]
    provide: Callable[[Job, str], Awaitable[ConversationAddress | None]]

    async def run(self, job: Job, rest: str) -> None:
        """Look through the pack that is meant, and ask."""
        if not self.replies.owner().is_owner(job.inbound):
            await self.replies.answer(job, say("commands.owners", name=INSTALL.name))
            return
        try:
            wanted = rest.strip()
            source = await self._source(job, wanted)
            if not source:
                there = self.replies.library().names
                along = {name: one for name, one in self.bundled().items() if name not in there}
                language = job.inbound.person.language
                about = await asyncio.to_thread(abouts, along, language)
                await self.replies.answer(job, words.install_usage(about))
                return
            lasting = source != str(self._downloaded(job))
            ours = source == str(self.bundled().get(wanted))
            async with typing(self.replies.outbox.action, self.replies.clock, job.inbound.address):
                change, difference = await offers.offer(
                    self.packs.kit, source, job.inbound.person.id, lasting=lasting
                )
                said = await self._asked(job, change, difference, ours=ours)
        except PackError as error:
            said = message(str(error).replace(str(self._downloaded(job)), "The file"))
        finally:
            self._downloaded(job).unlink(missing_ok=True)
        await self.replies.answer(job, said)

    async def _asked(
        self, job: Job, change: Change, difference: Difference, *, ours: bool
    ) -> Rendered:
        """Return a card; or, where there is nothing to ask, what was done. `ours`: it came with
        aouo."""
        if difference.same:
            await offers.decline(self.packs.kit, change.id)
            return say("install.already", pack=change.pack, version=change.version)
        if difference.needs_consent:
            kind = "upgrade" if change.kind == "upgrade" else "install"
            yes = "older" if difference.older else kind
            return words.offered(
                change.id, install_card(difference.new, difference, ours=ours), yes
            )
        await self.packs.accept(change.id, job.inbound.person.id)
        return say("install.upgraded", pack=change.pack, version=change.version)

    async def offer(self, job: Job, tap: Tap) -> None:
        """Show the card of a pack that comes with aouo, or explain why not."""
        objection, (pack,) = "", tap.values
        if not self.replies.owner().is_owner(job.inbound):
            objection = text("taps.for-the-owner")
        elif pack not in self.bundled():
            objection = text("taps.unknown")
        if await self.replies.begin_tap(job, objection):
            await self.run(job, pack)

    async def decide(self, job: Job, tap: Tap) -> None:
        """Carry out the owner's answer to a card, or explain why not."""
        inbound = job.inbound
        change = await offers.look(self.packs.kit, tap.values[0])
        objection = ""
        if not self.replies.owner().is_owner(inbound):
            objection = text("taps.for-the-owner")
        elif change is None:
            objection = text("taps.unknown")
        elif (change.state, tap.name) not in _OPEN:
            objection = text("taps.expired")
        if not await self.replies.begin_tap(job, objection) or change is None:
            return
        said = await self._answered(job, change, yes=tap.name == "install_yes")
        await self.replies.answer(job, said, instead_of=inbound.message_id)

    async def _answered(self, job: Job, change: Change, *, yes: bool) -> Rendered:
        try:
            if not yes:
                if change.state != "declined":
                    await offers.decline(self.packs.kit, change.id)
                return say("install.declined", pack=change.pack)
            if change.state == "failed":
                return message(change.why)
            if change.state != "done":
                await self.packs.accept(change.id, job.inbound.person.id)
        except PackError as error:
            return message(str(error))
        if change.kind == "upgrade":
            return say("install.upgraded", pack=change.pack, version=change.version)
        topic = await self.provide(job, change.pack)
        inbound = job.inbound
        place = Place(topic or inbound.address, inbound.chat_kind, inbound.person.id)
        await self.packs.propose(change.pack, place)
        pack = self.replies.library().get(change.pack)
        sets = pack is not None and bool(pack.manifest.settings or pack.manifest.secrets)
        return words.installed(change.pack, change.version, here=topic is None, settings=sets)

    async def _source(self, job: Job, rest: str) -> str:
        """Where the pack is: an address, the name of one that comes along, or a file; "" = none.

        Raises:
            PackError: the file cannot be had, or what was written is none of these.
        """
        content = job.inbound.content
        if isinstance(content, Attached | Album) and not rest:
            return await self._fetched(job, content.items[0])
        if rest in self.bundled():
            return str(self.bundled()[rest])
        if rest and not rest.startswith("https://"):
            names = ", ".join(self.bundled())
            raise PackError(text("install.no-such", said=rest[:200], names=names))
        return rest

    async def _fetched(self, job: Job, item: Attachment) -> str:
        target = self._downloaded(job)
        try:
            if (fetch := self.fetches.get(job.inbound.address.platform)) is None:
                raise FileNotFetched("no files here")
            await fetch(item, target)
        except FileNotFetched as error:
            raise PackError(text("install.no-file")) from error
        return str(target)

    def _downloaded(self, job: Job) -> Path:
        return self.replies.media / f"install_{job.id}.aouo"


def abouts(folders: Mapping[str, Path], language: str) -> dict[str, str]:
    """Return what each of these packs is and does, in a line."""
    found: dict[str, str] = {}
    for name, folder in folders.items():
        if pack := load_pack(folder).pack:
            manifest = pack.manifest
            told = pack.said(language, manifest.tagline or manifest.description)
            shown = f"{manifest.icon} {pack.said(language, manifest.display_name)}".strip()
            found[name] = f"{shown}: {told}" if told else shown
    return found
