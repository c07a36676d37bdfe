"""What would break, lock out or overwrite is refused, and nothing of it is saved."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.path.dashboard.configured import SECRETS, keys, save
from tests.path.dashboard.looking import dashboard, resting
from tests.path.looking import settled
from tests.path.world import ADA, BEN, World, texts


async def test_every_problem_is_named_and_nothing_is_saved(world: World) -> None:
    async with dashboard(world) as shown:
        before = world.home.config.read_bytes()
        status, told = await save(
            shown,
            {"telegram.max_parts": 0, "provider.backend": "nobody", "ui.show_tool_calls": False},
        )
        after = world.home.config.read_bytes()

    assert status == 400
    assert [problem["key"] for problem in told["problems"]] == [
        "provider.backend",
        "telegram.max_parts",
    ]
    assert told["error"].startswith("Nothing was saved: provider.backend: no such backend")
    assert before == after


async def test_of_two_windows_the_second_is_told_that_the_file_has_changed(world: World) -> None:
    async with dashboard(world) as shown:
        _, seen = await shown.get("/api/settings")
        bodies = [
            {"version": seen["version"], "changes": {"telegram.max_parts": parts}}
            for parts in (3, 4)
        ]
        async with asyncio.TaskGroup() as group:
            windows = [
                group.create_task(shown.send("POST", "/api/settings", body)) for body in bodies
            ]

    told = dict(window.result() for window in windows)
    assert sorted(told) == [200, 409]
    assert told[409] == {
        "error": "Somebody else has changed config.json since you read it. Read it again."
    }


async def test_what_an_editor_wrote_meanwhile_is_not_lost(world: World) -> None:
    async with dashboard(world) as shown:
        _, seen = await shown.get("/api/settings")
        edited = world.home.config.read_text().replace('"scripted"', '"other"')
        world.home.config.write_text(edited)
        body = {"version": seen["version"], "changes": {"telegram.max_parts": 3}}
        status, _ = await shown.send("POST", "/api/settings", body)

    assert status == 409
    assert world.home.config.read_text() == edited


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"dashboard.enabled": False}, "there is no local page any more"),
        ({"dashboard.token": "anotherlongtoken"}, "this page has another address or token"),
        ({"telegram.allowed_user_ids": []}, "Nobody may talk to the bot any more"),
        ({"telegram.allowed_user_ids": [BEN]}, f"another owner: {BEN} in the place of {ADA}"),
        ({"telegram.bot_token": "98765:" + "B" * 30}, "it is another bot"),
    ],
)
async def test_a_loss_is_said_before_it_is_saved(
    world: World, changes: dict[str, Any], told: str
) -> None:
    async with dashboard(world) as shown:
        before = world.home.config.read_bytes()
        asked, facts = await save(shown, changes)
        between = world.home.config.read_bytes()
        meant, _ = await save(shown, changes, anyway=True)

    assert (asked, meant) == (409, 200)
    assert told in " ".join(facts["losses"])
    assert before == between != world.home.config.read_bytes()


async def test_nothing_is_saved_that_no_bot_could_start_with(world: World) -> None:
    async with dashboard(world) as shown:
        before = world.home.config.read_bytes()
        status, told = await save(shown, {"telegram.bot_token": None}, anyway=True)
        await settled(shown.bot)
        in_the_chat = texts(await shown.bot.people.messages(ADA))

    assert status == 400
    assert "There is no bot token." in told["error"]
    assert in_the_chat == []  # as they would be told of a file that cannot be used
    assert before == world.home.config.read_bytes()


async def test_what_the_bot_cannot_use_is_not_left_in_the_file(world: World) -> None:
    async with dashboard(world) as shown:
        before = world.home.config.read_text()
        status, told = await save(shown, {"provider.backend": "groq", "telegram.max_parts": 3})
        _, state = await shown.get("/api/status")
        answer = await shown.bot.ask("hello")

    assert status == 400
    assert "There is no key" in told["error"]
    assert world.home.config.read_text() == before
    assert (state["config"]["problems"], bool(answer.text)) == ([], True)


async def test_no_change_names_a_program_a_path_or_an_address(world: World) -> None:
    world.config = SECRETS
    async with dashboard(world) as shown:
        closed = [key for key, one in (await keys(shown)).items() if not one["on_page"]]
        answers = [await save(shown, {key: "/bin/sh"}, anyway=True) for key in closed]
        named, told = await save(shown, {"provider.model": "${HOME}"}, anyway=True)
        before = world.home.config.read_text()

    assert "mcp.servers.hub.command" in closed
    assert {status for status, _ in answers} == {400}
    assert all("Only `aouo config set`" in told["error"] for _, told in answers)
    assert "/bin/sh" not in before
    assert (named, "only a secret can name" in told["error"]) == (400, True)


BODIES: list[dict[str, Any]] = [
    {},
    {"version": "", "changes": []},
    {"version": "", "changes": {}},
    {"version": 1, "changes": {"telegram.max_parts": 1}},
    {"version": "x", "changes": {"": 1}},
    {"version": "x", "changes": {"telegram": {}}},
    {"version": "x", "changes": {"telegram.max_part": 1}},
    {"version": "x", "changes": {"a" * 5000: 1}},
    {"version": "x", "changes": {"openai.api_key": {"a": 1}}},
    {"version": "x", "changes": {"provider.model": "\ud800"}},
    {"version": "x", "changes": {"telegram.bot_token": "no token"}},
]


async def test_a_body_that_is_none_gets_a_sentence(world: World) -> None:
    async with dashboard(world) as shown:
        before = world.home.config.read_bytes()
        _, facts = await shown.get("/api/settings")
        for body in BODIES:
            true = {"version": facts["version"]} if body.get("version") == "x" else {}
            status, told = await shown.send("POST", "/api/settings", body | true)
            assert status == 400, body
            assert told["error"], body

    assert before == world.home.config.read_bytes()


async def test_at_rest_all_is_shown_and_nothing_saved(world: World) -> None:
    world.config = SECRETS
    async with dashboard(world):
        pass
    async with resting(world) as shown:
        found = await keys(shown)
        before = world.home.config.read_bytes()
        status, told = await save(shown, {"telegram.max_parts": 3})

    assert found["provider.model"]["value"] == "scripted"
    assert found["openai.api_key"]["set"]
    assert (status, told) == (
        409,
        {"error": "No bot runs that could take it up: `aouo config set` saves it."},
    )
    assert before == world.home.config.read_bytes()
