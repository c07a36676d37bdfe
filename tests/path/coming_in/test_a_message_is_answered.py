"""The main job: a message in, an answer out, in the right place, once. Source: design §3."""

from __future__ import annotations

import json

from tests.fakes.model_server import words_of
from tests.path.world import ADA, BEN, World, texts

HOUSEHOLD = -1000000003001


async def test_a_person_gets_the_models_answer(world: World) -> None:
    world.install("notes")
    world.model.say("Paris.")
    async with world.running() as bot:
        answer = await bot.ask("What is the capital of France?")

    assert answer.text == "Paris."
    assert [m.text for m in await world.people.messages(ADA) if m.from_bot] == ["Paris."]


async def test_the_first_request_is_small_and_holds_only_the_active_pack(world: World) -> None:
    """≤ 6 KB, tool schemas included: issue 2, numbers."""
    world.install("notes", "vocab")
    async with world.running() as bot:
        await bot.ask("/use notes")
        await bot.ask("Hello")

    body = json.dumps(world.model.requests[0], ensure_ascii=False, separators=(",", ":"))
    assert len(body.encode()) <= 6 * 1024
    assert "vocab" not in body.lower()


async def test_what_was_said_before_is_remembered_in_the_same_session(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        world.model.say("Hello Ada.")
        await bot.ask("I am Ada")
        await bot.ask("Who am I?")

    said = [(m["role"], words_of(m)) for m in world.model.requests[1]["messages"]]
    assert ("user", "I am Ada") in said
    assert ("assistant", "Hello Ada.") in said


async def test_two_people_talk_at_once_and_each_reads_their_own_answer(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        a = await world.people.say(ADA, ADA, "from Ada")
        b = await world.people.say(BEN, BEN, "from Ben")
        to_ada = await bot.people.next_message(ADA, after=a.id)
        to_ben = await bot.people.next_message(BEN, after=b.id)

    assert (to_ada.text, to_ben.text) == ("from Ada", "from Ben")


async def test_an_answer_goes_to_the_topic_of_its_question(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        thread = await bot.people.topic_created(ADA, HOUSEHOLD, "vocab")
        await bot.people.next_message(HOUSEHOLD, thread=thread, contains="vocab")
        answer = await bot.ask("der Hund", chat=HOUSEHOLD, thread=thread)

    assert (answer.text, answer.thread_id) == ("der Hund", thread)
    assert texts(await world.people.messages(HOUSEHOLD, 1)) == []


async def test_a_tool_call_takes_effect_and_its_result_reaches_the_model(world: World) -> None:
    world.install("notes")
    world.model.call("persist", {"action": "save", "data": {"text": "buy milk"}})
    world.model.say("Saved.")
    async with world.running() as bot:
        answer = await bot.ask("keep buy milk")
        audit = await bot.rows("SELECT stage, tool FROM audit ORDER BY id")
        usage = await bot.rows("SELECT scope FROM usage_events ORDER BY id")

    assert answer.text == "Saved."
    assert [row["stage"] for row in audit] == ["PROPOSED", "EVALUATED", "EXECUTED"]
    assert [row["scope"] for row in usage] == ["llm", "tool:persist", "llm"]
    result = world.model.requests[1]["messages"][-1]
    assert (result["role"], '"saved": 1' in result["content"]) == ("tool", True)


async def test_a_tool_that_the_pack_may_not_use_is_refused_and_the_model_told(
    world: World,
) -> None:
    world.install("notes")
    world.model.call("shell", {"command": "id"})
    world.model.say("I cannot do that.")
    async with world.running() as bot:
        await bot.ask("run id")
        stages = await bot.rows("SELECT stage FROM audit ORDER BY id")

    assert [row["stage"] for row in stages] == ["PROPOSED", "EVALUATED", "BLOCKED"]
    assert "no tool 'shell'" in words_of(world.model.requests[1]["messages"][-1])


async def test_what_one_person_keeps_another_does_not_read(world: World) -> None:
    """A pack of scope `person` has a database and memory for each: issue 5, Isolation."""
    world.install("notes")
    world.model.call("persist", {"action": "save", "data": {"text": "Ada's secret"}})
    world.model.say("Saved.")
    world.model.call("memory", {"target": "user", "action": "append", "content": "is called Ada"})
    world.model.say("Noted.")
    async with world.running() as bot:
        await bot.ask("keep Ada's secret")
        await bot.ask("my name is Ada")
        world.model.call("persist", {"action": "recent"})
        world.model.say("Nothing.")
        await bot.ask("anything of mine?", user=BEN)

    seen_by_ben = json.dumps(world.model.requests[-2:])
    assert "secret" not in seen_by_ben
    assert "is called Ada" not in seen_by_ben
