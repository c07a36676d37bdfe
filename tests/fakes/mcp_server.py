"""An MCP server that a test can run: `python -m tests.fakes.mcp_server [--port N]`.

Over stdio without a port. With `--journal FILE` it appends its pid and what it was called with,
so that a test sees how often it was started. Its tools: `echo add fail slow crash env picture`,
and `odd name!`, whose name no model service takes.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp_types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)


PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
"""One pixel."""


def server(journal: Path | None) -> MCPServer:
    made = MCPServer("fake")

    def note(**what: Any) -> None:
        if journal:
            with journal.open("a") as file:
                file.write(json.dumps({"pid": os.getpid(), **what}) + "\n")

    note(started=True)

    @made.tool(annotations=READS)
    def echo(text: str) -> str:
        """Say it back."""
        note(echo=text)
        return text

    @made.tool(annotations=READS)
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @made.tool()
    def fail() -> str:
        """Always fails."""
        raise ValueError("no luck")

    @made.tool()
    async def slow() -> str:
        """Never answers."""
        note(slow=True)
        await asyncio.Event().wait()
        return ""

    @made.tool()
    def crash() -> str:
        """Ends the process."""
        note(crash=True)
        print("about to crash", file=sys.stderr, flush=True)  # noqa: T201
        os._exit(3)

    @made.tool()
    def env() -> str:
        """The environment's names."""
        return " ".join(sorted(os.environ))

    @made.tool(structured_output=False)
    def picture() -> list[Any]:
        """A picture."""
        return ["Look:", Image(data=base64.b64decode(PICTURE), format="png")]

    @made.tool(name="odd name!", description="d" * 5000)
    def odd() -> str:
        return "odd"

    return made


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--silent", action="store_true", help="never answer")
    options = parser.parse_args()
    made = server(options.journal)
    if options.silent:
        while sys.stdin.readline():
            pass
        return
    if options.port is None:
        made.run()
    else:
        made.run(transport="streamable-http", host="127.0.0.1", port=options.port)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


if __name__ == "__main__":
    main()
