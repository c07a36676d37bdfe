"""Behind a webhook nothing is lost or doubled either, wherever the process is killed.

Telegram brings an update again until it has read a 200. The rest of the matrix is in
`test_kill_matrix`.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path

from tests.path.lanes.test_kill_matrix import (
    SCENARIOS,
    Run,
    _live_through,
    _problems,
    killed_at,
)
from tests.path.lives import Place, place

KILLED_AT = range(2, 32, 3)
PLAIN = SCENARIOS["a plain answer"]


def _behind_a_webhook(here: Place) -> None:
    """A free port, and the owner's proxy that leads there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        listen = "{}:{}".format(*taken.getsockname())
    here.emulator.webhook.tls_ends_at = f"http://{listen}"
    here.emulator.webhook.first_wait_s = 0.01
    config = json.loads(here.home.config.read_text())
    hook = {"url": "https://bot.example/", "listen": listen, "secret_token": "a-secret"}
    config["telegram"] |= {"transport": "webhook", "webhook": hook}
    here.home.config.write_text(json.dumps(config))


async def _killed(folder: Path, kill_at: int, port: int) -> Run:
    async with place(folder, PLAIN.packs, PLAIN.model, runner_port=port) as here:
        _behind_a_webhook(here)
        try:
            await _live_through(PLAIN, here, (kill_at,))
            problems = await _problems(PLAIN, here)
        except* (TimeoutError, AssertionError) as errors:
            problems = [f"{errors.exceptions!r}", here.stderr[-2000:]]
        if here.emulator.world.webhook:
            problems.append("the webhook is still set")
        return Run((kill_at,), tuple(here.kills), tuple(problems))


async def test_a_process_killed_behind_a_webhook_answers_once(
    tmp_path: Path, runner_port: int
) -> None:
    async def killed(number: int) -> Run:
        return await _killed(tmp_path / str(number), number, runner_port)

    await killed_at(KILLED_AT, killed)
