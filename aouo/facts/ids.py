"""Ids: a sortable random token, and session ids of the form kind, conversation, token."""

from __future__ import annotations

import os
import threading
import time
import zlib
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SessionKind: TypeAlias = Literal[
    "chat", "isolated", "cron", "heartbeat", "watch", "journal", "consolidate"
]
"""`chat`: a conversation's; the others are for one turn, and no route keeps them."""


_lock = threading.Lock()  # two threads make ids
_newest = 0


def _next(ms: int) -> int:
    global _newest
    with _lock:
        fresh = (ms << 80) | int.from_bytes(os.urandom(10), "big")
        _newest = fresh if ms > _newest >> 80 else _newest + 1
        return _newest


def ulid() -> str:
    """Return 26 characters that sort in the order they were made: 48 bits of milliseconds, 80
    random bits; the next one of the same millisecond is one higher.

    Source: github.com/ulid/spec, "Monotonicity".
    """
    value = _next(int(time.time() * 1000))
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))


def draft_id(turn_id: str) -> int:
    """Return the id of a turn's draft: the same after a restart, and never 0."""
    return zlib.crc32(turn_id.encode()) or 1


@dataclass(frozen=True, slots=True)
class SessionId:
    """One stream of history: its kind, the conversation that owns it, and a token."""

    kind: SessionKind
    conversation: str
    token: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.conversation}/{self.token}"

    @property
    def is_current(self) -> bool:
        """Whether a conversation goes on in it; one-shot sessions are no part of one."""
        return self.kind == "chat"

    @classmethod
    def new(cls, kind: SessionKind, conversation: str) -> SessionId:
        """Return a fresh id for the conversation, so that ids do not grow by rotation."""
        return cls(kind, conversation, ulid())

    @classmethod
    def parse(cls, text: str) -> SessionId:
        """The inverse of `str`.

        Raises:
            ValueError: not a session id.
        """
        kind, _, rest = text.partition("/")
        conversation, _, token = rest.rpartition("/")
        if kind not in get_args(SessionKind) or not conversation or len(token) != 26:
            raise ValueError(f"not a session id: {text!r}")
        return cls(cast("SessionKind", kind), conversation, token)
