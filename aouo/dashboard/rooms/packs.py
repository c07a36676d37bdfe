"""Answers which packs there are, and what each is."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.dashboard.endpoints import Endpoint, NotFound
from aouo.dashboard.shown import Shown
from aouo.packs.load import Pack
from aouo.plumbing.verbs import Facts


def packs(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about packs."""

    async def every() -> Facts:
        return {"packs": [_card(pack) for pack in shown.library().packs.values()]}

    async def one(pack: str) -> Facts:
        return _card(found(shown, pack))

    return (
        Endpoint("GET", "/api/packs", "The installed packs.", every),
        Endpoint("GET", "/api/packs/{pack}", "One pack.", one),
    )


def found(shown: Shown, name: str) -> Pack:
    """Return an installed pack that loads. Raises: NotFound."""
    if pack := shown.library().get(name):
        return pack
    raise NotFound(f"There is no pack {name!r}.")


def _card(pack: Pack) -> Facts:
    return {
        "name": pack.name,
        "version": pack.manifest.version,
        "display_name": pack.manifest.display_name,
        "description": pack.manifest.description,
    }
