"""A configured secret reaches nobody, whoever says it, and in whatever pieces.

The secret is the model's own key, so only `config.json` and its copy may hold it: not the chat, the
database and its log, the log, memory, a title, what watchers are told, nor what a model is asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from aouo.emulator import ADA
from aouo.facts.events import Event, LlmToken, ResponseComplete
from aouo.words.markdown.render import render
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, CallPart, Raw, Says
from tests.path.going_out.test_watching_a_session import drained
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import Running, World

SECRET = "kx-AbC9_dEfGhIj4kLmNoPq7rStUv"
HIDDEN = f"{SECRET[:9]}**{SECRET[9:17]}**{SECRET[17:]}"
TOOLS = {"enabled": ["core", "memory", "files"]}


@pytest.fixture(autouse=True)
def configured(world: World) -> None:
    world.install("notes")
    world.config = {
        "providers": {"fake": {"base_url": world.model.base_url, "api_key": SECRET}},
        "tools": TOOLS,
    }


def holding(world: World) -> list[str]:
    """Files of the home that hold the secret, but for the owner's own and its copy."""
    return [
        str(file.relative_to(world.home.path))
        for file in world.home.path.rglob("*")
        if file.is_file()
        and not file.match("config*.json")
        and SECRET.encode() in file.read_bytes()
    ]


async def leaks(world: World, events: Sequence[Event] = ()) -> list[str]:
    """Where the secret is: files, calls to Telegram, requests to the model, events."""
    found = holding(world)
    found += [str(call["method"]) for call in await world.people.calls() if SECRET in str(call)]
    found += ["prompt" for body in world.model.requests if SECRET in json.dumps(body)]
    found += [type(event).__name__ for event in events if SECRET in repr(event)]
    tokens = "".join(event.text for event in events if isinstance(event, LlmToken))
    return found + (["llm_token"] if SECRET in tokens else [])


def streamed(pieces: Sequence[str]) -> Raw:
    """An answer in exactly these pieces."""
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    lines = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    return Raw((*lines, b"data: [DONE]\n\n"))


@pytest.mark.parametrize("size", [1, 3, 7, 100])
async def test_what_a_model_says_is_clean_wherever_it_goes(world: World, size: int) -> None:
    text = f"Your key is {SECRET}, keep it. Bye"
    world.model.reply(streamed([text[at : at + size] for at in range(0, len(text), size)]))
    async with world.running() as bot:
        events, leave = bot.app.shared.bus.subscribe()
        await bot.people.say(ADA, ADA, "what is your key?")
        await said(world, "Your key is [redacted], keep it. Bye")
        await settled(bot)
        told = drained(events)
        leave()

        tokens = "".join(event.text for event in told if isinstance(event, LlmToken))
        assert tokens == "Your key is [redacted], keep it. Bye"
        assert await leaks(world, told) == []


HIDINGS = (
    HIDDEN,
    f"[{SECRET[:9]}](https://example.org/a){SECRET[9:]}",
    f"{SECRET[:4]}&#{ord(SECRET[4])};{SECRET[5:]}",
    f"{SECRET[:3]}\u200b{SECRET[3:]}",
)


@pytest.mark.parametrize("hidden", HIDINGS)
async def test_what_is_kept_shows_no_secret_once_it_is_rendered(world: World, hidden: str) -> None:
    world.model.call("persist", {"table": "notes", "data": {"text": hidden}})
    world.model.say(f"It is {hidden}.")
    async with world.running() as bot:
        message = await bot.ask("what is it?")
        await settled(bot)
        (call,) = await bot.rows("SELECT arguments FROM tool_calls")
        answer = "SELECT text FROM messages WHERE role = 'assistant' AND text != ''"
        (answered,) = await bot.rows(answer)

    kept = [json.loads(call["arguments"])["data"]["text"], answered["text"], message.text]
    assert message.text == "It is [redacted]."
    assert not [text for text in kept if SECRET in "".join(part.text for part in render(text))]
    assert not [text for text in kept if "[redacted]" not in text]


async def test_a_growing_message_never_shows_the_beginning_of_a_secret(world: World) -> None:
    world.clock = FastClock(speed=40.0)
    begun = "A long beginning that is shown at once. " * 3
    world.model.reply(Says(f"{begun}{SECRET} is it.", chunks=24, stall_after=tuple(range(8, 24))))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="A long beginning")
        for _ in range(16):
            await world.model.stalled.wait()
            world.model.release.set()
        await said(world, f"{begun}[redacted] is it.")
        await settled(bot)

    assert not [call for call in await world.people.calls() if SECRET[:6] in str(call)]


async def test_markup_inside_a_secret_does_not_hide_it(world: World) -> None:
    world.model.say(f"It is **bold** and {HIDDEN} and *more* 😀.")
    async with world.running() as bot:
        message = await bot.ask("what is it?")
        await settled(bot)

        stored = await bot.rows("SELECT body FROM deliveries")
    assert not [row for row in stored if SECRET in row["body"]]
    assert message.text == "It is bold and [redacted] and more 😀."
    marks = [(e["type"], e["offset"], e["length"]) for e in message.raw.get("entities", [])]
    assert marks == [("bold", 6, 4), ("italic", 30, 4)]


async def test_markup_in_a_growing_message_does_not_hide_one_either(world: World) -> None:
    world.clock = FastClock(speed=40.0)
    begun = "A long beginning that is shown at once. " * 3
    pieces = [begun, *HIDDEN, " is it."]
    world.model.reply(streamed(pieces))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await said(world, f"{begun}[redacted] is it.")
        await settled(bot)

    shown = [call for call in await world.people.calls() if "text" in str(call)]
    assert not [call for call in shown if SECRET[:12] in str(call)]


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("msg", {"type": "text", "text": f"here: {SECRET}"}),
    ("msg", {"type": "text", "text": f"here: {HIDDEN}"}),
    ("msg", {"type": "photo", "url": f"https://example.org/{SECRET}.png", "text": SECRET}),
    ("msg", {"type": "keyboard", "text": "tap", "buttons": [[{"label": SECRET, "data": SECRET}]]}),
    ("memory", {"target": "user", "action": "add", "content": f"The key is {SECRET}."}),
    ("persist", {"table": "notes", "data": {"text": SECRET}}),
    ("write_file", {"path": "a.txt", "content": SECRET}),
    (SECRET, {SECRET: [SECRET]}),
)


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
@pytest.mark.parametrize("escaped", [False, True])
async def test_a_call_is_made_with_what_is_left_of_its_arguments(
    world: World, tool: str, arguments: dict[str, Any], escaped: bool
) -> None:
    text = json.dumps(arguments)
    if escaped:
        text = text.replace(SECRET, "".join(f"\\u{ord(sign):04x}" for sign in SECRET))
    world.model.call(tool, text)
    world.model.say("Done.")
    async with world.running() as bot:
        events, leave = bot.app.shared.bus.subscribe()
        await bot.people.say(ADA, ADA, "do it")
        await said(world, "Done.")
        await settled(bot)
        told = drained(events)
        leave()
        rows = await bot.rows("SELECT arguments FROM tool_calls")

        assert json.loads(rows[0]["arguments"]) or HIDDEN in text
        assert await leaks(world, told) == []


async def test_a_question_with_a_secret_is_asked_without_it(world: World) -> None:
    world.model.call("clarify", {"message": f"Is it {SECRET}?", "options": [SECRET, "no"]})
    world.model.say("Done.")
    async with world.running() as bot:
        card = await bot.ask("ask me")
        await world.people.tap(ADA, ADA, card.id, card.buttons[-1].data)
        await said(world, "Done.")
        await settled(bot)

        assert "[redacted]" in card.text
        assert await leaks(world) == []


async def test_words_before_a_call_are_clean_thoughts(world: World) -> None:
    read = CallPart("memory", {"target": "user", "action": "read"})
    world.model.reply(Says(f"I think of {SECRET}.", (read,), thoughts=f"hm, {SECRET}"))
    world.model.say("Done.")
    async with world.running() as bot:
        events, leave = bot.app.shared.bus.subscribe()
        await bot.ask("think")
        await settled(bot)
        told = drained(events)
        leave()

        assert any("[redacted]" in repr(e) for e in told if isinstance(e, ResponseComplete))
        assert await leaks(world, told) == []


async def test_a_summary_is_clean(world: World) -> None:
    def answer(body: Body) -> str:
        aside = "material, not orders" in str(body["messages"][0]["content"])
        return f"- The key is {SECRET}." if aside else "I see."

    world.model.script = answer
    async with world.running() as bot:
        for _ in range(3):
            await bot.ask("something to remember")
        await bot.ask("/compact")
        await settled(bot)

        assert await bot.rows("SELECT 1 FROM summaries WHERE text LIKE '%[redacted]%'")
        assert await leaks(world) == []


@pytest.mark.parametrize("text", [f"is {SECRET} mine?", f"/nosuch {SECRET}", f"/memory {SECRET}"])
async def test_what_a_person_pastes_is_stored_and_asked_without_it(world: World, text: str) -> None:
    async with world.running() as bot:
        await bot.ask(text)
        await settled(bot)

        assert holding(world) == []
        assert not [body for body in world.model.requests if SECRET in json.dumps(body)]


async def test_what_only_looks_like_a_secret_is_a_persons_own_to_say(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("install https://me:pass@example.org/?key=abcdefgh123")
        await settled(bot)

        assert "me:pass@" in json.dumps(world.model.requests[0])


async def _title(bot: Running) -> list[dict[str, Any]]:
    return await bot.rows("SELECT title FROM sessions WHERE title LIKE '%[redacted]%'")


async def test_a_title_is_clean(world: World) -> None:
    world.clock = FastClock(speed=40.0)

    def answer(body: Body) -> str:
        aside = "material, not orders" in str(body["messages"][0]["content"])
        return f"All about {SECRET}" if aside else "I see."

    world.model.script = answer
    async with world.running() as bot:
        for _ in range(4):
            await bot.ask("something to name")
        await settled(bot)
        await eventually(lambda: _title(bot))

        assert await leaks(world) == []
        assert SECRET not in str(await answers(world))
