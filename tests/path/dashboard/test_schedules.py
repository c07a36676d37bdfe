"""What begins by itself is on the page as it is in the terminal, and is changed there, too."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from aouo.agent.tools.registry import Arguments, ToolContext, tool
from aouo.cli.main import aouo
from aouo.schedules.service import PROMPT_CHARS
from aouo.store import schedules, watches
from aouo.store.watches import WatchKey, WatchState
from tests.fakes.clock import FastClock
from tests.path.dashboard.looking import Dashboard, dashboard
from tests.path.looking import said, settled
from tests.path.schedules.scheduled import calls_once, made, reminder
from tests.path.world import World

PROMPT = "Remind me to water the plants"


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """Monday 2 March 2026, 13:16 in Berlin; it jumps when a test says so."""
    world.clock = clock = FastClock(speed=1)
    world.config = {"cron": {"timezone": "Europe/Berlin"}}
    return clock


async def of(shown: Dashboard, schedule: str, more: str = "") -> dict[str, Any]:
    status, facts = await shown.get(f"/api/schedules/{schedule}{more}")
    assert status == 200, facts
    return facts


async def test_one_of_each_kind_is_made_on_the_page(world: World) -> None:
    world.install("notes")
    async with dashboard(world) as shown:
        wishes = (("say", "Tea!"), ("do", "count"), ("ask", "Sum my day up"))
        for kind, what in wishes:
            wish = {"pack": "notes", "when": "every day at 9:00", "what": what, "kind": kind}
            status, told = await shown.send("POST", "/api/schedules", wish)
            assert status == 200, told
        refused, why = await shown.send(
            "POST",
            "/api/schedules",
            {"pack": "notes", "when": "at noonish", "what": "x", "kind": "say"},
        )
        rows = await shown.bot.rows("SELECT say, act, prompt FROM schedules")

    assert {(row["say"], row["act"], row["prompt"]) for row in rows} == {
        ("Tea!", "", ""),
        ("", "count", ""),
        ("", "", "Sum my day up"),
    }
    assert refused == 409, why


async def test_schedules_are_those_that_the_terminal_lists(world: World) -> None:
    async with dashboard(world) as shown:
        await made(shown.bot)
        await made(shown.bot, pack="notes", name="notes' own")
        _, facts = await shown.get("/api/schedules")
        _, of_notes = await shown.get("/api/schedules?pack=notes")
        with world.home.lock():
            runner = CliRunner(env={"AOUO_HOME": str(world.home.path)})
            told = json.loads(runner.invoke(aouo, ["cron", "list", "--json"]).stdout)

    ours = [
        {k: v for k, v in row.items() if k in told["schedules"][0]} for row in facts["schedules"]
    ]
    assert sorted(ours, key=lambda row: row["id"]) == sorted(
        told["schedules"], key=lambda row: row["id"]
    )
    assert (facts["running"], told["running"]) == (True, True)
    assert [row["name"] for row in of_notes["schedules"]] == ["notes' own"]


async def test_the_preview_says_when_it_comes_and_what_is_asked_then(world: World) -> None:
    async with dashboard(world) as shown:
        row = await made(
            shown.bot, text="0 9 * * *", zone="Asia/Tokyo", next_due="2026-03-03T00:00:00.000Z"
        )
        facts = await of(shown, row.id, "?times=2")

    assert facts["next"] == [
        {"at": "2026-03-03T00:00:00.000+00:00", "said": "Tuesday 3 March 2026 at 09:00"},
        {"at": "2026-03-04T00:00:00.000+00:00", "said": "Wednesday 4 March 2026 at 09:00"},
    ]
    assert facts["zone"] == "Asia/Tokyo"
    assert facts["asks"]["prompt"] == PROMPT
    assert "by itself" in facts["asks"]["about"][0]
    assert facts["runs"] == []


async def test_run_now_files_a_run_and_its_history_names_its_turn(world: World) -> None:
    world.model.say("It is dry.")
    async with dashboard(world) as shown:
        row = await made(shown.bot, in_s=86_400)
        status, filed = await shown.send("POST", f"/api/schedules/{row.id}/run")
        await said(world, "It is dry.\n\n— ⏰ plants")
        await settled(shown.bot)
        facts = await of(shown, row.id)
        (turn,) = await shown.bot.rows("SELECT id FROM turns")

    assert (status, filed["off"]) == (200, "")
    (run,) = facts["runs"]
    assert (run["outcome"], run["turn"]) == ("done", turn["id"])
    assert facts["schedule"]["next_due"] == row.next_due


async def test_a_run_at_work_names_its_turn_already(world: World) -> None:
    over, begun = asyncio.Event(), asyncio.Event()

    async def wait(arguments: Arguments, context: ToolContext, call_id: str) -> str:
        begun.set()
        await over.wait()
        return "done"

    world.config["tools"] = {"enabled": ["core", "skill_wait"]}
    world.tools = [tool("skill_wait", "Waits.", Arguments, wait, group="memory", timeout_s=None)]
    world.model.script = calls_once("skill_wait", "Finished.")
    async with dashboard(world) as shown:
        row = await made(shown.bot, in_s=86_400)
        await shown.send("POST", f"/api/schedules/{row.id}/run")
        async with asyncio.timeout(30):
            await begun.wait()
        at_work = await of(shown, row.id)
        over.set()
        await settled(shown.bot)
        after = await of(shown, row.id)
        (turn,) = await shown.bot.rows("SELECT id FROM turns")

    outcomes = [(run["outcome"], run["turn"]) for run in (*at_work["runs"], *after["runs"])]
    assert outcomes == [("under way", turn["id"]), ("done", turn["id"])]


async def test_a_run_is_filed_while_schedules_are_switched_off_and_that_is_said(
    world: World,
) -> None:
    world.config["cron"] |= {"enabled": False}
    async with dashboard(world) as shown:
        row = await made(shown.bot)
        _, filed = await shown.send("POST", f"/api/schedules/{row.id}/run")
        again, refused = await shown.send("POST", f"/api/schedules/{row.id}/run")
        facts = await of(shown, row.id)

    assert "cron.enabled" in filed["off"]
    assert (again, refused) == (409, {"error": "“plants” runs already, or is about to."})
    assert [run["outcome"] for run in facts["runs"]] == ["filed, not begun yet"]


async def test_a_schedule_is_switched_and_removed(world: World) -> None:
    async with dashboard(world) as shown:
        row = await made(shown.bot, text="every day at 9:00")
        off = await shown.send("POST", f"/api/schedules/{row.id}/switch", {"on": False})
        was_off = await of(shown, row.id)
        on = await shown.send("POST", f"/api/schedules/{row.id}/switch", {"on": True})
        is_on = await of(shown, row.id)
        gone = await shown.send("DELETE", f"/api/schedules/{row.id}")
        after = await shown.send("POST", f"/api/schedules/{row.id}/run")

    assert [status for status, _ in (off, on, gone)] == [200, 200, 200]
    assert (was_off["schedule"]["said"]["state"], len(was_off["next"])) == ("off", 5)
    assert is_on["schedule"]["enabled"]
    assert after == (404, {"error": "There is no schedule of this id."})


async def test_what_comes_with_a_pack_is_not_removed(world: World) -> None:
    async with dashboard(world) as shown:
        row = await made(shown.bot, key="evening-note")
        facts = await of(shown, row.id)
        status, refused = await shown.send("DELETE", f"/api/schedules/{row.id}")

    assert not facts["schedule"]["may"]["remove"]
    assert (status, "comes with its pack" in refused["error"]) == (409, True)


@pytest.mark.parametrize("body", [None, {}, {"on": "yes"}, {"on": 1}, [], "x"])
async def test_a_switch_that_says_nothing_is_refused(world: World, body: Any) -> None:
    async with dashboard(world) as shown:
        row = await made(shown.bot)
        status, told = await shown.send("POST", f"/api/schedules/{row.id}/switch", body)
        facts = await of(shown, row.id)

    assert (status, set(told)) == (400, {"error"})
    assert facts["schedule"]["enabled"]


async def test_names_prompts_and_texts_may_hold_anything(world: World) -> None:
    async with dashboard(world) as shown:
        row = await made(
            shown.bot, name="<script>\u202e", prompt="x" * 2_000_000, text="no schedule at all"
        )
        facts = await of(shown, row.id)
        gone, _ = await shown.get("/api/schedules/no%2Fsuch%00one")

    assert facts["schedule"]["said"]["name"] == "<script>\u202e"
    assert facts["next"] == []
    assert facts["asks"]["prompt"].endswith("… (1,900,000 characters more)")
    assert len(facts["schedule"]["prompt"]) < 5_000
    assert gone == 404


async def test_a_secret_of_the_configuration_is_not_shown_in_a_prompt(world: World) -> None:
    secret = world.emulator.token
    async with dashboard(world) as shown:
        row = await made(shown.bot, prompt=f"use {secret}")
        cut = await made(shown.bot, prompt=f"{'x' * (PROMPT_CHARS - 5)}{secret}")
        _, listed = await shown.get("/api/schedules")
        ones = [await of(shown, row.id), await of(shown, cut.id)]

    assert secret not in json.dumps([listed, ones])
    assert f"x{secret[:5]}" not in json.dumps([listed, ones])


async def test_ten_thousand_schedules_come_in_pages(world: World) -> None:
    async with dashboard(world) as shown:
        now = shown.bot.app.shared.clock.now()
        rows = [reminder(now, 3600 + number) for number in range(10_000)]

        def add(tx: Any) -> None:
            for row in rows:
                schedules.add(tx, row, row.since)

        await shown.bot.app.shared.database.transact(add)
        _, first = await shown.get("/api/schedules")
        _, last = await shown.get("/api/schedules?skip=9950")

    assert [row["id"] for row in first["schedules"]] == [row.id for row in rows[:100]]
    assert (first["more"], last["more"], len(last["schedules"])) == (True, False, 50)


async def test_a_watch_that_fails_says_why_and_one_that_gave_up_is_off(world: World) -> None:
    put_pack(world, "watched")
    world.config["cron"] |= {"enabled": False}  # so that it does not look meanwhile
    async with dashboard(world) as shown:
        state = WatchState(WatchKey("watched", "prices", ""), "x", failures=2, why="no answer")

        async def watch(state: WatchState) -> dict[str, Any]:
            await shown.bot.app.shared.database.transact(lambda tx: watches.put(tx, state))
            _, facts = await shown.get("/api/schedules?pack=watched")
            return facts["watches"][0]

        fails, off = await watch(state), await watch(replace(state, failures=5))
        _, other = await shown.get("/api/schedules?pack=notes")

    assert "failed 2 times in a row, so it looks less often: no answer" in fails["state"]
    assert "is off until I start again" in off["state"]
    assert (off["looks_at"], off["every"]) == ("an address", "1d")
    assert other["watches"] == []


def put_pack(world: World, name: str) -> None:
    folder: Path = world.home.packs / name
    (folder / "skills" / "look").mkdir(parents=True)
    (folder / "skills" / "look" / "SKILL.md").write_text(
        "---\nname: look\ndescription: Looks.\n---\nLook.\n"
    )
    (folder / "pack.yml").write_text(
        f"name: {name}\nversion: 1.0.0\ndisplay_name: Watched\ndescription: Looks at prices\n"
        "provided_skills: [look]\n"
        "watches:\n  - {id: prices, every: 1d, url: 'https://prices.example/', skill: look}\n"
        "permissions:\n  tools: [msg]\n  cron: true\n  network: [prices.example]\n"
    )
