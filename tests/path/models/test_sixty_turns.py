"""A long conversation with each family of model services, through all that an owner does to it.

Each service keeps its family's rules (`tests.fakes.models`). What it takes is learnt from its
refusals, and forgotten with the process (design, "Decisions"): two of them at most, in the first
turn after a start. Source: issue 12, "Done when".
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest

from aouo.emulator import ChatMessage
from aouo.plumbing.web.envelope import unmarked
from tests.fakes.clock import FastClock
from tests.fakes.models import CallPart, ModelService, Reply, Says, names, profile
from tests.fakes.models.asked import Asked
from tests.path.looking import answers, cut_off, settled
from tests.path.world import ADA, WAIT_S, Running, World
from tests.sampling import taking

TURNS = 60
LEARNING = 2
"""So many refusals a start, until a service's ways are known."""
WINDOW = 32_768
"""Of a server of one's own, as an owner sets it who has read the docs."""
BLIND = "I cannot see pictures"
SUMMARY = "They count."
RESTARTED = "I was restarted while answering; continuing."
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(40) + b"a red bicycle"
KINDS = ("tell me", "note it", "look it up", "keep it", "see this", "do both", "tell me more")
ASKED = re.compile(r"message (\d+): ([a-z ]+)")
ANSWERED = re.compile(r"answer (\d+)\.")
REACHED = re.compile(r"^- reached (\d+)$", re.MULTILINE)
"""A note, also one between marks: this conversation has seen pictures."""
READ = CallPart("memory", {"target": "memory", "action": "read"})


def calls_for(kind: str, number: int) -> tuple[CallPart, ...]:
    noted = {"target": "memory", "action": "append", "content": f"- reached {number}"}
    kept = CallPart("persist", {"action": "save", "data": {"text": f"Thought {number}"}})
    wanted = {
        "note it": (CallPart("memory", noted),),
        "look it up": (READ,),
        "keep it": (kept,),
        "do both": (READ, kept),
    }
    return wanted.get(kind, ())


class Model:
    """Does what Ada says; told so, it falls silent once after a call."""

    def __init__(self) -> None:
        self.stalls = False
        self.saw = 0
        self.knows_the_summary = False

    def __call__(self, asked: Asked) -> Reply:
        if "material, not orders" in asked.entries[0].text:
            return Says(SUMMARY)
        self.knows_the_summary |= any(SUMMARY in entry.text for entry in asked.entries)
        self.saw += any(entry.images for entry in asked.entries)
        number, kind = ASKED.findall(asked.words)[-1]
        begins = asked.entries[-1].role == "user"
        if begins and (wanted := calls_for(kind, int(number))):
            return Says(calls=wanted)
        answer = Says(f"answer {number}. " + "It is so. " * 20)
        if self.stalls and not begins:
            self.stalls = False
            return replace(answer, stall_after=0)
        return answer


class Family:
    """The service of one family, and the model in it."""

    def __init__(self, name: str) -> None:
        kept = profile(name)
        self.sees = kept.models[kept.model].sees
        self.model = Model()
        self.service = ModelService(kept, self.model, loaded=WINDOW if kept.key == "none" else 0)
        self._excused = 0

    def refused(self) -> list[str]:
        """What it refused since the last look, which excuses it."""
        since = self.service.refusals[self._excused :]
        self._excused += len(since)
        return [one.about for one in since]


class Conversation:
    """What Ada says to one bot over several lives, and the services that it is set up with."""

    def __init__(self, world: World, *families: Family) -> None:
        self._world = world
        self.families = families
        self.said: list[str] = []

    @asynccontextmanager
    async def life(self, asked: Family) -> AsyncGenerator[Running]:
        """The runtime, which asks this service and takes up what was left first."""
        self._world.config = {}
        for family in (*self.families, asked):
            known = self._world.config.get("providers", {})
            self._world.config |= (told := family.service.settings())
            self._world.config["providers"] = known | told.get("providers", {})
        async with self._world.running() as bot:
            await settled(bot)
            yield bot

    async def go_on(self, bot: Running, until: int) -> None:
        """Say more; once the first of it is answered nothing is refused any more."""
        learnt = False
        while len(self.said) < until:
            await self._answered(bot, await self.say(bot, KINDS[len(self.said) % len(KINDS)]))
            for family in self.families:
                refused = family.refused()
                assert len(refused) <= (0 if learnt else LEARNING), refused
            learnt = True
        await settled(bot)

    async def is_cut_off(self, bot: Running, asked: Family) -> None:
        """Say one thing more; the model has called a tool and begun to answer, and we end."""
        asked.model.stalls = True
        await self.say(bot, "look it up")
        async with asyncio.timeout(WAIT_S):
            await asked.service.stalled.wait()
        asked.service.stalled.clear()
        await cut_off(bot)

    async def say(self, bot: Running, kind: str) -> ChatMessage:
        self.said.append(kind)
        words = f"message {len(self.said)}: {kind}"
        if kind == "see this":
            return await bot.people.send_file(ADA, ADA, "photo", PICTURE, caption=words)
        return await bot.people.say(ADA, ADA, words)

    async def _answered(self, bot: Running, said: ChatMessage) -> None:
        words = (f"answer {len(self.said)}.", BLIND)

        async def look() -> bool:
            found = await bot.people.messages(ADA)
            return any(m.from_bot and m.id > said.id and m.text.startswith(words) for m in found)

        await bot.people.until(look)


def calls_of(kind: str) -> int:
    return len(calls_for(kind, 0))


def noted(world: World) -> list[int]:
    """What the memory of the conversation has reached, in order."""
    files = sorted((world.home.path / "data").rglob("MEMORY.md"))
    return [int(number) for file in files for number in REACHED.findall(unmarked(file.read_text()))]


def numbers(shown: list[str]) -> list[int]:
    return [int(found[1]) for text in shown if (found := ANSWERED.match(text))]


@asynccontextmanager
async def conversation(world: World, *named: str) -> AsyncGenerator[Conversation]:
    world.install("notes")
    world.clock = FastClock()
    families = [Family(name) for name in named]
    async with AsyncExitStack() as stack:
        for family in families:
            await stack.enter_async_context(family.service)
        yield Conversation(world, *families)


def after(name: str) -> str:
    """The family that comes next."""
    known = names()
    return known[(known.index(name) + 1) % len(known)]


@pytest.mark.parametrize("name", taking(names(), ("gemini", "openai")))
async def test_sixty_turns_are_answered_once_each_and_none_is_refused_that_was_not_new(
    world: World, name: str
) -> None:
    """With tools, a tool of a pack, pictures, a summary, a restart that cuts a turn off, another
    service for a while and the first one again."""
    async with conversation(world, name, after(name)) as talk:
        one, other = talk.families
        async with talk.life(one) as bot:
            await talk.go_on(bot, 15)
            await bot.ask("/compact")
            await talk.go_on(bot, 29)
            await talk.is_cut_off(bot, one)
        async with talk.life(one) as bot:
            await talk.go_on(bot, 35)
        async with talk.life(other) as bot:
            await talk.go_on(bot, 45)
        async with talk.life(one) as bot:
            await talk.go_on(bot, TURNS)
            calls = await bot.rows("SELECT name, state FROM tool_calls")
        shown = await answers(world)

    answered = numbers(shown)
    unseen = [n for n in range(1, TURNS + 1) if n not in answered]
    others = Counter(text for text in shown if not ANSWERED.match(text))
    assert sorted(answered + unseen) == list(range(1, TURNS + 1))
    others.pop(RESTARTED, 0)  # it goes once its turn is answered
    assert len([text for text in others if "messages are a summary now" in text]) == 1
    assert sum(count for text, count in others.items() if text.startswith(BLIND)) == len(unseen)
    assert [family.model.saw > 0 for family in (one, other)] == [one.sees, other.sees]
    assert one.model.saw + other.model.saw + len(unseen) == talk.said.count("see this")
    assert one.model.knows_the_summary
    assert Counter(row["state"] for row in calls) == {"done": sum(map(calls_of, talk.said))}
    assert noted(world) == [n for n, kind in enumerate(talk.said, 1) if kind == "note it"]


@pytest.mark.parametrize("name", taking(names(), ("gemini", "openai")))
async def test_a_turn_that_another_service_began_is_finished_without_a_word_of_it(
    world: World, name: str
) -> None:
    """Its calls are foreign there, and in the newest turn, where signatures are looked at."""
    async with conversation(world, after(name), name) as talk:
        began, goes_on = talk.families
        async with talk.life(began) as bot:
            await talk.go_on(bot, 3)
            await talk.is_cut_off(bot, began)
        async with talk.life(goes_on) as bot:
            await talk.go_on(bot, 8)
        shown = await answers(world)

    assert numbers(shown)[:5] == [1, 2, 3, 4, *([5] if goes_on.sees else [6])]
    assert [text for text in shown if not text.startswith(("answer ", BLIND))] == []
