"""Installs packs by `/install`: from an address or a file, with a card and the owner's yes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import structlog

from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import Attachment
from aouo.facts.commands import INSTALL
from aouo.facts.errors import FileGone, FileNotFetched, FileTooBig, PackError
from aouo.facts.events import Album, Attached
from aouo.facts.installs import Change
from aouo.facts.notices import Notice
from aouo.facts.notices_install import (
    InstalledAlready,
    InstallUsage,
    NotInstalled,
    PackDeclined,
    PackInstalled,
    PackOffered,
)
from aouo.facts.people import Owner
from aouo.facts.ports import Clock, Files
from aouo.facts.taps import Tap
from aouo.facts.work import Job
from aouo.flow.files.activity import typing
from aouo.flow.replies import Replies
from aouo.outbound.outbox import Outbox
from aouo.packs.compare import Difference
from aouo.packs.summary import Summary
from aouo.triggers.scheduling import Place
from aouo.words import sentences
from aouo.words.catalogue import say
from aouo.words.packs import install_card

log = structlog.get_logger()
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


@dataclass(frozen=True, slots=True)
class Offer:
    """What the owner is asked; `same`: this very pack is installed already."""

    change: Change
    summary: Summary
    difference: Difference
    same: bool


class Shop(Protocol):
    """Changes what is installed; every failure is a `PackError` that leaves all as it was."""

    async def offer(self, source: str, person: str, *, lasting: bool = True) -> Offer: ...
    async def accept(self, change_id: str, person: str) -> Change: ...
    async def decline(self, change_id: str) -> Change: ...
    async def look(self, change_id: str) -> Change | None: ...
    async def propose(self, pack: str, place: Place) -> None: ...


class Installing:
    """Installs packs by a command and a card. `bundled` are packs that come with aouo, by name;
    `provide` gives a pack its topic where there are topics."""

    def __init__(
        self,
        *,
        shop: Shop,
        replies: Replies,
        clock: Clock,
        outbox: Outbox,
        owner: Callable[[], Owner],
        bundled: Callable[[], dict[str, Path]],
        files: Mapping[str, Files],
        folder: Path,
        provide: Callable[[Job, str], Awaitable[ConversationAddress | None]],
    ) -> None:
        self._shop = shop
        self._replies = replies
        self._clock = clock
        self._outbox = outbox
        self._owner = owner
        self._bundled = bundled
        self._files = files
        self._folder = folder
        self._provide = provide

    async def run(self, job: Job, rest: str) -> None:
        """Look through the pack that is meant, and ask."""
        if not self._owner().is_owner(job.inbound):
            await self._replies.answer(job, say("commands.owners", name=INSTALL.name))
            return
        try:
            wanted = rest.strip()
            source = await self._source(job, wanted)
            if not source:
                await self._replies.answer(job, self._usage())
                return
            lasting = source != str(self._downloaded(job))
            ours = source == str(self._bundled().get(wanted))
            async with typing(self._outbox.action, self._clock, job.inbound.address):
                offer = await self._shop.offer(source, job.inbound.person.id, lasting=lasting)
                notice = await self._asked(job, offer, ours=ours)
        except PackError as error:
            notice = NotInstalled(str(error).replace(str(self._downloaded(job)), "The file"))
        finally:
            self._downloaded(job).unlink(missing_ok=True)
        await self._replies.answer(job, notice)

    async def _asked(self, job: Job, offer: Offer, *, ours: bool) -> Notice:
        """A card; or, where there is nothing to ask, what was done. `ours`: it came with aouo."""
        change = offer.change
        if offer.same:
            await self._shop.decline(change.id)
            return InstalledAlready(change.pack, change.version)
        if offer.difference.needs_consent:
            return PackOffered(
                change.id,
                install_card(offer.summary, offer.difference, ours=ours),
                upgrade=change.kind == "upgrade",
                older=offer.difference.older,
            )
        await self._shop.accept(change.id, job.inbound.person.id)
        return PackInstalled(change.pack, change.version, upgraded=True, open_here=False)

    async def offer(self, job: Job, tap: Tap) -> None:
        """Show the card of a pack that comes with aouo, or explain why not."""
        objection, (pack,) = "", tap.values
        if not self._owner().is_owner(job.inbound):
            objection = sentences.TAP_FOR_THE_OWNER
        elif pack not in self._bundled():
            objection = sentences.TAP_UNKNOWN
        if await self._replies.begin_tap(job, objection):
            await self.run(job, pack)

    async def decide(self, job: Job, tap: Tap) -> None:
        """Carry out the owner's answer to a card, or explain why not."""
        inbound = job.inbound
        change = await self._shop.look(tap.values[0])
        objection = ""
        if not self._owner().is_owner(inbound):
            objection = sentences.TAP_FOR_THE_OWNER
        elif change is None:
            objection = sentences.TAP_UNKNOWN
        elif (change.state, tap.name) not in _OPEN:
            objection = sentences.TAP_EXPIRED
        if not await self._replies.begin_tap(job, objection) or change is None:
            return
        notice = await self._answered(job, change, yes=tap.name == "install_yes")
        await self._replies.answer(job, notice, instead_of=inbound.message_id)

    async def _answered(self, job: Job, change: Change, *, yes: bool) -> Notice:
        try:
            if not yes:
                if change.state != "declined":
                    await self._shop.decline(change.id)
                return PackDeclined(change.pack)
            if change.state == "failed":
                return NotInstalled(change.why)
            if change.state != "done":
                await self._shop.accept(change.id, job.inbound.person.id)
        except PackError as error:
            return NotInstalled(str(error))
        if change.kind == "upgrade":
            return PackInstalled(change.pack, change.version, upgraded=True, open_here=False)
        topic = await self._provide(job, change.pack)
        inbound = job.inbound
        place = Place(topic or inbound.address, inbound.chat_kind, inbound.person.id)
        await self._shop.propose(change.pack, place)
        return PackInstalled(change.pack, change.version, open_here=topic is None)

    def _usage(self) -> Notice:
        there = self._replies.library.names
        return InstallUsage(tuple(name for name in self._bundled() if name not in there))

    async def _source(self, job: Job, rest: str) -> str:
        """Where the pack is: an address, the name of one that comes along, or a file; "" = none.

        Raises:
            PackError: the file cannot be had, or what was written is none of these.
        """
        content = job.inbound.content
        if isinstance(content, Attached | Album) and not rest:
            return await self._fetched(job, content.items[0])
        if rest in self._bundled():
            return str(self._bundled()[rest])
        if rest and not rest.startswith("https://"):
            names = ", ".join(self._bundled()) or "none"
            raise PackError(
                f"“{rest[:200]}” is no pack that came with me ({names}) and no https address.",
                fix="Write /install and one of these, or send the .aouo file with /install under "
                "it.",
            )
        return rest

    async def _fetched(self, job: Job, item: Attachment) -> str:
        target = self._downloaded(job)
        try:
            if (files := self._files.get(job.inbound.address.platform)) is None:
                raise FileNotFetched("no files here")
            await files.fetch(item, target)
        except (FileTooBig, FileGone, FileNotFetched) as error:
            raise PackError("That file could not be fetched.", fix="Send it again.") from error
        return str(target)

    def _downloaded(self, job: Job) -> Path:
        return self._folder / f"install_{job.id}.aouo"
