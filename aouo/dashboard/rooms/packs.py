"""Answers which packs there are, and what each is and may do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from aouo.dashboard.endpoints import Conflict, Endpoint, NotFound
from aouo.dashboard.shown import Shown
from aouo.outbound.markdown.render import as_text
from aouo.outbound.wording.packs import UNREAD, card_sentences, signature_line
from aouo.packs.load import Pack
from aouo.packs.shipping.signing import verify
from aouo.packs.summary import summarize
from aouo.plumbing.verbs import Facts
from aouo.store import installs


def packs(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about packs."""

    async def every() -> Facts:
        async with shown.snapshot() as snapshot:
            changes = await snapshot.ask(installs.UNSETTLED)
        return {
            **shown.library().listed(),
            "unread": await _unread(shown),
            "changes": [asdict(change) for change in changes],
        }

    async def one(pack: str) -> Facts:
        library = shown.library()
        if pack not in library.packs and pack in library.broken:
            problems = [asdict(problem) for problem in library.broken[pack]]
            return {"name": pack, "loads": False, "problems": problems}
        there = found(shown, pack)
        async with shown.snapshot() as snapshot:
            known = await snapshot.ask(installs.KNOWN)
            changes = await snapshot.ask(installs.UNSETTLED)
        return {
            **await asyncio.to_thread(_facts, there, shown.trusted_keys()),
            "loads": True,
            "warnings": [str(problem) for problem in library.warnings.get(pack, ())],
            "problems": [asdict(problem) for problem in library.broken.get(pack, ())],
            "unread": (await _unread(shown)).get(pack, ""),
            "install": asdict(known[pack]) if pack in known else None,
            "changes": [asdict(change) for change in changes if change.pack == pack],
        }

    return (
        Endpoint(
            "GET",
            "/api/packs",
            "What `aouo pack list --json` says, and which installs and upgrades wait.",
            every,
        ),
        Endpoint("GET", "/api/packs/{pack}", "What `aouo pack info --json` says.", one),
    )


def found(shown: Shown, name: str) -> Pack:
    """Return an installed pack that loads. Raises: NotFound, Conflict."""
    library = shown.library()
    if pack := library.get(name):
        return pack
    if name in library.broken:
        raise Conflict(f"The pack {name} does not load; About says why.")
    raise NotFound(f"There is no pack {name!r}.")


def _facts(pack: Pack, trusted: Mapping[str, str]) -> Facts:
    """Say what a pack is, as its card does. Raises: PackError."""
    summary = summarize(pack, verify(pack.folder, trusted))
    return {
        **asdict(summary),
        "installed": True,
        "may": [as_text(one) for one in card_sentences(summary, "may")],
        "brings": [as_text(one) for one in card_sentences(summary, "brings")],
        "signed": as_text(signature_line(summary.signature)),
    }


async def _unread(shown: Shown) -> dict[str, str]:
    """Say by pack why what runs differs from its folder; {} while no bot runs."""
    if shown.runtime is None:
        return {}
    kinds = await shown.runtime.app.packs.unread()
    return {name: UNREAD.get(kind, kind) for name, kind in kinds.items()}
