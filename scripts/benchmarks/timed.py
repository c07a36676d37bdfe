"""`aouo start` that also writes each turn's own time in full, the log rounds it:
`… scripts.benchmarks.timed FILE start --home HOME`, a line of milliseconds a turn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from aouo.agent.context import TurnContext
from aouo.cli.main import aouo
from aouo.flow.answering import commit

_tell = commit.tell


def main() -> None:
    with Path(sys.argv.pop(1)).open("a", buffering=1, encoding="utf-8") as file:

        def told(bus: Any, ctx: TurnContext, ended: Any, *, ms: float, **facts: Any) -> None:
            file.write(f"{ms - ctx.provider_ms:.3f}\n")
            _tell(bus, ctx, ended, ms=ms, **facts)

        commit.tell = told
        aouo()


if __name__ == "__main__":
    main()
