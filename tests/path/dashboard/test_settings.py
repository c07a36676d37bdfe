"""The page shows the configuration without its secrets, and saves changes whole or not at all."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession
from click.testing import CliRunner
from yarl import URL

from aouo.cli.main import aouo
from aouo.config.catalogue import Field, keys_in
from aouo.config.file import load_settings
from aouo.dashboard.opening import show_at_rest
from tests.path.dashboard.looking import Dashboard, dashboard
from tests.path.looking import eventually
from tests.path.world import ADA, BEN, World

WILD: list[Any] = [0, 1, 7, -1, 0.5, True, False, None, "", "off", "auto", "30m", [], [1], {}]
SECRETS = {
    "openai": {"api_key": "ownersfirstsecret"},
    "groq": {"api_key": "ownerssecondsecret"},
    "mcp": {
        "servers": {
            "hub": {
                "url": "http://someone:ownersthirdsecret@127.0.0.1:9/mcp",
                "headers": {"Authorization": "ownersfourthsecret"},
            }
        }
    },
}


async def keys(shown: Dashboard) -> dict[str, Any]:
    """Every key as the page shows it."""
    status, facts = await shown.get("/api/settings")
    assert status == 200
    return {key["key"]: key for section in facts["sections"] for key in section["keys"]}


async def save(shown: Dashboard, changes: dict[str, Any], **more: Any) -> tuple[int, Any]:
    """Save changes of the file as it is now."""
    _, facts = await shown.get("/api/settings")
    body = {"version": facts["version"], "changes": changes, **more}
    return await shown.send("POST", "/api/settings", body)


async def test_each_key_says_what_it_may_be_and_what_holds(world: World) -> None:
    async with dashboard(world) as shown:
        found = await keys(shown)

    assert found["telegram.streaming"] == {
        "key": "telegram.streaming",
        "kind": "value",
        "about": "How an answer appears while it is written; `draft` works in private chats.",
        "schema": {"type": "string", "enum": ["edits", "draft", "off"]},
        "on_page": True,
        "takes_effect": "now",
        "default": "edits",
        "in_file": False,
        "value": "edits",
    }
    assert found["telegram.allowed_user_ids"]["value"] == [ADA, BEN]
    assert found["telegram.proxy"]["takes_effect"] == "start"
    assert found["security.judge.model"]["takes_effect"] == "never"
    assert found["providers"]["value"] == ["fake"]
    assert not found["providers.fake.base_url"]["on_page"]


async def test_a_change_is_saved_beside_the_rest_and_taken_up_at_once(world: World) -> None:
    async with dashboard(world) as shown:
        before = json.loads(world.home.config.read_text())
        answer = await save(shown, {"telegram.max_parts": 3, "telegram.groups": "all"})
        _, facts = await shown.get("/api/settings")
        running = shown.bot.runtime.reloading.running

    status, told = answer
    after = json.loads(world.home.config.read_text())
    assert (status, told) == (
        200,
        {
            "version": facts["version"],
            "changed": ["telegram.groups", "telegram.max_parts"],
            "after_restart": [],
            "without_effect": [],
        },
    )
    assert (running.telegram.max_parts, running.telegram.groups) == (3, "all")
    assert after == before | {"telegram": before["telegram"] | {"max_parts": 3, "groups": "all"}}


async def test_a_key_can_be_given_back_to_its_default(world: World) -> None:
    world.config = {"telegram": {"max_parts": 3}}
    async with dashboard(world) as shown:
        await save(shown, {"telegram.max_parts": None})
        found = (await keys(shown))["telegram.max_parts"]

    assert (found["in_file"], found["value"]) == (False, 6)


async def test_what_waits_for_the_next_start_is_named_and_stays_as_it_is(world: World) -> None:
    async with dashboard(world) as shown:
        status, told = await save(shown, {"log.format": "json", "security.judge.daily": 3})
        found = await keys(shown)

    assert status == 200
    assert told["after_restart"] == ["log.format"]
    assert told["without_effect"] == ["security.judge.daily"]
    assert (found["log.format"]["value"], found["log.format"]["in_force"]) == ("json", "auto")
    assert found["log.format"]["why"] == "restart"


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
        first = {"version": seen["version"], "changes": {"telegram.max_parts": 3}}
        second = {"version": seen["version"], "changes": {"telegram.max_parts": 4}}
        answers = await asyncio.gather(  # noqa: TID251 - two windows at the same time
            shown.send("POST", "/api/settings", first),
            shown.send("POST", "/api/settings", second),
        )

    told = dict(answers)
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

    assert status == 400
    assert "There is no bot token." in told["error"]
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


async def test_keys_of_what_the_owner_named_are_theirs_whatever_the_name(world: World) -> None:
    lab = {"base_url": "http://127.0.0.1:9", "api_key": "ownersfirstsecret"}
    fake = {"base_url": world.model.base_url}
    world.config = {"providers": {"my.lab.prices": lab, "fake": fake}}
    async with dashboard(world) as shown:
        status, _ = await save(
            shown,
            {
                "providers.my.lab.prices.context_window": 9000,
                "providers.my.lab.prices.api_key": None,
                "providers.my.lab.prices.prices": {"a.b": {"input": 1, "output": 2}},
            },
        )

    assert status == 200
    assert json.loads(world.home.config.read_text())["providers"]["my.lab.prices"] == {
        "base_url": "http://127.0.0.1:9",
        "context_window": 9000,
        "prices": {"a.b": {"input": 1, "output": 2}},
    }


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


@pytest.mark.parametrize(
    "body",
    [
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
    ],
)
async def test_a_body_that_is_none_gets_a_sentence(world: World, body: Any) -> None:
    async with dashboard(world) as shown:
        before = world.home.config.read_bytes()
        if body.get("version") == "x":
            _, facts = await shown.get("/api/settings")
            body = body | {"version": facts["version"]}
        status, told = await shown.send("POST", "/api/settings", body)

    assert status == 400
    assert told["error"]
    assert before == world.home.config.read_bytes()


async def test_a_broken_file_shows_its_problems_and_can_be_mended(world: World) -> None:
    async with dashboard(world) as shown:
        text = json.loads(world.home.config.read_text())
        text["telegram"]["max_parts"] = "many"
        text["openai"] = {"apikey": "ownersfirstsecret", "api_key": "ownersnextsecret"}
        world.home.config.write_text(json.dumps(text))
        _, broken = await shown.get("/api/settings")
        found = await keys(shown)
        unmended, _ = await save(shown, {"telegram.max_parts": 5})
        text["openai"].pop("apikey")
        world.home.config.write_text(json.dumps(text))
        mended, _ = await save(shown, {"telegram.max_parts": 5})

    assert [problem["key"] for problem in broken["problems"]] == [
        "telegram.max_parts",
        "openai.apikey",
    ]
    wrong = found["telegram.max_parts"]
    assert (wrong["value"], wrong["in_force"], wrong["why"]) == ("many", 6, "problems")
    assert "owners" not in json.dumps(broken)
    assert (unmended, mended) == (400, 200)


async def test_what_is_no_json_leaves_what_was_in_force(world: World) -> None:
    async with dashboard(world) as shown:
        world.home.config.write_text('{"openai": {"api_key": "ownersfirstsecret"')
        _, facts = await shown.get("/api/settings")
        found = await keys(shown)
        status, _ = await save(shown, {"telegram.max_parts": 5})

    assert "line 1" in facts["problems"][0]["text"]
    assert found["provider.model"]["in_force"] == "scripted"
    assert "ownersfirst" not in json.dumps(facts)
    assert status == 400


async def test_no_secret_is_ever_shown(world: World) -> None:
    world.config = SECRETS | {
        "telegram": {"proxy": ""},
        "budgets": {"per_pack_daily_usd": {"ownersfirstsecret": 1}},
    }
    async with dashboard(world) as shown:
        await save(shown, {"gemini.api_key": "ownersfifthsecret"})
        await save(shown, {"dashboard.token": "ownerssixthsecret"}, anyway=True)
        await save(shown, {"deepseek.api_key": "ownersseventhsecret", "cron.timezone": "no"})
        await shown.send("POST", "/api/doctor", {"fast": True})
        paths = [
            path
            for path, one in (await shown.get("/api/openapi.json"))[1]["paths"].items()
            if "get" in one and "{" not in path and path != "/api/live"
        ]
        told = [await shown.get(path) for path in paths]
        found = await keys(shown)

    assert {"/api/settings", "/api/status", "/api/doctor"} <= set(paths)
    assert world.emulator.token not in json.dumps(told)
    assert "owners" not in json.dumps([facts for _, facts in told]).replace("config-owners", "")
    assert {key: found[key]["from"] for key in ("gemini.api_key", "dashboard.token")} == {
        "gemini.api_key": "file",
        "dashboard.token": "file",
    }
    assert (found["dashboard.token"]["why"], found["deepseek.api_key"]["set"]) == ("restart", False)


async def test_random_changes_are_taken_whole_or_change_nothing(world: World) -> None:
    chance = random.Random(15)
    fields = {key.path: key.field for key in keys_in({}) if key.field.on_page}
    fields = {path: one for path, one in fields.items() if not path.startswith("telegram.")}
    statuses: list[int] = []
    async with dashboard(world) as shown:
        for _ in range(60):
            some = chance.sample(sorted(fields), chance.randint(1, 3))
            changes = {path: _wild(chance, fields[path]) for path in some}
            before = world.home.config.read_bytes()
            statuses.append((await save(shown, changes, anyway=True))[0])
            after = await keys(shown)

            if statuses[-1] == 400:
                assert world.home.config.read_bytes() == before
                continue
            for path, value in changes.items():
                if fields[path].kind == "value":
                    there = after[path]["in_file"], after[path]["value"]
                    assert there == (
                        value is not None,
                        fields[path].default if value is None else value,
                    )
            assert (
                shown.bot.runtime.reloading.accepted.settings
                == load_settings(world.home.path, {}).settings
            )

    assert set(statuses) == {200, 400}


def _wild(chance: random.Random, field: Field) -> Any:
    likely = [field.default, *field.schema.get("enum", [])]
    return chance.choice(likely if chance.random() < 0.7 else WILD)


@asynccontextmanager
async def at_rest(world: World) -> AsyncGenerator[Dashboard]:
    """The page of a home in which no bot runs."""
    world.configure()
    links: list[str] = []
    config = world.home.config.read_text()
    world.home.config.write_text(json.dumps(json.loads(config) | {"dashboard": {"port": 0}}))
    showing = asyncio.ensure_future(
        show_at_rest(world.home, load_settings(world.home.path, {}), links.append)
    )

    async def link() -> str:
        return next(iter(links), "")

    async with ClientSession() as client:
        yield Dashboard(None, URL(await eventually(link)), client)  # pyright: ignore[reportArgumentType]
    showing.cancel()
    await asyncio.wait([showing])


async def test_at_rest_all_is_shown_and_nothing_saved(world: World) -> None:
    world.config = SECRETS
    async with at_rest(world) as shown:
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


async def test_the_page_finds_what_the_doctor_finds(world: World) -> None:
    async with dashboard(world) as shown:
        status, found = await shown.send("POST", "/api/doctor", {"fast": True})
        _, about = await shown.get("/api/doctor")

    runner = CliRunner(env={"AOUO_HOME": str(world.home.path)})
    ran = await asyncio.to_thread(runner.invoke, aouo, ["doctor", "--fast", "--json"])
    told = json.loads(ran.stdout)
    assert status == 200
    assert found["checks"] == told["checks"]
    assert about["last"] == found
    assert "fake scripted: one small question with a tool, a fraction of a cent." in about["asks"]


async def test_one_doctor_at_a_time(world: World) -> None:
    async with dashboard(world) as shown:

        async def runs() -> bool:
            return (await shown.get("/api/doctor"))[1]["runs"]

        async with asyncio.TaskGroup() as group:
            first = group.create_task(shown.send("POST", "/api/doctor", {"fast": True}))
            await eventually(runs)
            status, told = await shown.send("POST", "/api/doctor", {"fast": True})

    assert first.result()[0] == 200
    assert (status, told) == (409, {"error": "The checks run already; wait for their end."})
