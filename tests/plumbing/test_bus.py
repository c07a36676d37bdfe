"""What subscribers of events are owed, and what they cannot do to others.

Source: C7 15 of the reference (a slow or crashing subscriber delays nobody); issue 14.
"""

from __future__ import annotations

import asyncio

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.events import Event, EventsMissed, LlmToken, TurnSettled
from aouo.plumbing.parts import _WAITING, Bus

WAIT_S = 10.0


def token(number: int, session: str = "s") -> LlmToken:
    return LlmToken("t", session, str(number))


@given(st.lists(st.integers(min_value=0, max_value=3 * _WAITING), max_size=6))
def test_whatever_its_pace_a_subscriber_knows_of_every_event_in_order(pauses: list[int]) -> None:
    """It takes all that waits after each pause; what it did not get stands counted in its place."""
    bus = Bus()
    events, _ = bus.subscribe()
    seen = 0
    sent = 0
    for published in pauses:
        for _ in range(published):
            bus.publish(token(sent))
            sent += 1
        assert events.qsize() <= _WAITING + 1
        while not events.empty():
            match events.get_nowait():
                case EventsMissed(count=count):
                    seen += count
                case LlmToken(text=text):
                    assert int(text) == seen
                    seen += 1
                case _:
                    raise AssertionError

        assert seen == sent


def test_a_row_of_dropped_events_is_logged_once() -> None:
    bus = Bus()
    bus.subscribe()
    with structlog.testing.capture_logs() as logs:
        for number in range(3 * _WAITING):
            bus.publish(token(number))

    assert logs == [{"event": "subscriber_too_slow", "kind": "LlmToken", "log_level": "warning"}]


async def test_what_waits_is_taken_before_a_subscription_ends() -> None:
    bus = Bus()
    got = list[Event]()

    async def take() -> None:
        events, leave = bus.subscribe(TurnSettled, session_id="s")
        try:
            async for event in events:
                await asyncio.sleep(0)
                got.append(event)
        finally:
            leave()

    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        group.create_task(take())
        await asyncio.sleep(0)
        settled = [TurnSettled(str(number), "s", "ack") for number in range(3)]
        for event in (*settled, token(1), TurnSettled("9", "another", "ack")):
            bus.publish(event)
        await bus.drain()

    assert got == settled


async def test_who_comes_after_the_end_gets_nothing_and_waits_for_nothing() -> None:
    bus = Bus()
    async with asyncio.timeout(WAIT_S):
        await bus.drain()
        events, _ = bus.subscribe()
        with pytest.raises(StopAsyncIteration):
            await events.get()


async def test_a_subscriber_that_never_reads_is_waited_for_no_longer_than_one_wants() -> None:
    bus = Bus()
    bus.subscribe()
    bus.publish(token(1))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await bus.drain()
