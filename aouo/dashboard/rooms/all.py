"""Lists the rooms of the page."""

from __future__ import annotations

from aouo.dashboard.endpoints import Endpoint
from aouo.dashboard.rooms.live import live
from aouo.dashboard.rooms.memory import memory
from aouo.dashboard.rooms.packs import packs
from aouo.dashboard.rooms.state import state
from aouo.dashboard.rooms.storage import storage
from aouo.dashboard.rooms.usage import usage
from aouo.dashboard.shown import Shown

_ROOMS = (
    state,
    live,
    usage,
    packs,
    memory,
    storage,
)


def endpoints(shown: Shown) -> tuple[Endpoint, ...]:
    """Return everything that can be asked of the page."""
    return tuple(endpoint for room in _ROOMS for endpoint in room(shown))
