"""Answers what people are called."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.dashboard.endpoints import Endpoint
from aouo.dashboard.shown import Shown
from aouo.dashboard.whose import called
from aouo.plumbing.verbs import Facts
from aouo.store.people import NAMES


def people(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoint about people."""

    async def labels() -> Facts:
        """What people are called, by their ids on the platform."""
        async with shown.snapshot() as snapshot:
            names = await snapshot.ask(NAMES)
        return {"labels": {person: called(person, name) for person, name in names.items()}}

    return (Endpoint("GET", "/api/people", labels),)
