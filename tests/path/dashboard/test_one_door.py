"""No secret leaves the page, whichever room tells of it; and nothing else is altered by that."""

from __future__ import annotations

import json

import pytest

from tests.path.dashboard.chatting import WebChat
from tests.path.dashboard.configured import save
from tests.path.dashboard.looking import dashboard
from tests.path.dashboard.test_workspace_storage import fill, look, note
from tests.path.looking import settled
from tests.path.world import World

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
