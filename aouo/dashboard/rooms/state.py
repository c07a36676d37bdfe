"""Answers how the bot is, and whether one runs."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.dashboard.endpoints import Endpoint
from aouo.dashboard.shown import Shown
from aouo.plumbing.verbs import Facts


def state(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about the process."""

    async def health() -> tuple[int, Facts]:
        """Whether messages come in, are worked on and go out."""
        facts = await shown.health()
        return 200 if facts["ok"] else 503, facts

    async def status() -> Facts:
        """How the running bot is."""
        return await shown.status()

    return (
        Endpoint("GET", "/healthz", health, needs_token=False),
        Endpoint("GET", "/api/status", status),
    )
