"""Behind a webhook nothing is lost or doubled either, wherever the process is killed.

Telegram brings an update again until it has read a 200. The rest of the matrix is in
`test_kill_matrix`.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.path.killing import Scenario, killed_anywhere
from tests.path.lives import Place, lasting_port

KILLED_AT = range(2, 32, 3)


class BehindAWebhook(Scenario):
    """The plainest one, but Telegram brings it."""

    def prepare(self, here: Place) -> None:
        """A free port, and the owner's proxy that leads there."""
        listen = f"127.0.0.1:{lasting_port()}"
        here.emulator.webhook.tls_ends_at = f"http://{listen}"
        here.emulator.webhook.first_wait_s = 0.01
        config = json.loads(here.home.config.read_text())
        hook = {"url": "https://bot.example/", "listen": listen, "secret_token": "a-secret"}
        config["telegram"] |= {"transport": "webhook", "webhook": hook}
        here.home.config.write_text(json.dumps(config))

    async def problems(self, here: Place) -> list[str]:
        still = ["the webhook is still set"] if here.emulator.world.webhook else []
        return [*await super().problems(here), *still]


SCENARIO = BehindAWebhook()


async def test_a_process_killed_behind_a_webhook_answers_once(
    tmp_path: Path, runner_port: int
) -> None:
    await killed_anywhere(SCENARIO, KILLED_AT, tmp_path, runner_port)
