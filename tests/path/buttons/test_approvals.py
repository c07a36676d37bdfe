"""What only the owner can allow: asked in their chat, durable, done once.

Source: issue 3 "Tools"; contract, security.* and "In the chat"; reference A5.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from aouo.agent.tools.registry import Arguments, ToolContext, tool
from aouo.emulator import ChatMessage
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Inbound, Person, Text
from aouo.guard.prepared import UNATTENDED
from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, Says, words_of
from tests.path.looking import alone, answers, eventually, said, settled
from tests.path.world import ADA, BEN, Running, World

WAIT_S = 300
NO_ANSWER = "The owner did not answer within 300 s, so this was not done. Go on without it."


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.clock = clock = FastClock()
    world.config = {"security": {"fence_mode": "ask"}}
    scribe(world)
    return clock


@pytest.fixture
def docs(world: World) -> Path:
    """A folder of the owner's that the pack asks for."""
    folder = world.home.path.resolve().parent / "docs"
    folder.mkdir()
    return folder


def scribe(world: World) -> None:
    """A pack that may use the file tools on everything beside the home."""
    pack = world.home.packs / "scribe"
    pack.mkdir()
    outside = world.home.path.parent
    (pack / "pack.yml").write_text(
        "name: scribe\nversion: 0.1.0\ndisplay_name: Scribe\ndescription: Writes files\n"
        f"permissions:\n  tools: [files, msg]\n  files: [{json.dumps(str(outside))}]\n"
    )


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def writes(world: World, file: Path, content: str = "hello", then: str = "noted") -> None:
    world.model.call("write_file", {"path": str(file), "content": content})
    world.model.say(then)


async def card(bot: Running, chat: int = ADA, after: int = 0) -> ChatMessage:
    shown = await bot.people.next_message(chat, contains="Is that all right?", after=after)
    await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE message_id = ?", shown.id))
    return shown


async def asked(bot: Running, *, user: int = ADA, chat: int = 0) -> ChatMessage:
    said = await bot.people.say(user, chat or user, "write it down")
    return await card(bot, chat or user, after=said.id)


def button(shown: ChatMessage, answer: str) -> str:
    return next(b.data for b in shown.buttons if b.data.endswith(f":{answer}"))


def heard(world: World) -> str:
    """What the model read as the call's result."""
    return next(
        words_of(m) for m in reversed(world.model.requests[-1]["messages"]) if m["role"] == "tool"
    )


async def stages(bot: Running) -> list[str]:
    return [row["stage"] for row in await bot.rows("SELECT stage FROM audit ORDER BY id")]


async def gate_states(bot: Running) -> list[tuple[str, str]]:
    return [(r["state"], r["answer"]) for r in await bot.rows("SELECT state, answer FROM gates")]


async def test_the_card_says_which_tool_would_do_what_where(world: World, docs: Path) -> None:
    writes(world, docs / "a\nb.txt", "x" * 1234)
    async with world.running() as bot:
        shown = await asked(bot)
        untouched = names(docs)

    assert shown.text == (
        f"“scribe” wants to write 1,234 bytes to\n{docs}/a?b.txt\n"
        "with write_file. Is that all right?"
    )
    assert [b.text for b in shown.buttons] == ["Allow once", "No", "Always in this folder"]
    assert all(len(b.data.encode()) <= 64 for b in shown.buttons)
    assert untouched == []


async def test_a_status_line_goes_when_the_card_comes(world: World, docs: Path) -> None:
    """A message with no word of an answer is not left above the card, perhaps for hours."""
    call = CallPart("write_file", {"path": str(docs / "a.txt"), "content": "hello"})
    world.model.reply(Says(calls=(call,), stall_after=0))
    world.model.say("noted")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "write it down")
        status = await bot.people.next_message(ADA, contains="Thinking…")
        world.model.release.set()
        shown = await alone(world, "“scribe” wants to write 5 bytes")
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))
        final = await said(world, "noted")
        await settled(bot)

    assert status.id < shown.id < final.id
    assert len(await answers(world)) == 2


async def test_a_yes_lets_the_call_run_once_and_the_card_becomes_its_outcome(
    world: World, docs: Path
) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await asked(bot)
        tapped = await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))
        await said(world, "noted")
        await said(world, f"{shown.text}\n→ allowed once")
        after = next(m for m in await bot.people.messages(ADA) if m.id == shown.id)
        audit = await stages(bot)

    assert (await answers(world), (docs / "a.txt").read_text()) == ([after.text, "noted"], "hello")
    assert (tapped, after.buttons) == ({"text": "", "show_alert": False}, ())
    assert (heard(world), audit) == ("wrote 5 bytes", ["PROPOSED", "EVALUATED", "EXECUTED"])


async def test_a_no_is_a_result_that_the_model_reads(world: World, docs: Path) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await asked(bot)
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "deny"))
        await said(world, "noted")
        await said(world, f"{shown.text}\n→ no")
        audit = await stages(bot)

    assert heard(world).startswith("The owner said no to this call.")
    assert (names(docs), audit) == ([], ["PROPOSED", "EVALUATED", "BLOCKED"])


async def test_an_approval_survives_a_restart_and_the_call_runs_once(
    world: World, docs: Path
) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await asked(bot)
    async with world.running() as bot:
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))
        await said(world, "noted")
        audit, calls = await stages(bot), await bot.rows("SELECT state FROM tool_calls")

    assert ((docs / "a.txt").read_text(), heard(world)) == ("hello", "wrote 5 bytes")
    assert (audit, calls) == (["PROPOSED", "EVALUATED", "EXECUTED"], [{"state": "done"}])
    assert len([text for text in await answers(world) if "Is that all right?" in text]) == 1


async def test_a_tap_that_came_while_the_process_was_down_counts(world: World, docs: Path) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await asked(bot)
    await world.people.act(
        "tap", user=ADA, chat=ADA, message_id=shown.id, data=button(shown, "allow")
    )
    async with world.running():
        await said(world, "noted")

    assert ((docs / "a.txt").read_text(), heard(world)) == ("hello", "wrote 5 bytes")


class Ship(Arguments):
    path: str


def shipping(world: World) -> list[str]:
    """A tool of the pack that must not run twice; returns what it shipped, as it does."""
    shipped: list[str] = []

    async def _run(wish: Ship, context: ToolContext, call_id: str) -> str:
        shipped.append(Path(wish.path).name)
        return "shipped"

    world.tools = [
        tool("scribe__ship", "Ships.", Ship, _run, group="files", idempotent=False, mutates=True)
    ]
    return shipped


@pytest.mark.parametrize("down", [True, False])
async def test_a_call_that_must_not_run_twice_runs_after_a_restart_if_it_had_not_begun(
    world: World, docs: Path, *, down: bool
) -> None:
    """While its approval was open it surely had not, so its outcome is not unknown."""
    shipped = shipping(world)
    world.model.call("scribe__ship", {"path": str(docs / "a.txt")})
    world.model.say("noted")
    async with world.running() as bot:
        shown = await asked(bot)
    tap = {"user": ADA, "chat": ADA, "message_id": shown.id, "data": button(shown, "allow")}
    if down:
        await world.people.act("tap", **tap)
    async with world.running():
        if not down:
            await world.people.act("tap", **tap)
        await said(world, "noted")

    assert (shipped, heard(world)) == (["a.txt"], "shipped")


async def test_a_call_that_must_not_run_twice_does_not_once_it_was_allowed_and_may_have_begun(
    world: World, docs: Path
) -> None:
    shipped = shipping(world)
    world.model.call("scribe__ship", {"path": str(docs / "a.txt")})
    world.model.say("noted")
    async with world.running() as bot:
        await asked(bot)
        await bot.app.shared.database.transact(
            lambda tx: [
                tx.run("UPDATE gates SET state = 'answered', answer = 'allow'"),
                tx.run("UPDATE asked_calls SET used = 1"),
            ]
        )
    async with world.running() as bot:
        await said(world, "noted")
        audit = await stages(bot)

    assert (shipped, heard(world)[:17]) == ([], "[outcome unknown:")
    assert audit == ["PROPOSED", "EVALUATED", "FAILED"]


async def test_words_never_answer_an_approval(world: World, docs: Path) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await asked(bot)
        await bot.people.say(ADA, ADA, "allow")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE state = 'ready'"))
        states = await gate_states(bot)
        made_up = shown.buttons[0].data.replace("approval_", "choice_").replace("allow", "0")
        other = await bot.people.tap(ADA, ADA, shown.id, made_up)
        odd = await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow") + "ed")
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "deny"))
        await said(world, "allow")

    assert (states, names(docs)) == ([("open", "")], [])
    assert (
        other["text"]
        == odd["text"]
        == ("This button is from an earlier time and does nothing any more.")
    )


async def test_after_five_minutes_the_answer_is_no(
    world: World, docs: Path, clock: FastClock
) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await asked(bot)
        clock.jump(WAIT_S - 100)
        still = await gate_states(bot)
        clock.jump(100)
        await said(world, "noted")
        await said(world, f"{shown.text}\n→ nobody answered in time, so no")
        late = await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))

    assert (still, heard(world), names(docs)) == ([("open", "")], NO_ANSWER, [])
    assert late == {"text": "This question is closed.", "show_alert": True}


async def test_time_that_passes_while_the_process_is_down_counts(
    world: World, docs: Path, clock: FastClock
) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        await asked(bot)
    clock.jump(WAIT_S)
    async with world.running():
        await said(world, "noted")

    assert (heard(world), names(docs)) == (NO_ANSWER, [])


async def test_a_tap_after_its_time_does_not_count_although_nobody_has_closed_the_question_yet(
    world: World, docs: Path
) -> None:
    """As after a start: whichever is seen first, the tap or that the time is over."""
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await asked(bot)
        await bot.app.shared.database.transact(
            lambda tx: tx.run("UPDATE gates SET expires_at = '2000-01-01T00:00:00.000Z'")
        )
        late = await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))
        states = await gate_states(bot)

    assert late == {"text": "This question is closed.", "show_alert": True}
    assert (states, names(docs)) == ([("open", "")], [])


async def test_the_turns_clock_and_the_tools_stand_still_while_the_owner_thinks(
    world: World, docs: Path
) -> None:
    """A limit of a second; the owner takes longer, and the call still runs."""
    world.config |= {"advanced": {"turn_timeout_s": 1}}
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await asked(bot)
        begun_s = asyncio.get_running_loop().time()
        await eventually(lambda: _past(bot, begun_s + 1.2))
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))
        await said(world, "noted")

    assert (docs / "a.txt").read_text() == "hello"


async def _past(bot: Running, moment_s: float) -> bool:
    await bot.rows("SELECT 1")
    return asyncio.get_running_loop().time() > moment_s


async def test_a_waiting_turn_gives_its_place_back(
    world: World, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aouo.app.wiring.CONCURRENCY", 1)
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        await asked(bot)
        other = await bot.ask("hello", user=BEN)

    assert other.text == "noted"


async def test_one_card_asks_about_two_calls_and_the_place_is_given_back_once(
    world: World, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aouo.app.wiring.CONCURRENCY", 1)
    for name in ("a", "b"):
        (docs / name).write_text(f"text of {name}")
    world.model.calls(*(CallPart("read_file", {"path": str(docs / name)}) for name in ("a", "b")))
    world.model.say("read")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "read both")
        shown = await card(bot)
        free = bot.app.lanes._free[""]
        while_both_wait = free.left
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))
        await said(world, "read")
        other = await bot.ask("still one at a time?", user=BEN)

    results = [words_of(m) for m in world.model.requests[1]["messages"] if m["role"] == "tool"]
    assert results == ["text of a", "text of b"]
    assert all(f"read_file → {docs}/{name}" in shown.text for name in ("a", "b"))
    assert (other.text, while_both_wait, free.left) == ("still one at a time?", 1, 1)


async def test_stop_closes_an_approval_and_its_call_ends_once(world: World, docs: Path) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await asked(bot)
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "Stopped.")
        await said(world, f"{shown.text}\n→ stopped")
        await settled(bot)
        late = await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))
        states, audit = await gate_states(bot), await stages(bot)
        calls = await bot.rows("SELECT state FROM tool_calls")
        world.model.say("nothing was written")
        await bot.ask("so?")

    assert late["text"] == "This was stopped, so the question is closed."
    assert (states, audit) == ([("closed", "")], ["PROPOSED", "EVALUATED", "FAILED"])
    assert (names(docs), calls) == ([], [{"state": "intent"}])
    assert "may have" not in json.dumps(world.model.requests[-1]["messages"])


async def test_always_covers_the_folder_for_that_tool_of_that_pack_also_after_a_restart(
    world: World, docs: Path
) -> None:
    (docs / "deep").mkdir()
    (docs / "deep" / "b.txt").write_text("old")
    writes(world, docs / "a.txt")
    writes(world, docs / "deep" / "b.txt", "new", then="again")
    world.model.call("read_file", {"path": str(docs / "a.txt")})
    world.model.say("read")
    async with world.running() as bot:
        shown = await asked(bot)
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "always"))
        await said(
            world, f"{shown.text}\n→ allowed, and from now on without asking; /grants takes it back"
        )
        await said(world, "noted")
        grants = await bot.rows("SELECT pack, tool, kind, target, person FROM grants")
    async with world.running() as bot:
        await bot.ask("and that one")
        another = await asked(bot)

    assert grants == [
        {
            "pack": "scribe",
            "tool": "write_file",
            "kind": "folder",
            "target": str(docs),
            "person": str(ADA),
        }
    ]
    assert [(docs / name).read_text() for name in ("a.txt", "deep/b.txt")] == ["hello", "new"]
    assert another.text.startswith(f"“scribe” wants to read\n{docs}/a.txt\nwith read_file.")


async def test_allowed_once_is_allowed_for_one_call_and_the_next_one_asks_again(
    world: World, docs: Path
) -> None:
    writes(world, docs / "a.txt")
    writes(world, docs / "b.txt", then="again")
    async with world.running() as bot:
        shown = await asked(bot)
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))
        await said(world, "noted")
        grants = await bot.rows("SELECT * FROM grants")
        another = await asked(bot)

    assert grants == []
    assert f"{docs}/b.txt" in another.text
    assert names(docs) == ["a.txt"]


async def test_a_link_that_is_turned_while_the_owner_thinks_leads_nowhere(
    world: World, docs: Path
) -> None:
    secret = docs.parent / "secret.txt"
    secret.write_text("mine")
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown = await asked(bot)
        (docs / "a.txt").symlink_to(secret)
        await bot.people.tap(ADA, ADA, shown.id, button(shown, "allow"))
        await said(world, "noted")

    assert "changed after it was checked" in heard(world)
    assert secret.read_text() == "mine"


async def test_a_link_that_is_turned_while_the_process_is_down_is_not_what_was_asked(
    world: World, docs: Path
) -> None:
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        await asked(bot)
    (docs / "a.txt").symlink_to(docs.parent / "secret.txt")
    async with world.running():
        await said(world, "noted")

    assert heard(world) == (
        "This is not what the owner was asked about, so it was not done. Call again."
    )


async def test_the_owner_is_not_asked_more_often_than_so_many_times_an_hour(
    world: World, docs: Path, clock: FastClock
) -> None:
    world.config = {"security": {"fence_mode": "ask", "approvals": {"per_hour": 1}}}
    for name in ("a", "b", "c"):
        writes(world, docs / name, then=f"tried {name}")
    async with world.running() as bot:
        first = await asked(bot)
        await bot.people.tap(ADA, ADA, first.id, button(first, "deny"))
        await said(world, "tried a")
        await bot.ask("once more")
        refused = heard(world)
        clock.jump(3600)
        await asked(bot)

    assert refused.startswith("The owner was asked 1 times within the last hour")


async def test_at_a_terminal_whoever_sits_there_is_the_owner(world: World, docs: Path) -> None:
    here, person = ConversationAddress("cli", "local"), Person("owner", "owner")
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        shown, leave = bot.app.terminal.watch("local")
        await bot.app.inbox.submit(Inbound(here, person, Text("write"), origin="cli"))
        async with asyncio.timeout(30):
            while "Is that all right?" not in (message := await shown.get())["text"]:
                pass
            label, data = message["buttons"][0][0]
            await bot.app.inbox.submit(Inbound(here, person, Button(data, label, ""), origin="cli"))
            while not (await shown.get())["text"].startswith("noted"):
                pass
        leave()

    assert (docs / "a.txt").read_text() == "hello"


async def test_a_turn_that_nobody_watches_never_asks(world: World, docs: Path) -> None:
    """Background origins are refused, instead of a question that nobody sees."""
    here, person = ConversationAddress("cli", "local"), Person("owner", "owner")
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        await bot.app.inbox.submit(Inbound(here, person, Text("write"), origin="api"))
        await settled(bot)
        gates, audit = await gate_states(bot), await stages(bot)

    assert heard(world) == UNATTENDED
    assert (gates, audit, names(docs)) == ([], ["PROPOSED", "EVALUATED", "BLOCKED"], [])


@pytest.mark.parametrize(
    ("security", "result"),
    [
        ({}, "is outside of what the owner has opened (security.allowed_paths)"),
        ({"fence_mode": "allow"}, "wrote 5 bytes"),
        ({"allowed_paths": ["{docs}"]}, "wrote 5 bytes"),
    ],
)
async def test_without_a_question_the_fence_alone_decides(
    world: World, docs: Path, security: dict[str, Any], result: str
) -> None:
    paths = [path.format(docs=docs) for path in security.get("allowed_paths", ())]
    world.config = {"security": security | {"allowed_paths": paths}}
    writes(world, docs / "a.txt")
    async with world.running() as bot:
        await bot.ask("write it down")
        audit = str(await bot.rows("SELECT * FROM audit"))

    assert result in heard(world)
    assert "a.txt" not in audit


async def test_the_runtimes_own_files_stay_closed_whatever_the_owner_opened(
    world: World,
) -> None:
    world.config = {"security": {"fence_mode": "allow", "allowed_paths": ["/"]}}
    world.model.call("read_file", {"path": str(world.home.config)})
    world.model.say("no")
    async with world.running() as bot:
        await bot.ask("what is in your configuration?")
        audit = str(await bot.rows("SELECT * FROM audit"))

    assert "config.json" not in audit
    assert "belongs to the runtime itself and is closed to tools" in heard(world)


async def test_files_in_the_packs_own_folder_are_nobodys_business(world: World) -> None:
    world.model.call("write_file", {"path": "drafts/a.txt", "content": "hello"})
    world.model.call("list_dir", {"path": "drafts"})
    world.model.say("noted")
    async with world.running() as bot:
        await bot.ask("draft something")

    own = world.home.pack_folder("scribe") / "drafts" / "a.txt"
    assert (own.read_text(), heard(world)) == ("hello", "[file] a.txt  5 bytes")


async def test_calls_that_do_not_fit_on_one_card_get_another_and_each_yes_is_for_its_own(
    world: World, docs: Path
) -> None:
    files = [docs / f"{number:02}{'x' * 200}.txt" for number in range(24)]
    world.model.calls(
        *(CallPart("write_file", {"path": str(file), "content": "hello"}) for file in files)
    )
    world.model.say("noted")
    async with world.running() as bot:
        first = await asked(bot)
        await bot.people.tap(ADA, ADA, first.id, button(first, "allow"))
        second = await card(bot, after=first.id)
        await bot.people.tap(ADA, ADA, second.id, button(second, "deny"))
        await said(world, "noted")

    shown = [[file.name for file in files if str(file) in one.text] for one in (first, second)]
    assert len(shown[0]) + len(shown[1]) <= len(files)
    assert not {*shown[0]} & {*shown[1]}
    assert shown[1]
    assert names(docs) == shown[0]
