"""An MCP server that serves what a file tells: `python -m … FILE JOURNAL`.

The file is JSON: `tools`, each with `name`, `schema` and `hints` as the protocol spells them, and
`answers`, each `[tool, arguments, text, failed]`. A call that it does not know is answered "done";
each is appended to the journal.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


def server(told: Any, journal: Path) -> Server[Any]:
    answers = {
        (tool, json.dumps(arguments, sort_keys=True)): (text, failed)
        for tool, arguments, text, failed in told["answers"]
    }
    tools = [
        types.Tool.model_validate(
            {
                "name": one["name"],
                "description": one["name"],
                "inputSchema": one["schema"],
                "annotations": one["hints"],
            }
        )
        for one in told["tools"]
    ]

    async def listed(context: Any, params: Any) -> types.ListToolsResult:
        del context, params
        return types.ListToolsResult(tools=tools)

    async def called(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        del context
        arguments = params.arguments or {}
        with journal.open("a") as file:
            file.write(json.dumps([params.name, arguments]) + "\n")
        key = params.name, json.dumps(arguments, sort_keys=True)
        text, failed = answers.get(key, ("done", False))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], is_error=failed
        )

    return Server("told", on_list_tools=listed, on_call_tool=called)


async def main(made: Server[Any]) -> None:
    async with stdio_server() as (reads, writes):
        await made.run(reads, writes, made.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main(server(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))))
