"""How an optional part that fails is kept running. Rules of ours; issue 14 ("ends nothing")."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from aouo.plumbing.parts import _CALM_S, Parts
from tests.fakes.clock import FastClock

WAIT_S = 10.0


class _Stopped(BaseException):
    """Ends a test whose parts run for ever."""


async def test_a_part_runs_again_after_pauses_that_grow_and_end_at_five_minutes() -> None:
    clock, begun_s, told = FastClock(speed=1e6), list[float](), list[str]()

    async def tell(name: str) -> None:
        told.append(name)

    async def breaks() -> None:
        begun_s.append(clock.monotonic_s())
        if len(begun_s) == 8:
            raise _Stopped
        raise OSError

    with capture_logs() as logs, pytest.raises(_Stopped):
        async with asyncio.timeout(WAIT_S):
            await Parts(clock, tell).keep("titles", breaks)
    pauses = [log["again_in_s"] for log in logs if log["event"] == "part_failed"]

    assert pauses == [1, 4, 16, 64, 256, 300, 300]
    assert all(
        later - earlier >= pause
        for earlier, later, pause in zip(begun_s, begun_s[1:], pauses, strict=False)
    )
    assert told == ["titles"]


async def test_a_part_that_fails_is_named_until_it_has_run_well_for_a_while() -> None:
    clock, again = FastClock(speed=1000), asyncio.Event()
    fails = [True]

    async def tell(name: str) -> None:
        del name
        raise ValueError("no chat either")

    async def once() -> None:
        if fails:
            fails.clear()
            raise OSError("of somebody's words")
        again.set()
        await asyncio.Event().wait()

    parts = Parts(clock, tell)
    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        before = parts.failing
        task = group.create_task(parts.keep("titles", once))
        await again.wait()
        soon = parts.failing
        clock.jump(_CALM_S)
        later = parts.failing
        task.cancel()

    assert (before, soon, later) == ({}, {"titles": "OSError, 1 in a row"}, {})


async def test_a_part_that_has_nothing_more_to_do_is_over() -> None:
    async def nothing() -> None: ...

    async def tell(name: str) -> None:
        raise AssertionError(name)

    async with asyncio.timeout(WAIT_S):
        await Parts(FastClock(), tell).keep("known_models", nothing)
