"""`aouo start` with more tools registered than its own: `… scripts.benchmarks.started HOME TOOLS`.

They are in the group `core`, so that a pack which permits that group shows them to its model.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from pathlib import Path

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.app.lifecycle import Runtime
from aouo.app.serve import collect_garbage, open_app, stop_on_signals
from aouo.config.file import load_settings
from aouo.plumbing.home import Home
from aouo.plumbing.logs import Logs
from aouo.plumbing.redact import Redactor


class Place(Arguments):
    name: str
    """The name of the place as people say it."""
    days: int = 3
    """How many days to look ahead."""


async def _nothing(arguments: Place, context: ToolContext, call_id: str) -> str:
    del context, call_id
    return f"Nothing is known of {arguments.name}."


def _more(number: int) -> Tool:
    about = "What the weather will be like in a place, as station {} sees it."
    return tool(f"weather_{number}", about.format(number), Place, _nothing, read_only=True)


async def _serve(home: Home, tools: int) -> None:
    loaded = load_settings(home.path, {})
    settings = loaded.settings
    more = [_more(number) for number in range(tools)]
    logs = Logs(
        level=settings.log.level,
        form=settings.log.format,
        file=home.log_file,
        redactor=Redactor(settings.secrets()),
    )
    with home.lock(), logs:
        async with open_app(home, settings, more_tools=more) as app:
            runtime = Runtime(app, loaded)
            stop_on_signals(runtime)
            async with asyncio.TaskGroup() as group:
                collecting = group.create_task(collect_garbage(runtime.warm))
                await runtime.run()
                collecting.cancel()


def main() -> None:
    gc.disable()  # as `aouo start` does
    place, tools = sys.argv[1:]
    asyncio.run(_serve(Home(Path(place)), int(tools)))


if __name__ == "__main__":
    main()
