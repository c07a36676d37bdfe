"""Takes the connections of the page, with all its rooms: so many at once, each in limited time."""

from __future__ import annotations

import asyncio
import logging
import socket

from aiohttp import web

from aouo.dashboard.access import Access, Shown
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
from aouo.dashboard.site import AROUND, Site, problem
from aouo.plumbing.connections import Connections
from aouo.plumbing.logs import log

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


_CONNECTIONS = 100
_REQUEST_S = 20.0
"""The time for a whole request, so that nobody can hold a connection by sending slowly."""
_IDLE_S = 75.0
_SILENT = logging.getLogger("aouo.dashboard")
_SILENT.disabled = True
"""Silences both logs of aiohttp, which quote addresses, and with them a token."""


async def serve(listener: socket.socket, shown: Shown, access: Access) -> None:
    """Take the connections of a socket that listens, until cancelled."""
    loop = asyncio.get_running_loop()
    connections = Connections(
        lambda: _Protocol(
            manager,
            loop=loop,
            access_log=_SILENT,
            logger=_SILENT,
            keepalive_timeout=_IDLE_S,
            max_line_size=16_384,
        ),
        clock=shown.clock,
        patience_s=_REQUEST_S,
        most=_CONNECTIONS,
    )
    site = Site(
        tuple(endpoint for room in _ROOMS for endpoint in room(shown)),
        access,
        f"aouo_{listener.getsockname()[1]}",
        lambda request: connections.taken(request.transport),
        shown.redactor,
    )
    runner = web.AppRunner(site.application(), handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    assert runner.server
    manager = runner.server
    server = await loop.create_server(connections, sock=listener)
    try:
        await asyncio.Event().wait()
    finally:
        server.close()
        await runner.cleanup()


class _Protocol(web.RequestHandler):
    """Refuses what is no HTTP as everything else is refused, and quotes nothing of it."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        del message
        if request.writer.output_size or isinstance(exc, ConnectionError):
            raise ConnectionError from exc  # half of an answer cannot be taken back
        if status >= 500:
            log.error("dashboard_failed", error=repr(exc))
        refused = problem(request, status, "This request cannot be read.")
        refused.headers.update(AROUND)
        refused.force_close()
        return refused
