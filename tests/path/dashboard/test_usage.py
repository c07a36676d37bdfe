"""What the page says of usage, limits and prices. Source: issue 15, "Usage"; contract, "Usage"."""

from __future__ import annotations

import csv
import io
import json
import random
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from click.testing import CliRunner
from yarl import URL

from aouo.cli.main import aouo
from aouo.facts.records import Spent
from aouo.facts.transcript import Usage
from aouo.store import usage
from aouo.store.database import Tx
from tests.path.dashboard.looking import Dashboard, dashboard, resting
from tests.path.looking import settled
from tests.path.world import ADA, BEN, Running, World

TOKENS = Usage(1_000, 400, 50)


async def recorded(bot: Running, *rows: Spent) -> None:
    def write(tx: Tx) -> None:
        for row in rows:
            usage.record(tx, row, "2026-11-21T10:00:00.000+00:00")

    await bot.runtime.app.shared.database.transact(write)


def today(bot: Running) -> date:
    return date.fromisoformat(bot.runtime.app.generations.now.quota.day())


async def text(shown: Dashboard, path: str) -> tuple[str, str]:
    """The type and the text of a file."""
    headers = {"X-Aouo-Token": shown.token}
    async with shown.client.get(shown.link.join(URL(path)), headers=headers) as response:
        return response.content_type, await response.text()


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_page_terminal_and_chat_agree_to_the_token(world: World, seed: int) -> None:
    """The page's numbers are those of `aouo usage --json`, and those of /usage are among them."""
    chance = random.Random(seed)
    async with dashboard(world) as shown:
        here = today(shown.bot)
        rows = [
            Spent(
                chance.choice(("llm", "tts", "judge", "tool:fetch")),
                (here - timedelta(days=chance.randrange(9))).isoformat(),
                provider="openai",
                model=chance.choice(("gpt-6", "gpt-6-luna")),
                pack=chance.choice(("", "notes")),
                person=chance.choice((str(ADA), str(BEN), "")),
                tokens=Usage(*(chance.randrange(10_000) for _ in range(3))),
                cost_usd=chance.random(),
            )
            for _ in range(200)
        ]
        await recorded(shown.bot, *rows)
        status, page = await shown.get("/api/usage?days=7")
        first = (here - timedelta(days=6)).isoformat()
        _, ranged = await shown.get(f"/api/usage?from={first}&to={here}")
        chat = (await shown.bot.ask("/usage")).text
        _, exported = await text(shown, f"/api/usage/export?format=json&from={first}&to={here}")

    env = {"AOUO_HOME": str(world.home.path)}
    runner = CliRunner(env=env)
    asked = runner.invoke(aouo, ["usage", "--days", "3650", "--json"]).stdout
    days = [row for row in json.loads(asked)["by_day"] if row["day"] >= first]
    totals = page["totals"]
    tokens = totals["input_tokens"] + totals["output_tokens"]
    assert status == 200
    assert page["by_day"] == days
    assert {**ranged, "days": 7} == {**page, "from": first, "to": here.isoformat()}
    assert f"7 days – {tokens:,} tokens ({totals['cached_tokens']:,} cached)" in chat
    for row in days:
        assert f"{row['input_tokens'] + row['output_tokens']:,}" in chat
    for key in ("calls", "input_tokens", "cached_tokens", "output_tokens"):
        assert sum(row[key] for row in json.loads(exported)) == totals[key]


async def test_the_picture_in_the_chat_has_a_bar_for_each_day(world: World) -> None:
    async with world.running() as bot:
        here = today(bot)
        row = Spent("llm", here.isoformat(), "openai", "gpt-6", tokens=Usage(800, 0, 0))
        before = (here - timedelta(days=2)).isoformat()
        await recorded(bot, row, replace(row, day=before, tokens=Usage(100, 0, 0)))
        await recorded(bot, replace(row, person=str(BEN)))
        told = (await bot.ask("/usage")).text
        bens = (await bot.ask("/usage", user=BEN)).text

    picture = told.split("\n\n")[-1].splitlines()
    assert len(picture) == 7
    assert picture[-1].endswith("1,600 ██████████")
    assert picture[-3].endswith("  100 ▋")
    assert bens.endswith("7 days – 800 tokens, $0.00, 1 call")
    assert picture[0].endswith("  0")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("days=0", "days has to be a number from 1 to 3650."),
        ("days=1e3", "days has to be a number from 1 to 3650."),
        ("days=", "days has to be a number from 1 to 3650."),
        ("days=7&from=2026-01-01&to=2026-01-02", "Give either days, or from and to."),
        ("from=2026-01-01", "Give both from and to."),
        ("to=2026-01-01", "Give both from and to."),
        ("from=2026-02-30&to=2026-03-01", "from has to be a date such as 2026-03-31."),
        ("from=0000-01-01&to=2026-03-01", "from has to be a date such as 2026-03-31."),
        ("from=2026-01-02&to=2026-01-01", "from has to be the same day as to, or one before it."),
        ("from=0001-01-01&to=9999-12-31", "from and to may be 3,650 days apart at most."),
    ],
)
async def test_a_range_that_cannot_be_is_refused_with_a_sentence(
    world: World, query: str, why: str
) -> None:
    async with dashboard(world) as shown:
        answers = [
            await shown.get(f"/api/usage{where}?{query}") for where in ("", "/prices", "/export")
        ]

    assert answers == [(400, {"error": why})] * 3


async def test_what_a_clock_that_was_far_ahead_wrote_is_found(world: World) -> None:
    async with dashboard(world) as shown:
        await recorded(shown.bot, Spent("llm", "9999-12-31", "openai", "gpt-6", tokens=TOKENS))
        _, last = await shown.get("/api/usage?days=1")
        _, then = await shown.get("/api/usage?from=9999-12-31&to=9999-12-31")

    assert last["totals"] == then["totals"]
    assert then["totals"]["input_tokens"] == 1_000


async def test_what_is_left_is_what_decides(world: World) -> None:
    world.install("notes")
    price = {"scripted": {"input": 10.0, "output": 100.0}}
    world.config = {
        "budgets": {"daily_usd": 1.0, "per_person_daily_usd": 0.5, "prices": price},
        "advanced": {"daily_tokens_max": 15},
        "heartbeat": {"enabled": True, "daily_tokens_max": 100},
    }
    async with dashboard(world) as shown:
        await shown.bot.ask("hello")
        await settled(shown.bot)
        refusal = await shown.bot.ask("again")
        status, facts = await shown.get("/api/usage/left")

    found = {(one["unit"], one["of"], one["name"]): one for one in facts["limits"]}
    assert status == 200
    assert "15 of 15 tokens" in refusal.text
    day = found["tokens", "day", ""]
    assert (day["used"], day["cap"], day["left"]) == (15, 15, 0)
    assert day["key"] == "advanced.daily_tokens_max"
    person = found["usd", "person", str(ADA)]
    assert (person["used"], person["left"]) == (0.0006, 0.4994)
    assert found["usd", "day", ""]["cap"] == 1.0
    assert found["tokens", "origin", "heartbeat"]["left"] == 100
    assert [one["used"] for (_, of, _), one in found.items() if of == "session"] == [15]


async def test_a_model_without_a_price_is_named_and_never_free(world: World) -> None:
    async with dashboard(world) as shown:
        await shown.bot.ask("hello")
        await settled(shown.bot)
        status, facts = await shown.get("/api/usage/prices?days=1")
        chat = (await shown.bot.ask("/usage")).text

    runner = CliRunner(env={"AOUO_HOME": str(world.home.path)})
    terminal = runner.invoke(aouo, ["usage", "--days", "3650"]).stdout
    (row,) = [one for one in facts["prices"] if one["name"] == "scripted"]
    assert status == 200
    assert (row["usd"], row["from"], row["unpriced_calls"]) == (None, "nobody", 1)
    assert row["key"] == "budgets.prices.scripted"
    assert "1 call without a known price" in chat
    assert "$0" not in chat
    assert "Without a known price, so not in these sums\n  scripted" in terminal


async def test_prices_say_who_says_them(world: World) -> None:
    world.config = {
        "budgets": {"prices": {"scripted": {"input": 1, "output": 2}}},
        "stt": {"backend": "openai"},
        "openai": {"api_key": "sk-none"},
        "tools": {"web_search": {"api_key": "tvly-none"}},
    }
    rows = (
        Spent("llm", "2026-11-21", "openai", "gpt-4o", tokens=TOKENS),
        Spent("stt", "2026-11-21", "openai", "whisper-1"),
        Spent("tts", "2026-11-21", "openai", "tts-1"),
    )
    async with dashboard(world) as shown:
        await recorded(shown.bot, *rows)
        _, facts = await shown.get("/api/usage/prices?from=2026-11-21&to=2026-11-21")

    found: dict[str, Any] = {
        one["name"]: (one["per"], one["usd"], one["from"]) for one in facts["prices"]
    }
    assert facts["catalogue"]["name"] == "genai-prices"
    assert facts["catalogue"]["month"] == "2026-11"
    assert found["gpt-4o"] == (
        "tokens",
        {"input": 2.5, "cached": 1.25, "output": 10.0},
        "the catalogue",
    )
    assert found["whisper-1"] == ("minute", pytest.approx(0.006), "the catalogue")
    assert found["tts-1"] == ("million_characters", 15.0, "the catalogue")
    assert found["web_search"] == ("call", None, "nobody")


async def test_the_export_holds_every_row_and_no_formula(world: World) -> None:
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "plain, “quoted”\n<b>", "‮"]
    async with dashboard(world) as shown:
        rows = [
            Spent("llm", "2026-11-21", "openai", "gpt-6", pack=name, tokens=TOKENS, cost_usd=0.1)
            for name in names
        ]
        await recorded(shown.bot, *rows, *rows)
        query = "from=2026-11-21&to=2026-11-21"
        csv_type, as_csv = await text(shown, f"/api/usage/export?format=csv&{query}")
        json_type, as_json = await text(shown, f"/api/usage/export?format=json&{query}")
        _, none = await text(shown, "/api/usage/export?format=json&from=2020-01-01&to=2020-01-01")

    written = list(csv.DictReader(io.StringIO(as_csv)))
    found = json.loads(as_json)
    assert (csv_type, json_type, json.loads(none)) == ("text/csv", "application/json", [])
    assert {row["pack"] for row in found} == set(names)
    assert {row["calls"] for row in found} == {2}
    assert not any(
        cell.startswith(("=", "+", "-", "@", "\t")) for row in written for cell in row.values()
    )
    assert sorted(row["pack"].removeprefix("'") for row in written) == sorted(names)
    assert {row["cost_usd"] for row in written} == {"0.2"}


async def test_more_rows_than_one_look_reads_are_exported(world: World) -> None:
    async with dashboard(world) as shown:
        row = Spent("llm", "2026-11-21", "openai", "gpt-6")
        await recorded(shown.bot, *(replace(row, person=str(at)) for at in range(2_500)))
        _, written = await text(shown, "/api/usage/export?format=json")

    assert len({row["person"] for row in json.loads(written)}) == 2_500


async def test_at_rest_the_same_limits_and_prices_are_told(world: World) -> None:
    """Today is another day by then: the bot's clock stands still here."""
    world.config = {
        "budgets": {"daily_usd": 1.0, "prices": {"scripted": {"input": 1, "output": 2}}}
    }
    async with dashboard(world) as shown:
        await shown.bot.ask("hello")
        await settled(shown.bot)
        _, running = await shown.get("/api/usage/left")
    async with resting(world) as shown:
        _, left = await shown.get("/api/usage/left")
        _, prices = await shown.get("/api/usage/prices")

    def told(facts: Any) -> list[tuple[str, ...]]:
        return [(one["unit"], one["of"], one["cap"], one["key"]) for one in facts["limits"]]

    assert told(left) == told(running)
    assert len(told(left)) == 3
    assert {one["name"]: one["from"] for one in prices["prices"]}["scripted"] == "you"
