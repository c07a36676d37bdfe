"""`aouo start` without the bot-wide pace, so that what is measured is the bot and not Telegram's
limit: `… scripts.benchmarks.unpaced start --home HOME`."""

from __future__ import annotations

from aouo.cli.main import aouo
from aouo.outbound import flood_control as limits


def main() -> None:
    limits.BOT_BURST = 1_000_000
    aouo()


if __name__ == "__main__":
    main()
