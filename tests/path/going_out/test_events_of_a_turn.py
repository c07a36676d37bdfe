"""What the runtime publishes of streams, ends and deliveries, and what a subscriber cannot harm.

Source: seed 000 ("Streaming", "Turn-completed events", "Errors and user replies"), parts A8 and A9
of the reference with their traps, C7 14 and 15; issue 14.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import pytest

from aouo.facts import errors
from aouo.facts.errors import ProviderError
from aouo.facts.events import (
    DeliveryFailed,
    Event,
    EventsMissed,
    LlmToken,
    ResponseComplete,
    StreamBegin,
    StreamEnd,
    StreamFailed,
    TurnCompleted,
    TurnSettled,
    TurnStarted,
)
from aouo.facts.ids import SessionId
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    ModelEvent,
    ModelRequest,
    TextDelta,
    Usage,
)
from aouo.plumbing.parts import _WAITING, Subscription
from tests.fakes.chat_model import EchoModel
from tests.fakes.model_server import CallPart, Fails, Says
from tests.path.going_out.test_watching_a_session import connect, drained, line
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, WAIT_S, World

STREAM = (StreamBegin, StreamEnd, StreamFailed)
SECRET = "zanzibar-7731"


def streams(events: Subscription) -> list[Event]:
    return [event for event in drained(events) if isinstance(event, STREAM)]


async def test_a_stream_begins_before_its_words_and_ends_after_them(world: World) -> None:
    world.model.reply(Says("one two three", chunks=3))
    async with world.running() as bot:
        events, _ = bot.app.shared.bus.subscribe()
        await bot.ask("count")
        await settled(bot)
        told = drained(events)

    kinds = [type(event) for event in told]
    assert list(dict.fromkeys(kinds)) == [
        TurnStarted,
        StreamBegin,
        LlmToken,
        StreamEnd,
        TurnSettled,
        ResponseComplete,
        TurnCompleted,
    ]
    [begun] = (event for event in told if isinstance(event, StreamBegin))
    assert begun.hints.message_id


async def test_where_nothing_is_streamed_no_stream_is_told_of(world: World) -> None:
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        events, _ = bot.app.shared.bus.subscribe(*STREAM)
        await bot.ask("count")
        await settled(bot)

        assert drained(events) == []


async def test_a_turn_is_completed_by_the_answer_that_was_recorded_and_delivered(
    world: World,
) -> None:
    """C7 14, and the trap of A8: the words of earlier iterations are no part of it."""
    world.install("notes")
    read = CallPart("memory", {"target": "user", "action": "read"})
    world.model.reply(Says("Let me look.", (read,)))
    world.model.say("Nothing is there.")
    async with world.running() as bot:
        completed, _ = bot.app.shared.bus.subscribe(TurnCompleted)
        await bot.people.say(ADA, ADA, "what do you know of me?")
        async with asyncio.timeout(WAIT_S):
            event = await completed.get()
        recorded = await bot.rows(
            "SELECT m.text, m.visible, t.status, t.session_id FROM messages AS m "
            "JOIN turns AS t ON t.id = m.turn_id WHERE m.role = 'assistant' ORDER BY m.id DESC"
        )
        await settled(bot)
        shown = await answers(world)

    assert isinstance(event, TurnCompleted)
    assert (event.user_msg, event.assistant_msg) == ("what do you know of me?", "Nothing is there.")
    assert (event.channel, event.chat_id) == ("tg", str(ADA))
    assert recorded[0] == {
        "text": "Nothing is there.",
        "visible": 1,
        "status": "ack",
        "session_id": event.session_id,
    }
    assert shown == ["Nothing is there."]


async def test_a_failed_stream_is_told_of_and_its_person_reads_a_sentence(world: World) -> None:
    """A8: the code replies, the page on streaming says it does not; we reply."""
    world.model.reply(Fails(400, {"error": {"message": f"no {SECRET}", "param": "messages"}}))
    async with world.running() as bot:
        events, _ = bot.app.shared.bus.subscribe()
        answer = await bot.ask("hello")
        await settled(bot)
        told = drained(events)

    assert answer.text
    begun, ended, failed = (event for event in told if isinstance(event, STREAM))
    assert isinstance(begun, StreamBegin)
    assert isinstance(ended, StreamEnd)
    assert issubclass(getattr(errors, ended.error), ProviderError)
    assert failed == StreamFailed(ended.turn_id, ended.session_id, "tg", str(ADA), ended.error)
    assert not any(isinstance(event, TurnCompleted) for event in told)
    assert SECRET not in repr(told)


async def test_a_stream_that_was_stopped_has_ended_and_not_failed(world: World) -> None:
    world.model.stall(after_chunks=2)
    async with world.running() as bot:
        events, _ = bot.app.shared.bus.subscribe()
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Stopped.")
        await settled(bot)
        told = streams(events)

    assert [type(event) for event in told] == [StreamBegin, StreamEnd]
    assert isinstance(told[1], StreamEnd)
    assert told[1].error == "person"


async def test_a_stream_that_a_shutdown_cuts_off_has_ended_and_begins_anew(world: World) -> None:
    world.model.stall(after_chunks=2)
    async with world.running() as bot:
        events, _ = bot.app.shared.bus.subscribe()
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        rows = await bot.rows("SELECT id FROM jobs WHERE state = 'running'")
        bot.app.running.give_back([row["id"] for row in rows], waiting=False)
        world.model.release.set()
        await eventually(lambda: bot.rows("SELECT 1 FROM turns WHERE status = 'ack'"))
        await settled(bot)
        told = streams(events)

    assert [type(event) for event in told] == [StreamBegin, StreamEnd] * 2
    assert [event.error for event in told if isinstance(event, StreamEnd)] == ["shutdown", ""]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"kind": "status", "status": 400, "description": f"Bad Request: {SECRET}"}, "refused"),
        ({"kind": "drop_after"}, "unknown"),
    ],
    ids=["refused", "unknown"],
)
async def test_a_message_that_did_not_arrive_is_told_of_with_its_turn(
    world: World, fault: dict[str, Any], error: str
) -> None:
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        failures, _ = bot.app.shared.bus.subscribe(DeliveryFailed)
        await bot.people.fault(**fault, method="sendMessage", chat=ADA)
        await bot.people.say(ADA, ADA, "hello")
        async with asyncio.timeout(WAIT_S):
            event = await failures.get()
        ((turn),) = await bot.rows("SELECT id, session_id FROM turns")
        ((row),) = await bot.rows("SELECT id, state FROM deliveries WHERE kind = 'reply'")
        await settled(bot)

    assert event == DeliveryFailed(row["id"], turn["id"], turn["session_id"], "tg", str(ADA), error)
    assert row["state"] == error
    assert SECRET not in repr(event)


async def test_all_that_waits_for_a_chat_that_is_gone_is_told_of(world: World) -> None:
    world.config = {"telegram": {"streaming": "off"}}
    world.model.say("\n\n".join(f"{number} {'word ' * 500}" for number in range(5)))
    async with world.running() as bot:
        failures, _ = bot.app.shared.bus.subscribe(DeliveryFailed)
        blocked = {"status": 403, "description": "Forbidden: bot was blocked by the user"}
        await bot.people.fault("status", **blocked, method="sendMessage", chat=ADA)
        await bot.people.say(ADA, ADA, "hello")
        await eventually(lambda: bot.rows("SELECT 1 FROM gone_chats"))
        await settled(bot)
        rows = await bot.rows("SELECT id FROM deliveries WHERE state = 'refused' ORDER BY id")
        async with asyncio.timeout(WAIT_S):
            told = [await failures.get() for _ in rows]

    assert len(rows) > 1
    assert [event.delivery_id for event in told if isinstance(event, DeliveryFailed)] == [
        row["id"] for row in rows
    ]


async def test_off_the_record_only_those_who_watch_meanwhile_see_words(world: World) -> None:
    """`LlmToken` and `ResponseComplete` show a watcher what the chat shows. `TurnCompleted` is for
    who may keep it, so there is none; and no failure quotes anything."""
    world.install("notes")
    world.model.say(f"Yes, {SECRET}.")
    async with world.running() as bot:
        await bot.ask("/otr")
        events, _ = bot.app.shared.bus.subscribe()
        await bot.ask(f"my secret is {SECRET}")
        world.model.reply(Fails(400, {"error": {"message": SECRET, "param": "messages"}}))
        await bot.ask(f"again {SECRET}")
        await settled(bot)
        told = drained(events)

    assert not any(isinstance(event, TurnCompleted) for event in told)
    assert [type(event) for event in told].count(StreamFailed) == 1
    assert {type(event) for event in told if SECRET in repr(event)} == {LlmToken, ResponseComplete}


async def test_a_turn_of_a_one_shot_session_completes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seed 000: only `current` sessions; nobody writes a journal of what a schedule did."""

    def isolated(kind: str, conversation: str) -> SessionId:
        del kind
        return SessionId("isolated", conversation, "0" * 26)

    async with world.running() as bot:
        events, _ = bot.app.shared.bus.subscribe(TurnCompleted, TurnSettled)
        monkeypatch.setattr(SessionId, "new", isolated)
        await bot.ask("hello")
        await settled(bot)

        assert [type(event) for event in drained(events)] == [TurnSettled]


class Talker(EchoModel):
    """Says many words as fast as it can; only who reads at once keeps up."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        words = [f"w{number} " for number in range(3 * _WAITING)]
        for number, word in enumerate(words):
            if number % (_WAITING // 2) == 0:
                await asyncio.sleep(0)
            yield TextDelta(word)
        yield Finished(AssistantSaid("".join(words)), Usage(10, 0, 5), "stop")


async def test_subscribers_that_never_read_raise_or_are_cancelled_change_nothing(
    world: World,
) -> None:
    """C7 15: a turn at full speed, with more events than a queue holds."""
    world.config = {"telegram": {"streaming": "off"}}
    world.chat_model = Talker()
    async with world.running() as bot, asyncio.TaskGroup() as group:
        bus = bot.app.shared.bus
        never, leave = bus.subscribe()
        every = list[Event]()

        async def raises() -> None:
            events, leave = bus.subscribe(LlmToken)
            with suppress(ZeroDivisionError):
                try:
                    await events.get()
                    raise ZeroDivisionError
                finally:
                    leave()

        async def follows(heard: list[Event]) -> None:
            events, leave = bus.subscribe()
            try:
                async for event in events:
                    heard.append(event)  # noqa: PERF401 - kept even when it is cancelled
            finally:
                leave()

        group.create_task(raises())
        group.create_task(follows(every))
        cancelled = group.create_task(follows([]))
        await asyncio.sleep(0)
        await bot.people.say(ADA, ADA, "go")
        await bot.next_event(TurnStarted)
        cancelled.cancel()
        await bot.next_event(TurnCompleted)
        await settled(bot)
        said_by_bot = await bot.rows("SELECT text FROM messages WHERE role = 'assistant'")
        waiting = drained(never)
        leave()
        await bus.drain()

    tokens = [event.text for event in every if isinstance(event, LlmToken)]
    assert len(tokens) > 2 * _WAITING
    assert [row["text"] for row in said_by_bot] == ["".join(tokens).strip()]
    assert isinstance(waiting[0], EventsMissed)
    assert len(waiting) == _WAITING + 1
    assert waiting[0].count + _WAITING == len(every)


async def test_a_watcher_is_told_the_last_of_a_turn_that_ends_with_the_process(
    world: World,
) -> None:
    """Subscribers are drained after the lanes and the outbox."""
    world.model.stall(after_chunks=2)
    kinds = list[str]()
    async with world.running() as bot, asyncio.timeout(WAIT_S):
        reader, writer = await connect(world.home)
        writer.write(b'{"verb": "watch"}\n')
        await line(reader)
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        bot.runtime.stop()
        world.model.release.set()
        while not (told := await line(reader)).get("done"):
            kinds.append(told["kind"])
        writer.close()

    assert kinds[-3:] == ["turn_settled", "response_complete", "turn_completed"]
