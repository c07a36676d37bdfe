"""So many connections at once, and limited time for each. Source: issue 30, number 16."""

from __future__ import annotations

import asyncio

from aouo.plumbing.connections import Connections
from tests.fakes.clock import START, HandClock


class Line(asyncio.Transport):
    """One end of a connection, which notes that it was cut."""

    def __init__(self) -> None:
        super().__init__()
        self.is_cut = False

    def abort(self) -> None:
        self.is_cut = True


def connections(clock: HandClock, most: int = 3) -> Connections:
    return Connections(asyncio.Protocol, clock=clock, patience_s=20, most=most)


def come(room: Connections) -> tuple[asyncio.Protocol, Line]:
    protocol, line = room(), Line()
    protocol.connection_made(line)
    return protocol, line


async def test_for_one_too_many_the_oldest_goes_whose_request_has_not_arrived() -> None:
    clock = HandClock(START)
    room = connections(clock)
    (_, first), (_, second), (_, third) = come(room), come(room), come(room)
    room.taken(first)

    (_, fourth) = come(room)

    assert [one.is_cut for one in (first, second, third, fourth)] == [False, True, False, False]
    assert room.cut() == 1


async def test_where_all_requests_have_arrived_the_newest_connection_is_refused() -> None:
    room = connections(HandClock(START), most=1)
    (_, first) = come(room)
    room.taken(first)

    (_, second) = come(room)

    assert (first.is_cut, second.is_cut) == (False, True)


async def test_a_request_that_comes_at_a_pace_has_its_time_and_one_that_drips_has_not() -> None:
    clock = HandClock(START)
    room = connections(clock)
    (steady, steadily), (dripping, drops) = come(room), come(room)
    for _ in range(30):
        clock.go_on(10)
        steady.data_received(b"x" * 400_000)
        dripping.data_received(b"x")
        room.cut()

    assert (steadily.is_cut, drops.is_cut) == (False, True)
