"""Whatever comes in or goes wrong: a clear sentence to the right reader, nothing lost, no crash."""

from __future__ import annotations

import json

import pytest
from structlog.testing import capture_logs

from aouo.app.status import _terminal_inbound
from aouo.emulator import HOUSEHOLD
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, Raw, Says, words_of
from tests.path.looking import answers, eventually, prompts, said, settled
from tests.path.world import ADA, BEN, World

NUDGE = "[You gave no answer. Say what you found or did, or what you need from the person.]"


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.install("notes")
    world.clock = clock = FastClock()
    return clock


# What people send


async def test_a_message_of_a_hundred_kilobytes_is_read_whole(
    world: World, clock: FastClock
) -> None:
    """Telegram's client splits it; the burst joins it."""
    world.config = {"telegram": {"message_batch_ms": 60_000}}
    world.model.say("a lot")
    text = "".join(f"line {number:06} " for number in range(8_000))[:100_000]
    parts = [text[at : at + 4_096] for at in range(0, len(text), 4_096)]
    parts = [part.strip() for part in parts]
    async with world.running() as bot:
        for part in parts[:-1]:
            await bot.people.say(ADA, ADA, part)
        await bot.people.say(ADA, ADA, parts[-1])
        await eventually(
            lambda: bot.rows(
                "SELECT 1 FROM (SELECT count(*) AS n FROM updates) WHERE n = ?", len(parts)
            )
        )
        clock.jump(60)
        await said(world, "a lot")

    assert prompts(world) == ["\n".join(parts)]


async def test_an_empty_message_is_said_to_be_empty(world: World) -> None:
    """Telegram refuses to send one; a terminal does not."""
    async with world.running() as bot:
        events, leave = bot.app.terminal.watch("local")
        await bot.app.inbox.submit(_terminal_inbound("local", "   "))
        heard = await events.get()
        leave()

    assert heard["text"] == "That message was empty. Write me what you need."


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"story": {"chat": {"id": ADA, "type": "private"}, "id": 1}}, "stories"),
        ({"game": {"title": "Chess", "description": "Play", "photo": []}}, "games"),
    ],
)
async def test_what_cannot_be_taken_in_is_said_and_never_reaches_the_model(
    world: World, fields: dict[str, object], what: str
) -> None:
    async with world.running() as bot:
        sent = await bot.people.send_other(ADA, ADA, dict(fields))
        told = await bot.people.next_message(ADA, after=sent.id)

    assert told.text == f"I cannot take in {what} yet. Please write it as text."
    assert world.model.requests == []


async def test_updates_of_other_kinds_are_logged_and_change_nothing(world: World) -> None:
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "hello")
        await said(world, "hello")
        with capture_logs() as logs:
            assert bot.app.shared.telegram
            unknown = [{"update_id": 10**6 + n, "some_day": {"id": n}} for n in range(2)]
            await bot.app.shared.telegram._store(unknown, 0)
            await bot.ask("next")

    ignored = [line["kind"] for line in logs if line["event"] == "update_ignored"]
    assert ignored == ["some_day", "some_day"]
    assert prompts(world) == ["hello", "next"]


@pytest.mark.parametrize(
    ("fields", "heard"),
    [
        ({"date": 10**18}, []),
        ({"message_id": 10**30}, []),
        ({"text": "half \ud800 a sign"}, ["half ? a sign"]),
    ],
)
async def test_a_message_with_odd_values_does_not_end_the_process(
    world: World, fields: dict[str, object], heard: list[str]
) -> None:
    """It would come again at each start, and nobody would be answered any more."""
    async with world.running() as bot:
        await bot.ask("hello")
        assert bot.app.shared.telegram
        await bot.app.shared.telegram._store([_raw(**fields)], 0)
        await bot.ask("next")

    assert prompts(world) == ["hello", *heard, "next"]


async def test_a_kind_that_is_not_known_yet_does_not_hide_the_message(world: World) -> None:
    async with world.running() as bot:
        await bot.ask("hello")
        assert bot.app.shared.telegram
        await bot.app.shared.telegram._store([{"some_day": {}, **_raw(text="found")}], 0)
        await said(world, "found")


@pytest.mark.parametrize("asked", ["/use ", "/use notes:"])
async def test_a_name_as_long_as_a_message_is_answered(world: World, asked: str) -> None:
    """The sentence that quotes it would be longer than Telegram takes."""
    async with world.running() as bot:
        sent = await bot.people.say(ADA, ADA, asked.ljust(4_096, "x"))
        told = await bot.people.next_message(ADA, after=sent.id)

    assert len(told.text) == 4_096


@pytest.mark.parametrize(
    "fields",
    [
        {"some_day": {"a": 1}},
        {"poll": {"id": "1", "question": "What?", "options": []}},
        {"text": "when?", "date": 10**18},
    ],
)
async def test_a_kind_of_message_that_is_newer_than_we_are_is_answered(
    world: World, fields: dict[str, object]
) -> None:
    """Silence would look like a bot that is down; nothing of it reaches the model."""
    async with world.running() as bot:
        await bot.ask("hello")
        assert bot.app.shared.telegram
        raw = _raw(**fields)
        message = raw["message"]
        assert isinstance(message, dict)
        if "text" not in fields:
            del message["text"]
        await bot.app.shared.telegram._store([raw], 0)
        await said(world, "I cannot take in messages of this kind yet. Please write it as text.")

    assert prompts(world) == ["hello"]


async def test_a_link_behind_words_reaches_the_model(world: World) -> None:
    link = {"type": "text_link", "offset": 8, "length": 4, "url": "https://example.org/a"}
    async with world.running() as bot:
        await bot.ask("hello")
        assert bot.app.shared.telegram
        read = _raw(text="Read 😀 this", entities=[link])
        await bot.app.shared.telegram._store([read], 0)
        await bot.ask("next")

    assert prompts(world)[1] == '[behind "this" is the link https://example.org/a]\nRead 😀 this'


def _raw(**fields: object) -> dict[str, object]:
    """An update with a message of Ada's, field by field."""
    message = {
        "message_id": 9_000,
        "date": 1_700_000_000,
        "chat": {"id": ADA, "type": "private"},
        "from": {"id": ADA, "is_bot": False, "first_name": "Ada"},
        "text": "odd",
        **fields,
    }
    return {"update_id": 10**6, "message": message}


# What the model does


async def test_a_silent_model_is_asked_once_more(world: World) -> None:
    world.model.say("")
    world.model.say("Here I am.")
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert (answer.text, prompts(world)) == ("Here I am.", ["hello", f"hello\n\n{NUDGE}"])


async def test_a_model_that_stays_silent_is_said_to_be(world: World) -> None:
    world.model.say("")
    world.model.say("   ")
    async with world.running() as bot:
        answer = await bot.ask("hello")
        after = await bot.ask("are you there?")

    assert answer.text == "The model gave no answer, twice. Ask in other words; /new starts afresh."
    assert after.text == "are you there?"
    told = [words_of(m) for m in world.model.requests[-1]["messages"]]
    assert "[This turn failed (EmptyAnswer).]" in told


@pytest.mark.parametrize("text", ["```\n```", "#", "\u200b"])
async def test_an_answer_that_shows_nothing_is_not_silence(world: World, text: str) -> None:
    world.model.say(text)
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert answer.text.startswith("The model")


NONSENSE = [
    (CallPart("frobnicate", {}), "There is no tool 'frobnicate' here. Tools: msg, "),
    (CallPart("persist", '{"action": "sa'), "The arguments are not complete JSON"),
    (CallPart("persist", '{"data": {"n": NaN}}'), "The arguments hold NaN or infinity"),
    (CallPart("persist", '{"data": {"n": 1e999}}'), "The arguments hold NaN or infinity"),
    (CallPart("persist", "[1, 2]"), "The arguments have to be one JSON object."),
    (CallPart("persist", {"action": "explode"}), "Wrong arguments for persist: action:"),
    (
        CallPart("persist", {"acton": "save"}),
        "persist has no argument 'acton'; did you mean \"action\"? Columns of entries: ",
    ),
    (CallPart("skill_view", {"name": "../../etc/passwd"}), ""),
    (CallPart("skill_view", {"name": "review", "file": "../../pack.yml"}), ""),
    (CallPart("msg", {"type": "text"}), "msg of type text needs a text."),
    (CallPart("msg", {"type": "photo"}), "msg of type photo needs a url."),
    (
        CallPart("msg", {"type": "keyboard", "text": "x", "buttons": "[" * 100_000}),
        "nested too deep",
    ),
    (
        CallPart("msg", {"type": "keyboard", "text": "x", "buttons": [["Yes|" + "d" * 1_001]]}),
        'write "Label|data" with data of 1 to 1,000 characters',
    ),
    (CallPart("memory", {"target": "memory", "action": "append"}), "needs content"),
    (
        CallPart("persist", {"action": "query", "sql": "DROP TABLE entries"}),
        "",
    ),
]


async def test_a_nonsense_tool_call_is_explained_to_the_model_and_the_turn_goes_on(
    world: World,
) -> None:
    world.model.calls(*(call for call, _ in NONSENSE))
    world.model.say("I see.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await said(world, "I see.")
        stages = await bot.rows("SELECT call_id, stage FROM audit ORDER BY id")
        calls = await bot.rows("SELECT id, state FROM tool_calls")

    results = world.model.requests[1]["messages"][-len(NONSENSE) :]
    for result, (call, told) in zip(results, NONSENSE, strict=True):
        assert told in words_of(result), call
    assert [row["state"] for row in calls] == ["failed"] * len(NONSENSE)
    for row in calls:
        begun, judged, ended = (one["stage"] for one in stages if one["call_id"] == row["id"])
        assert (begun, judged) == ("PROPOSED", "EVALUATED")
        assert ended in ("BLOCKED", "FAILED")


async def test_a_model_that_never_stops_calling_tools_is_stopped_with_a_sentence(
    world: World,
) -> None:
    world.config = {"advanced": {"max_react_loops": 4}}
    world.model.reply(*[Says("", (CallPart("skill_view", {"name": "review"}),))] * 9)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        told = await bot.people.next_message(ADA, contains="I worked through 4 steps")
        await settled(bot)

    assert told.text.startswith("I worked through 4 steps without coming to an answer")
    assert len(world.model.requests) == 4


async def test_a_stream_that_breaks_in_the_middle_is_said(world: World) -> None:
    """Unless asking again helps: test_models_that_fail."""
    world.config = {"provider": {"backend": "fake", "model": "scripted", "max_retries": 0}}
    world.model.cut(2)
    async with world.running() as bot:
        failed = await bot.ask("hello")
        answer = await bot.ask("again")

    assert "The model service" in failed.text
    assert answer.text == "again"


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "The model service refuses our key. The owner finds out more with: aouo doctor"),
        (
            402,
            "The account at the model service has no money left, or its spending limit is reached; "
            "the owner has to see to it.",
        ),
        (429, "The model service is busy or cannot be reached. Try again in a minute."),
        (500, "The model service is busy or cannot be reached. Try again in a minute."),
        (400, "The model service does not accept our request or the model's name. "),
        (413, "This is too long for the model. /new starts a fresh session, or send less."),
    ],
)
async def test_what_the_model_service_refuses_is_said_to_the_person(
    world: World, clock: FastClock, status: int, sentence: str
) -> None:
    """However often it is tried before; the secret of the failure stays in the log."""
    body = {"error": {"message": "internal: shard 7 of eu-west is on fire"}}
    for _ in range(8):
        world.model.fail(status, body)
    async with world.running() as bot:
        with capture_logs() as logs:
            await bot.people.say(ADA, ADA, "hello")
            answer = await bot.people.next_message(ADA, contains=sentence)
            await settled(bot)
        turns = await bot.rows("SELECT status FROM turns")

    assert answer.text.startswith(sentence)
    assert "shard" not in answer.text
    assert turns == [{"status": "nack"}]
    assert "provider_error" in [line["event"] for line in logs]


async def test_garbage_from_the_model_service_is_said_too(world: World) -> None:
    for _ in range(8):
        world.model.reply(Raw((b"<html>hello</html>",), content_type="text/html"))
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert "The model" in answer.text


# What Telegram does


async def test_flood_control_makes_only_that_chat_wait(world: World, clock: FastClock) -> None:
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        await bot.people.fault(
            "status", method="sendMessage", chat=ADA, status=429, retry_after=3000
        )
        await bot.people.say(ADA, ADA, "one")
        await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE error <> ''"))
        other = await bot.ask("hello", user=BEN)
        meanwhile = await answers(world)
        clock.jump(3000)
        await said(world, "one")

    assert (other.text, meanwhile) == ("hello", [])


@pytest.mark.parametrize("status", [500, 502])
async def test_a_server_error_on_a_send_is_tried_again(world: World, status: int) -> None:
    """500 is Telegram's own "not done"; behind 502 a proxy speaks, and nobody knows."""
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        await bot.people.fault("status", method="sendMessage", chat=ADA, status=status)
        if status == 500:
            await bot.ask("hello")
        else:
            note = await bot.ask("hello")
            assert note.text.startswith("The connection broke while I was sending")
        await settled(bot)


async def test_a_send_that_may_have_arrived_is_never_repeated_but_offered(world: World) -> None:
    """design §3.5: one line with *Show again*; the button shows the very same message."""
    world.config = {"telegram": {"streaming": "off"}}
    world.model.say("**important**")
    async with world.running() as bot:
        await bot.people.fault("drop_after", method="sendMessage", chat=ADA)
        with capture_logs() as logs:
            await bot.people.say(ADA, ADA, "go")
            note = await bot.people.next_message(ADA, contains="may not have arrived")
        before = await answers(world)
        await bot.people.tap(ADA, ADA, note.id, note.buttons[0].data)
        again = await bot.people.next_message(ADA, after=note.id)

    assert [button.text for button in note.buttons] == ["Show again"]
    assert before == ["important", note.text]
    assert (again.text, [e["type"] for e in again.raw["entities"]]) == ("important", ["bold"])
    assert "delivery_unknown" in [line["event"] for line in logs]


async def test_a_line_of_doubt_names_its_answer_and_stands_before_newer_ones(
    world: World,
) -> None:
    world.config = {"telegram": {"streaming": "off"}}
    words = "a long answer that nobody would want to read twice"
    async with world.running() as bot:
        await bot.ask("first")
        await bot.people.fault("drop_before", method="sendMessage", chat=ADA)
        await bot.people.say(ADA, ADA, words)
        await bot.people.say(ADA, ADA, "newer")
        await said(world, "newer")
        shown = await answers(world)

    assert shown == [
        "first",
        "The connection broke while I was sending: my message “a long answer that nobody would "
        "want to…” may not have arrived.",
        "newer",
    ]


async def test_show_again_is_only_for_the_chat_it_belongs_to(world: World) -> None:
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        await bot.people.fault("drop_before", method="sendMessage", chat=ADA)
        await bot.people.say(ADA, ADA, "my secret")
        note = await bot.people.next_message(ADA, contains="may not have arrived")
        other = await bot.ask("hello", user=BEN)
        await bot.people.tap(BEN, BEN, other.id, note.buttons[0].data)
        told = await bot.people.next_message(BEN, after=other.id)

    assert told.text == "This button is from an earlier time and does nothing any more."


async def test_with_resend_unknown_the_answer_comes_again_by_itself(world: World) -> None:
    world.config = {"telegram": {"resend_unknown": True, "streaming": "off"}}
    async with world.running() as bot:
        await bot.people.fault("drop_before", method="sendMessage", chat=ADA)
        answer = await bot.ask("hello")
        await settled(bot)

    assert (answer.text, await answers(world)) == ("hello", ["hello"])


async def test_an_edit_without_an_answer_is_simply_repeated(world: World) -> None:
    world.model.stall(after_chunks=0, text="here it is")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await bot.people.next_message(ADA, contains="Thinking")
        await bot.people.fault("drop_before", method="editMessageText", chat=ADA)
        world.model.release.set()
        await said(world, "here it is")
        await settled(bot)

    assert await answers(world) == ["here it is"]


async def test_an_answer_for_a_deleted_topic_goes_to_the_chat_around_it(world: World) -> None:
    world.config = {"telegram": {"streaming": "off", "groups": "all"}}
    world.model.stall(after_chunks=0, text="for the topic")
    async with world.running() as bot:
        await bot.people.say(ADA, HOUSEHOLD, "go", thread=2)
        await world.model.stalled.wait()
        await bot.people.topic_deleted(ADA, HOUSEHOLD, 2)
        world.model.release.set()
        await said(world, "for the topic", HOUSEHOLD)
        elsewhere = await bot.ask("still here?", chat=HOUSEHOLD, thread=3)

    assert elsewhere.text == "still here?"


async def test_when_the_message_to_edit_is_gone_the_answer_is_sent_anew(world: World) -> None:
    world.model.stall(after_chunks=0, text="here it is")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        status = await bot.people.next_message(ADA, contains="Thinking")
        await settled_status(world)
        await bot.people.delete(ADA, ADA, status.id)
        world.model.release.set()
        final = await said(world, "here it is")
        await settled(bot)
        rows = await bot.rows("SELECT edits, state FROM deliveries WHERE kind = 'reply'")

    assert final.id != status.id
    assert rows == [{"edits": 0, "state": "sent"}]


async def settled_status(world: World) -> None:
    """The status line is there and nothing is on its way to it."""
    await said(world, "Thinking…")


async def test_a_broken_pack_is_logged_and_named_beside_a_good_one(world: World) -> None:
    broken = world.home.packs / "broken"
    broken.mkdir()
    (broken / "pack.yml").write_text("name: broken\nversion: [1\n")
    with capture_logs() as logs:
        async with world.running() as bot:
            answer = await bot.ask("hello")

    assert answer.text == "hello"
    assert [line["pack"] for line in logs if line["event"] == "pack_broken"] == ["broken"]


async def test_failed_turns_leave_words_and_effects_in_history(world: World) -> None:
    """nack: the person's message and one line that names every call that took effect."""
    world.model.call("persist", {"action": "save", "data": {"text": "milk"}})
    for _ in range(8):
        world.model.fail(401)
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "keep milk")
        await bot.people.next_message(ADA, contains="refuses our key")
        await settled(bot)
        rows = await bot.rows("SELECT role, text FROM messages WHERE visible = 1 ORDER BY id")

    assert [(row["role"], row["text"]) for row in rows] == [
        ("user", "keep milk"),
        (
            "assistant",
            "[This turn failed (ProviderAuth). "
            "These had taken effect before, or may have: persist.]",
        ),
    ]


async def test_a_bug_of_ours_is_said_and_the_next_message_works(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it strikes after the job was settled: one bug never ends the runtime."""
    async with world.running() as bot:
        await bot.ask("hello")
        flow = bot.app.lanes._handle.__self__  # pyright: ignore[reportFunctionMemberAccess]

        def broken(replies: object, active_pack: str) -> None:
            raise ZeroDivisionError(active_pack)

        monkeypatch.setattr(type(flow.replies), "installed", broken)
        first = await bot.ask("one")
        monkeypatch.undo()

        def late(running: object, lane: str, reason: object) -> bool:
            raise ZeroDivisionError(lane)

        monkeypatch.setattr(type(flow.replies.running), "stop", late)
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Nothing is running here.")
        monkeypatch.undo()
        second = await bot.ask("two")

    assert first.text.startswith("Something broke inside me; nothing is lost.")
    assert second.text == "two"


async def test_nothing_a_model_reads_quotes_the_services_words(world: World) -> None:
    world.model.fail(401, {"error": {"message": "bad key sk-live-123"}})
    async with world.running() as bot:
        await bot.ask("hello")
        await bot.ask("again")

    assert "sk-live-123" not in json.dumps(world.model.requests)
