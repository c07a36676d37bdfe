"""The page shows the configuration without its secrets, and saves changes whole or not at all."""

from __future__ import annotations

import json
import random
from typing import Any

from aouo.config.catalogue import Key, keys_in
from aouo.config.file import load_settings
from tests.path.dashboard.configured import SECRETS, keys, save
from tests.path.dashboard.looking import dashboard
from tests.path.world import ADA, BEN, World

WILD: list[Any] = [0, 1, 7, -1, 0.5, True, False, None, "", "off", "auto", "30m", [], [1], {}]


async def test_each_key_says_what_it_may_be_and_what_holds(world: World) -> None:
    async with dashboard(world) as shown:
        found = await keys(shown)

    assert found["telegram.streaming"] == {
        "key": "telegram.streaming",
        "kind": "value",
        "about": "How an answer appears while it is written; `draft` is one of Telegram's in "
        "private chats, and\nedits elsewhere and where it is refused.",
        "schema": {"type": "string", "enum": ["edits", "draft", "off"]},
        "on_page": True,
        "takes_effect": "now",
        "default": "draft",
        "in_file": True,
        "value": "edits",
    }
    assert found["telegram.allowed_user_ids"]["value"] == [ADA, BEN]
    assert found["telegram.proxy"]["takes_effect"] == "start"
    assert found["security.judge.model"]["takes_effect"] == "now"
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
    assert (found["log.format"]["value"], found["log.format"]["in_force"]) == ("json", "auto")
    assert found["log.format"]["why"] == "restart"


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
    assert "owners" not in json.dumps([facts for _, facts in told])
    assert {key: found[key]["from"] for key in ("gemini.api_key", "dashboard.token")} == {
        "gemini.api_key": "file",
        "dashboard.token": "file",
    }
    assert (found["dashboard.token"]["why"], found["deepseek.api_key"]["set"]) == ("restart", False)


async def test_random_changes_are_taken_whole_or_change_nothing(world: World) -> None:
    chance = random.Random(15)
    fields = {key.path: key for key in keys_in({}) if key.on_page}
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


def _wild(chance: random.Random, field: Key) -> Any:
    likely = [field.default, *field.schema.get("enum", [])]
    return chance.choice(likely if chance.random() < 0.7 else WILD)
