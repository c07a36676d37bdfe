"""Off the record, no byte stays in the home: by whatever way it ends. Source: design §3.5, issue 3.

The home is searched while the process lives on, its log and the database's log included.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import structlog

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.emulator import ADA
from aouo.facts.errors import ToolFailed
from aouo.plumbing.logs import Logs
from tests.fakes.model_server import Body, CallPart, Fails, Raw, Reply, Says
from tests.path.killing import START_UP, Run, killed_at
from tests.path.lives import Place, place
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import World
from tests.sampling import places

log = structlog.get_logger()
SECRET = "zanzibar-7731"
ERASED = (
    "I was restarted before I could answer what you said off the record; it is erased. "
    "Please say it again."
)
KILLED_AT = range(1 + START_UP, 60, 4)


def holding(home: Path) -> list[str]:
    """Files with the secret in them."""
    files = (file for file in home.rglob("*") if file.is_file())
    return [str(file.relative_to(home)) for file in files if SECRET.encode() in file.read_bytes()]


async def forgotten(world: World) -> bool:
    async def look() -> bool:
        return not holding(world.home.path)

    return await eventually(look)


def looks_first(body: Body) -> Reply | str:
    """Calls that look, one of them to nowhere and one broken off, then an answer."""
    if body["messages"][-1]["role"] == "tool":
        return Says(f"Well, {SECRET} it is.", chunks=2)
    look = CallPart("memory", {"target": "memory", "action": "read"})
    broken = CallPart("persist", f'{{"table":"{SECRET}')
    return Says(f"About {SECRET}:", calls=(look, CallPart(SECRET, {"x": SECRET}), broken))


async def test_a_process_killed_anywhere_in_a_turn_off_the_record_leaves_nothing_of_it(
    tmp_path: Path, runner_port: int
) -> None:
    async def killed(number: int) -> Run:
        folder = tmp_path / str(number)
        async with place(folder, ("notes",), looks_first, runner_port=runner_port) as here:
            await here.emulator.client.say(ADA, ADA, "/otr")
            await here.emulator.client.say(ADA, ADA, f"tell me about {SECRET}")
            problem = await _lived(here, number)
            if here.kills:
                problem = await _lived(here)
            return Run((number,), tuple(here.kills), (problem,) if problem else ())

    await killed_at(places(KILLED_AT), killed)


async def _lived(here: Place, kill_at: int = 0) -> str:
    """One life, and what is wrong at its end if that is not a kill."""
    async with here.alive(kill_at=kill_at) as life:
        await here.until(lambda: _heard_of(here))
        await here.settle([])
        problem = "" if life.gone.is_set() else await _problem(here)
        await here.end()
    return problem


async def _heard_of(here: Place) -> bool:
    """The person knows what became of it, or the process is gone."""
    ends = ("Well, ", ERASED, "The connection broke while I was sending")
    shown = [message.text for message in await here.said()]
    return here.is_dead or any(text.startswith(ends) for text in shown)


async def _problem(here: Place) -> str:
    """What is left of the secret, or an audit that is not whole; "" = nothing is wrong."""

    async def clean() -> bool:
        return not holding(here.home.path)

    try:
        await here.until(clean)
    except TimeoutError:
        return f"it is still in {holding(here.home.path)}"
    ended = here.rows(
        "SELECT DISTINCT call_id FROM audit WHERE stage IN ('EXECUTED', 'FAILED', 'BLOCKED')"
    )
    begun = here.rows("SELECT DISTINCT call_id FROM audit WHERE stage = 'PROPOSED'")
    return "" if len(ended) == len(begun) else "a call has no end in the audit"


async def test_what_a_stop_drops_is_gone_and_so_is_what_it_stops(world: World) -> None:
    world.install("notes")
    world.model.stall(2, f"Slowly {SECRET} but surely {SECRET}")
    async with world.running() as bot:
        await bot.ask("/otr")
        await world.people.say(ADA, ADA, f"think of {SECRET}")
        await world.model.stalled.wait()
        await world.people.say(ADA, ADA, f"and of {SECRET} again")
        await world.people.say(ADA, ADA, f"/otr and once more {SECRET}")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE body LIKE '%once more%'"))
        await world.people.say(ADA, ADA, "/stop")
        await settled(bot)

        assert await forgotten(world)


async def test_the_files_of_what_a_stop_drops_while_it_waits_for_a_pack_are_gone(
    world: World,
) -> None:
    world.install("notes", "vocab")
    world.model.stall(2, "Slowly but surely")
    async with world.running() as bot:
        await bot.ask("/use notes")
        await bot.ask("/otr")
        file = SECRET.encode()
        await world.people.send_file(ADA, ADA, "document", file, name="a.txt", caption="look")
        await world.model.stalled.wait()
        (world.home.packs / "notes").unlink()
        await bot.app.packs.refresh()
        bot.app.running.give_back([3], waiting=False)
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE state = 'parked'"))
        kept = holding(world.home.path)
        await world.people.say(ADA, ADA, "/stop")
        await settled(bot)

        assert kept
        assert await forgotten(world)


@pytest.mark.parametrize(
    "text",
    [f"/nothing {SECRET}", f"/use {SECRET}", f"/compact {SECRET}", f"/retry {SECRET}"],
)
async def test_what_a_command_was_told_is_gone_once_it_is_answered(world: World, text: str) -> None:
    world.install("notes")
    async with world.running() as bot:
        await bot.ask("/otr")
        await bot.ask(text)
        await settled(bot)

        assert await forgotten(world)


def asks_for_a_file(world: World) -> None:
    """The model wants to read a file that the owner is asked about."""
    file = world.home.path.parent / "docs" / f"{SECRET}.txt"
    file.parent.mkdir()
    file.write_text("nothing")
    pack = world.home.packs / "scribe" / "pack.yml"
    pack.parent.mkdir()
    pack.write_text(
        "name: scribe\nversion: 0.1.0\ndisplay_name: Scribe\n"
        f"permissions: {{tools: [files], files: [{json.dumps(str(file.parent))}]}}\n"
    )
    world.config = {"security": {"fence_mode": "ask"}}
    world.model.call("read_file", {"path": str(file)})


async def test_where_a_file_lies_that_the_owner_was_asked_about_is_gone(world: World) -> None:
    asks_for_a_file(world)
    world.model.say("It says nothing.")
    async with world.running() as bot:
        await bot.ask("/otr")
        card = await bot.ask("what does it say?")
        await world.people.tap(ADA, ADA, card.id, card.buttons[0].data)
        await said(world, "It says nothing.")
        await settled(bot)

        assert SECRET in card.text
        assert any("allowed once" in text for text in await answers(world))
        assert await forgotten(world)


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        ({"kind": "drop_after"}, "unknown"),
        ({"kind": "status", "status": 400, "description": f"Bad Request: no {SECRET}"}, "refused"),
    ],
)
async def test_however_a_question_fails_to_arrive_nothing_is_left(
    world: World, fault: dict[str, Any], state: str
) -> None:
    """Its turn goes on meanwhile, and the line of doubt quotes it."""
    asks_for_a_file(world)
    world.config["telegram"] = {"streaming": "off"}
    with Logs(level="debug", file=world.home.log_file):
        async with world.running() as bot:
            await bot.ask("/otr")
            await world.people.fault(**fault, method="sendMessage")
            await world.people.say(ADA, ADA, "ask me")
            await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE state = ?", state))
            await world.people.say(ADA, ADA, "/stop")
            await settled(bot)

            kept = "SELECT kind, body, error FROM deliveries WHERE id > 1 AND body || error != ''"
            assert await bot.rows(kept) == []
            assert await forgotten(world)


async def test_a_service_that_quotes_what_was_said_is_not_quoted_in_the_log(
    tmp_path: Path, runner_port: int
) -> None:
    def refuses(body: Body) -> Reply | str:
        del body
        return Fails(400, {"error": {"message": f"no good: {SECRET}", "code": "bad"}})

    async with place(tmp_path, ("notes",), refuses, runner_port=runner_port) as here:
        await here.emulator.client.say(ADA, ADA, f"/otr tell me about {SECRET}")
        async with here.alive() as life:
            await here.until(here.said)
            await here.settle([])

            assert await _problem(here) == ""
            assert '"kind":"UnexplainedRefusal"' in here.stderr.replace(" ", "")
            life.stop()
            await life.gone.wait()


class Anything(Arguments):
    """What it is asked for."""


def failing(error: Exception) -> Tool:
    async def run(wish: Anything, context: ToolContext, call_id: str) -> str:
        log.warning("what_somebody_forgot", words=f"here is {SECRET}", deep=[{"a": SECRET}])
        logging.getLogger("a.library").warning("heard %s", SECRET)
        raise error

    return tool("skill_fails", "Fails.", Anything, run, group="memory", read_only=True)


def _told_of(name: str) -> Reply:
    quoted = {"error": {"message": f"no: {SECRET}", "code": SECRET}}
    return {
        "refused": Fails(400, quoted),
        "wrong key": Fails(401, quoted),
        "busy": Fails(503, quoted),
        "cut off": Says(f"Well, {SECRET} it is", chunks=4, cut_after=2),
        "no JSON": Raw((f"data: {SECRET}\n\n".encode(),)),
        "no stream": Raw((SECRET.encode(),), status=500, content_type="text/html"),
    }[name]


@pytest.mark.parametrize(
    "kind", ["refused", "wrong key", "busy", "cut off", "no JSON", "no stream"]
)
async def test_however_a_model_fails_nothing_is_left(world: World, kind: str) -> None:
    world.install("notes")
    world.config = {"provider": {"backend": "fake", "model": "m", "max_retries": 0}}
    world.model.reply(*[_told_of(kind)] * (2 if kind == "refused" else 1))
    with Logs(level="debug", file=world.home.log_file):
        async with world.running() as bot:
            await bot.ask(f"/otr tell me about {SECRET}")
            await settled(bot)

            assert await forgotten(world)


@pytest.mark.parametrize(
    "error", [RuntimeError(SECRET), ToolFailed(f"no {SECRET}"), OSError(2, "gone", SECRET)]
)
async def test_however_a_tool_fails_nothing_is_left(world: World, error: Exception) -> None:
    """What its author, or a library, puts into the log is no exception."""
    world.install("notes")
    world.tools = [failing(error)]
    world.config = {"tools": {"enabled": ["core", "memory"]}}
    world.model.call("skill_fails", {})
    world.model.say(f"No, {SECRET} is not there.")
    with Logs(level="debug", file=world.home.log_file):
        async with world.running() as bot:
            await bot.ask(f"/otr tell me about {SECRET}")
            await settled(bot)

            assert await forgotten(world)
    assert "what_somebody_forgot" in world.home.log_file.read_text()


async def test_a_chat_that_refuses_what_was_said_is_not_quoted(world: World) -> None:
    world.install("notes")
    world.model.say(f"Well, {SECRET} it is.")
    with Logs(level="debug", file=world.home.log_file):
        async with world.running() as bot:
            await world.people.fault(
                "status", method="sendMessage", status=400, description=f"Bad Request: {SECRET}"
            )
            await world.people.say(ADA, ADA, f"/otr tell me about {SECRET}")
            await eventually(lambda: bot.rows("SELECT 1 FROM deliveries WHERE state = 'refused'"))
            await settled(bot)

            assert await forgotten(world)
    assert "delivery_refused" in world.home.log_file.read_text()
