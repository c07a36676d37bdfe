"""`/otr`: nothing is kept and nothing is changed. Source: design §3.5, issue 3."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.model_server import Body, CallPart, words_of
from tests.path.looking import cut_off, eventually, said, settled
from tests.path.world import ADA, World

SECRET = "zanzibar-7731"


def kept(world: World) -> bytes:
    files = Path(world.home.path).rglob("*")
    return b"".join(file.read_bytes() for file in files if file.is_file())


async def erased(world: World) -> bool:
    """Wait until no byte of the home holds the secret, the database's log included."""

    async def look() -> bool:
        return SECRET.encode() not in kept(world)

    return await eventually(look)


async def test_what_is_said_off_the_record_is_answered_and_then_gone(world: World) -> None:
    world.install("notes")
    world.model.say(f"Yes, {SECRET} is safe with me.")
    async with world.running() as bot:
        assert (await bot.ask("/otr")).text.startswith("Off the record from now on")
        answer = await bot.ask(f"my secret is {SECRET}")
        await settled(bot)

        assert answer.text == f"Yes, {SECRET} is safe with me."
        assert await erased(world)
        rows = await bot.rows("SELECT status, off_record, reason FROM turns")
        assert rows == [{"status": "ack", "off_record": 1, "reason": ""}]


async def test_off_the_record_a_tool_that_would_change_something_is_refused(world: World) -> None:
    world.install("notes")
    world.model.call("memory", {"target": "memory", "action": "append", "content": SECRET})
    world.model.calls(
        CallPart("memory", {"target": "memory", "action": "read"}), text="Let me look."
    )
    world.model.say("I cannot keep that now.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, f"/otr remember {SECRET}")
        await said(world, "I cannot keep that now.")
        await settled(bot)

        refused, read = (
            words_of(message)
            for message in world.model.requests[-1]["messages"]
            if message["role"] == "tool"
        )
        assert refused.startswith("This conversation is off the record")
        assert read
        assert await erased(world)
        shown = [spec["function"]["name"] for spec in world.model.requests[0]["tools"]]
        assert "msg" not in shown
        audit = await bot.rows("SELECT DISTINCT digest, reason FROM audit WHERE tool = 'memory'")
        assert all(SECRET not in row["reason"] for row in audit)


async def test_one_message_off_the_record_leaves_the_conversation_on_it(world: World) -> None:
    world.install("notes")
    world.model.say("One.")
    world.model.say("Two.")
    async with world.running() as bot:
        await bot.ask(f"/otr only this {SECRET}")
        await bot.ask("and this is kept")
        await settled(bot)

        rows = await bot.rows("SELECT text FROM messages WHERE visible = 1 ORDER BY id")
        assert [row["text"] for row in rows] == ["and this is kept", "Two."]
        assert (await bot.ask("/otr")).text.startswith("Off the record")
        assert (await bot.ask("/otr")).text == "On the record again."


async def test_a_restart_erases_what_was_unanswered_and_says_so(world: World) -> None:
    world.install("notes")
    world.model.stall(text=f"Well, {SECRET}")
    async with world.running() as bot:
        await bot.ask("/otr")
        await world.people.say(ADA, ADA, f"think about {SECRET}")
        await world.model.stalled.wait()
        await cut_off(bot)
    world.model.release.set()
    async with world.running() as bot:
        await said(
            world,
            "I was restarted before I could answer what you said off the record; it is erased. "
            "Please say it again.",
        )
        await settled(bot)

        assert await erased(world)


async def test_off_the_record_i_remember_what_we_said_until_we_are_on_it_again(
    world: World,
) -> None:
    world.install("notes")
    for text in ("One.", "Two.", "Three."):
        world.model.say(text)
    async with world.running() as bot:
        await bot.ask("/otr")
        await bot.ask(f"first {SECRET}")
        await bot.ask("second")
        await bot.ask("/otr")
        await bot.ask("third")
        await settled(bot)

        assert words(world.model.requests[1]) == [f"first {SECRET}", "One.", "second"]
        assert words(world.model.requests[2]) == ["third"]


def words(body: Body) -> list[str]:
    return [words_of(m) for m in body["messages"] if m["role"] in ("user", "assistant")]
