"""What waits for the owner is decided on the page too, as a tap of theirs and of nobody else.

Source: issue 15 "Security"; contract, "Dashboard over HTTP".
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from yarl import URL

from tests.path.buttons.test_approvals import (
    asked,
    button,
    clock,
    docs,
    gate_states,
    heard,
    names,
    writes,
)
from tests.path.dashboard.chatting import WebChat
from tests.path.dashboard.looking import Dashboard, dashboard, resting
from tests.path.looking import cut_off, eventually, said, settled
from tests.path.world import ADA, BEN, World

__all__ = ["clock", "docs"]  # the fixtures
GONE = "This is over: {}."
HIDDEN = "This is off the record: it is answered where it was asked."
NOT_YOURS = "This is for somebody else, who answers it where it was asked."


async def opened(shown: Dashboard) -> dict[str, Any]:
    """The one open question, as the page has it."""
    status, told = await shown.get("/api/approvals")
    (found,) = told["open"]

    assert (status, told["number"]) == (200, 1)
    return found


def asks_colour(world: World) -> None:
    """A model that asks, with a pack that lets it."""
    (world.home.packs / "scribe" / "pack.yml").write_text("name: scribe\nversion: 0.1.0\n")
    world.model.call("clarify", {"message": "Which *colour*?", "options": ["red", "green"]})
    world.model.say("noted")


async def decide(shown: Dashboard, gate: str, choice: str) -> tuple[int, Any]:
    return await shown.send("POST", f"/api/approvals/{gate}", {"choice": choice})


async def test_a_yes_on_the_page_lets_the_call_run_and_the_audit_says_where_from(
    world: World, docs: Path
) -> None:
    writes(world, docs / "a.txt")
    async with dashboard(world) as shown:
        card = await asked(shown.bot)
        found = await opened(shown)
        answer = await decide(shown, found["id"], "allow")
        await said(world, "noted")
        await said(world, f"{card.text}\n→ allowed once")
        _, audit = await shown.get("/api/audit?stage=EXECUTED")
        taps = await world.people.calls("answerCallbackQuery")

    assert found["question"] == {
        "text": card.text,
        "bytes": len(card.text.encode()),
        "cut": False,
    }
    assert [one["label"] for one in found["choices"]] == [b.text for b in card.buttons]
    assert (found["kind"], found["pack"], found["tool"]) == ("approval", "scribe", "write_file")
    assert json.loads(found["arguments"]["text"]) == {
        "path": str(docs / "a.txt"),
        "content": "hello",
    }
    assert (answer, heard(world)) == ((200, {"outcome": "allowed once"}), "wrote 5 bytes")
    assert [row["reason"]["text"] for row in audit["rows"]] == ["the owner said allow (web)"]
    assert (names(docs), taps) == (["a.txt"], [])


async def test_a_no_on_the_page_is_a_result_that_the_model_reads(world: World, docs: Path) -> None:
    writes(world, docs / "a.txt")
    async with dashboard(world) as shown:
        card = await asked(shown.bot)
        answer = await decide(shown, (await opened(shown))["id"], "deny")
        await said(world, "noted")
        await said(world, f"{card.text}\n→ no")
        _, audit = await shown.get("/api/audit?stage=BLOCKED")

    assert (answer, names(docs)) == ((200, {"outcome": "no"}), [])
    assert heard(world).startswith("The owner said no to this call.")
    assert [row["reason"]["text"] for row in audit["rows"]] == ["the owner said deny (web)"]


async def test_what_was_decided_in_the_chat_is_not_decided_again(world: World, docs: Path) -> None:
    writes(world, docs / "a.txt")
    async with dashboard(world) as shown:
        card = await asked(shown.bot)
        found = await opened(shown)
        await shown.bot.people.tap(ADA, ADA, card.id, button(card, "deny"))
        await said(world, "noted")
        answer = await decide(shown, found["id"], "allow")
        _, left = await shown.get("/api/approvals")

    assert answer == (409, {"error": GONE.format("no")})
    assert (left, names(docs)) == ({"number": 0, "open": []}, [])


async def test_two_pages_and_the_chat_decide_once(world: World, docs: Path) -> None:
    writes(world, docs / "a.txt")
    async with dashboard(world) as shown:
        card = await asked(shown.bot)
        gate = (await opened(shown))["id"]
        async with asyncio.TaskGroup() as group:
            pages = [group.create_task(decide(shown, gate, one)) for one in ("allow", "deny")]
            group.create_task(shown.bot.people.tap(ADA, ADA, card.id, button(card, "always")))
        await said(world, "noted")
        decided = await gate_states(shown.bot)
        answered = "SELECT count(*) AS n FROM jobs WHERE outcome = 'answered a question'"
        settled_by = await shown.bot.rows(answered)

    assert sorted(page.result()[0] for page in pages) in ([200, 409], [409, 409])
    assert [state for state, _ in decided] == ["answered"]
    assert settled_by == [{"n": 1}]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 401), ({"X-Aouo-Token": "wrong"}, 401), ({"Origin": "http://evil.example"}, 403)],
)
async def test_a_stranger_decides_nothing(
    world: World, docs: Path, headers: dict[str, str], status: int
) -> None:
    writes(world, docs / "a.txt")
    async with dashboard(world) as shown, ClientSession() as stranger:
        await asked(shown.bot)
        address = shown.link.join(URL(f"/api/approvals/{(await opened(shown))['id']}"))
        body = {"choice": "allow"}
        async with stranger.post(address, json=body, headers=headers) as answer:
            refused = answer.status
        async with shown.client.get(shown.link):  # a cookie, which another page would send too
            pass
        async with shown.client.post(address, json=body) as answer:
            by_cookie = answer.status
        states = await gate_states(shown.bot)

    assert (refused, by_cookie) == (status, 403)
    assert (states, names(docs)) == ([("open", "")], [])


@pytest.mark.parametrize("choice", ["", "yes", "Allow once", "0", "always\0"])
async def test_a_choice_that_is_not_offered_is_refused(
    world: World, docs: Path, choice: str
) -> None:
    writes(world, docs / "a.txt")
    async with dashboard(world) as shown:
        await asked(shown.bot)
        answer = await decide(shown, (await opened(shown))["id"], choice)
        unknown = await decide(shown, "nothing", "allow")
        states = await gate_states(shown.bot)

    assert answer == (400, {"error": "This question offers no such choice."})
    assert (unknown[0], states) == (404, [("open", "")])


async def test_a_decision_that_is_stored_outlives_the_process(world: World, docs: Path) -> None:
    writes(world, docs / "a.txt")
    async with dashboard(world) as shown:
        await asked(shown.bot)
        gate = (await opened(shown))["id"]
        await cut_off(shown.bot)
        async with asyncio.TaskGroup() as group:
            answer = group.create_task(decide(shown, gate, "allow"))
            stored = "SELECT 1 FROM jobs WHERE state = 'ready' AND body LIKE '%approval_%'"
            await eventually(lambda: shown.bot.rows(stored))
            states = await gate_states(shown.bot)
            answer.cancel()
    untouched = names(docs)
    async with world.running():
        await said(world, "noted")

    assert (states, untouched) == ([("open", "")], [])
    assert ((docs / "a.txt").read_text(), heard(world)) == ("hello", "wrote 5 bytes")


async def test_a_question_to_the_owner_is_answered_by_one_of_its_options(world: World) -> None:
    asks_colour(world)
    async with dashboard(world) as shown:
        await shown.bot.people.say(ADA, ADA, "paint it")
        await eventually(lambda: shown.bot.rows("SELECT 1 FROM deliveries WHERE state = 'sent'"))
        found = await opened(shown)
        answer = await decide(shown, found["id"], "1")
        await said(world, "Which colour?\n→ green")
        await said(world, "noted")

    assert (found["kind"], found["question"]["text"]) == ("question", "Which *colour*?")
    assert found["choices"] == [{"value": "0", "label": "red"}, {"value": "1", "label": "green"}]
    assert (answer, heard(world)) == ((200, {"outcome": "green"}), "green")


async def test_a_question_to_the_owner_is_answered_in_words(world: World) -> None:
    """Only that question: words for one that is over begin no turn."""
    asks_colour(world)
    async with dashboard(world) as shown:
        await shown.bot.people.say(ADA, ADA, "paint it")
        await eventually(lambda: shown.bot.rows("SELECT 1 FROM deliveries WHERE state = 'sent'"))
        address = f"/api/approvals/{(await opened(shown))['id']}"
        refused = [
            (await shown.send("POST", address, {"words": words}))[0] for words in ("  ", "x" * 4097)
        ]
        answer = await shown.send("POST", address, {"words": "a dark blue"})
        await said(world, "noted")
        again = await shown.send("POST", address, {"words": "or green"})
        await settled(shown.bot)
        turns = await shown.bot.rows("SELECT 1 FROM turns")

    assert refused == [400, 400]
    assert (answer, heard(world)) == ((200, {"outcome": "a dark blue"}), "a dark blue")
    assert (again, len(turns)) == ((409, {"error": GONE.format("a dark blue")}), 1)


async def test_what_is_asked_on_the_page_is_asked_of_you_also_while_no_bot_runs(
    world: World,
) -> None:
    asks_colour(world)
    async with dashboard(world) as shown:
        chat = WebChat(shown, "~")
        async with chat.window() as window:
            await chat.say("paint it")
            await window.until("Which colour?")
        running = await opened(shown)
    async with resting(world) as shown:
        at_rest = await opened(shown)

    assert [(one["asked"], one["place"]) for one in (running, at_rest)] == [
        ("you", "this page")
    ] * 2


async def test_an_approval_is_not_given_in_words(world: World, docs: Path) -> None:
    writes(world, docs / "a.txt")
    async with dashboard(world) as shown:
        await asked(shown.bot)
        address = f"/api/approvals/{(await opened(shown))['id']}"
        answer = await shown.send("POST", address, {"words": "allow"})
        states = await gate_states(shown.bot)

    assert answer[0] == 400
    assert states == [("open", "")]


async def test_a_question_to_somebody_else_is_shown_and_left_to_them(world: World) -> None:
    asks_colour(world)
    async with dashboard(world) as shown:
        await shown.bot.people.say(BEN, BEN, "paint it")
        asked = await shown.bot.people.next_message(BEN, contains="Which colour?")
        found = await opened(shown)
        answer = await decide(shown, found["id"], "1")
        await shown.bot.people.tap(BEN, BEN, asked.id, asked.buttons[0].data)
        await said(world, "noted", BEN)

    assert (found["asked"], found["place"]) == ("Ben", "the private chat of Ben")
    assert (found["choices"], found["why_not"]) == ([], NOT_YOURS)
    assert (answer, heard(world)) == ((409, {"error": NOT_YOURS}), "red")


async def test_what_is_asked_off_the_record_is_not_shown(world: World, docs: Path) -> None:
    world.model.call("list_dir", {"path": str(docs)})
    world.model.say("noted")
    async with dashboard(world) as shown:
        asking = await shown.bot.people.say(ADA, ADA, "/otr look there")
        await shown.bot.people.next_message(ADA, contains="Is that all right?", after=asking.id)
        found = await opened(shown)
        answer = await decide(shown, found["id"], "allow")
        _, audit = await shown.get("/api/audit")
        _, by_tool = await shown.get("/api/audit?tool=list_dir")
        _, by_text = await shown.get("/api/audit?text=list_dir")
        _, overview = await shown.get("/api/security")

    assert found["off_record"]
    assert "question" not in found
    assert answer == (409, {"error": HIDDEN})
    assert {(row["tool"], row["call_id"], row["off_record"]) for row in audit["rows"]} == {
        ("", "", True)
    }
    assert by_tool["rows"] == by_text["rows"] == []
    assert [(one["where"], one["until"]) for one in overview["off_record"]["times"]] == [
        (f"tg:{ADA}", "")
    ]
    assert str(docs) not in json.dumps([found, audit, overview])


async def test_secrets_in_arguments_are_redacted_and_long_ones_are_cut(
    world: World, docs: Path
) -> None:
    key = "sk-proj-" + "a1B2" * 10
    writes(world, docs / "a.txt", f"{key} " + "x" * 2_000_000)
    async with dashboard(world) as shown:
        await asked(shown.bot)
        found = await opened(shown)

    shown_arguments = found["arguments"]
    assert (shown_arguments["cut"], shown_arguments["bytes"] > 2_000_000) == (True, True)
    assert len(shown_arguments["text"]) == 4_000
    assert key not in json.dumps(found)


async def test_what_was_allowed_for_good_is_listed_and_can_be_taken_back(
    world: World, docs: Path
) -> None:
    writes(world, docs / "a.txt")
    writes(world, docs / "b.txt", then="noted too")
    writes(world, docs / "c.txt", then="and again")
    async with dashboard(world) as shown:
        await asked(shown.bot)
        await decide(shown, (await opened(shown))["id"], "always")
        await said(world, "noted")
        await shown.bot.ask("write b")
        await said(world, "noted too")
        await settled(shown.bot)
        _, before = await shown.get("/api/security")
        (grant,) = before["grants"]
        revoked = await shown.send("POST", f"/api/grants/{grant['id']}/revoke", {})
        again = await shown.send("POST", f"/api/grants/{grant['id']}/revoke", {})
        _, after = await shown.get("/api/security")
        await asked(shown.bot)

    assert (grant["pack"], grant["tool"], grant["target"]) == ("scribe", "write_file", str(docs))
    assert (grant["times"], bool(grant["last"]), grant["person"]) == (1, True, str(ADA))
    assert (revoked[0], again[0], after["grants"]) == (200, 404, [])
    assert before["fence"] == {"mode": "ask", "allowed_paths": []}
    assert names(docs) == ["a.txt", "b.txt"]


async def test_a_pack_shows_what_it_asks_for_what_it_used_and_what_it_was_refused(
    world: World, docs: Path
) -> None:
    world.model.call("write_file", {"path": "own.txt", "content": "hello"})
    world.model.call("write_file", {"path": "/etc/none", "content": "hello"})
    world.model.call("fetch", {"url": "https://example.com"})
    world.model.say("done")
    async with dashboard(world) as shown:
        await shown.bot.ask("go")
        await said(world, "done")
        await settled(shown.bot)
        _, told = await shown.get("/api/packs/scribe/permissions")
        _, overview = await shown.get("/api/security")
        missing, _ = await shown.get("/api/packs/nothing/permissions")

    used = {row["tool"]: row for row in told["uses"]}
    assert (used["write_file"]["done"], used["write_file"]["refused"]) == (1, 1)
    assert (used["write_file"]["asked"], used["read_file"]["done"]) == (True, 0)
    assert (used["fetch"]["asked"], used["fetch"]["refused"]) == (False, 1)
    assert {(one["tool"], one["reason"]["text"], one["times"]) for one in told["refusals"]} == {
        ("write_file", "outside the pack's permissions.files", 1),
        ("fetch", "no such tool", 1),
    }
    assert told["card"].startswith("Scribe (scribe) may\n")
    (row,) = overview["packs"]
    assert (row["pack"], row["done"], row["refused"], row["installed"]) == ("scribe", 1, 2, True)
    assert missing == 404


async def test_the_audit_is_read_page_by_page_and_searched(world: World, docs: Path) -> None:
    for n in range(4):
        world.model.call("write_file", {"path": f"{n}.txt", "content": "hello"})
    world.model.call("fetch", {"url": "https://example.com"})
    world.model.say("done")
    async with dashboard(world) as shown:
        await shown.bot.ask("go")
        await said(world, "done")
        await settled(shown.bot)
        _, whole = await shown.get("/api/audit")
        pages: list[dict[str, Any]] = []
        before = 0
        while not pages or before:
            _, page = await shown.get(f"/api/audit?limit=4&before={before}")
            pages.append(page)
            before = page["older"]
        turn = whole["rows"][0]["turn_id"]
        counts = {
            query: len((await shown.get(f"/api/audit?{query}"))[1]["rows"])
            for query in (
                "text=FETCH",
                "text=no such tool",
                "text=%25",
                "text=_etch",
                "tool=write_file&stage=EXECUTED",
                "pack=scribe",
                "pack=notes",
                "origin=cron",
                f"turn={turn[-8:]}",
                f"turn={turn}",
                f"turn={turn[:-1]}",
                "since=2026-03-02&until=2026-03-03",
                "until=2026-03-01",
                "since=9999-12-31",
                "until=0001-01-01",
            )
        }
        refused = [
            (await shown.get(f"/api/audit?{query}"))[0]
            for query in ("stage=executed", "since=today", "before=-1", "limit=0", "text=%00")
        ]

    assert [row for page in pages for row in page["rows"]] == whole["rows"]
    assert [len(page["rows"]) for page in pages] == [4, 4, 4, 3]
    assert list(counts.values()) == [3, 2, 0, 0, 4, 15, 0, 0, 15, 15, 0, 15, 0, 0, 0]
    assert refused == [400] * 5


async def test_a_search_through_very_many_rows_goes_on_page_by_page(world: World) -> None:
    """A page looks through so many ids at most; a turn's own rows are found at once."""
    row = (
        "INSERT INTO audit (id, at, stage, turn_id, call_id, action_id, tool, pack, origin, digest)"
        " VALUES (?, '2026-03-02T12:00:00.000+00:00', 'PROPOSED', ?, 'c', 'a', ?, 'p', 'chat', 'd')"
    )
    turn = "01JT0000000000000000000000"
    async with dashboard(world) as shown:
        database = shown.bot.app.shared.database
        await database.transact(lambda tx: tx.run(row, 7, turn, "rare"))
        await database.transact(lambda tx: tx.run(row, 1_000_000, "", "frequent"))
        found: list[int] = []
        empty, before = -1, 0
        while empty < 0 or before:
            _, page = await shown.get(f"/api/audit?tool=rare&before={before}")
            found += [one["id"] for one in page["rows"]]
            before, empty = page["older"], empty + 1
        _, of_turn = await shown.get(f"/api/audit?turn={turn}")

    assert (found, empty) == ([7], 3)
    assert ([one["id"] for one in of_turn["rows"]], of_turn["older"]) == ([7], 0)


async def test_without_a_bot_what_waits_is_shown_and_nothing_decided(
    world: World, docs: Path
) -> None:
    writes(world, docs / "a.txt")
    async with dashboard(world) as shown:
        await asked(shown.bot)
    async with resting(world) as shown:
        found = await opened(shown)
        refused, _ = await decide(shown, found["id"], "allow")
        _, overview = await shown.get("/api/security")

    assert (found["tool"], found["choices"]) == ("write_file", [])
    assert found["why_not"] == "No bot runs that could take the answer."
    assert (refused, overview["fence"]["mode"]) == (409, "ask")
