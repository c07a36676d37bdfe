"""A reminder of Ada's, as a row: what the tests of schedules begin with."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from aouo.emulator import ADA
from aouo.facts.address import ConversationAddress
from aouo.facts.ports import iso
from aouo.facts.work import Scheduled
from aouo.store import schedules


def reminder(now: datetime, due_in_s: float = 0, **more: Any) -> Scheduled:
    """A schedule for once, made `now`, unless `more` says otherwise."""
    due = now + timedelta(seconds=due_in_s)
    fields: dict[str, Any] = {
        "id": schedules.new_id(),
        "pack": "",
        "key": "",
        "origin": "person",
        "address": ConversationAddress("tg", str(ADA)),
        "chat_kind": "private",
        "person": str(ADA),
        "skill": "",
        "prompt": "Remind me",
        "text": iso(due),
        "zone": "UTC",
        "since": iso(now),
        "enabled": True,
        "paused": "",
        "next_due": iso(due),
        "name": "plants",
        **more,
    }
    return Scheduled(**fields)
