"""The right conversation, always: laws over random interleavings. Source: design §1, §3.2, §3.3.

The runtime is the real one, on a real database; only the two ports to the outside, the chat
and the model, are fakes, so that thousands of events take seconds.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.app.serve import open_app
from aouo.app.wiring import App
from aouo.config.file import load_settings
from aouo.emulator import FAMILY, HOUSEHOLD
from aouo.facts.address import ConversationAddress
from aouo.facts.errors import DeliveryError, DeliveryUnknown, FloodControl, NotSent
from aouo.facts.events import Arrival, Button, Content, Inbound, Person, Text
from aouo.facts.transcript import UserSaid
from aouo.plumbing.home import Home
from aouo.queue import lexer
from tests.fakes.chat_model import EchoModel
from tests.fakes.clock import FastClock
from tests.fakes.messenger import FakeMessenger
from tests.path.looking import answers, eventually, settled
from tests.path.world import ADA, BEN, ROOT, World
from tests.sampling import count

WAIT_S = 60.0
MAY_NOT = "may not have arrived"


@dataclass(frozen=True, slots=True)
class Act:
    """Somebody does something in one of the places; `what` is words, or a button's data."""

    place: int
    person: int
    what: str
    tap: bool = False
    pause: int = 0


@dataclass
class Stage:
    """One runtime between the fakes, and what was seen there."""

    app: App
    messenger: FakeMessenger
    model: EchoModel
    at_work: Counter[str]
    most_at_work: Counter[str]
    most_at_once: list[int]
    asked: dict[str, list[str]] = field(default_factory=lambda: defaultdict[str, list[str]](list))
    _updates: int = 0

    async def hear(self, *facts: Inbound) -> None:
        arrivals: list[Arrival] = []
        for fact in facts:
            self._updates += 1
            arrivals.append(Arrival(self._updates, "{}", fact))
        await self.app.inbox.accept("bot", arrivals, self._updates + 1)

    async def quiet(self) -> None:
        """Nothing is left to run or to send."""

        async def look() -> bool:
            return not await self.app.shared.database.read(
                lambda tx: (
                    tx.one("SELECT 1 FROM jobs WHERE state IN ('ready','gathering','running')")
                    or tx.one("SELECT 1 FROM deliveries WHERE state IN ('queued','sending')")
                )
            )

        await eventually(look)


@asynccontextmanager
async def stage(
    *, packs: Sequence[str], seed: int, trouble: bool, burst_ms: int = 0
) -> AsyncGenerator[Stage]:
    """The whole runtime without Telegram's side; time runs 200 times as fast."""
    chance = random.Random(seed)
    at_work, most, at_once = Counter[str](), Counter[str](), [0]

    async def before(words: str) -> None:
        place = words.partition("/")[0]
        at_work[place] += 1
        most[place] = max(most[place], at_work[place])
        at_once[0] = max(at_once[0], sum(at_work.values()))
        try:
            for _ in range(chance.randrange(12)):
                await asyncio.sleep(0)
        finally:
            at_work[place] -= 1

    def fail(to: ConversationAddress) -> DeliveryError | None:
        if not trouble:
            return None
        match chance.randrange(20):
            case 0:
                return NotSent("no connection")
            case 1:
                return FloodControl("slow down", 2.0)
            case 2:
                return DeliveryUnknown("no answer")
            case _:
                return None

    messenger = FakeMessenger(fail=fail, arrives=lambda: chance.random() < 0.5)
    model = EchoModel(before)
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        home.create()
        for pack in packs:
            (home.packs / pack).symlink_to(ROOT / "packs" / pack)
        config = {"telegram": {"message_batch_ms": burst_ms, "streaming": "off"}}
        home.config.write_text(json.dumps(config))
        loaded = load_settings(home.path, {})
        clock = FastClock(speed=200.0)
        async with open_app(home, loaded.settings, clock=clock, model=model) as app:
            app.outbox.messengers["tg"] = messenger  # pyright: ignore[reportIndexIssue]
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(part)
                    for part in (app.lanes.run(), app.outbox.run(), app.inbox.close_bursts())
                ]
                yield Stage(app, messenger, model, at_work, most, at_once)
                for task in tasks:
                    task.cancel()


PLACES = (
    ConversationAddress("tg", str(ADA)),
    ConversationAddress("tg", str(BEN)),
    ConversationAddress("tg", str(FAMILY)),
    ConversationAddress("tg", str(HOUSEHOLD)),
    *(ConversationAddress("tg", str(HOUSEHOLD), str(topic)) for topic in range(2, 8)),
)


def fact(act: Act, number: int) -> Inbound:
    """The act as it comes in; words carry place, person and number, so that nothing is alike."""
    place = PLACES[act.place]
    words = f"{place.queue_key}/{act.person}/{number}"
    content: Content
    if act.tap:
        content = Button(act.what, act.what, f"tap{number}")
    elif command := lexer.command(act.what):
        content = command
    else:
        content = Text(words)
    kind = "private" if not place.chat_id.startswith("-") else "forum"
    return Inbound(place, Person(str(act.person)), content, kind, 10**6 + number)


acts = st.lists(
    st.builds(
        Act,
        place=st.integers(0, len(PLACES) - 1),
        person=st.sampled_from([ADA, BEN]),
        what=st.sampled_from(["text"] * 8 + ["/new", "/use notes", "/use vocab", "/whereami"]),
        pause=st.integers(0, 6),
    )
    | st.builds(
        Act,
        place=st.integers(0, len(PLACES) - 1),
        person=st.just(ADA),
        what=st.sampled_from(["pack:notes", "pack:vocab", "nav:nothing"]),
        tap=st.just(True),
    ),
    min_size=1,
    max_size=60,
)


async def play(script: Sequence[Act], *, seed: int, trouble: bool, burst_ms: int = 0) -> None:
    """Play a script, let everything settle, then hold the laws against what was seen."""
    asked: dict[ConversationAddress, list[str]] = defaultdict(list)
    async with stage(packs=("notes", "vocab"), seed=seed, trouble=trouble, burst_ms=burst_ms) as on:
        for number, act in enumerate(script):
            said = fact(act, number)
            if isinstance(said.content, Text):
                asked[said.address].append(said.content.text)
            await on.hear(said)
            for _ in range(act.pause):
                await asyncio.sleep(0)
        await on.quiet()
        last = len(script)
        await on.hear(
            *(fact(Act(place, ADA, "/use notes"), last + place) for place in range(len(PLACES)))
        )
        await on.quiet()
        crossed = await on.app.shared.database.read(
            lambda tx: tx.all(
                "SELECT r.id FROM conversation_routes AS r JOIN sessions AS s "
                "ON s.id = r.session_id WHERE s.session_key <> 'tg:' || r.chat_id || "
                "iif(r.thread_id = '', '', ':thread:' || r.thread_id) || ':pack:' || r.active_pack"
            )
        )
        undone = await on.app.shared.database.read(
            lambda tx: tx.all("SELECT * FROM jobs WHERE state <> 'done'")
        )

    assert not crossed
    assert not undone
    assert all(count <= 1 for count in on.most_at_work.values()), on.most_at_work
    for place in PLACES:
        heard = on.messenger.texts(place)
        answered = [line for text in heard for line in _answers_in(text)]
        assert answered == sorted(set(answered), key=answered.index), "answered twice"
        expected = asked[place]
        assert [one for one in expected if one in answered] == answered, "order, or another's"
        missing = len(expected) - len(answered)
        assert missing == 0 or (trouble and any(MAY_NOT in text for text in heard))
    for request in on.model.requests:
        heard = [_MARK.sub("", m.text) for m in request.messages if isinstance(m, UserSaid)]
        words = [text.partition("/")[0] for text in heard]
        assert len(set(words)) == 1, "history of another conversation"


_MARK = re.compile(r"<untrusted [^>]*>\s*")
"""What stands before another person's words."""


def _answers_in(text: str) -> list[str]:
    """Lines that are answers: they begin with the name of a place."""
    return [line for line in text.splitlines() if line.count("/") == 2 and " " not in line]


@settings(max_examples=count(25, 10), deadline=None)
@given(acts, st.integers(0, 2**32))
def test_every_text_is_answered_once_in_order_and_in_its_place(
    script: list[Act], seed: int
) -> None:
    asyncio.run(play(script, seed=seed, trouble=False))


@settings(max_examples=count(15, 6), deadline=None)
@given(acts, st.integers(0, 2**32))
def test_that_holds_while_sends_fail_wait_or_stay_unknown(script: list[Act], seed: int) -> None:
    """What is unknown is told and never doubled; everything else still arrives, in order."""
    asyncio.run(play(script, seed=seed, trouble=True))


@settings(max_examples=count(10, 4), deadline=None)
@given(acts, st.integers(0, 2**32))
def test_bursts_join_only_what_one_person_said_in_one_place(script: list[Act], seed: int) -> None:
    """Two people in one place may overtake each other by a window; one person never does."""
    asyncio.run(play_bursts(script, seed=seed))


async def play_bursts(script: Sequence[Act], *, seed: int) -> None:
    asked: dict[tuple[ConversationAddress, str], list[str]] = defaultdict(list)
    async with stage(packs=("notes",), seed=seed, trouble=False, burst_ms=400) as on:
        for number, act in enumerate(script):
            said = fact(act, number)
            if isinstance(said.content, Text):
                asked[said.address, said.person.id].append(said.content.text)
            await on.hear(said)
            for _ in range(act.pause):
                await asyncio.sleep(0)
        await on.quiet()

    for request in on.model.requests:
        newest = next(m.text for m in reversed(request.messages) if isinstance(m, UserSaid))
        people = {line.rpartition("/")[0] for line in newest.splitlines()}
        assert len(people) == 1 or newest.startswith("[callback]"), newest
    for (place, person), expected in asked.items():
        lines = [line for text in on.messenger.texts(place) for line in _answers_in(text)]
        assert [line for line in lines if line.split("/")[1] == person] == expected


def test_a_thousand_events_in_ten_conversations_keep_the_law() -> None:
    chance = random.Random(20261122)
    texts = ["text"] * 12 + ["/new", "/use notes", "/use vocab", "/whereami"]
    script = [
        Act(
            chance.randrange(len(PLACES)),
            chance.choice([ADA, BEN]),
            chance.choice(texts),
            pause=chance.randrange(3),
        )
        for _ in range(count(1_000, 250))
    ]
    asyncio.run(play(script, seed=1, trouble=False))


async def test_conversations_run_at_the_same_time() -> None:
    """One at a time within each, all of them at once."""
    arrived = asyncio.Barrier(len(PLACES))

    async with stage(packs=("notes",), seed=1, trouble=False) as on:
        counted = on.model.before

        async def meet(words: str) -> None:
            await counted(words)
            async with asyncio.timeout(WAIT_S):
                await arrived.wait()  # passes only if all of them are here

        on.model.before = meet
        await on.hear(*(fact(Act(place, ADA, "text"), place) for place in range(len(PLACES))))
        await on.quiet()

    assert all(len(on.messenger.texts(place)) == 1 for place in PLACES)


async def test_through_telegram_too_nothing_crosses_is_lost_or_doubled(world: World) -> None:
    """The same law at the highest level, smaller: two people, a group, a forum, faults."""
    world.install("notes", "vocab")
    world.clock = FastClock()
    world.config = {"telegram": {"groups": "all"}}
    chance = random.Random(7)
    places = [(ADA, None), (BEN, None), (FAMILY, None), (HOUSEHOLD, 2), (HOUSEHOLD, 3)]
    asked: dict[tuple[int, int | None], list[str]] = {place: [] for place in places}
    async with world.running() as bot:
        for chat, thread in places:
            await bot.people.say(chat if chat > 0 else ADA, chat, "/use notes", thread=thread)
        await bot.people.fault("status", method="sendMessage", nth=7, status=429, retry_after=2)
        await bot.people.fault("status", method="sendMessage", nth=12, status=500)
        await bot.people.fault("duplicate_update")
        for number in range(60):
            place = chance.choice(places)
            chat, thread = place
            person = chat if chat > 0 else chance.choice([ADA, BEN])
            text = f"{chat}:{thread}/{person}/{number}"
            asked[place].append(text)
            await bot.people.say(person, chat, text, thread=thread)

        async def all_taken() -> bool:
            return not len(world.emulator.world.updates)

        await eventually(all_taken)
        await settled(bot)

    for (chat, thread), expected in asked.items():
        heard = [text.removesuffix("\n\n— notes") for text in await answers(world, chat, thread)]
        assert [text for text in heard if text.count("/") == 2] == expected
