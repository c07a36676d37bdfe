"""The page finds what `aouo doctor` finds, when somebody presses for it."""

from __future__ import annotations

import asyncio
import json

from click.testing import CliRunner

from aouo.cli.main import aouo
from tests.path.dashboard.looking import dashboard
from tests.path.looking import eventually
from tests.path.world import World


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
