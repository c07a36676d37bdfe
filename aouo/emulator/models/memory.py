"""The memory of a service between requests: issued calls, used tokens, cached prompts."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass, field
from typing import TypeAlias

from aouo.emulator.models.asked import BYTES_A_TOKEN, Asked
from aouo.emulator.models.profile import Body, Caching, Limit, matches

_SEEN_MAX = 1_000_000
_LOOK_BACK = 20
"""The pieces before a mark that are checked too (Anthropic, "Prompt caching")."""
_DAY_S = 86_400


Issued: TypeAlias = tuple[Body, Body]
"""A call as it was sent: the message and the call, with all that a client must send back."""


@dataclass(slots=True)
class Memory:
    """The memory of one service since its start."""

    issued: dict[str, Issued] = field(default_factory=dict[str, Issued])
    spent: deque[tuple[float, str, int]] = field(default_factory=deque[tuple[float, str, int]])
    """(time, model, tokens) of each answer of the last day."""
    terms_accepted: bool = True
    """Whether the terms of models that require it were accepted."""
    _seen: set[bytes] = field(default_factory=set[bytes])

    def spend(self, now_s: float, model: str, tokens: int) -> None:
        self.spent.append((now_s, model, tokens))
        while self.spent[0][0] < now_s - _DAY_S:
            self.spent.popleft()

    def used(self, limit: Limit, now_s: float, wanted: int) -> tuple[int, float]:
        """Return the use that counts against a limit now, and the seconds to wait.

        After that time `wanted` is allowed, or at least the oldest use does not count any more.
        """
        counted = [
            (when, tokens if limit.of == "tokens" else 1)
            for when, model, tokens in self.spent
            if when > now_s - limit.seconds and matches(model, limit.models)
        ]
        if limit.refills:
            return _drained(limit, counted, now_s, wanted)
        wait_s = counted[0][0] + limit.seconds - now_s if counted else 0.0
        return sum(amount for _, amount in counted), wait_s

    def cached_tokens(self, asked: Asked, caching: Caching) -> int:
        """Return the tokens of the prompt's beginning that are cached, and cache all of it."""
        if caching.wants and caching.wants not in asked.body:
            return 0
        by_marks = caching.marked_models and matches(asked.model, caching.marked_models)
        match "marked" if by_marks else caching.kind:
            case "none":
                return 0
            case "blocks":
                found = self._blocks(asked, caching.block_tokens)
            case "marked":
                found = self._marked(asked)
        return found if found >= caching.least_tokens else 0

    def _blocks(self, asked: Asked, tokens: int) -> int:
        text = "\n".join((asked.model, *asked.prompt)).encode("utf-8", "replace")
        size = tokens * BYTES_A_TOKEN
        known, counting, link = 0, True, b""
        for at in range(0, len(text) - size + 1, size):
            link = _chained(link, text[at : at + size])
            counting = counting and link in self._seen
            known += tokens * counting
            self._note(link)
        return known

    def _marked(self, asked: Asked) -> int:
        links: list[bytes] = []
        sums: list[int] = []
        link, total = asked.model.encode(), 0
        for piece in asked.prompt:
            data = piece.encode("utf-8", "replace")
            link, total = _chained(link, data), total + len(data) // BYTES_A_TOKEN
            links.append(link)
            sums.append(total)
        looked_at = {at for mark in asked.marked for at in range(mark - _LOOK_BACK, mark + 1)}
        known = [sums[at] for at in looked_at if at >= 0 and links[at] in self._seen]
        for mark in asked.marked:
            self._note(links[mark])
        return max(known, default=0)

    def _note(self, link: bytes) -> None:
        if len(self._seen) >= _SEEN_MAX:
            self._seen.clear()
        self._seen.add(link)


def _drained(
    limit: Limit, counted: list[tuple[float, int]], now_s: float, wanted: int
) -> tuple[int, float]:
    a_second, level = limit.amount / limit.seconds, 0.0
    at_s = counted[0][0] if counted else now_s
    for when, amount in counted:
        level = max(0.0, level - (when - at_s) * a_second) + amount
        at_s = when
    level = max(0.0, level - (now_s - at_s) * a_second)
    return round(level), max(0.0, (level + wanted - limit.amount) / a_second)


def _chained(link: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(link + data, digest_size=16).digest()
