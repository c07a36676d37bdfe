"""How a chat's pace recovers."""

from __future__ import annotations

from aouo.facts.address import ConversationAddress
from aouo.outbound.flood_control import Pace
from tests.fakes.clock import FastClock

ADA = ConversationAddress("tg", "1001")


async def test_flood_control_of_last_week_slows_nothing_and_breaks_nothing() -> None:
    clock = FastClock()
    pace = Pace(clock)
    pace.park(ADA, 3.0)
    assert pace.slower(ADA) == 2.0

    clock.jump(7 * 86_400)

    assert pace.slower(ADA) == 1.0
