"""Lists what a terminal may ask of a home: one table for a running bot and a home at rest."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

from aouo.config.settings import Settings
from aouo.facts.address import GENERAL, ConversationAddress
from aouo.facts.errors import SetupError
from aouo.facts.people import AT_HOME, Admission, Owner
from aouo.facts.work import Misfire, Paused, Scheduled
from aouo.installer.changes import TERMINAL
from aouo.installer.installed import as_if, changed, scanned
from aouo.installer.kit import PackKit
from aouo.installer.packs import Packs
from aouo.installer.samples import sample_packs
from aouo.installer.unfinished import Takeover
from aouo.packs.library import Library
from aouo.packs.stores import PackStores
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home
from aouo.plumbing.verbs import Facts, Nothing, Verb
from aouo.plumbing.zones import zone_of
from aouo.store.opening import opened
from aouo.triggers.changing import ScheduleRefused, Wish, may_run
from aouo.triggers.schedules import Schedules
from aouo.triggers.scheduling import Place
from aouo.words.packs import install_card


@dataclass(frozen=True, slots=True)
class OfferPack:
    """Offer a pack; `source` "" = from where the pack `upgrade` came, `upgrade` "" = any pack."""

    source: str = ""
    upgrade: str = ""


@dataclass(frozen=True, slots=True)
class AnswerOffer:
    """Accept or decline the offer with this id."""

    id: str


@dataclass(frozen=True, slots=True)
class RemovePack:
    """Remove a pack; `purge`: its data, too."""

    pack: str
    purge: bool = False


@dataclass(frozen=True, slots=True)
class RestorePack:
    """Restore the backup `file`; `passphrase` opens it, "" = it is not sealed."""

    pack: str
    file: str
    passphrase: str = ""


@dataclass(frozen=True, slots=True)
class SwitchSchedule:
    """Switch the schedule of this id on or off."""

    id: str
    on: bool


@dataclass(frozen=True, slots=True)
class MakeSchedule:
    """Make a schedule in a conversation; "" and 0 as in `triggers.changing.Wish`.

    `pack` "" = the one that answers there.
    """

    schedule: str
    prompt: str
    chat: str
    thread: str = ""
    person: str = ""
    pack: str = ""
    name: str = ""
    zone: str = ""
    misfire: str = "run_once"
    limit_s: int = 0
    tokens_max: int = 0
    retries: int = 0


@dataclass(frozen=True, slots=True)
class OneSchedule:
    """Do something with the schedule of this id."""

    id: str


class NotDone(SetupError):
    """A schedule cannot be made or changed; says why."""

    exit_code = 1


def home_verbs(
    packs: Packs, library: Callable[[], Library], schedules: Schedules
) -> Mapping[str, Verb[Any]]:
    """Return the verbs about packs and schedules; those about packs raise `PackError`."""
    verbs = _HomeVerbs(packs, library, schedules)
    return {
        "pack_offer": Verb(OfferPack, verbs.offer),
        "pack_accept": Verb(AnswerOffer, verbs.accept),
        "pack_decline": Verb(AnswerOffer, verbs.decline),
        "pack_remove": Verb(RemovePack, verbs.remove),
        "pack_restore": Verb(RestorePack, verbs.restore),
        "pack_unread": Verb(Nothing, verbs.unread),
        "pack_refresh": Verb(Nothing, verbs.refresh),
        "cron_add": Verb(MakeSchedule, verbs.make),
        "cron_switch": Verb(SwitchSchedule, verbs.switch),
        "cron_run": Verb(OneSchedule, verbs.run),
        "cron_remove": Verb(OneSchedule, verbs.forget),
    }


class _HomeVerbs:
    def __init__(self, packs: Packs, library: Callable[[], Library], schedules: Schedules) -> None:
        self._packs = packs
        self._library = library
        self._schedules = schedules

    async def offer(self, request: OfferPack) -> Facts:
        ours = request.source in map(str, sample_packs())
        made = await self._packs.offer(request.source, TERMINAL, upgrade=request.upgrade)
        change = made.change
        return {
            "id": change.id,
            "pack": change.pack,
            "version": change.version,
            "kind": change.kind,
            "card": install_card(made.summary, made.difference, ours=ours),
            "needs_consent": made.difference.needs_consent or made.difference.older,
            "same": made.same,
            "asks": [f"{one.topic}: {one.item or one.after}" for one in made.difference.asks],
        }

    async def accept(self, request: AnswerOffer) -> Facts:
        change = await self._packs.accept(request.id, TERMINAL)
        return {"pack": change.pack, "version": change.version, "kind": change.kind}

    async def decline(self, request: AnswerOffer) -> Facts:
        return {"pack": (await self._packs.decline(request.id)).pack}

    async def remove(self, request: RemovePack) -> Facts:
        change = await self._packs.remove(request.pack, TERMINAL, purge=request.purge)
        return {"pack": change.pack, "purged": request.purge}

    async def restore(self, request: RestorePack) -> Facts:
        before, problem = await self._packs.restore(
            request.pack, Path(request.file), request.passphrase
        )
        return {"before": str(before) if before else "", "schedules_problem": problem}

    async def unread(self, request: Nothing) -> Facts:
        del request
        return {"unread": await self._packs.unread()}

    async def refresh(self, request: Nothing) -> Facts:
        del request
        before = self._library()
        await self._packs.refresh()
        return refreshed(before, self._library())

    async def make(self, request: MakeSchedule) -> Facts:
        """Make a schedule; return it."""
        if request.misfire not in get_args(Misfire):
            raise NotDone(f"misfire is one of {', '.join(get_args(Misfire))}.")
        wish = Wish(
            text=request.schedule,
            prompt=request.prompt,
            name=request.name,
            zone=request.zone,
            misfire=cast("Misfire", request.misfire),
            timeout_s=request.limit_s,
            tokens_max=request.tokens_max,
            retries=request.retries,
        )
        place = place_of(request.chat, request.thread, request.person)
        chat = place.address.chat_id
        is_page = place.address.platform == "web"
        if is_page and chat != GENERAL and self._library().get(chat) is None:
            raise NotDone(f"There is no chat {chat!r} on the page: say web:~, or web: and a pack.")
        with _said():
            await self._schedules.check_topic(place.address)
            pack = request.pack or await self._schedules.pack_of(place.address, self._library())
            row = await self._schedules.create(wish, place, pack, self._library())
        return {"schedule": asdict(row)}

    async def switch(self, request: SwitchSchedule) -> Facts:
        """Switch a schedule; return it as it is now, None = there is none with this id."""
        with _said():
            row = (
                await self._schedules.resume(request.id, self._library())
                if request.on
                else await self._schedules.pause(request.id)
            )
        return {"schedule": asdict(row) if row else None}

    async def run(self, request: OneSchedule) -> Facts:
        """Have a schedule run now; return it, None = there is none with this id."""
        with _said():
            row = await self._schedules.run_now(request.id)
        return {"schedule": asdict(row) if row else None}

    async def forget(self, request: OneSchedule) -> Facts:
        """Remove a schedule; return what it was, None = there is none with this id."""
        with _said():
            row = await self._schedules.remove(request.id)
        return {"schedule": asdict(row) if row else None}


@contextmanager
def _said() -> Generator[None]:
    """Tell the terminal why a schedule was refused."""
    try:
        yield
    except ScheduleRefused as error:
        raise NotDone(str(error)) from error


def place_of(chat: str, thread: str, person: str) -> Place:
    """Return the place with these ids: a number is a chat on Telegram, `web:NAME` one of the page,
    a name one of a terminal.

    Raises:
        NotDone: for a group it has to be said in whose name the schedule runs; a terminal and the
            page have no topics.
    """
    if not chat.removeprefix("-").isdecimal():
        on_page = chat.startswith("web:")
        if thread:
            which = "page" if on_page else f"terminal {chat!r}"
            raise NotDone(f"The {which} has no topics: leave out --thread.")
        name = chat.removeprefix("web:")
        address = ConversationAddress("web" if on_page else "cli", name)
        return Place(address, "private", person or AT_HOME)
    in_group = chat.startswith("-")
    if in_group and not person:
        raise NotDone("In a group a schedule runs in somebody's name: say whose, with --person.")
    kind = "private" if not in_group else "forum" if thread else "group"
    return Place(ConversationAddress("tg", chat, thread), kind, person or chat)


def refreshed(before: Library, found: Library) -> Facts:
    """Return what reading the packs anew has brought."""
    broken = {name: list(map(str, problems)) for name, problems in found.broken.items()}
    return {
        "packs": list(found.names),
        "changed": list(changed(before, found)),
        "broken": broken,
    }


@asynccontextmanager
async def at_rest(home: Home, settings: Settings) -> AsyncGenerator[Mapping[str, Verb[Any]]]:
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
        stores = PackStores(home, library, clock)
        stores.belong_to(owner.data_name)
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
            admission = Admission(settings.telegram.allowed_user_ids)

            def may(row: Scheduled) -> Paused:
                return may_run(row, library(), partial(admission.lists, owner=owner.id))

            schedules = Schedules(database=database, clock=clock, zone_of=zones, may=may)
            yield home_verbs(packs, library, schedules)
        finally:
            stores.close()
