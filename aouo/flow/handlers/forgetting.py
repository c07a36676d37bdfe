"""Obeys /forget: shows somebody what is kept of them, and erases it after their yes.

The owner does it for others by `/forget ID`. A kill in the middle is no end: the command is obeyed
again, and each of its steps may be done twice.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from aouo.facts.people import AT_HOME
from aouo.facts.ports import ButtonSpec, Media, Rendered, stamp
from aouo.facts.taps import encode
from aouo.facts.work import Job
from aouo.flow import media
from aouo.flow.commands.registry import Result
from aouo.flow.replies import Replies
from aouo.memory.files import NAMES
from aouo.packs.data import persons
from aouo.packs.databases import databases_of, places_of, tenant_in
from aouo.packs.stores import PackStores
from aouo.plumbing.home import Home
from aouo.plumbing.logs import log
from aouo.plumbing.trees import remove
from aouo.queue.decide import ObeyCommand
from aouo.store import erasing, search
from aouo.store.database import Tx
from aouo.words.catalogue import say, text

_YES = "yes"
_LOOKS, _LOOK_EVERY_S = 50, 0.2


@dataclass(slots=True, eq=False, kw_only=True)
class Forgetting:
    """Shows and erases what the runtime and packs keep of one person."""

    home: Home
    replies: Replies
    stores: PackStores

    async def run(self, job: Job, said: ObeyCommand) -> None:
        """`/forget`, `/forget yes`; for the owner also `/forget ID` and `/forget ID yes`."""
        inbound, args = job.inbound, [word.lower() for word in said.words.args]
        person = inbound.person.id
        if args and args[0].isdecimal() and args[0].isascii():
            person = args.pop(0)
        answer: Rendered | None = None
        if person != inbound.person.id and not self.replies.owner().is_owner(inbound):
            answer = say("forget.owners")
        elif inbound.chat_kind != "private":
            answer = say("forget.in-private")
        elif args not in ([], [_YES]) or not (person.isdecimal() or person == AT_HOME):
            answer = say("forget.usage")
        elif args:
            await self._erase(person, job.id)
            busy = await self.replies.database.read(lambda tx: erasing.is_busy(tx, person, job.id))
            answer = say("forget.erased-but" if busy else "forget.erased")
        else:
            answer = await self._shown(person, own=person == inbound.person.id)
        found = answer
        await self.replies.command(job, lambda tx, call: Result(found), said)

    async def _shown(self, person: str, *, own: bool) -> Rendered:
        kept = await self.replies.database.read(lambda tx: list(erasing.kept_of(tx, person)))
        kept += await asyncio.to_thread(self._kept_by_packs, person)
        parts = [
            f"# {text(f'forget.kind-{kind}')}\n\n" + "\n".join(lines)
            for kind, lines in kept
            if lines
        ]
        wish = _YES if own else f"{person} {_YES}"
        row = [ButtonSpec(text("forget.button"), encode("command", f"forget {wish}"))]
        if not parts:
            return Rendered(text("forget.nothing"), buttons=(tuple(row),))
        file = Media("document", "", f"kept-{person}.md", "\n\n".join(parts) + "\n")
        return Rendered(text("forget.shown"), buttons=(tuple(row),), media=file)

    def _kept_by_packs(self, person: str) -> list[tuple[str, list[str]]]:
        rows, remembered = list[str](), list[str]()
        for pack, file, owned in self._databases(person):
            lines = persons.lines_of(file, "" if owned else person)
            rows += [f"{pack} {line}" for line in lines]
        for place in self._places(person):
            if place.is_dir():
                for name in NAMES.values():
                    file = place / name
                    if file.is_file() and not file.is_symlink():
                        said = file.read_text("utf-8", "replace")
                        remembered.append(f"{place.parent.name} {name}\n{said}")
        return [("remembered", remembered), ("kept", rows)]

    def _databases(self, person: str) -> list[tuple[str, Path, bool]]:
        """Each database with rows of theirs: its pack, its file, whether all of it is theirs."""
        tenant = erasing.tenant(person)
        return [
            (pack, file, there == tenant)
            for pack in self.replies.library().names
            for file in databases_of(self.home, pack)
            if (there := tenant_in(pack, file)) in ("", tenant)
        ]

    def _places(self, person: str) -> list[Path]:
        shared = {
            name
            for name, pack in self.replies.library().packs.items()
            if pack.manifest.schema.scope != "person"
        }
        return places_of(self.home, erasing.tenant(person), shared)

    async def _erase(self, person: str, but: int) -> None:
        """Erase all of it, but what the command `but` itself is."""
        transact, now = self.replies.database.transact, stamp(self.replies.clock)
        for _ in range(_LOOKS):  # what is on its way has their words, and is kept once it is there
            if await self.replies.database.read(lambda tx: erasing.is_told(tx, person)):
                break
            await self.replies.clock.sleep(_LOOK_EVERY_S)
        await transact(lambda tx: erasing.drop_waiting(tx, person, now, but))
        while some := await self.replies.database.read(lambda tx: erasing.due(tx, person, but)):
            for number, inbound in some:  # first: whoever is killed here does it again
                await asyncio.to_thread(media.remove_files, self.home.media, number, inbound)
            numbers = [number for number, _ in some]
            await transact(lambda tx, numbers=numbers: erasing.erase_jobs(tx, numbers))
        at_home = person in (self.replies.owner().id, AT_HOME)
        await transact(lambda tx: erasing.erase_rest(tx, person, at_home=at_home))
        await asyncio.to_thread(self._erase_files, person)
        begins = True
        while await transact(lambda tx, begins=begins: search.purge(tx, begins=begins)):
            begins = False
        await transact(Tx.forget, durable=True)
        log.info("person_forgotten", person=person)

    def _erase_files(self, person: str) -> None:
        for pack, file, owned in self._databases(person):
            with self.stores.closed(pack):
                if not owned:
                    persons.erase(file, person)
        for place in self._places(person):
            with self.stores.closed(place.parent.name):
                remove(place)
