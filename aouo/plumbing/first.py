"""Waits for the first of several things."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def first(*waits: Coroutine[Any, Any, object]) -> None:
    """Return when one of them is done, and cancel the others; its exception passes through."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in waits]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
