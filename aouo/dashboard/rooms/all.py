"""Lists the rooms of the page."""

from __future__ import annotations

from aouo.dashboard.access import Shown
from aouo.dashboard.endpoints import Endpoint
from aouo.dashboard.rooms.chat import chat
from aouo.dashboard.rooms.evals import evals
from aouo.dashboard.rooms.logs import logs
from aouo.dashboard.rooms.memory import memory
from aouo.dashboard.rooms.packs import packs, people
from aouo.dashboard.rooms.schedules import schedules
from aouo.dashboard.rooms.security import approvals, audited, security
from aouo.dashboard.rooms.settings import settings
from aouo.dashboard.rooms.state import doctor, live, state
from aouo.dashboard.rooms.storage import storage
from aouo.dashboard.rooms.usage import turns, usage

_ROOMS = (
    state,
    live,
    people,
    usage,
    packs,
    schedules,
    logs,
    evals,
    settings,
    doctor,
    turns,
    approvals,
    audited,
    security,
    chat,
    memory,
    storage,
)


def endpoints(shown: Shown) -> tuple[Endpoint, ...]:
    """Return everything that can be asked of the page."""
    return tuple(endpoint for room in _ROOMS for endpoint in room(shown))
