"""Nothing that can be sent makes the page fail, tells a secret, or lets a stranger in."""

from __future__ import annotations

import asyncio
import time

from tests.path.dashboard.fuzzing import KINDS, fuzzed
from tests.path.world import World
from tests.sampling import left

EXAMPLES = 3
MOST_S = 15.0


@left()
async def test_whatever_its_document_allows_or_forbids_gets_a_good_answer(world: World) -> None:
    async with fuzzed(world) as fuzzing:
        await asyncio.to_thread(fuzzing.run, EXAMPLES, time.monotonic() + MOST_S)

    assert fuzzing.faults == []
    assert set(fuzzing.statuses) >= KINDS
