"""Ids: a sortable random token, and session ids of the form kind, owner, token."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SessionKind: TypeAlias = Literal["chat", "isolated"]


def ulid(*, now_s: Callable[[], float] = time.time) -> str:
    """Return 26 characters that sort by time: 48 bits of milliseconds, 80 random bits.

    Source: github.com/ulid/spec.
    """
    value = (int(now_s() * 1000) << 80) | int.from_bytes(os.urandom(10), "big")
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))


@dataclass(frozen=True, slots=True)
class SessionId:
    """One stream of history: its kind, the conversation that owns it, and a token."""

    kind: SessionKind
    owner: str
    token: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.owner}/{self.token}"

    @classmethod
    def new(cls, kind: SessionKind, owner: str) -> SessionId:
        """Rotation keeps the owner, so ids never grow."""
        return cls(kind, owner, ulid())

    @classmethod
    def parse(cls, text: str) -> SessionId:
        """The inverse of `str`.

        Raises:
            ValueError: not a session id.
        """
        kind, _, rest = text.partition("/")
        owner, _, token = rest.rpartition("/")
        if kind not in get_args(SessionKind) or not owner or len(token) != 26:
            raise ValueError(f"not a session id: {text!r}")
        return cls(cast("SessionKind", kind), owner, token)
