"""Turns on the page: a list with filters, and one turn in time. Source: issue 15, "Turns"."""

from __future__ import annotations

import json
from datetime import UTC, date
from typing import Any

import pytest
from yarl import URL

from aouo.facts.ids import ulid
from aouo.plumbing.zones import moments
from aouo.store import turn_reports
from aouo.store.database import Tx
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Says
from tests.path.buttons.test_approvals import asked, button, scribe
from tests.path.dashboard.looking import Dashboard, dashboard
from tests.path.going_out.test_trace import trace
from tests.path.looking import eventually, said, settled
from tests.path.world import ADA, BEN, Running, World


async def turns(shown: Dashboard, **wanted: str | int) -> list[Any]:
    status, facts = await shown.get(str(URL("/api/turns").with_query(wanted)))
    assert status == 200, facts
    return facts["turns"]


async def newest(shown: Dashboard) -> Any:
    """The newest turn as it is told."""
    (line, *_) = await turns(shown)
    status, facts = await shown.get(f"/api/turns/{line['id']}")
    assert status == 200, facts
    return facts


def of(told: Any, kind: str) -> list[Any]:
    return [entry for entry in told["timeline"] if entry["kind"] == kind]


async def test_the_list_finds_turns_by_what_they_were(world: World) -> None:
    world.install("notes")
    world.model.say("Hello Ada.")
    world.model.say("Hello Ben.")
    world.model.fail(401)
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await shown.bot.ask("hi", user=BEN)
        await shown.bot.ask("are you there?")
        await settled(shown.bot)
        every = await turns(shown)
        ada = await turns(shown, person=ADA)
        failed = await turns(shown, status="nack")
        why = await turns(shown, reason=failed[0]["reason"][3:12].upper())
        known = await turns(shown, model="fake/scripted")
        here = await turns(shown, session=every[0]["session_id"], pack="notes", origin="chat")
        later = await turns(shown, since="2999-01-01")
        until = await turns(shown, until="9999-12-31", since="0001-01-01")
        _, people = await shown.get("/api/people")

    ids = [line["id"] for line in every]
    assert ids == sorted(ids, reverse=True)
    assert people["labels"] == {str(ADA): f"Ada ({ADA})", str(BEN): f"Ben ({BEN})"}
    assert [line["wrote"] for line in every] == ["are you there?", "hi", "hi"]
    assert [line["person"] for line in every] == [str(ADA), str(BEN), str(ADA)]
    assert [line["id"] for line in ada] == [ids[0], ids[2]]
    assert [line["id"] for line in failed] == [ids[0]]
    assert [line["id"] for line in why] == [ids[0]]
    assert [line["id"] for line in known] == ids[1:]
    assert [line["id"] for line in here] == [ids[0], ids[2]]
    assert (later, [line["id"] for line in until]) == ([], ids)
    assert every[1]["calls"] == 1
    assert every[1]["output_tokens"] > 0
    assert every[1]["ms"] > 0


async def test_older_turns_come_page_by_page_and_none_twice(world: World) -> None:
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await settled(shown.bot)
        await add_turns(shown.bot, 120)
        seen: list[str] = []
        older = ""
        while True:
            _, facts = await shown.get(f"/api/turns?limit=50&older={older}")
            seen += [line["id"] for line in facts["turns"]]
            if not (older := facts["older"]):
                break

    assert len(seen) == 121
    assert seen == sorted(set(seen), reverse=True)


async def test_one_turn_is_a_timeline_with_its_prompt_judges_and_messages(world: World) -> None:
    world.install("notes")
    world.model.call("memory", {"target": "memory", "action": "append", "content": "- tea"})
    world.model.call("read_file", {"path": "/etc/passwd"})
    world.model.say("Noted.")
    async with dashboard(world) as shown:
        await shown.bot.ask("remember tea")
        await settled(shown.bot)
        told = await newest(shown)

    memory, passwd = of(told, "tool")
    assert (memory["verdict"], memory["judge"], memory["effect"]) == ("allowed", "guard", True)
    assert json.loads(memory["arguments"]["text"])["content"] == "- tea"
    assert (passwd["verdict"], passwd["judge"]) == ("refused", "tools")
    assert [call["scope"] for call in of(told, "call")] == ["llm"] * 3
    assert [sent["state"] for sent in of(told, "message") if sent["message"] == "reply"] == ["sent"]
    assert [text["text"] for text in told["said"]] == ["remember tea", "Noted."]
    names = [section["name"] for section in told["sections"]]
    assert names[0] == "Identity"
    assert names[-2:] == ["Tools", "Words"]
    assert all(section["bytes"] and section["tokens"] for section in told["sections"])
    assert told["prompt"][0].startswith("# Identity")
    times = [entry["at_ms"] for entry in told["timeline"]]
    assert times == sorted(times)


async def test_who_judged_a_call_is_told_also_where_the_owner_was_asked(world: World) -> None:
    world.config = {"security": {"fence_mode": "ask"}}
    world.clock = FastClock()
    scribe(world)
    docs = world.home.path.resolve().parent / "docs"
    docs.mkdir()
    for path in (docs / "a.txt", docs / "b.txt", "/etc/passwd", world.home.path / "config.json"):
        world.model.call("write_file", {"path": str(path), "content": "x"})
    world.model.say("Done.")
    async with dashboard(world) as shown:
        card = await asked(shown.bot)
        await shown.bot.people.tap(ADA, ADA, card.id, button(card, "always"))
        await said(world, "Done.")
        await settled(shown.bot)
        told = await newest(shown)
        since, until = moments(date(2000, 1, 1), date(2999, 1, 1), UTC)
        async with shown.bot.app.shared.database.snapshot() as snapshot:
            refused = await snapshot.ask(turn_reports.refused_calls(since, until))

    judged = [(use["verdict"], use["judge"], use["asked_by"]) for use in of(told, "tool")]
    assert judged == [
        ("allowed", "owner", "fence"),
        ("allowed", "grant", "fence"),
        ("refused", "permissions", ""),
        ("refused", "protection", ""),
    ]
    assert [(one["tool"], one["pack"], one["judge"], one["times"]) for one in refused] == [
        ("write_file", "scribe", "permissions", 1),
        ("write_file", "scribe", "protection", 1),
    ]


async def test_a_stale_route_is_told_with_the_turn_that_put_it_right(world: World) -> None:
    world.install("notes", "vocab")

    def cross(tx: Tx) -> None:
        tx.run(
            "UPDATE conversation_routes SET session_id = "
            "(SELECT id FROM sessions WHERE session_key LIKE '%vocab')"
        )

    async with dashboard(world) as shown:
        for text in ("/use vocab", "der Hund", "/use notes", "buy milk"):
            await shown.bot.ask(text)
        await settled(shown.bot)
        before = await newest(shown)
        await shown.bot.app.shared.database.transact(cross)
        await shown.bot.ask("buy bread")
        await settled(shown.bot)
        after = await newest(shown)
        since, until = moments(date(2000, 1, 1), date(2999, 1, 1), UTC)
        async with shown.bot.app.shared.database.snapshot() as snapshot:
            sums = await snapshot.ask(turn_reports.sums(since, until))

    assert (before["stale_route"], after["stale_route"]) == (False, True)
    assert (sums["turns"], sums["stale_routes"], sums["failed"]) == (3, 1, 0)


async def test_the_terminal_tells_the_same_and_where_to_look_on(world: World) -> None:
    world.model.call("nonsense", {})
    world.model.say("Here.")
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await settled(shown.bot)
        told = await newest(shown)
        in_words = (await trace(world)).output
        in_json = json.loads((await trace(world, "--json")).output)

    only_here = {"prompt", "said", "arguments", "result"}
    for facts in (told, *told["timeline"]):
        for name in only_here & facts.keys():
            del facts[name]
    assert in_json == told
    address = str(shown.link.with_query({}))
    assert in_words.splitlines()[-1] == f"On the page: {address}#/turns/{told['id']}"
    assert shown.token not in in_words


async def test_a_wait_for_a_person_is_shown_from_when_to_when(world: World) -> None:
    world.clock = clock = FastClock()
    world.model.call("clarify", {"message": "Which?", "options": ["red", "blue"]})
    world.model.say("Red it is.")
    async with dashboard(world) as shown:
        await shown.bot.people.say(ADA, ADA, "choose")
        await shown.bot.people.next_message(ADA, contains="Which?")
        open_ = await newest(shown)
        clock.jump(90)
        await shown.bot.ask("red")
        await settled(shown.bot)
        told = await newest(shown)

    assert [wait["state"] for wait in of(open_, "wait")] == ["open"]
    (wait,) = of(told, "wait")
    assert (wait["wait"], wait["state"], wait["person"]) == ("clarify", "answered", str(ADA))
    assert wait["ms"] >= 90_000
    assert told["waited_ms"] == wait["ms"]


async def test_a_model_that_fails_is_told_with_the_one_that_was_asked_instead(
    world: World,
) -> None:
    fallback = [{"backend": "fake", "model": "second"}]
    world.config = {"provider": {"backend": "fake", "model": "first", "fallback": fallback}}
    world.model.fail(500)
    world.model.say("Here.")
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await settled(shown.bot)
        told = await newest(shown)

    assert [(one["failed"], one["asked"], one["times"]) for one in told["tries"]] == [
        ("fake/first", "fake/second", 1)
    ]
    assert [call["model"] for call in of(told, "call")][-1] == "second"


async def test_live_edits_are_counted_when_the_platform_took_them(world: World) -> None:
    world.clock = FastClock(speed=40.0)
    words = " ".join(f"word{n}" for n in range(120))
    world.model.reply(Says(words, chunks=12, stall_after=(4, 8)))
    async with dashboard(world) as shown:
        await shown.bot.people.say(ADA, ADA, "tell me")
        await shown.bot.people.next_message(ADA, contains="word30")
        world.model.release.set()
        world.model.release.clear()

        async def grown() -> bool:
            return bool(await shown.bot.people.calls("editMessageText"))

        await eventually(grown)
        world.model.release.set()
        await said(world, words)
        await settled(shown.bot)
        told = await newest(shown)
        calls = await shown.bot.people.calls("editMessageText")

    final = [sent for sent in of(told, "message") if sent["edits"]]
    assert told["edits"] == len(calls) - len(final) >= 1


async def test_off_the_record_is_that_there_was_something(world: World) -> None:
    world.model.call("nonsense", {"secret": "heron"})
    world.model.say("The heron is a secret.")
    async with dashboard(world) as shown:
        await shown.bot.ask("/otr the heron")
        await settled(shown.bot)
        (line,) = await turns(shown)
        told = await newest(shown)
        found = [await turns(shown, **{name: value}) for name, value in KNOWN_OF_IT.items()]

    assert (line["off_record"], line["status"], line["person"], line["pack"]) == (
        True,
        "ack",
        "",
        "",
    )
    assert line["input_tokens"] == line["calls"] == line["tools"] == 0
    assert (told["timeline"], told["sections"], told["prompt"], told["said"]) == ([], [], [], [])
    assert "heron" not in json.dumps(told)
    assert found == [[]] * len(KNOWN_OF_IT)


KNOWN_OF_IT = {"person": str(ADA), "origin": "chat", "model": "scripted"}


async def test_a_result_of_two_megabytes_is_cut_and_secrets_are_not_told(world: World) -> None:
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await settled(shown.bot)
        (line,) = await turns(shown)
        key = "sk-proj-" + "a1B2c3D4" * 6
        token = ".".join(("eyJhbGciOiJSUzI1NiJ9", "a1B2c3D4" * 100, "sgn"))

        def write(tx: Tx) -> None:
            tx.run(
                "INSERT INTO tool_calls (id, turn_id, name, arguments, again, state, result, "
                "started_at, ended_at) VALUES ('c', ?, '<script>\u202e', ?, 0, 'done', ?, ?, ?)",
                line["id"],
                json.dumps({"key": key}),
                f"{'ä' * 1_900} {token} {'ä' * 2_000_000}",
                line["started_at"],
                line["settled_at"],
            )
            tx.run("UPDATE turns SET reason = ? WHERE id = ?", f"refused {key}", line["id"])

        await shown.bot.app.shared.database.transact(write)
        told = await newest(shown)

    (use,) = of(told, "tool")
    assert use["name"] == "<script>\u202e"
    assert len(use["result"]["text"]) == 2_000 < 2_000_000 < use["result"]["chars"]
    assert key not in json.dumps(told)
    assert "eyJ" not in json.dumps(told)
    assert told["reason"] == "refused [redacted]"


async def test_the_prompts_text_goes_with_the_turn_that_had_it(world: World) -> None:
    world.config = {"retention": {"messages_days": 7}}
    world.clock = clock = FastClock()
    world.install("notes")
    soul = world.home.path / "SOUL.md"
    soul.write_text("You are the heron.")
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await shown.bot.ask("and again")
        await settled(shown.bot)
        old = await newest(shown)
        once = await shown.bot.rows("SELECT count(*) AS n FROM prompts")
        clock.jump(6 * 86_400)
        soul.write_text("You are the rhinoceros.")
        await shown.bot.ask("who are you now?")
        await settled(shown.bot)
        clock.jump(2 * 86_400)
        await shown.bot.app.tidying.prune()
        new = await newest(shown)
        _, gone = await shown.get(f"/api/turns/{old['id']}")
        texts = await shown.bot.rows("SELECT text FROM prompts")

    assert "You are the heron." in old["prompt"][0]
    assert once == [{"n": 1}]
    assert "You are the rhinoceros." in new["prompt"][0]
    assert [row["text"] for row in texts] == new["prompt"]
    assert (gone["prompt"], gone["said"]) == ([], [])
    assert gone["sections"] == old["sections"]


async def test_the_turns_of_some_days_are_summed_up(world: World) -> None:
    fallback = [{"backend": "fake", "model": "second"}]
    world.config = {"provider": {"backend": "fake", "model": "first", "fallback": fallback}}
    world.model.fail(500)
    world.model.call("nonsense", {})
    world.model.say("Here.")
    world.model.call("secret_tool", {})
    world.model.say("There.")
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await shown.bot.ask("/otr and this")
        await shown.bot.ask("and again")
        await settled(shown.bot)
        ids = {line["id"] for line in await turns(shown, person=ADA)}
        status, week = await shown.get("/api/usage/turns")
        _, before = await shown.get("/api/usage/turns?from=2020-01-01&to=2020-01-31")
        half, why = await shown.get("/api/usage/turns?from=2020-01-01")
        backwards, _ = await shown.get("/api/usage/turns?from=2020-01-02&to=2020-01-01")

    assert status == 200
    assert (week["turns"], week["failed"], week["stale_routes"]) == (3, 0, 0)
    assert {line["id"] for line in week["slowest"]} == ids
    assert [(one["failed"], one["asked"], one["times"]) for one in week["tries"]] == [
        ("fake/first", "fake/second", 1)
    ]
    assert [(one["tool"], one["judge"], one["times"]) for one in week["refused"]] == [
        ("nonsense", "tools", 1)
    ]
    assert (before["turns"], before["slowest"], before["tries"], before["refused"]) == (
        0,
        [],
        [],
        [],
    )
    assert (half, backwards, why["error"]) == (400, 400, "Give both from and to.")


@pytest.mark.parametrize(
    "turn", ["nonsense", "%00", "..%2f..%2fetc", "%F0%9F%A6%A9", "x" * 400, "' OR 1=1 --"]
)
async def test_an_id_that_names_no_turn_is_said(world: World, turn: str) -> None:
    async with dashboard(world) as shown:
        status, told = await shown.get(str(URL(f"/api/turns/{turn}", encoded="%" in turn)))

    assert status in (400, 404)
    assert told["error"].endswith(".")


async def test_ten_thousand_turns_are_listed_in_a_moment(world: World) -> None:
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await settled(shown.bot)
        (session,) = {line["session_id"] for line in await turns(shown)}
        await add_turns(shown.bot, 10_000)
        status, facts = await shown.get(f"/api/turns?session={session}&model=fake/scripted")

    assert status == 200
    assert (len(facts["turns"]), facts["older"]) == (1, "")


async def add_turns(bot: Running, number: int) -> None:
    """Add turns to the newest session."""

    def write(tx: Tx) -> None:
        for _ in range(number):
            tx.run(
                "INSERT INTO turns (id, job_id, session_id, pack, skill, status, started_at, "
                "settled_at) SELECT ?, job_id, session_id, pack, skill, 'ack', started_at, "
                "settled_at FROM turns WHERE id = (SELECT min(id) FROM turns)",
                ulid(),
            )

    await bot.app.shared.database.transact(write)


async def test_what_has_no_known_price_is_free_nowhere(world: World) -> None:
    world.model.say("Hello.")
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await settled(shown.bot)
        (line,) = await turns(shown)
        told = await newest(shown)
        in_words = (await trace(world)).output
        why = (await shown.bot.ask("/why")).text

    unpriced = [call["unpriced"] for call in of(told, "call")]
    assert line["unpriced_calls"] == told["unpriced_calls"] == len(unpriced)
    assert unpriced == [True] * len(unpriced)
    assert "without a known price" in in_words
    assert "no known price" in in_words
    assert "without a known price" in why
    assert "$0" not in in_words + why
