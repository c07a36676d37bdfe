"""The queue of updates with Telegram's rules for confirming them."""

from collections import deque
from collections.abc import Sequence

from aouo.emulator.jsons import JsonObject

# Not delivered unless the bot asks for them.
OPT_IN = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
_FUTURE = 10  # an offset further ahead than this is ignored
_GAP_EVERY = 5  # ids increase but are not contiguous


class UpdateQueue:
    """Updates in order of their ids; confirmed ones are removed for good."""

    def __init__(self, first_id: int = 700_000_001) -> None:
        self._next_id = first_id
        self._waiting: deque[JsonObject] = deque()
        self._allowed: frozenset[str] | None = None
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def allowed(self) -> list[str]:
        """The kinds that the bot asked for last; [] = the default."""
        return sorted(self._allowed or ())

    def allow(self, kinds: Sequence[str]) -> None:
        """Filter later updates by kind; [] = the default set."""
        self._allowed = frozenset(kinds) or None

    def push(self, kind: str, content: JsonObject) -> int | None:
        """Queue an update and return its id; None if the bot does not want its kind."""
        wanted = kind not in OPT_IN if self._allowed is None else kind in self._allowed
        if not wanted:
            return None
        update_id = self._next_id
        self._pushed += 1
        self._next_id += 2 if self._pushed % _GAP_EVERY == 0 else 1
        self._waiting.append({"update_id": update_id, kind: content})
        return update_id

    def confirm(self, offset: int) -> list[JsonObject]:
        """Forget every update below `offset` and return them; `-n` keeps the last n."""
        gone: list[JsonObject] = []
        if offset < 0:
            gone += [self._waiting.popleft() for _ in range(max(0, len(self) + offset))]
        elif offset <= self._next_id + _FUTURE:
            while self._waiting and self._waiting[0]["update_id"] < offset:
                gone.append(self._waiting.popleft())
        return gone

    def confirmable(self, offset: int) -> bool:
        """Whether a positive `offset` would confirm an update."""
        in_range = 0 < offset <= self._next_id + _FUTURE
        return in_range and bool(self._waiting) and self._waiting[0]["update_id"] < offset

    def restore(self, updates: Sequence[JsonObject]) -> None:
        """Put confirmed updates back, so that they are delivered a second time."""
        self._waiting.extendleft(reversed(updates))

    def head(self, limit: int) -> list[JsonObject]:
        """The oldest `limit` updates; they stay until they are confirmed."""
        return [self._waiting[index] for index in range(min(limit, len(self)))]

    def remove(self, update_id: int) -> None:
        """Remove one update, which a webhook has taken."""
        kept = [update for update in self._waiting if update["update_id"] != update_id]
        self._waiting = deque(kept)

    def clear(self) -> None:
        self._waiting.clear()
