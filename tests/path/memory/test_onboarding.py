"""A pack's first conversation: once for each person and pack, and it ends. Source: issue 5.

What the original did wrong is in the reference, §13 B 1: it never ended, and it came before
every command.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from aouo.emulator import FAMILY, ChatMessage
from aouo.store.routes import SESSIONS_MAX, TURNS_MAX
from tests.fakes.model_server import Body, CallPart
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, BEN, Running, World

US = "@aouo_try_bot"
BODY = "Ask what they are called."
FIRST = "This is the first conversation here"
OWN = "guide:onboarding"


@pytest.fixture(autouse=True)
def guide(world: World) -> None:
    """A pack with a first conversation, a command and no tools of its own."""
    write(world, "guide")


def write(world: World, name: str, *, scope: str = "person") -> None:
    folder = world.home.packs / name
    for skill, text in (("onboarding", BODY), ("work", "Do the work.")):
        path = folder / "skills" / skill
        path.mkdir(parents=True)
        (path / "SKILL.md").write_text(
            f"---\nname: {skill}\ndescription: {skill}\ncommand: {str(skill == 'work').lower()}\n"
            f"---\n\n{text}\n"
        )
    (folder / "pack.yml").write_text(
        f"name: {name}\nversion: 0.1.0\ndisplay_name: {name.title()}\ndescription: Guides\n"
        f"schema: {{scope: {scope}}}\nprovided_skills: [onboarding, work]\n"
        "permissions:\n  tools: [msg]\n"
    )


def tools(body: Body) -> list[str]:
    return [tool["function"]["name"] for tool in body["tools"]]


def is_first(body: Body) -> bool:
    """Whether a request is one of the first conversation: skill, line and tool, or none of them."""
    text = json.dumps(body["messages"])
    marks = (BODY in text, FIRST in text, "onboarding_done" in tools(body))
    assert len(set(marks)) == 1, marks
    return marks[0]


async def records(bot: Running) -> list[dict[str, Any]]:
    return await bot.rows(
        "SELECT pack, owner, state, sessions, turns FROM onboarding ORDER BY began_at, owner"
    )


async def skills(bot: Running) -> list[str]:
    return [row["skill"] for row in await bot.rows("SELECT skill FROM turns ORDER BY id")]


def labels(message: ChatMessage) -> Sequence[str]:
    return [button.text for button in message.buttons]


async def test_it_runs_until_the_model_says_it_is_done_and_never_again(world: World) -> None:
    world.model.say("What are you called?")
    world.model.call("onboarding_done", {"summary": "is called Ada"})
    world.model.say("Hello Ada.")
    async with world.running() as bot:
        first = await bot.ask("hi")
        await bot.ask("Ada")
        await bot.ask("and now?")
        await bot.ask("/new")
        await bot.ask("still?")
        rows = await bot.rows("SELECT state, summary, turns FROM onboarding")

    assert [is_first(body) for body in world.model.requests] == [True, True, True, False, False]
    assert labels(first) == ["Skip introduction"]
    assert rows == [{"state": "done", "summary": "is called Ada", "turns": 2}]


async def test_the_button_skips_it_and_is_shown_once(world: World) -> None:
    async with world.running() as bot:
        first = await bot.ask("hi")
        second = await bot.ask("hm")
        await settled(bot)
        await bot.people.tap(ADA, ADA, first.id, "nav:onboarding_skip")
        await said(world, "Skipped. Just write what you need.")
        await settled(bot)
        shown = next(m for m in await world.people.messages(ADA) if m.id == first.id)
        await bot.people.tap(BEN, BEN, (await bot.ask("hi", user=BEN)).id, "nav:onboarding_skip")
        await said(world, "Skipped. Just write what you need.", BEN)
        await bot.ask("now?")
        rows = await records(bot)

    assert (labels(first), labels(second), labels(shown)) == (["Skip introduction"], [], [])
    assert shown.text == first.text
    assert not is_first(world.model.requests[-1])
    assert {row["state"] for row in rows} == {"skipped"}


async def test_a_second_tap_on_skip_is_told_so(world: World) -> None:
    world.model.call("onboarding_done")
    world.model.say("Welcome.")
    async with world.running() as bot:
        done = await bot.ask("hi")
        await bot.people.tap(ADA, ADA, done.id, "nav:onboarding_skip")
        await said(world, "That is over already. Just write what you need.")

    assert labels(done) == []


@pytest.mark.parametrize("command", ["/work", "/use guide:work"])
async def test_a_skill_that_is_asked_for_is_never_overridden(world: World, command: str) -> None:
    async with world.running() as bot:
        for text in (command, "go on", "and on"):
            await bot.ask(text)
        chosen = await skills(bot)

        assert await records(bot) == []

    assert set(chosen) == {"guide:work"}
    assert not any(is_first(body) for body in world.model.requests)


async def test_a_command_in_the_middle_is_obeyed(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hi")
        await bot.ask("/work now")

        assert await skills(bot) == [OWN, "guide:work"]


async def test_it_goes_on_in_a_new_session_and_is_given_up_after_three(world: World) -> None:
    async with world.running() as bot:
        for _ in range(SESSIONS_MAX):
            await bot.ask("hi")
            await bot.ask("/new")
        before = await records(bot)
        await bot.ask("hi")
        after = await records(bot)

    assert [row["state"] for row in before] == ["open"]
    assert [(row["state"], row["sessions"]) for row in after] == [("given_up", SESSIONS_MAX)]
    assert [is_first(body) for body in world.model.requests] == [*[True] * SESSIONS_MAX, False]


async def test_it_is_given_up_after_ten_turns(world: World) -> None:
    async with world.running() as bot:
        for number in range(TURNS_MAX + 2):
            await bot.ask(f"hm {number}")
        rows = await records(bot)

    assert [(row["state"], row["turns"]) for row in rows] == [("given_up", TURNS_MAX)]
    assert [is_first(body) for body in world.model.requests].count(True) == TURNS_MAX


async def test_it_survives_a_restart(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hi")
    world.model.call("onboarding_done")
    world.model.say("Welcome.")
    async with world.running() as bot:
        await bot.ask("Ada")
    async with world.running() as bot:
        await bot.ask("hello")

    assert [is_first(body) for body in world.model.requests] == [True, True, True, False]


async def test_each_person_and_each_pack_and_each_group_has_its_own(world: World) -> None:
    write(world, "other", scope="shared")
    async with world.running() as bot:
        for user, chat in ((ADA, ADA), (BEN, BEN), (ADA, FAMILY)):
            for pack in ("guide", "other"):
                await bot.people.say(user, chat, f"/use {pack}")
                await bot.ask(f"{US} hi", user=user, chat=chat)
                await settled(bot)
        rows = await records(bot)

    owners = {f"tg_{ADA}", f"tg_{BEN}", f"tg_{FAMILY}"}
    assert {(row["pack"], row["owner"]) for row in rows} == {
        (pack, owner) for pack in ("guide", "other") for owner in owners
    }
    assert all(is_first(body) for body in world.model.requests)


async def test_off_the_record_it_waits(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("/otr something private")
        before = await records(bot)
        await bot.ask("hi")

        assert before == []
        assert await skills(bot) == ["", OWN]


async def test_without_a_model_none_is_begun(world: World) -> None:
    """Nothing is started that nobody could end."""
    world.config = {"provider": {"backend": "none"}}
    async with world.running() as bot:
        answer = await bot.ask("the plums are ripe")

        assert await records(bot) == []
        assert await skills(bot) == [""]

    assert "Skip introduction" not in labels(answer)


async def test_one_that_was_asked_for_by_name_ends_too(world: World) -> None:
    world.model.say("What are you called?")
    world.model.call("onboarding_done")
    world.model.say("Hello.")
    async with world.running() as bot:
        await bot.ask("/use guide:onboarding")
        await bot.ask("hi")
        await bot.ask("Ada")
        await bot.ask("next")
        chosen = await skills(bot)

    assert chosen == [OWN, OWN, ""]


async def test_a_failed_first_answer_leaves_the_button_to_the_next(world: World) -> None:
    for _ in range(2):
        world.model.fail(400, {"error": {"message": "no", "type": "invalid_request_error"}})
    async with world.running() as bot:
        failed = await bot.ask("hi")
        answer = await bot.ask("hi again")

    assert labels(failed) == []
    assert labels(answer) == ["Skip introduction"]


async def test_outside_of_it_the_tool_is_not_there(world: World) -> None:
    world.model.call("onboarding_done")
    world.model.say("no")
    async with world.running() as bot:
        await bot.ask("/work")

        assert await records(bot) == []

    assert "There is no tool 'onboarding_done' here" in str(world.model.requests[-1])


async def test_several_calls_in_the_last_turn_all_count(world: World) -> None:
    world.model.calls(
        CallPart("onboarding_done"), CallPart("onboarding_done", {"summary": "twice"}), text="…"
    )
    world.model.say("Welcome.")
    async with world.running() as bot:
        await bot.ask("hi")

        async def over() -> bool:
            return [row["state"] for row in await records(bot)] == ["done"]

        await eventually(over)

    assert (await answers(world))[-1] == "Welcome."
