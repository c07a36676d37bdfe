"""Shows nothing of a turn that nobody watches; what it sends is kept to go out with its result."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aouo.facts.ports import Payload, Sent
from aouo.facts.transcript import AsksAgain
from aouo.outbound.clean import without_secrets
from aouo.outbound.degrade import Capabilities, degraded
from aouo.outbound.pages import Filled
from aouo.outbound.payloads import messages_of
from aouo.plumbing.redact import Redactor
from aouo.store import report_parts
from aouo.store.database import Database

_LATER = "It is shown together with your answer, once that is complete."
_NO_REPLY = "It replies to no message: this runs by itself."


@dataclass(slots=True, eq=False, kw_only=True)
class SilentView:
    """A `TurnView` of a triggered turn; see `outbound.live.LiveView` for the one people watch."""

    database: Database
    turn_id: str
    capabilities: Capabilities
    redactor: Redactor

    streams = False
    """Nobody sees words before the turn has ended."""

    async def run(self) -> None:
        """Nothing has to be kept up to date."""

    async def settle(self) -> Filled:
        return Filled()

    def stand_by(self) -> None:
        """Nothing is shown while it waits, either."""

    def go_on(self) -> None:
        """See `stand_by`."""

    async def show_tool_call(self, name: str, args: str) -> None:
        del name, args

    async def show_tool_result(self) -> None: ...

    async def show_asking_again(self, asks: AsksAgain) -> None:
        del asks

    async def streaming_reply(self, delta: str) -> None:
        del delta

    async def start_over(self) -> None: ...

    async def dispatch_message(self, payload: Payload, key: str) -> Sent:
        """Keep one payload for the result; `key` makes this idempotent."""
        if payload.type == "action":
            return Sent(ok=True)
        shown, note = degraded(payload, self.capabilities)
        messages = [message for item in shown for message in messages_of(item, 0)]
        messages = [without_secrets(message, self.redactor) for message in messages]
        messages[-1] = replace(messages[-1], tag=payload.tag)
        await self.database.transact(
            lambda tx: report_parts.keep(tx, self.turn_id, key, messages), durable=True
        )
        notes = (note, _NO_REPLY if payload.reply_to.strip() else "", _LATER)
        return Sent(ok=True, note=" ".join(filter(None, notes)))
