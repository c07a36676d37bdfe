"""Answers getUpdates: confirms, waits, delivers; of two open polls the older one is refused."""

import asyncio

from aouo.emulator.changes import ChangeSignal
from aouo.emulator.jsons import JsonObject
from aouo.emulator.parameters import Parameters
from aouo.emulator.refusal import Refusal, conflict
from aouo.emulator.world import World

MAX_TIMEOUT_S = 50
_TERMINATED = (
    "terminated by other getUpdates request; make sure that only one bot instance is running"
)
_WEBHOOK = (
    "can't use getUpdates method while webhook is active; "
    "use deleteWebhook to delete the webhook first"
)


class Poll:
    """The one long poll that a bot may have open."""

    def __init__(self, world: World, signal: ChangeSignal) -> None:
        self._world = world
        self._signal = signal
        self._newest = object()
        self._stopped = False

    async def get_updates(self, params: Parameters, *, duplicate: bool) -> list[JsonObject]:
        """Return the updates from `offset` on; wait up to `timeout` seconds for the first one.

        With `duplicate` the updates that `offset` confirms are delivered once more.
        """
        self._check_webhook()
        mine = self._newest = object()
        self._signal.wake()
        self._confirm(params, duplicate=duplicate)
        limit = params.integer("limit", 100)
        limit = limit if 1 <= limit <= 100 else 100
        timeout_s = max(0, min(MAX_TIMEOUT_S, params.integer("timeout")))
        try:
            async with asyncio.timeout(timeout_s or None):
                while timeout_s and not len(self._world.updates):
                    await self._signal.wait()
                    self._check_alone(mine)
        except TimeoutError:
            return []
        return self._world.updates.head(limit)

    def _confirm(self, params: Parameters, *, duplicate: bool) -> None:
        updates = self._world.updates
        if params.has("allowed_updates"):
            updates.allow([str(kind) for kind in params.values["allowed_updates"]])
        offset = params.integer("offset")
        if offset:
            gone = updates.confirm(offset)
            if duplicate:
                updates.restore(gone)

    def _check_alone(self, mine: object) -> None:
        if self._stopped:
            raise Refusal(500, "Internal Server Error: restart")
        if self._newest is not mine:
            raise conflict(_TERMINATED)
        self._check_webhook()

    def _check_webhook(self) -> None:
        if self._world.webhook:
            raise conflict(_WEBHOOK)

    def stop(self) -> None:
        """End the open poll, because the server stops."""
        self._stopped = True
        self._signal.wake()
