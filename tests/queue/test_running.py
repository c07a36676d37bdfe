"""Which turn a stop ends. Source: design §3.3."""

from __future__ import annotations

import asyncio

from aouo.queue.running import Deadline, Running, StopReason


async def instantly() -> str:
    return "done"


async def test_a_stop_between_two_parts_of_a_job_ends_the_second_one() -> None:
    running = Running()
    with running.beginning("lane"):
        assert await running.run("lane", Deadline(5), instantly) == "done"
        running.begins_again("lane")
        assert running.stop("lane", StopReason.PERSON)

        assert await running.run("lane", Deadline(5), instantly) is StopReason.PERSON
    assert not running.is_running("lane")


async def test_after_its_last_part_nothing_runs_that_could_be_stopped() -> None:
    running = Running()
    with running.beginning("lane"):
        await running.run("lane", Deadline(5), instantly)

        assert not running.stop("lane", StopReason.PERSON)


async def test_a_stop_ends_only_what_was_asked_before_it() -> None:
    running = Running()
    with running.beginning("lane", 7):
        assert not running.stop("lane", StopReason.PERSON, before=6)
        assert running.stop("lane", StopReason.PERSON, before=8)


async def test_a_stop_that_overtakes_a_claim_ends_that_job_as_it_begins() -> None:
    """The table says that it is claimed; whoever claimed it has not heard of that yet."""
    running = Running()
    assert not running.stop("lane", StopReason.PERSON, before=8, claimed=7)
    with running.beginning("lane", 7):
        assert await running.run("lane", Deadline(5), instantly) is StopReason.PERSON


async def test_a_stop_that_overtook_a_claim_ends_no_other_job() -> None:
    running = Running()
    running.stop("lane", StopReason.PERSON, before=8, claimed=7)
    for job in (8, 7):
        with running.beginning("lane", job):
            assert await running.run("lane", Deadline(5), instantly) == "done"


async def test_a_turn_that_is_stopped_before_its_first_step_takes_none() -> None:
    """No coroutine is made that nobody awaits: a warning is an error here."""
    running, taken = Running(), list[str]()

    async def step() -> None:
        taken.append("step")

    with running.beginning("lane"):
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            part = group.create_task(running.run("lane", Deadline(5), step))
            await asyncio.sleep(0)  # its task is made, and has not had its turn
            assert running.stop("lane", StopReason.PERSON)

    assert part.result() is StopReason.PERSON
    assert taken == []


async def test_the_first_part_is_stopped_as_a_turn_is() -> None:
    running, begun = Running(), asyncio.Event()

    async def for_ever() -> None:
        begun.set()
        await asyncio.Event().wait()

    with running.beginning("lane"):
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            part = group.create_task(running.run("lane", Deadline(5), for_ever))
            await begun.wait()
            running.stop("lane", StopReason.PERSON)

        assert part.result() is StopReason.PERSON
