"""Answers which packs there are, what each is and may do, and what people are called."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from aouo.dashboard.access import Shown, called
from aouo.dashboard.endpoints import Endpoint
from aouo.facts.errors import Refused
from aouo.installer.changes import TERMINAL
from aouo.packs.load import Pack
from aouo.packs.shipping.signing import verify
from aouo.packs.summary import summarize
from aouo.plumbing.control import Facts
from aouo.store import installs
from aouo.store.chats import NAMES
from aouo.store.people import ASKING
from aouo.words.catalogue import text
from aouo.words.markdown.render import as_text
from aouo.words.packs import card_sentences, signature_line


def people(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoint about people."""

    async def labels() -> Facts:
        """What people are called, by their ids on the platform; and who asks to be let in."""
        async with shown.snapshot() as snapshot:
            names = await snapshot.ask(NAMES)
            asked = await snapshot.ask(ASKING)
        labels = {person: called(person, name) for person, name in names.items()}
        return {"labels": labels, "asked": asked}

    async def decide(person: str, how: str) -> Facts:
        """Let somebody in who asked, as `member` or `guest`, or say `no`; 409 if that is over."""
        if not await shown.bot.app.let_in(person, how):
            raise Refused("Nobody of this id asks any more, or there is no such answer.")
        return {"person": person, "how": how}

    return (
        Endpoint("GET", "/api/people", labels),
        Endpoint("POST", "/api/people/{person}", decide, body=True),
    )


_RECENT_S = 5.0


def packs(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about packs."""
    folders = _Folders(shown)

    async def every() -> Facts:
        """What `aouo pack list --json` says, and which installs and upgrades wait."""
        async with shown.snapshot() as snapshot:
            changes = await snapshot.ask(installs.UNSETTLED)
        return {**shown.library().listed(), "unread": await folders.unread(), "changes": changes}

    async def one(pack: str) -> Facts:
        """What `aouo pack info --json` says."""
        library = shown.library()
        if pack not in library.packs and pack in library.broken:
            return {"name": pack, "loads": False, "problems": library.broken[pack]}
        there = shown.pack(pack)
        async with shown.snapshot() as snapshot:
            known = await snapshot.ask(installs.KNOWN)
            changes = await snapshot.ask(installs.UNSETTLED)
        return {
            **await folders.facts(there),
            "loads": True,
            "warnings": [str(problem) for problem in library.warnings.get(pack, ())],
            "problems": library.broken.get(pack, ()),
            "unread": (await folders.unread()).get(pack, ""),
            "install": known.get(pack),
            "changes": [change for change in changes if change.pack == pack],
        }

    async def remove(pack: str, purge: bool = False) -> Facts:
        """Remove a pack; `purge`: what it keeps, too. 409 while another one needs it."""
        await shown.bot.app.packs.remove(pack, TERMINAL, purge=purge)
        return {"pack": pack, "purged": purge}

    return (
        Endpoint("POST", "/api/packs/{pack}/remove", remove, body=True),
        Endpoint("GET", "/api/packs", every),
        Endpoint("GET", "/api/packs/{pack}", one),
    )


def _facts(pack: Pack, trusted: Mapping[str, str]) -> Facts:
    """Say what a pack is, as its card does. Raises: PackError."""
    summary = summarize(pack, verify(pack.folder, trusted))
    return {
        **asdict(replace(summary, translations={})),
        "installed": True,
        "may": [as_text(one) for one in card_sentences(summary, "may")],
        "brings": [as_text(one) for one in card_sentences(summary, "brings")],
        "signed": as_text(signature_line(summary.signature)),
    }


@dataclass(eq=False)
class _Folders:
    """Looks into packs' folders, and remembers for a few seconds what was there: pages ask each
    time that something was stored, and all files are read for an answer."""

    shown: Shown

    def __post_init__(self) -> None:
        self._alone = asyncio.Lock()
        self._library = self.shown.library()
        self._found: dict[str, tuple[float, Facts]] = {}

    async def unread(self) -> Facts:
        """Say by pack why what runs differs from its folder; {} while no bot runs."""
        runtime = self.shown.runtime
        if runtime is None:
            return {}

        async def look() -> Facts:
            kinds = await runtime.app.packs.unread()
            return {name: text(f"card.unread-{kind}") for name, kind in kinds.items()}

        return await self._recent("", look)

    async def facts(self, pack: Pack) -> Facts:
        """Say what a pack is, as its card does. Raises: PackError."""

        async def look() -> Facts:
            return await asyncio.to_thread(_facts, pack, self.shown.trusted_keys())

        return await self._recent(pack.name, look)

    async def _recent(self, name: str, look: Callable[[], Awaitable[Facts]]) -> Facts:
        async with self._alone:
            now_s, library = self.shown.clock.monotonic_s(), self.shown.library()
            if library is not self._library:
                self._library = library
                self._found.clear()
            if name in self._found and now_s - self._found[name][0] < _RECENT_S:
                return self._found[name][1]
            found = await look()
            self._found[name] = now_s, found
            return found
