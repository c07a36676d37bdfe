"""A turn over OpenAI's Responses API, whose sealed thoughts have to come back to it."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

from aouo.emulator import ADA
from tests.fakes.model_server import Body, CallPart, Fails, Reply, Says
from tests.path.lives import WAIT_S, Place, place

WIRES = ("/responses", "/chat/completions")
RESPONSES_ONLY = Fails(
    404,
    {
        "error": {
            "message": "This model is only supported in v1/responses and not in "
            "v1/chat/completions.",
            "type": "invalid_request_error",
            "param": "model",
            "code": None,
        }
    },
)
"""Source: github.com/n8n-io/n8n/issues/18352, 14 Aug 2025."""
NOTE = {"action": "save", "data": {"text": "buy milk"}}


def thinking(body: Body) -> Reply | str:
    """Calls a tool after thinking, then waits with its answer."""
    if not body.get("tools"):
        return "A title"
    match body["input"][-1]:
        case {"type": "function_call_output"}:
            return Says("Saved.", thoughts="That was it.", signature="It", stall_after=0)
        case {"content": str(words)} if words.endswith("Sure?"):
            return "Yes."
        case _:
            return Says(
                calls=(CallPart("persist", NOTE, "fc_1"),), thoughts="Milk, then.", signature="Milk"
            )


def of_turns(here: Place) -> list[list[dict[str, Any]]]:
    bodies = [body for body in here.model.requests if body.get("tools") and "input" in body]
    return [body["input"] for body in bodies]


async def test_thoughts_survive_a_kill_in_their_turn_and_go_back_before_their_calls(
    tmp_path: Path, runner_port: int
) -> None:
    """With `store: false` the service has nothing of them but what we send."""
    async with (
        place(tmp_path, ("notes",), thinking, runner_port=runner_port, wires=WIRES) as here,
        asyncio.timeout(2 * WAIT_S),
    ):
        here.model.refused["/chat/completions"] = RESPONSES_ONLY
        async with here.alive() as life:
            await here.emulator.client.say(ADA, ADA, "keep buy milk")
            await here.until_stalled()
            life.stop(signal.SIGKILL)
            await life.gone.wait()
        here.model.release.set()
        async with here.alive() as life:
            await here.until_said("Saved.")
            await here.emulator.client.say(ADA, ADA, "Sure?")
            await here.until_said("Yes.")
            life.stop()
            await life.gone.wait()
        notes = here.rows("SELECT text FROM entries", here.home.pack_database("notes", "tg_1001"))

    _, killed, resumed, later = of_turns(here)
    assert resumed[1:] == killed[1:]  # before them stands the time
    kinds = [(item["type"], item.get("call_id", "")) for item in resumed]
    assert kinds[-3:] == [
        ("reasoning", ""),
        ("function_call", "fc_1"),
        ("function_call_output", "fc_1"),
    ]
    sealed_thoughts = [item["encrypted_content"] for item in later if item["type"] == "reasoning"]
    assert sealed_thoughts == ["Milk", "It"]
    assert [note["text"] for note in notes] == ["buy milk"]
