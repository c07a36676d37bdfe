"""Slots, stops and clocks of running jobs. Source: design §3.3."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.attachments import Attachment
from aouo.facts.events import (
    Album,
    Attached,
    Button,
    Command,
    Content,
    Inbound,
    Part,
    Person,
    Text,
    Unsupported,
)
from aouo.facts.work import Job
from aouo.outbound.flood_control import CALM_S, Bucket, Pace
from aouo.queue import joining
from aouo.queue.joining import Said, rewritten, words_of
from aouo.queue.lanes import Bell, Lanes, Slots
from aouo.queue.running import Running, StopReason
from tests.fakes.clock import FastClock
from tests.interleaving import virtual

WAIT_S = 30.0
ADA = ConversationAddress("tg", "1")
PHOTO = Attachment("photo", "1", caption="a", unique_id="u1", message_id=7)
OTHER = replace(PHOTO, caption="b", unique_id="u2")
SONG = Attachment("audio", "2", unique_id="u3", message_id=8)
NEW = Command("new", "", "/new")


class Table:
    """The jobs table as far as lanes see it."""

    def __init__(self) -> None:
        self.ready: dict[str, deque[int]] = defaultdict(deque)

    def add(self, lane: str, *numbers: int) -> None:
        self.ready[lane].extend(numbers)

    async def claim(self, lane: str) -> Job | None:
        waiting = self.ready[lane]
        return Job(waiting.popleft(), Lane(lane), said("x"), 1, 1) if waiting else None


def said(text: str) -> Inbound:
    return Inbound(ADA, Person("1"), Text(text))


async def running(
    table: Table, handle: Callable[[Job, Slots], Awaitable[None]], concurrency: int, *lanes: str
) -> None:
    """Run until everything that was ready at the beginning, or became so, is done."""
    bell = Bell()
    at_work = Lanes(bell=bell, claim=table.claim, handle=handle, slots=lambda kind: concurrency)
    for lane in lanes:
        bell.ring(Lane(lane))
    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        group.create_task(at_work.run())
        while bell.at_work or any(table.ready.values()):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0)
        at_work.close()


async def test_a_lane_keeps_its_order_and_no_more_run_at_once_than_allowed() -> None:
    table, done, now, most = Table(), defaultdict[str, list[int]](list), [0], [0]
    for lane in "abcdef":
        table.add(lane, 1, 2, 3)

    async def handle(job: Job, slot: Slots) -> None:
        now[0] += 1
        most[0] = max(most[0], now[0])
        for _ in range(job.id):
            await asyncio.sleep(0)
        done[job.lane].append(job.id)
        now[0] -= 1

    await running(table, handle, 3, *"abcdef")

    assert dict(done) == {lane: [1, 2, 3] for lane in "abcdef"}
    assert most == [3]


async def test_a_lane_that_bypasses_the_others_needs_no_place() -> None:
    """`/stop` has to get through when every place is taken."""
    table, begun, stopped = Table(), asyncio.Event(), asyncio.Event()
    table.add("a", 1)
    table.add(Lane("a").bypass, 2)

    async def handle(job: Job, slot: Slots) -> None:
        if job.lane == "a":
            begun.set()
            await stopped.wait()
        else:
            stopped.set()

    bell = Bell()
    lanes = Lanes(bell=bell, claim=table.claim, handle=handle, slots=lambda kind: 1)
    bell.ring(Lane("a"))
    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        group.create_task(lanes.run())
        await begun.wait()
        bell.ring(Lane("a").bypass)
        await stopped.wait()
        lanes.close()


async def test_a_parked_job_gives_its_place_away_and_takes_it_back() -> None:
    table, answered, seen = Table(), asyncio.Event(), list[str]()
    table.add("a", 1)
    table.add("b", 2)

    async def handle(job: Job, slot: Slots) -> None:
        if job.lane == "a":
            async with slot.parked():
                await answered.wait()
            seen.append("a")
        else:
            seen.append("b")
            answered.set()

    await running(table, handle, 1, "a", "b")

    assert seen == ["b", "a"]


async def test_a_cancelled_parked_job_leaves_the_limit_as_it_was() -> None:
    free = Slots(lambda: 1)
    parked = asyncio.Event()

    async def wait() -> None:
        await free.acquire()
        try:
            async with free.parked():
                parked.set()
                await asyncio.Event().wait()
        finally:
            free.release()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(wait())
        await parked.wait()
        task.cancel()

    assert free.left == 1


async def test_ten_thousand_lanes_that_wait_for_a_place_keep_their_order_and_are_no_tasks() -> None:
    """10,000 schedules at one second. Source: issue 14 "Bad input"."""
    table, begun, go_on, order = Table(), asyncio.Event(), asyncio.Event(), list[str]()
    names = [f"cron:{number}" for number in range(10_000)]

    async def handle(job: Job, slot: Slots) -> None:
        order.append(job.lane)
        begun.set()
        await go_on.wait()

    bell = Bell()
    lanes = Lanes(bell=bell, claim=table.claim, handle=handle, slots=lambda kind: 1)
    for name in names:
        table.add(name, 1)
        bell.ring(Lane(name))
    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        before = len(asyncio.all_tasks())
        group.create_task(lanes.run())
        await begun.wait()
        tasks = len(asyncio.all_tasks()) - before
        table.add("tg:1", 1)
        bell.ring(Lane("tg:1"))
        while len(order) < 2:  # noqa: ASYNC110 - a conversation has a place of its own
            await asyncio.sleep(0)
        go_on.set()
        while bell.at_work:  # noqa: ASYNC110
            await asyncio.sleep(0)
        lanes.close()

    assert tasks <= 2
    assert order[:2] == ["cron:0", "tg:1"]
    assert order[2:] == names[1:]


async def test_lanes_that_are_cancelled_begin_nothing_that_waits() -> None:
    table, begun = Table(), list[str]()

    async def handle(job: Job, slot: Slots) -> None:
        begun.append(job.lane)
        await asyncio.Event().wait()

    bell = Bell()
    lanes = Lanes(bell=bell, claim=table.claim, handle=handle, slots=lambda kind: 1)
    for name in ("a", "b", "c"):
        table.add(name, 1)
        bell.ring(Lane(name))
    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        task = group.create_task(lanes.run())
        while not begun:  # noqa: ASYNC110
            await asyncio.sleep(0)
        task.cancel()

    assert begun == ["a"]
    assert bell.at_work == 0


async def test_cancelling_the_lanes_leaves_no_task_behind() -> None:
    table, begun = Table(), asyncio.Event()
    table.add("a", 1)
    ended = list[str]()

    async def handle(job: Job, slot: Slots) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(job.lane)

    bell = Bell()
    lanes = Lanes(bell=bell, claim=table.claim, handle=handle, slots=lambda kind: 1)
    bell.ring(Lane("a"))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(lanes.run())
        await begun.wait()
        task.cancel()

    assert (ended, bell.at_work) == (["a"], 0)


# Stopping


async def forever() -> str:
    await asyncio.Event().wait()
    return "never"


async def test_a_stop_before_the_turn_runs_ends_it_as_soon_as_it_does() -> None:
    turns = Running()
    with turns.beginning(1, Lane("a"), Slots(lambda: 0)):
        turns.stop(1, StopReason.PERSON)
        ended = await turns.run(1, 5, forever)

    assert ended is StopReason.PERSON


async def test_a_stop_that_met_no_turn_does_not_reach_the_next_one() -> None:
    turns = Running()
    with turns.beginning(1, Lane("a"), Slots(lambda: 0)):
        turns.stop(1, StopReason.PERSON)
    turns.stop(1, StopReason.PERSON)
    for job in (1, 2):
        with turns.beginning(job, Lane("a"), Slots(lambda: 0)):
            ended = await turns.run(job, 5, lambda: asyncio.sleep(0, "done"))

        assert ended == "done"


def test_a_turn_ends_at_its_limit_but_not_while_it_is_parked() -> None:
    async def ended() -> tuple[object, float]:
        turns = Running()

        async def turn() -> None:
            async with turns.parked(1):
                await asyncio.sleep(500)
            await asyncio.Event().wait()

        time_s = asyncio.get_running_loop().time
        begun_s = time_s()
        with turns.beginning(1, Lane("a"), Slots(lambda: 0)):
            reason = await turns.run(1, 20, turn)
        return reason, time_s() - begun_s

    reason, took_s = virtual.run(ended)

    assert (reason, round(took_s)) == (StopReason.TIMEOUT, 520)


def test_the_clock_of_a_turn_stands_still_until_the_last_of_its_questions_is_answered() -> None:
    """Two questions of one turn may wait at once, and it takes one slot for both again."""

    async def ended() -> object:
        turns, free = Running(), Slots(lambda: 0)

        async def turn() -> bool:
            async with turns.parked(1):
                async with turns.parked(1):
                    pass
                locked = free.left <= 0
                await asyncio.sleep(500)
            return not locked and free.left <= 0

        with turns.beginning(1, Lane("a"), free):
            return await turns.run(1, 20, turn)

    assert virtual.run(ended) is True


async def test_a_failing_turn_raises_and_may_be_stopped_behind_that() -> None:
    turns = Running()

    async def broken() -> str:
        raise ValueError("broken")

    with turns.beginning(1, Lane("a"), Slots(lambda: 0)):
        with pytest.raises(ExceptionGroup):
            await turns.run(1, 5, broken)
        turns.stop(1, StopReason.PERSON)  # there is nothing to cancel any more


# Bursts


@pytest.mark.parametrize(
    ("length", "closes"), [(1, False), (79, False), (80, True), (3_999, True), (4_000, False)]
)
def test_which_lengths_end_a_burst(length: int, closes: bool) -> None:
    assert joining.closes_burst(said("x" * length)) is closes


def test_a_paste_is_measured_in_utf_16_units() -> None:
    """A thumb is two units for Telegram, so 2,000 of them are a full message."""
    assert not joining.closes_burst(said("👍" * 2_000))


@given(
    written=st.lists(st.text(max_size=9), min_size=1, max_size=6),
    edits=st.lists(st.tuples(st.integers(1, 6), st.text(max_size=9)), max_size=8),
)
def test_a_burst_with_edited_messages_is_the_burst_of_the_edited_messages(
    written: list[str], edits: list[tuple[int, str]]
) -> None:
    """Whatever is edited, and in whichever order: each message has its newest words, in place."""

    def burst(texts: list[str]) -> Inbound:
        facts = [replace(said(text), message_id=n) for n, text in enumerate(texts, 1)]
        return reduce(joining.join_burst, facts)

    edited, newest = burst(written), list(written)
    for message_id, text in edits:
        if message_id <= len(written):
            newest[message_id - 1] = text
            edited = rewritten(edited, message_id, Text(text)) or edited

    assert edited == burst(newest)
    assert Inbound.load(edited.dump()) == edited
    assert [words_of(edited, n) for n in range(1, len(newest) + 1)] == newest


@pytest.mark.parametrize(
    ("before", "after", "becomes"),
    [
        (Text("a"), Text("b"), Text("b")),
        (Text("a"), NEW, NEW),
        (NEW, Text("b"), Text("b")),
        (Text("a\nb", (), (Part(7, "a"), Part(8, "b"))), NEW, None),
        (Button("x", "X", "1"), Text("b"), None),
        (Unsupported("dice"), Text("b"), None),
        (Text("a"), Attached(PHOTO), Attached(PHOTO)),
        (Attached(PHOTO), Attached(OTHER), Attached(OTHER)),
        (Attached(PHOTO), Text("b"), None),
        (Album("g", (PHOTO, SONG)), Attached(OTHER), Album("g", (OTHER, SONG))),
        (Album("g", (SONG,)), Attached(OTHER), None),
        (Text("a\nb", (), (Part(7, "a"), Part(8, "b"))), Attached(PHOTO), None),
    ],
)
def test_which_words_can_take_the_place_of_which(
    before: Content, after: Said, becomes: Content | None
) -> None:
    inbound = Inbound(ADA, Person("1"), before, message_id=7)
    new = rewritten(inbound, 7, after)

    assert (new.content if new else None) == becomes


# Pace


def test_a_bucket_lets_a_burst_through_and_then_its_rate() -> None:
    bucket = Bucket(per_s=1.0, burst=3)

    assert [bucket.take(100.0) for _ in range(5)] == [0.0, 0.0, 0.0, 1.0, 2.0]
    assert bucket.take(103.0) == 0.0
    assert bucket.take(1_000.0) == 0.0


async def test_many_chats_at_once_are_answered_no_faster_than_telegram_counts() -> None:
    """About 30 a second over all chats: schedules that begin together at nine o'clock."""
    clock = FastClock(speed=1_000.0)
    pace = Pace(clock)
    begun_s = clock.monotonic_s()
    went_s: list[float] = []

    async def one(number: int) -> None:
        await pace.wait(ConversationAddress("tg", str(number)))
        went_s.append(clock.monotonic_s() - begun_s)

    async with asyncio.TaskGroup() as group:
        for number in range(300):
            group.create_task(one(number))

    assert all(at_s >= (place - 29) / 30 for place, at_s in enumerate(sorted(went_s)))


async def test_flood_control_slows_edits_for_a_while_and_is_forgotten() -> None:
    clock = FastClock(speed=1.0)
    pace = Pace(clock)
    for _ in range(5):
        pace.park(ADA, 1.0)
    slowest = pace.slower(ADA)
    clock.jump(CALM_S)
    calmer = pace.slower(ADA)
    clock.jump(CALM_S * 3)

    assert (slowest, calmer, pace.slower(ADA)) == (8.0, 4.0, 1.0)
    assert pace.slower(ConversationAddress("tg", "2")) == 1.0
