"""What was growing when a process was killed, and what stood below it by then."""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from aouo.emulator import ADA
from tests.fakes.model_server import Body, CallPart, Says
from tests.path.killing import RESUMED, STATUS
from tests.path.lives import Place, place

FIRST = "Let me see what there is about it."
QUESTION = "Which colour?"
ASKS = CallPart("clarify", {"message": QUESTION, "options": ["Red", "Blue"]})
SHOWS = CallPart("msg", {"type": "text", "text": "Look at this."})


class Model:
    """It says something, calls a tool and answers; it falls silent before both ends."""

    def __init__(self, call: CallPart, before: str) -> None:
        self.call = call
        self.before = before
        self.answered = 0

    def __call__(self, body: Body) -> Says | str:
        if not body.get("tools"):
            return "ok"
        if body["messages"][-1]["role"] != "tool":
            return Says(self.before, (self.call,), chunks=2, stall_after=1)
        self.answered += 1
        return Says("Here you are.", stall_after=0 if self.answered == 1 else None)


@asynccontextmanager
async def killed_life(here: Place) -> AsyncGenerator[None]:
    """One life up to its kill, behind the block."""
    async with here.alive() as life:
        yield
        life.stop(signal.SIGKILL)
    here.model.release.clear()
    here.model.stalled.clear()


async def told(here: Place) -> list[str]:
    """What the bot shows to Ada, in order, but that it was restarted."""
    return [one.text for one in await here.said() if one.text != RESUMED]


@pytest.mark.parametrize(
    ("call", "below"), [(SHOWS, "Look at this."), (ASKS, f"{QUESTION}\n→ Red")]
)
async def test_the_answer_of_a_turn_taken_up_stands_below_what_the_turn_said_before(
    call: CallPart, below: str, tmp_path: Path, runner_port: int
) -> None:
    """The first words were growing above it; they go, as where nobody kills."""
    model = Model(call, FIRST)
    async with place(tmp_path, ("notes",), model, runner_port=runner_port) as here:
        await here.emulator.client.say(ADA, ADA, "paint it")
        async with killed_life(here):
            await here.until_said(FIRST[:10])
            await here.until_stalled()
            here.model.stalled.clear()
            here.model.release.set()
            here.model.release.clear()
            if call is ASKS:
                question = await here.until_said(QUESTION)
                await here.tap(question, question.buttons[0].data)
            await here.until_stalled()
            assert (await told(here))[0].startswith(FIRST[:10])
        async with here.alive():
            await here.settle(["Here you are."])
            await here.end()
        shown = await told(here)

    assert shown == [below, "Here you are."]


async def test_a_status_line_of_a_killed_process_goes_when_the_next_one_asks(
    tmp_path: Path, runner_port: int
) -> None:
    model = Model(ASKS, "")
    async with place(tmp_path, ("notes",), model, runner_port=runner_port) as here:
        await here.emulator.client.say(ADA, ADA, "paint it")
        async with killed_life(here):
            await here.until_said(STATUS[0])

            async def is_live() -> bool:
                return bool(here.rows("SELECT 1 FROM deliveries WHERE state = 'live'"))

            await here.until(is_live)
        here.model.release.set()
        async with here.alive():

            async def asks_alone() -> bool:
                return await told(here) == [QUESTION]

            await here.until(asks_alone)
            await here.end()


async def test_a_live_message_that_was_cut_while_it_was_created_does_not_stay_behind(
    tmp_path: Path, runner_port: int
) -> None:
    """Its id died with the process: what the person reads in the end is the answer alone."""

    def model(body: Body) -> Says:
        del body
        return Says("word " * 40, chunks=4, stall_after=1)

    async with place(tmp_path, ("notes",), model, runner_port=runner_port) as here:
        await here.emulator.client.say(ADA, ADA, "what of plums?")
        async with here.alive(kill_at=1, among="after sendMessage") as life:
            await life.gone.wait()
        assert len(await here.said()) == 1
        async with here.alive() as life:
            await here.until_stalled()
            here.model.release.set()
            await here.settle(["word " * 39 + "word"])
            texts = await told(here)
            life.stop()

    assert texts == ["word " * 39 + "word"]
