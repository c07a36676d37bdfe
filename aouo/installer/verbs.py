"""Lists what a terminal may ask of a home: one table for a running bot and a home at rest."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import TypeAlias, cast, get_args

from aouo.config.settings import Settings
from aouo.facts.address import GENERAL, ConversationAddress
from aouo.facts.errors import SetupError
from aouo.facts.people import AT_HOME, Admission, Owner
from aouo.facts.ports import Clock, stamp
from aouo.facts.work import Misfire, Scheduled
from aouo.installer.changes import TERMINAL, PackKit
from aouo.installer.installed import as_if, changed, sample_packs, scanned
from aouo.installer.offers import decline, offer
from aouo.installer.packs import Packs
from aouo.installer.unfinished import Takeover
from aouo.packs.library import Library
from aouo.packs.stores import PackStores
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.control import Facts
from aouo.plumbing.home import Home
from aouo.plumbing.zones import zone_of
from aouo.schedules.proposals import Place
from aouo.schedules.service import ScheduleRefused, Schedules, Wish
from aouo.store import people
from aouo.store import schedules as rows
from aouo.store.database import Database, Tx
from aouo.store.opening import opened
from aouo.words.catalogue import text
from aouo.words.packs import install_card

_Verbs: TypeAlias = Mapping[str, Callable[..., Awaitable[Facts]]]


def home_verbs(packs: Packs, schedules: Schedules, database: Database, clock: Clock) -> _Verbs:
    """Return the verbs about packs and schedules; those about packs raise `PackError`."""
    verbs = _HomeVerbs(packs, schedules, database, clock)
    return {
        "pack_offer": verbs.offer,
        "pack_accept": verbs.accept,
        "pack_decline": verbs.decline,
        "pack_remove": verbs.remove,
        "pack_unread": verbs.unread,
        "pack_refresh": verbs.refresh,
        "cron_add": verbs.make,
        "cron_switch": verbs.switch,
        "cron_run": verbs.run,
        "cron_remove": verbs.forget,
    }


@dataclass(slots=True, eq=False)
class _HomeVerbs:
    packs: Packs
    schedules: Schedules
    database: Database
    clock: Clock

    async def offer(self, source: str = "", upgrade: str = "") -> Facts:
        """Offer a pack; `source` "" = from where the pack `upgrade` came, `upgrade` "" = any."""
        ours = source in map(str, sample_packs())
        change, found = await offer(self.packs.kit, source, TERMINAL, upgrade=upgrade)
        return {
            "id": change.id,
            "pack": change.pack,
            "version": change.version,
            "kind": change.kind,
            "card": install_card(found.new, found, ours=ours),
            "needs_consent": found.needs_consent or found.older,
            "same": found.same,
            "asks": [f"{one.topic}: {one.item or one.after}" for one in found.asks],
        }

    async def accept(self, id: str) -> Facts:  # noqa: A002 - requests call it so
        change = await self.packs.accept(id, TERMINAL)
        return {"pack": change.pack, "version": change.version, "kind": change.kind}

    async def decline(self, id: str) -> Facts:  # noqa: A002 - requests call it so
        return {"pack": (await decline(self.packs.kit, id)).pack}

    async def remove(self, pack: str, purge: bool = False) -> Facts:
        """Remove a pack; `purge`: its data, too."""
        change = await self.packs.remove(pack, TERMINAL, purge=purge)
        return {"pack": change.pack, "purged": purge}

    async def unread(self) -> Facts:
        return {"unread": await self.packs.unread()}

    async def refresh(self) -> Facts:
        before = self.schedules.library()
        await self.packs.refresh()
        return refreshed(before, self.schedules.library())

    async def make(
        self,
        schedule: str,
        prompt: str,
        chat: str,
        thread: str = "",
        person: str = "",
        pack: str = "",
        name: str = "",
        zone: str = "",
        misfire: str = "run_once",
        limit_s: int = 0,
        tokens_max: int = 0,
        retries: int = 0,
        say: bool = False,
        do: bool = False,
    ) -> Facts:
        """Make a schedule in a conversation and return it; "" and 0 as in `Wish`.

        `pack` "" = the one that answers there. `prompt` is for a model, or is what comes as it is
        (`say`), or an action of the pack (`do`).
        """
        if misfire not in get_args(Misfire):
            misfires = ", ".join(get_args(Misfire))
            raise SetupError(text("schedule-refused.misfire", misfires=misfires), exit_code=1)
        wish = Wish(
            text=schedule,
            prompt=None if say or do else prompt,
            say=prompt if say else None,
            act=prompt if do else None,
            name=name,
            zone=zone,
            misfire=cast("Misfire", misfire),
            timeout_s=limit_s,
            tokens_max=tokens_max,
            retries=retries,
        )

        def create(tx: Tx) -> Scheduled:
            place = _place_of(chat, thread, person)
            there, library = place.address.chat_id, self.schedules.library()
            if place.address.platform == "web" and there != GENERAL and library.get(there) is None:
                raise ScheduleRefused(text("schedule-refused.page-chat", chat=repr(there)))
            answers = self.schedules.pack_at(tx, place.address, pack)
            return self.schedules.create(tx, wish, place, self.clock.now(), pack=answers)

        return await self._changed(create)

    async def switch(self, id: str, on: bool) -> Facts:  # noqa: A002 - requests call it so
        """Switch a schedule; return it as it is now, None = there is none with this id."""
        return await self._of(id, partial(self.schedules.switch, on=on))

    async def run(self, id: str) -> Facts:  # noqa: A002 - requests call it so
        """Have a schedule run now; return it, None = there is none with this id."""
        return await self._of(id, self.schedules.run)

    async def forget(self, id: str) -> Facts:  # noqa: A002 - requests call it so
        """Remove a schedule; return what it was, None = there is none with this id."""
        return await self._of(id, lambda tx, row, now: self.schedules.remove(tx, row))

    async def _of(self, wanted: str, work: Callable[[Tx, Scheduled, datetime], Scheduled]) -> Facts:
        def change(tx: Tx) -> Scheduled | None:
            row = rows.get(tx, wanted)
            return work(tx, row, self.clock.now()) if row else None

        return await self._changed(change)

    async def _changed(self, work: Callable[[Tx], Scheduled | None]) -> Facts:
        try:
            row = await self.database.transact(work)
        except ScheduleRefused as error:
            raise SetupError(str(error), exit_code=1) from error
        return {"schedule": asdict(row) if row else None}


def _place_of(chat: str, thread: str, person: str) -> Place:
    """Return the place with these ids: a number is a chat on Telegram, `web:NAME` one of the page,
    a name one of a terminal.

    Raises:
        ScheduleRefused: for a group it has to be said in whose name the schedule runs; a terminal
            and the page have no topics.
    """
    if not chat.removeprefix("-").isdecimal():
        on_page = chat.startswith("web:")
        if thread:
            where = "page" if on_page else f"terminal {chat!r}"
            raise ScheduleRefused(text("schedule-refused.no-topics", where=where))
        name = chat.removeprefix("web:")
        address = ConversationAddress("web" if on_page else "cli", name)
        return Place(address, "private", person or AT_HOME)
    in_group = chat.startswith("-")
    if in_group and not person:
        raise ScheduleRefused(text("schedule-refused.whose"))
    kind = "private" if not in_group else "forum" if thread else "group"
    return Place(ConversationAddress("tg", chat, thread), kind, person or chat)


def refreshed(before: Library, found: Library) -> Facts:
    """Return what reading the packs anew has brought."""
    broken = {name: list(map(str, problems)) for name, problems in found.broken.items()}
    return {"packs": list(found.names), "changed": list(changed(before, found)), "broken": broken}


@asynccontextmanager
async def at_rest(home: Home, settings: Settings) -> AsyncGenerator[_Verbs]:
    """Yield the verbs for a home where no bot runs; the caller holds its lock.

    Raises:
        SetupError: the database cannot be used.
    """
    clock = SystemClock()
    zones = partial(zone_of, default=settings.cron.timezone)
    async with opened(home.database) as database:
        look = partial(scanned, home, settings.packs, settings.tools.enabled, database)
        shelf = [await look()]

        def library() -> Library:
            return shelf[0]

        async def refresh() -> None:
            shelf[0] = await look()

        owner = Owner.of(settings.telegram.owner)
        stores = PackStores(home, library, clock, owner.data_name)
        kit = PackKit(
            home=home,
            clock=clock,
            database=database,
            stores=stores,
            library=library,
            alone=lambda pack: nullcontext(),
            scan=partial(as_if, home, settings.packs, settings.tools.enabled, database),
            refresh=refresh,
            trusted_keys=lambda: settings.packs.trusted_keys,
            zone_of=zones,
            owner=lambda: owner,
        )
        packs = Packs(kit)
        await packs.recover(Takeover())
        try:
            admission = Admission(
                settings.telegram.allowed_user_ids,
                decided=await database.read(people.everybody),
                now=partial(stamp, clock),
            )
            listed = partial(admission.lists, owner=owner.id)
            schedules = Schedules(zones, library, listed, lambda: settings.cron.enabled)
            yield home_verbs(packs, schedules, database, clock)
        finally:
            stores.close()
