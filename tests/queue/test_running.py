"""Which work a stop ends. Source: design §3.3."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from aouo.facts.address import Lane
from aouo.queue.lanes import Slots
from aouo.queue.running import Running, StopReason

SLOT = Slots(lambda: 0)


async def instantly() -> str:
    return "done"


async def test_a_stop_between_two_parts_of_a_job_ends_the_second_one() -> None:
    running = Running()
    with running.beginning(7, Lane("lane"), SLOT):
        assert await running.run(7, 5, instantly) == "done"
        running.stop(7, StopReason.PERSON)

        assert await running.run(7, 5, instantly) is StopReason.PERSON


async def test_a_stop_of_a_chat_reaches_its_topics_and_its_new_name_and_nothing_else() -> None:
    running, ended = Running(), dict[str, str | StopReason]()
    lanes = tuple(map(Lane, ("tg:-1", "tg:-1:7", "tg:-12", "tg:-1001", "!tg:-1")))
    for job, lane in enumerate(lanes, 1):
        with running.beginning(job, lane, SLOT):
            running.move(Lane("tg:-1001"), Lane("tg:-1:old"))
            running.stop_chat(Lane("tg:-1"))
            ended[lane] = await running.run(job, 5, instantly)

    gone = StopReason.GONE
    assert list(ended.values()) == [gone, gone, "done", gone, "done"]


async def test_a_job_that_begins_again_while_its_former_lane_clears_up_can_be_stopped() -> None:
    running, former = Running(), ExitStack()
    former.enter_context(running.beginning(7, Lane("!lane"), SLOT))
    with running.beginning(7, Lane("lane"), SLOT):
        former.close()
        running.stop(7, StopReason.PERSON)

        assert await running.run(7, 5, instantly) is StopReason.PERSON


async def test_a_turn_that_is_stopped_before_its_first_step_takes_none() -> None:
    """No coroutine is made that nobody awaits: a warning is an error here."""
    running, taken = Running(), list[str]()

    async def step() -> None:
        taken.append("step")

    with running.beginning(7, Lane("lane"), SLOT):
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            part = group.create_task(running.run(7, 5, step))
            await asyncio.sleep(0)  # its task is made, and has not had its turn
            running.stop(7, StopReason.PERSON)

    assert part.result() is StopReason.PERSON
    assert taken == []


async def test_the_first_part_is_stopped_as_a_turn_is() -> None:
    running, begun = Running(), asyncio.Event()

    async def for_ever() -> None:
        begun.set()
        await asyncio.Event().wait()

    with running.beginning(7, Lane("lane"), SLOT):
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            part = group.create_task(running.run(7, 5, for_ever))
            await begun.wait()
            running.stop(7, StopReason.PERSON)

        assert part.result() is StopReason.PERSON


async def test_a_turn_that_comes_to_its_question_during_a_shutdown_is_given_back_at_once() -> None:
    """Or the shutdown would wait for a person, as long as it waits for anything (20 s)."""
    running = Running()

    async def asks() -> None:
        running.stop_waiting()
        async with running.parked(7):
            await asyncio.Event().wait()

    with running.beginning(7, Lane("lane"), SLOT):
        async with asyncio.timeout(30):
            assert await running.run(7, 5, asks) is StopReason.SHUTDOWN
