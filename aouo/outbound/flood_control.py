"""Paces calls for Telegram's flood control: token buckets per chat, per group and for the bot.

Telegram does not promise these figures; a refused call is waited out where it happens. The bot
sends one second's worth of messages at once and the rest at its rate, in all chats together:
at nine o'clock many schedules begin at the same time.

Source: core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this, "about 30
messages per second".
"""

from __future__ import annotations

from dataclasses import dataclass

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Clock

_CHAT_PER_S, CHAT_BURST = 1.0, 3
_GROUP_PER_S, _GROUP_BURST = 20 / 60, 20
_BOT_PER_S, BOT_BURST = 30.0, 30
_SLOWER_AT_MOST, CALM_S = 8.0, 60.0


@dataclass(slots=True)
class Bucket:
    """A token bucket that refills with time; a count below zero reserves future tokens."""

    per_s: float
    burst: int
    tokens: float = -1.0
    at_s: float = 0.0

    def take(self, now_s: float) -> float:
        """Take one token; return how many seconds to wait before using it."""
        if self.at_s == 0.0:
            self.tokens = float(self.burst)
        self.tokens = min(float(self.burst), self.tokens + (now_s - self.at_s) * self.per_s)
        self.at_s = now_s
        self.tokens -= 1.0
        return max(0.0, -self.tokens / self.per_s)


class Pace:
    """The buckets of every chat and of the bot."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._bot = Bucket(_BOT_PER_S, BOT_BURST)
        self._chats: dict[str, tuple[Bucket, ...]] = {}
        self._slower: dict[str, tuple[float, float]] = {}
        self._parked: dict[str, float] = {}

    async def wait(self, address: ConversationAddress) -> None:
        """Wait until one more call to this conversation is within the limits."""
        if address.platform != "tg":
            return
        await self._unparked(address)
        buckets = self._chats.get(address.chat_id)
        if buckets is None:
            buckets = self._chats[address.chat_id] = _of_chat(address.chat_id)
        now_s = self._clock.monotonic_s()
        wait_s = max(bucket.take(now_s) for bucket in (*buckets, self._bot))
        if wait_s > 0:
            await self._clock.sleep(wait_s)
            await self._unparked(address)

    def park(self, address: ConversationAddress, wait_s: float) -> None:
        """Stop the calls to a chat and its topics for `wait_s`, after flood control.

        Live edits there should then be half as frequent for a while.
        """
        now_s = self._clock.monotonic_s()
        factor = min(self.slower(address) * 2, _SLOWER_AT_MOST)
        self._slower[address.chat_id] = (factor, now_s)
        self._parked[address.chat_id] = max(now_s + wait_s, self._parked.get(address.chat_id, 0.0))

    def is_parked(self, address: ConversationAddress) -> bool:
        """Whether flood control still forbids calls to this chat."""
        if self._parked.get(address.chat_id, 0.0) > self._clock.monotonic_s():
            return True
        self._parked.pop(address.chat_id, None)
        return False

    async def _unparked(self, address: ConversationAddress) -> None:
        while self.is_parked(address):
            await self._clock.sleep(self._parked[address.chat_id] - self._clock.monotonic_s())

    def slower(self, address: ConversationAddress) -> float:
        """Return the factor for the pause between live edits; it halves with every calm minute."""
        factor, since_s = self._slower.get(address.chat_id, (1.0, 0.0))
        if factor > 1.0:
            minutes = min((self._clock.monotonic_s() - since_s) // CALM_S, _SLOWER_AT_MOST)
            factor = max(1.0, factor / 2**minutes)
        if factor == 1.0:
            self._slower.pop(address.chat_id, None)
        return factor


def _of_chat(chat_id: str) -> tuple[Bucket, ...]:
    """Return fresh buckets for a chat; groups, with negative ids, have two."""
    chat = Bucket(_CHAT_PER_S, CHAT_BURST)
    return (chat, Bucket(_GROUP_PER_S, _GROUP_BURST)) if chat_id.startswith("-") else (chat,)
