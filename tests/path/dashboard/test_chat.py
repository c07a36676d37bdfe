"""The owner talks to a pack on the page, without Telegram, and everything arrives."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import ClientSession, CookieJar
from yarl import URL

from aouo.dashboard.rooms.chat import _PAGE
from aouo.flow.uploads import _UNSAID_MAX, UPLOAD_BYTES
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, CallPart, Says, words_of
from tests.fakes.models import ModelService, profile
from tests.path.dashboard.chatting import STATUS, WebChat, idle, scribe
from tests.path.dashboard.looking import Dashboard, dashboard, resting
from tests.path.looking import eventually, prompts, settled
from tests.path.media.test_media_pictures import PICTURE
from tests.path.world import ADA, ROOT, World

HI = ("person", "hi")


@pytest.fixture(autouse=True)
def without_telegram(world: World) -> None:
    world.install("notes")
    world.config = {"telegram": {"enabled": False, "bot_token": ""}}


@asynccontextmanager
async def chatting(world: World, name: str = "notes") -> AsyncGenerator[WebChat]:
    async with dashboard(world) as page:
        yield WebChat(page, name)


async def answered(chat: WebChat) -> list[tuple[str, str]]:
    """Everything in the chat, once nothing is at work there."""
    await settled(chat.page.bot)
    return await chat.texts()


async def test_what_is_said_is_answered_by_the_chat_s_pack(world: World) -> None:
    world.install("vocab")
    world.model.say("Hello!")
    async with chatting(world) as chat:
        await chat.say("hi")
        said = await answered(chat)
        (turn,) = await chat.page.bot.rows("SELECT pack FROM turns")
        (usage,) = await chat.page.bot.rows("SELECT DISTINCT person, pack FROM usage_events")

    assert said == [HI, ("bot", "Hello!")]
    assert turn == {"pack": "notes"}
    assert usage == {"person": str(ADA), "pack": "notes"}


async def test_the_same_words_with_the_same_key_are_said_once(world: World) -> None:
    async with chatting(world) as chat:
        numbers = [await chat.say("hi", key="one") for _ in range(3)]
        said = await answered(chat)

    assert len(set(numbers)) == 1
    assert said == [HI, ("bot", "hi")]


async def test_words_whose_file_is_gone_since_are_not_said_again(world: World) -> None:
    """The page asks again if it got no answer; off the record files go with the turn."""
    world.model.say("a quiet answer")
    async with chatting(world) as chat, chat.window() as window:
        _, file = await chat.upload("a.txt", b"quiet words")
        first = await chat.say("/otr look", key="one", files=file["file"])
        await window.until("a quiet answer")
        await idle(chat)
        again = await chat.say("/otr look", key="one", files=file["file"])
        left = list(world.home.media.glob("*/*"))

    assert again == first
    assert left == []


async def test_only_its_pack_answers_in_its_chat(world: World) -> None:
    world.install("vocab")
    async with chatting(world) as chat:
        await chat.say("/use vocab")
        await answered(chat)
        await chat.say("hi")
        said = await answered(chat)
        turns = await chat.page.bot.rows("SELECT pack FROM turns")

    assert said[1] == (
        "bot",
        "This is the chat of “notes”, and only that answers here. “vocab” has a chat of its own "
        "on this page.",
    )
    assert turns == [{"pack": "notes"}]


async def test_where_no_other_pack_can_answer_none_is_offered(world: World) -> None:
    world.install("vocab")
    async with chatting(world) as chat:
        await chat.say("/pack")
        await answered(chat)
        (said,) = [one for one in (await chat.read())["messages"] if one["by"] == "bot"]

    assert said["text"].endswith("Every other pack has a chat of its own on this page.")
    assert said["buttons"] == []


async def test_who_has_no_telegram_id_is_told_of_none(world: World) -> None:
    world.config["telegram"] = {"enabled": False, "allowed_user_ids": []}
    async with chatting(world) as chat:
        await chat.say("/id")
        said = await answered(chat)

    assert said[1] == ("bot", "You are the owner; you have no Telegram id here.")


async def test_the_chat_of_no_pack_asks_which_one_shall_answer(world: World) -> None:
    world.install("vocab")
    world.model.say("Hello!")
    async with chatting(world, "~") as chat:
        async with chat.window() as window:
            await chat.say("plums")
            await chat.tap(await window.until("Who shall answer “plums”?"), "🧠 Vocab")
            await window.until("Hello!")
        turns = await chat.page.bot.rows("SELECT pack FROM turns")

    assert turns == [{"pack": "vocab"}]


async def test_whoever_sits_there_works_on_the_owner_s_data(world: World) -> None:
    world.config = {"telegram": {"enabled": False, "allowed_user_ids": [42]}}
    async with chatting(world) as chat:
        world.model.call("persist", {"action": "save", "table": "entries", "data": {"text": "x"}})
        world.model.say("saved")
        await chat.say("hi")
        await answered(chat)
        (job,) = await chat.page.bot.rows("SELECT body FROM jobs")

    inbound = json.loads(job["body"])
    assert (inbound["origin"], inbound["person"]["id"]) == ("web", "42")
    assert world.home.pack_database("notes", "tg_42").exists()


async def test_an_answer_grows_while_it_comes(world: World) -> None:
    words = " ".join(f"word{n}" for n in range(120))
    async with chatting(world) as chat, chat.window() as window:
        world.model.reply(Says(words, chunks=12, stall_after=6))
        await chat.say("tell me")
        part = await window.until("word3")
        world.model.release.set()
        await window.until("word119")
        await idle(chat)

    assert "word119" not in part["text"]
    assert window.texts == [("person", "tell me"), ("bot", words)]
    assert len([data for _, data in window.told if data.get("id") == part["id"]]) > 1


async def test_the_call_of_a_tool_is_told_while_it_runs(world: World) -> None:
    world.model.reply(Says(calls=(CallPart("persist", {"action": "summary"}),)))
    world.model.reply(Says("done", chunks=2, stall_after=1))
    async with chatting(world) as chat, chat.window() as window:
        await chat.say("look")
        await window.until_told("action")
        await window.until_told("standing")
        world.model.release.set()
        await window.until("done")
        await idle(chat)

    standings = [data["busy"] for kind, data in window.told if kind == "standing"]
    assert True in standings
    assert standings[-1] is False


async def test_a_question_is_answered_by_a_tap(world: World) -> None:
    world.model.call("clarify", {"message": "Which colour?", "options": ["red", "green"]})
    world.model.say("noted")
    async with chatting(world) as chat, chat.window() as window:
        await chat.say("paint it")
        asked = await window.until("Which colour?")
        assert (await chat.read())["standing"] == {"busy": True, "asks": True}
        await chat.tap(asked, "green")
        await window.until("noted")
        await idle(chat)
        heard = words_of(world.model.requests[1]["messages"][-1])
        shown = window.messages[asked["id"]]

    assert "green" in heard
    assert (shown["buttons"], "green" in shown["text"]) == ([], True)


async def test_a_status_line_goes_when_a_question_is_asked(world: World) -> None:
    world.clock = FastClock()
    asks = CallPart("clarify", {"message": "Which colour?", "options": ["red", "green"]})
    world.model.reply(Says(calls=(asks,), stall_after=0))
    async with chatting(world) as chat, chat.window() as window:
        await chat.say("paint it")
        await window.until("Thinking…")
        world.model.release.set()
        await window.until("Which colour?")

        async def alone() -> bool:
            return await chat.texts() == [("person", "paint it"), ("bot", "Which colour?")]

        await eventually(alone)


async def test_a_tap_that_is_answered_as_words_are_is_shown_as_what_was_said(world: World) -> None:
    """Else two answers in a row would not tell which choice each belongs to."""
    world.install("vocab")
    world.model.say("Let us study.")
    async with chatting(world, "vocab") as chat, chat.window() as window:
        await chat.say("/menu")
        menu = await window.until("No words yet")
        await chat.tap(menu, "Newest words")
        await chat.tap(await window.until("Newest words"), "Back")
        await chat.tap(await window.until("Words\n"), "My progress")
        await window.until("Let us study.")
        await idle(chat)
        said = await chat.texts()

    assert said == [
        ("person", "/menu"),
        ("bot", "Words\n\nNo words yet. Send me one."),
        ("person", "My progress"),
        ("bot", "Let us study."),
    ]
    assert window.texts == said


async def test_off_the_record_a_tap_leaves_nothing_of_what_was_chosen(world: World) -> None:
    world.install("vocab")
    world.model.say("a quiet answer")
    async with chatting(world, "vocab") as chat, chat.window() as window:
        await chat.say("/otr")
        await window.until("Off the record from now on")
        await chat.say("/menu")
        await chat.tap(await window.until("No words yet"), "My progress")
        await window.until("a quiet answer")
        await idle(chat)
        said = await chat.texts()
        stored = await chat.page.bot.rows("SELECT body FROM web_messages")

    assert said[-2:] == [("person", "My progress"), ("bot", "a quiet answer")]
    assert stored[-2:] == [{"body": ""}] * 2


async def test_a_tap_with_the_same_key_counts_once(world: World) -> None:
    """Its answer may be lost, so the page asks again; by then the button may be gone."""
    world.model.call("clarify", {"message": "Which colour?", "options": ["red", "green"]})
    world.model.say("noted")
    async with chatting(world) as chat, chat.window() as window:
        await chat.say("paint it")
        asked = await window.until("Which colour?")
        await chat.tap(asked, "green", key="one")
        await chat.tap(asked, "green", key="one")
        await window.until("noted")
        await idle(chat)
        await chat.tap(asked, "green", key="one")
        taps = await chat.page.bot.rows("SELECT 1 FROM jobs WHERE body LIKE '%\"label\":%'")
        said = await answered(chat)

    assert len(taps) == 1
    assert [text.splitlines()[0] for _, text in said] == ["paint it", "Which colour?", "noted"]


@pytest.mark.parametrize("owner", [[], [42]])
@pytest.mark.parametrize(("answer", "files"), [("Allow once", ["a.txt"]), ("No", [])])
async def test_the_owner_is_asked_on_the_page_for_what_it_asks(
    world: World, owner: list[int], answer: str, files: list[str]
) -> None:
    """Also when they could be asked in Telegram: they sit here."""
    folder = scribe(world)
    world.config["telegram"] = {"enabled": False, "allowed_user_ids": owner}
    world.model.call("write_file", {"path": str(folder / "a.txt"), "content": "hello"})
    world.model.say("so be it")
    async with chatting(world, "scribe") as chat, chat.window() as window:
        await chat.say("write it down")
        await chat.tap(await window.until("Is that all right?"), answer)
        await window.until("so be it")
        (audited,) = await chat.page.bot.rows("SELECT DISTINCT origin FROM audit")

    assert [file.name for file in folder.iterdir()] == files
    assert audited == {"origin": "web"}


async def test_a_button_that_is_not_there_is_refused(world: World) -> None:
    async with chatting(world) as chat:
        number = await chat.say("hi")
        await answered(chat)
        body = {"message": number, "data": "approval_x:allow", "key": "k"}
        told = await chat.page.send("POST", f"{chat.path}/taps", body)

    assert told == (409, {"error": "That button is not there any more."})


async def test_stop_ends_what_is_at_work_and_retry_answers_again(world: World) -> None:
    world.model.reply(Says("one two three " * 20, chunks=20, stall_after=10))
    async with chatting(world) as chat, chat.window() as window:
        await chat.say("hi")
        await window.until("one two three")
        await chat.say("/stop")
        await window.until("Stopped.")
        world.model.release.set()
        await idle(chat)
        world.model.say("again")
        await chat.say("/retry")
        await window.until("again")
        await idle(chat)
        reread = await chat.texts()

    assert reread == window.texts
    assert "…" in window.texts[1][1]


@pytest.mark.parametrize("tracks", [["A_OPUS"], ["A_OPUS", "V_VP8"]])
async def test_a_webm_without_pictures_is_a_recording_that_is_listened_to(
    world: World, tracks: list[str]
) -> None:
    """Browsers record so; the name says the same of a video."""
    codecs = b"".join(b"\x86" + bytes([0x80 + len(one)]) + one.encode() for one in tracks)
    head = b"\x1aE\xdf\xa3\x9fB\x82\x84webm" + bytes(200) + codecs + bytes(5_000)
    world.model.say("Noted.")
    async with ModelService(profile("groq"), api_key="key") as ears:
        world.config |= {
            "stt": {"backend": "groq"},
            "groq": {"base_url": ears.url, "api_key": "key"},
        }
        ears.say("buy milk tomorrow")
        async with chatting(world) as chat, chat.window() as window:
            ids = (await chat.upload("recorded.webm", head))[1]["file"]
            await chat.say("", files=ids)
            await window.until("Noted.")
            await settled(chat.page.bot)

    listened = len(tracks) == 1
    assert [file.data == head for file in ears.files] == [True] * listened
    assert ("buy milk tomorrow" in prompts(world)[0]) == listened


async def test_files_go_both_ways(world: World) -> None:
    async with chatting(world) as chat, chat.window() as window:
        world.model.say("A picture.")
        picture = (await chat.upload("../../a b.png", PICTURE))[1]["file"]
        number = await chat.say("what is it?", files=picture)
        await window.until("A picture.")
        asked = world.model.requests[0]["messages"][-1]["content"]
        mine = await chat.download(window.messages[number])

        file = world.home.path / "packs" / "notes" / "pack.yml"
        world.model.call("msg", {"type": "document", "url": "https://example.org/a.pdf"})
        world.model.say("That one.")
        await chat.say("send me https://example.org/a.pdf")
        await window.until("That one.")
        await idle(chat)
        linked = [m["files"] for m in window.messages.values() if m["by"] == "bot" and m["files"]]

    assert file.exists()
    assert window.messages[number]["files"] == [
        {"number": 0, "name": "a b.png", "kind": "photo", "url": ""}
    ]
    assert mine == (200, "image/png", PICTURE)
    assert any(part["type"] == "image_url" for part in asked)
    assert linked[0][0]["url"] == "https://example.org/a.pdf"


async def test_of_files_that_are_never_said_only_the_newest_stay(world: World) -> None:
    async with chatting(world) as chat:
        _, first = await chat.upload("said", b"kept")
        number = await chat.say("look", files=first["file"])
        files = [(await chat.upload(f"{n}.txt", b"x"))[1]["file"] for n in range(_UNSAID_MAX + 1)]
        body = {"text": "these", "key": "k", "files": files[0]}
        gone = await chat.page.send("POST", f"{chat.path}/messages", body)
        await chat.say("those", files=f"{files[1]},{files[-1]}")
        await answered(chat)
        message = next(one for one in (await chat.read())["messages"] if one["id"] == number)
        kept = await chat.download(message)

    assert gone == (400, {"error": "A file is not there any more. Add it again."})
    assert kept == (200, "application/octet-stream", b"kept")


async def test_several_files_are_one_message(world: World) -> None:
    async with chatting(world) as chat, chat.window() as window:
        world.model.say("A picture and a text.")
        ids = [(await chat.upload(*one))[1]["file"] for one in (("a.png", PICTURE), ("b", b"b"))]
        number = await chat.say("look", files=",".join(ids))
        await window.until("A picture and a text.")
        had = [await chat.download(window.messages[number], one) for one in (0, 1)]

    assert [kind for _, kind, _ in had] == ["image/png", "application/octet-stream"]
    assert [content for *_, content in had] == [PICTURE, b"b"]


async def test_a_file_of_the_bot_can_be_had_as_it_was_when_it_was_sent(world: World) -> None:
    folder = scribe(world)
    (folder / "report.txt").write_text("all is well")
    world.model.call("msg", {"type": "document", "url": str(folder / "report.txt"), "text": "so"})
    world.model.say("sent")
    async with chatting(world, "scribe") as chat, chat.window() as window:
        await chat.say("give me the report")
        await chat.tap(await window.until("Is that all right?"), "Allow once")
        await window.until("sent")
        shown = await window.until("so")
        (folder / "report.txt").unlink()
        had = await chat.download(shown)
        missing = await chat.download(shown, 1)

    assert had == (200, "text/plain", b"all is well")
    assert missing[0] == 404


@pytest.mark.parametrize(
    ("files", "text", "why"),
    [
        ("", "  ", "There is nothing in it to send."),
        ("", "x" * 100_001, "It is too long: at most 100,000 characters can be sent at once."),
        ("0" * 26, "look", "A file is not there any more. Add it again."),
        ("../../config.json", "look", "A file is not there any more. Add it again."),
        (",".join("0" * 11), "look", "At most 10 files can be sent at once."),
    ],
)
async def test_what_cannot_be_said_is_refused(
    world: World, files: str, text: str, why: str
) -> None:
    async with chatting(world) as chat:
        body = {"text": text, "files": files, "key": "k"}
        told = await chat.page.send("POST", f"{chat.path}/messages", body)
        jobs = await chat.page.bot.rows("SELECT 1 FROM jobs")

    assert told == (400, {"error": why})
    assert jobs == []


ODD = ("", "\ud800", "a\0b", "\u202e<script>", "../..", "~", "%00", "x" * 2_000, "9" * 30, "-1")


async def test_odd_requests_get_a_sentence(world: World) -> None:
    async with chatting(world) as chat:
        number = await chat.say("hi")
        await answered(chat)
        told: list[tuple[int, Any]] = []
        for odd in ODD:
            bodies = (
                ("messages", {"key": odd, "text": odd}),
                ("messages", {"key": f"k{ODD.index(odd)}", "text": odd, "files": odd}),
                ("messages", {"key": 1, "text": [odd]}),
                ("taps", {"message": number, "data": odd, "key": "k"}),
                ("taps", {"message": 10**20, "data": odd, "key": "k"}),
                ("taps", {"message": number, "data": "x", "key": odd}),
                ("taps", [odd]),
            )
            told += [await chat.page.send("POST", f"{chat.path}/{to}", it) for to, it in bodies]
            name = quote(odd, safe="", errors="replace")
            paths = (f"/messages/{name}/files/0", f"/messages/{number}/files/{name}")
            for path in (*paths, f"?before={name}", f"/events?after={name}x"):
                told.append(await chat.page.get(chat.path + path))
            told.append(await chat.page.get(f"/api/chats/{name or '%20'}"))
            told.append(await chat.upload(name[:300], b"x"))

    assert {status for status, _ in told} <= {200, 400, 404, 409}
    assert all("error" in facts for status, facts in told if status != 200)


async def test_a_file_that_is_too_large_is_not_kept(world: World) -> None:
    async with chatting(world) as chat:
        told = await chat.upload("big.bin", bytes(UPLOAD_BYTES + 1))
        left = [file for file in world.home.media.rglob("*") if file.is_file()]

    assert told == (413, {"error": "The file is too large: 20 MB at most."})
    assert left == []


async def test_there_is_no_chat_of_a_pack_that_is_not_there(world: World) -> None:
    async with chatting(world, "nobody") as chat:
        told = await chat.page.get(chat.path)

    assert told == (404, {"error": "There is no pack 'nobody'."})


async def test_several_windows_see_the_same_and_one_that_comes_back_misses_nothing(
    world: World,
) -> None:
    async with chatting(world) as chat:
        async with chat.window() as one, chat.window() as other:
            await chat.say("hi")
            await one.until("hi")
            await other.until("hi")
            await idle(chat)
        await chat.say("more")
        await answered(chat)
        async with chat.window(0, **{"Last-Event-ID": one.last}) as back:
            await back.until("more")
        reread = await chat.texts()

    assert one.texts == other.texts == [HI, ("bot", "hi")]
    assert back.texts == [("person", "more"), ("bot", "more")]
    assert reread == [*one.texts, *back.texts]


async def test_who_missed_too_much_reads_anew(world: World) -> None:
    async with chatting(world) as chat:
        for number in range(_PAGE // 2 + 1):
            await chat.say(f"/id {number}")
        said = await answered(chat)
        newest = await chat.read()
        older = await chat.read(before=newest["older"])
        async with chat.window() as window:
            await window.until_told("anew")
        async with chat.window(10**9) as ahead:  # of a home that was put back
            await ahead.until_told("anew")

    assert window.messages == {}
    assert len(said) == _PAGE
    assert len(older["messages"]) == 2
    assert older["older"] == 0
    assert older["messages"][-1]["id"] < newest["messages"][0]["id"]


async def test_a_window_that_never_reads_holds_up_nobody(world: World) -> None:
    def read(body: Body) -> str:
        del body
        return "read"

    world.model.script = read
    async with chatting(world) as chat:
        page = chat.page
        reader, writer = await asyncio.open_connection(page.link.host, page.link.port)
        host, token = page.link.authority, page.token
        asked = f"GET {chat.path}/events HTTP/1.1\r\nHost: {host}\r\nX-Aouo-Token: {token}\r\n\r\n"
        writer.write(asked.encode())
        await reader.readline()
        for number in range(5):
            await chat.say(f"{number} " + "x" * 50_000)
            await answered(chat)
        said = await chat.texts()
        writer.close()

    assert len([one for one in said if one[0] == "person"]) == 5


@pytest.mark.parametrize("name", ["a.html", "a.svg", "a.js", "a.mjs", "a.css", "a.xhtml"])
async def test_no_page_runs_a_file_whoever_brought_it(world: World, name: str) -> None:
    """A script of `'self'` would be one that lies behind any address here."""
    async with chatting(world) as chat:
        _, file = await chat.upload(name, b"<svg onload='alert(1)'>")
        await chat.say("look", files=file["file"])
        (message, *_) = (await chat.read())["messages"]
        status, media_type, content = await chat.download(message)

    assert (status, media_type) == (200, "application/octet-stream")
    assert content == b"<svg onload='alert(1)'>"


async def test_off_the_record_nothing_is_kept_but_that_there_was_something(world: World) -> None:
    world.model.say("a quiet answer")
    async with chatting(world) as chat, chat.window() as window:
        await chat.say("/otr a quiet word")
        await window.until("a quiet answer")
        await idle(chat)
        stored = await chat.page.bot.rows("SELECT state, body FROM web_messages ORDER BY id")
        soon = await chat.texts()
        world.model.say("aloud")
        await chat.say("hi")
        await window.until("aloud")
        await idle(chat)
        later = await chat.texts()

    assert stored == [{"state": "off_record", "body": ""}] * 2
    assert soon == [("person", "/otr a quiet word"), ("bot", "a quiet answer")]
    assert later == [("person", ""), ("bot", ""), HI, ("bot", "aloud")]
    assert b"quiet" not in world.home.database.read_bytes()


async def test_off_the_record_words_that_wait_are_not_lost_to_an_answer_on_it(world: World) -> None:
    world.model.reply(Says("an answer on the record", chunks=2, stall_after=1))
    world.model.say("a quiet answer")
    async with chatting(world) as chat, chat.window() as window:
        await chat.say("hi")
        await window.until_told("action")
        await chat.say("/otr a quiet word")
        await chat.say("/whereami")
        await window.until("Platform: web")
        world.model.release.set()
        await window.until("a quiet answer")
        await idle(chat)
        said = await chat.texts()

    assert [one for one in said if "quiet" in one[1]] == [
        ("person", "/otr a quiet word"),
        ("bot", "a quiet answer"),
    ]


async def test_off_the_record_it_is_not_told_which_tools_were_called(world: World) -> None:
    world.model.call("memory", {"target": "user", "action": "read"})
    world.model.say("a quiet answer")
    async with chatting(world) as chat, chat.window() as window:
        await chat.say("/otr a quiet word")
        await window.until("a quiet answer")
        await idle(chat)
        _, usage = await chat.page.get("/api/usage?days=1")
        _, audit = await chat.page.get("/api/audit")
        _, by_pack = await chat.page.get("/api/audit?pack=notes")
        _, by_origin = await chat.page.get("/api/audit?origin=web")
        _, by_text = await chat.page.get("/api/audit?text=note")

    assert [one["scope"] for one in usage["by_scope"]] == ["llm", "tool:unknown"]
    assert {(row["pack"], row["origin"], row["tool"]) for row in audit["rows"]} == {("", "", "")}
    assert by_pack["rows"] == by_origin["rows"] == by_text["rows"] == []


async def test_what_is_forgotten_leaves_the_page_too(world: World) -> None:
    world.config = {**world.config, "retention": {"messages_days": 1}}
    async with chatting(world) as chat:
        await chat.say("hi")
        await answered(chat)
        await chat.page.bot.app.shared.database.transact(
            lambda tx: tx.run(
                "UPDATE web_messages SET created_at = '2020-01-01T00:00:00.000+00:00'"
            )
        )
        await chat.page.bot.app.tidying.prune()
        gone = await chat.texts()
        await chat.say("hi")
        said = await answered(chat)
        async with chat.window() as window:
            await window.until("hi")

    assert gone == []
    assert said == [HI, ("bot", "hi")]


async def test_without_telegram_the_owner_is_told_on_the_page(world: World) -> None:
    async with chatting(world, "~") as chat, chat.window() as window:
        await settled(chat.page.bot)
        world.home.config.write_text('{"provder": {}}')
        told = await window.until("config.json has a problem")

    assert "provder: unknown key" in told["text"]


async def test_commands_are_listed_with_the_pack_s_skills(world: World) -> None:
    world.install("vocab")
    async with chatting(world) as chat:
        _, facts = await chat.page.get(f"{chat.path}/commands")
        _, every = await chat.page.get("/api/chats/~/commands")

    own, all_of_them = ({one["name"] for one in it["commands"]} for it in (facts, every))
    assert {"stop", "retry", "help"} < own < all_of_them
    assert all(one["about"] for one in facts["commands"])


async def test_what_means_nothing_without_telegram_is_offered_in_telegram_only(
    world: World,
) -> None:
    async with chatting(world) as chat:
        _, facts = await chat.page.get(f"{chat.path}/commands")
        await chat.say("/help")
        await chat.say("/status")
        said = [text for by, text in await answered(chat) if by == "bot"]

    listed = {one["name"] for one in facts["commands"]}
    assert listed.isdisjoint({"setup_topics", "id"})
    assert "/stop" in said[0]
    assert "/setup_topics" not in said[0]
    assert [text for text in said if "Telegram" in text] == []


async def test_an_alert_is_told_where_the_button_was_tapped(world: World) -> None:
    world.model.call("clarify", {"message": "Which colour?", "options": ["red", "green"]})
    world.model.say("noted")
    async with chatting(world) as chat, chat.window() as window:
        await chat.say("paint it")
        asked = await window.until("Which colour?")
        app = chat.page.bot.app
        await app.web_chat.messenger.answer_tap("notes X", "That is over.", alert=True)
        told = await window.until_told("notice")
        await chat.tap(asked, "red")
        await window.until("noted")

    assert told == {"text": "That is over."}


async def test_what_a_purged_pack_s_chat_held_is_gone_at_once_and_only_that(world: World) -> None:
    async with chatting(world) as chat, chat.window() as window:
        general = WebChat(chat.page, "~")
        for one in (general, chat):
            _, file = await one.upload("a.txt", b"what the fox hid")
            await one.upload("unsaid.txt", b"what the fox hid")
            await one.say("look", files=file["file"])
            await answered(one)
        bot, known = chat.page.bot, int(window.last)
        await bot.app.packs.remove("notes", "owner", purge=True)
        said = await bot.rows("SELECT DISTINCT chat_id FROM web_messages WHERE body <> ''")
        files = await bot.rows("SELECT substr(path, 1, 6) AS folder FROM media")
        folders = [one.name for one in world.home.media.iterdir()]
        world.install("notes")
        await bot.app.packs.refresh()
        number = await chat.say("hi again")
        again = await answered(chat)
        (change,) = await bot.rows(f"SELECT change FROM web_messages WHERE id = {number}")

    assert said == [{"chat_id": "~"}]
    assert files == [{"folder": "web__/"}]
    assert folders == ["web__"]
    assert again == [("person", "hi again"), ("bot", "hi again")]
    assert change["change"] > known


async def test_while_no_bot_runs_what_was_said_can_be_read_and_nothing_said(world: World) -> None:
    async with chatting(world) as chat:
        await chat.say("hi")
        await answered(chat)
    async with resting(world) as page:
        chat = WebChat(page, "notes")
        read, texts = await chat.read(), await chat.texts()
        refused = [
            await page.send("POST", f"{chat.path}/messages", {"text": "hi", "key": "k"}),
            await page.get(f"{chat.path}/events"),
            await chat.upload("a", b"a"),
        ]

    assert texts == [HI, ("bot", "hi")]
    assert read["running"] is False
    assert [status for status, _ in refused] == [409] * 3


class Life:
    """A bot in a process of its own, with its page; to be killed."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def __aenter__(self) -> Dashboard:
        self._world.config = {**self._world.config, "dashboard": {"port": 0}}
        self._world.configure()
        environ = {key: value for key, value in os.environ.items() if not key.startswith("AOUO_")}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "aouo",
            "--home",
            str(self._world.home.path),
            "start",
            cwd=ROOT,
            env=environ,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        self._client = ClientSession(cookie_jar=CookieJar(unsafe=True))
        link = await eventually(self._link)
        return Dashboard(None, URL(link), self._client)  # pyright: ignore[reportArgumentType]

    async def _link(self) -> str:
        from aouo.plumbing.client import NotRunning, answers

        try:
            async for told in answers(self._world.home, "status"):
                state: Any = told.get("dashboard", "")
                return state if str(state).startswith("http") else ""
        except NotRunning:
            pass
        return ""

    async def __aexit__(self, *what: object) -> None:
        self._process.send_signal(signal.SIGKILL)
        await self._process.wait()
        await self._client.close()


async def test_a_process_that_is_killed_loses_neither_question_nor_answer(world: World) -> None:
    def model(body: Body) -> Says:
        if body["messages"][-1]["role"] == "tool":
            return Says("noted")
        return Says(calls=(CallPart("clarify", {"message": "Which colour?", "options": ["red"]}),))

    world.model.script = model
    async with Life(world) as page:
        chat = WebChat(page, "notes")
        async with chat.window() as window:
            await chat.say("paint it")
            asked = await window.until("Which colour?")
    async with Life(world) as page:
        chat = WebChat(page, "notes")
        before = await chat.texts()
        async with chat.window(window.last) as window:
            await chat.tap(asked, "red")
            await window.until("noted")
            await idle(chat)
    async with Life(world) as page:
        after = await WebChat(page, "notes").texts()

    shown = [(by, text) for by, text in before if not text.startswith(STATUS)]
    assert shown[:2] == [("person", "paint it"), ("bot", "Which colour?")]
    assert after[-1] == ("bot", "noted")
    assert [text for _, text in after].count("noted") == 1
