"""Attacks start from the world that path tests start from."""

from tests.path.conftest import every_event_is_heard, first_call, world

__all__ = ["every_event_is_heard", "first_call", "world"]
