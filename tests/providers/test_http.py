"""The SDKs' clients over our session: what is asked again when a kept connection is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import httpx2
import pytest

from aouo.plumbing.web.session import session_through
from aouo.providers.http import shared_client


class Forgetful:
    """Answers the first request of each connection; at the second it hangs up without a word."""

    def __init__(self) -> None:
        self.requests = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answers in (True, False):
            await reader.readuntil(b"\r\n\r\n")
            self.requests += 1
            if answers:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()


@pytest.fixture
async def server() -> AsyncGenerator[Forgetful]:
    made = Forgetful()
    listening = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    yield made
    listening.close()


async def test_a_question_to_a_model_is_asked_again_on_a_fresh_connection(
    server: Forgetful,
) -> None:
    """Asking has no effect but its price."""
    async with session_through() as session, shared_client(session) as client:
        await client.post(server.url)
        assert (await client.post(server.url)).text == "ok"

    assert server.requests == 3


async def test_a_call_of_a_tool_is_never_made_again_by_itself(server: Forgetful) -> None:
    """It may have been read, and have had its effect."""
    async with session_through() as session, shared_client(session, again=False) as client:
        await client.post(server.url)
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post(server.url)

    assert server.requests == 2
