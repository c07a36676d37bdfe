"""The page shows the configuration without its secrets, and saves changes whole or not at all."""

from __future__ import annotations

import json
from typing import Any

from tests.path.dashboard.looking import Dashboard, dashboard
from tests.path.world import ADA, BEN, World


async def test_the_page_shows_every_key_with_what_the_file_has(world: World) -> None:
    async with dashboard(world) as shown:
        status, facts = await shown.get("/api/settings")
        print(json.dumps(facts, indent=1)[:6000])
    assert status == 200


async def test_a_change_is_saved_and_taken_up_at_once(world: World) -> None:
    async with dashboard(world) as shown:
        _, facts = await shown.get("/api/settings")
        body = {"version": facts["version"], "changes": {"telegram.max_parts": 3, "advanced.turn_timeout_s": None, "dashboard.port": 0}}
        status, told = await shown.send("POST", "/api/settings", body)
        print(status, told)
        assert status == 200


async def test_doctor(world: World) -> None:
    async with dashboard(world) as shown:
        print(await shown.get("/api/doctor"))
        print(await shown.send("POST", "/api/doctor", {"fast": False}))
        print(await shown.get("/api/doctor"))
        print(json.dumps(await shown.get("/api/status"), indent=1))
