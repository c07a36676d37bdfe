"""Who may talk to us at all: the first question asked of anything that comes in."""

from __future__ import annotations

from collections.abc import Collection


def admits(allowed_user_ids: Collection[int], user_id: int | None) -> bool:
    """An empty list admits nobody; so does a message without a sender."""
    return user_id is not None and user_id in allowed_user_ids
