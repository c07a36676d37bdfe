"""Lists the rooms of the page."""

from __future__ import annotations

from aouo.dashboard.endpoints import Endpoint
from aouo.dashboard.rooms.approvals import approvals
from aouo.dashboard.rooms.audit import audit
from aouo.dashboard.rooms.chat import chat
from aouo.dashboard.rooms.doctor import doctor
from aouo.dashboard.rooms.evals import evals
from aouo.dashboard.rooms.live import live
from aouo.dashboard.rooms.logs import logs
from aouo.dashboard.rooms.memory import memory
from aouo.dashboard.rooms.packs import packs
from aouo.dashboard.rooms.people import people
from aouo.dashboard.rooms.schedules import schedules
from aouo.dashboard.rooms.security import security
from aouo.dashboard.rooms.settings import settings
from aouo.dashboard.rooms.state import state
from aouo.dashboard.rooms.storage import storage
from aouo.dashboard.rooms.turns import turns
from aouo.dashboard.rooms.usage import usage
from aouo.dashboard.shown import Shown

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
    audit,
    security,
    chat,
    memory,
    storage,
)


def endpoints(shown: Shown) -> tuple[Endpoint, ...]:
    """Return everything that can be asked of the page."""
    return tuple(endpoint for room in _ROOMS for endpoint in room(shown))
