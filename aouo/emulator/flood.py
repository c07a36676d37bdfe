"""Simulates flood control: buckets per chat, per group and over all chats."""

import math
from dataclasses import dataclass, field

from aouo.emulator.refusal import Refusal, too_many_requests

# Methods that count as messages; edits count like sends.
COUNTED = ("send", "edit", "copy", "forward")
UNCOUNTED = frozenset({"sendchataction", "sendmessagedraft", "editforumtopic"})


@dataclass(slots=True)
class Bucket:
    """A leaky bucket: `burst` calls at once, then `rate` calls a second."""

    burst: float
    rate: float
    level: float = 0.0  # calls in the bucket; it leaks
    at: float = 0.0

    def wait_s(self, now: float) -> float:
        """Return the seconds until one more call fits; 0 if it does now."""
        self.level = max(0.0, self.level - (now - self.at) * self.rate)
        self.at = now
        return max(0.0, (self.level + 1 - self.burst) / self.rate)

    def take(self) -> None:
        self.level += 1


@dataclass(slots=True)
class FloodControl:
    """Flood control with the figures that Telegram names; off until it is switched on."""

    on: bool = False
    _chats: dict[object, list[Bucket]] = field(default_factory=dict[object, list[Bucket]])
    _total: Bucket = field(default_factory=lambda: Bucket(30, 30))
    _until: dict[object, float] = field(default_factory=dict[object, float])

    def judge(self, method: str, chat_id: object, is_group: bool, now: float) -> Refusal | None:
        """Return the 429 for this call, or count the call and return None.

        A refused chat stays refused until its time is over; each 429 names the seconds left.
        """
        name = method.lower()
        if not self.on or not name.startswith(COUNTED) or name in UNCOUNTED:
            return None
        held = self._until.get(chat_id, 0.0) - now
        if held > 0:
            return too_many_requests(math.ceil(held))
        buckets = [self._total, *self._buckets(chat_id, is_group)]
        wait_s = max(bucket.wait_s(now) for bucket in buckets)
        if wait_s > 1e-9:
            seconds = math.ceil(wait_s)
            self._until[chat_id] = now + seconds
            return too_many_requests(seconds)
        for bucket in buckets:
            bucket.take()
        return None

    def _buckets(self, chat_id: object, is_group: bool) -> list[Bucket]:
        if chat_id not in self._chats:
            per_minute = [Bucket(20, 20 / 60)] if is_group else []
            self._chats[chat_id] = [Bucket(3, 1), *per_minute]
        return self._chats[chat_id]
