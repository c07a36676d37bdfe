"""Token caps: asked before any model call, and again before each."""

from __future__ import annotations

from datetime import tzinfo

from aouo.errors import QuotaExceededError
from aouo.ports import Clock
from aouo.store import usage
from aouo.store.database import Database, Tx


class Quota:
    """The session's and the day's cap; 0 switches one off. A day ends at local midnight."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        zone: tzinfo | None,
        session_tokens_max: int,
        daily_tokens_max: int,
    ) -> None:
        self._database = database
        self._clock = clock
        self._zone = zone
        self._session_max = session_tokens_max
        self._daily_max = daily_tokens_max

    def day(self) -> str:
        """The local day that usage counts for, such as `2026-11-21`."""
        return self._clock.now().astimezone(self._zone).date().isoformat()

    async def check(self, session_id: str, pending_tokens: int) -> None:
        """Refuse when a cap is reached; `pending_tokens` are spent but not yet recorded.

        Raises:
            QuotaExceededError: names the cap that is reached, the session's before the day's.
        """
        if not (self._session_max or self._daily_max):
            return
        day = self.day()

        def spent(tx: Tx) -> tuple[int, int]:
            return usage.tokens_of_session(tx, session_id), usage.tokens_of_day(tx, day)

        session, daily = await self._database.read(spent)
        caps = (
            ("session", session, self._session_max, "advanced.session_tokens_max"),
            ("daily", daily, self._daily_max, "advanced.daily_tokens_max"),
        )
        for scope, used, cap, key in caps:
            if cap and used + pending_tokens >= cap:
                raise QuotaExceededError(scope, used + pending_tokens, cap, key)
