"""No secret leaves the page, whichever room tells of it; and nothing else is altered by that."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from contextlib import closing

import pytest
from yarl import URL

from aouo.dashboard.rooms.storage import _LOOKS
from tests.path.dashboard.chatting import WebChat
from tests.path.dashboard.configured import save
from tests.path.dashboard.looking import dashboard, resting
from tests.path.dashboard.test_workspace_storage import fill, look, note
from tests.path.looking import eventually, settled
from tests.path.world import ADA, World

WORD = "hippopotamus"
"""A word that is said first, and becomes a secret later."""


async def test_what_became_a_secret_is_shown_no_more_and_marks_stay_where_they_were(
    world: World,
) -> None:
    world.install("notes")
    world.model.say(f"The {WORD} is **grey** and 😀 *wild*. {'It is large. ' * 200}")
    async with dashboard(world) as page:
        chat = WebChat(page, "notes")
        await chat.say(f"What is a {WORD}?")
        await settled(page.bot)
        assert WORD in str(await chat.texts())
        await save(page, {"gemini.api_key": WORD})
        read = await chat.read()
        async with chat.window() as window:
            heard = await window.until("grey")

    for message in (read["messages"][-1], heard):
        units = message["text"].encode("utf-16-le")
        marked = [
            units[2 * mark["offset"] : 2 * (mark["offset"] + mark["length"])].decode("utf-16-le")
            for mark in message["entities"]
        ]
        assert marked == ["grey", "wild"]
    assert WORD not in json.dumps([read, window.told])


async def test_a_long_answer_and_a_saved_file_have_no_secret(world: World) -> None:
    names = [f"{WORD}-{number}" for number in range(2_000)]
    world.config = {
        "openai": {"api_key": WORD},
        "budgets": {"per_pack_daily_usd": dict.fromkeys(names, 1)},
    }
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await settled(shown.bot)
        await shown.bot.app.shared.database.transact(
            lambda tx: tx.run("UPDATE usage_events SET model = ?", f"a {WORD}")
        )
        told = [
            await shown.get(f"/api/usage{path}")
            for path in ("", "/left", "/prices", "/export?format=csv", "/export?format=json")
        ]
        refused = await shown.get(f"/api/packs/{WORD}")

    assert [status for status, _ in told] == [200] * len(told)
    assert WORD not in json.dumps(told)
    assert (refused[0], WORD in refused[1]["error"]) == (404, False)


@pytest.mark.parametrize("shown_chars", [300, 500])
async def test_of_a_secret_at_the_end_of_what_is_shown_nothing_is_left(
    world: World, shown_chars: int
) -> None:
    world.install("notes")
    world.config = {"openai": {"api_key": WORD}}
    world.model.call("nonsense", {})
    world.model.say("That was nothing.")
    reason = f"{'x ' * (shown_chars // 2 - 3)}{WORD} and more"
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await settled(shown.bot)
        for statement in (
            "UPDATE audit SET reason = ? WHERE stage IN ('EVALUATED', 'BLOCKED')",
            "UPDATE deliveries SET error = ?",
        ):
            await shown.bot.app.shared.database.transact(
                lambda tx, sql=statement: tx.run(sql, reason)
            )
        _, listed = await shown.get("/api/turns")
        _, turn = await shown.get(f"/api/turns/{listed['turns'][0]['id']}")
        _, usage = await shown.get("/api/usage/turns")
    texts = [entry.get(name) for entry in turn["timeline"] for name in ("reason", "error")]
    texts += [one["reason"] for one in usage["refused"]]

    assert sum(text is not None and "x x x" in text for text in texts) >= 3
    assert WORD[:6] not in json.dumps([turn, usage])


async def test_a_row_whose_key_is_a_secret_cannot_be_named(world: World) -> None:
    world.install("notes")
    key = "sk-proj-" + "a1B2c3D4" * 6
    async with dashboard(world) as shown:
        await note(shown, world, "one")
        fill(world, "CREATE TABLE named (name TEXT PRIMARY KEY) WITHOUT ROWID")
        fill(world, "INSERT INTO named VALUES (?)", [(key,), ("heron",)])
        _, page = await look(shown, "rows", table="named")

    assert sorted(row["key"] for row in page["rows"]) == ["", '["heron"]']


async def test_what_is_shown_in_the_place_of_a_secret_is_never_saved(world: World) -> None:
    async with dashboard(world) as shown:
        before = world.home.config.read_text()
        status, told = await save(shown, {"gemini.vision_model": "the [redacted] one"})

    assert (status, "only stands for a secret" in told["error"]) == (400, True)
    assert world.home.config.read_text() == before


# Nobody is let in by what is free, and who is let in by it gets nothing more than that


@pytest.mark.parametrize("path", ["/healthz", "/%68ealthz"])
@pytest.mark.parametrize("token", ["", "wrong"])
async def test_what_is_free_gives_no_cookie_for_a_wrong_token(
    world: World, path: str, token: str
) -> None:
    async with dashboard(world) as shown:
        address = URL(f"{shown.link.origin()}{path}?token={token}", encoded=True)
        async with shown.client.get(address, allow_redirects=False) as answer:
            assert answer.status == 200
        async with shown.client.get(shown.link.with_path("/api/usage").with_query({})) as usage:
            status = usage.status
        cookies = list(shown.client.cookie_jar)

    assert status == 401
    assert cookies == []


# A page that goes away while it waits leaves no work behind that the bot would wait for


def looking() -> int:
    """How many threads look into a pack's database."""
    frames = sys._current_frames().values()
    found = 0
    for frame in frames:
        at = frame
        while at:
            found += at.f_code.co_name == "browsing"
            at = at.f_back
    return found


async def test_looks_that_are_given_up_take_no_more_threads(world: World) -> None:
    world.install("notes")
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await settled(shown.bot)
    file = world.home.pack_database("notes", f"tg_{ADA}")
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as locking:
        locking.execute("PRAGMA locking_mode=EXCLUSIVE")
        locking.execute("CREATE TABLE IF NOT EXISTS much (a)")
        locking.execute("BEGIN EXCLUSIVE")
        async with resting(world) as shown:
            line = f"GET /api/packs/notes/storage/tables?tenant=tg_{ADA} HTTP/1.1\r\n"
            raw = f"{line}Host: 127.0.0.1\r\nX-Aouo-Token: {shown.token}\r\n\r\n".encode()
            most = 0
            for _ in range(3 * _LOOKS):
                _, writer = await asyncio.open_connection("127.0.0.1", shown.link.port)
                writer.write(raw)

                async def busy() -> int:
                    return looking()

                await eventually(busy)
                writer.close()
                await writer.wait_closed()
                await shown.get("/api/turns")  # what has gone is noticed
                most = max(most, looking())

    assert most <= _LOOKS
