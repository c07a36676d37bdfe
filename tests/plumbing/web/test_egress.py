"""The proxy of tools, spoken to directly: what it refuses, it refuses in words that help.

Source: issue 5 "Pack tools". A sandboxed tool meets it in tests/guard/sandbox/test_network.py.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from aouo.plumbing.web.addresses import Permits
from aouo.plumbing.web.client import system_lookup
from aouo.plumbing.web.egress import _HEAD_BYTES, EgressProxy

WAIT_S = 20


@asynccontextmanager
async def server() -> AsyncGenerator[tuple[int, list[bytes]]]:
    """A server on loopback that says hello to any head, and what it was asked."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        writer.close()

    serving = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with serving:
        yield serving.sockets[0].getsockname()[1], asked


async def answered(request: bytes, *, hosts: Sequence[str], addresses: Sequence[str]) -> str:
    """What the gate answers, to its end; each name has these addresses."""

    async def lookup(name: str, port: int) -> Sequence[str]:
        del name, port
        return addresses

    proxy = EgressProxy(lookup=lookup, admits=lambda _: True)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    async with asyncio.timeout(WAIT_S), proxy.open(listening, Permits("desk", list(hosts))):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        said = await reader.read()
        writer.close()
    return said.decode()


def free_port() -> int:
    """One where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


@pytest.mark.parametrize(
    ("request_head", "status", "why"),
    [
        (b"HELLO\r\n\r\n", 400, "this is no request to a proxy"),
        (b"GET http://a.test:{port}/ HTTP/2\r\n\r\n", 400, "this is no request to a proxy"),
        (b"GET / HTTP/1.1\r\nX: %s\r\n\r\n" % (b"x" * _HEAD_BYTES), 431, "head is too long"),
        (b"GET https://a.test:{port}/ HTTP/1.1\r\n\r\n", 403, "Use CONNECT for https."),
        (
            b"POST http://a.test:{port}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            411,
            "send the body with a Content-Length",
        ),
    ],
)
async def test_what_a_client_may_not_ask_is_refused_with_the_reason_and_goes_nowhere(
    request_head: bytes, status: int, why: str
) -> None:
    async with server() as (port, asked):
        request = request_head.replace(b"{port}", str(port).encode())
        said = await answered(request, hosts=[f"a.test:{port}"], addresses=["127.0.0.1"])

    assert said.startswith(f"HTTP/1.1 {status} Refused\r\n")
    assert why in said
    assert asked == []


@pytest.mark.parametrize("method", ["GET http://a.test:{port}/", "CONNECT a.test:{port}"])
@pytest.mark.parametrize(
    ("addresses", "said"),
    [((), "403 There is no host a.test."), (("127.0.0.1",), "502 a.test could not be reached")],
)
async def test_a_host_that_is_not_there_is_told(
    method: str, addresses: tuple[str, ...], said: str
) -> None:
    port = free_port()
    request = f"{method} HTTP/1.1\r\n\r\n".format(port=port)
    answer = await answered(request.encode(), hosts=[f"a.test:{port}"], addresses=addresses)

    status, words = said[:3], said[4:]
    assert answer.startswith(f"HTTP/1.1 {status} Refused\r\n")
    for word in words.split():
        assert word in answer


async def test_the_next_address_of_a_host_is_tried_where_one_does_not_answer() -> None:
    async with server() as (port, asked):
        request = f"GET http://a.test:{port}/x HTTP/1.1\r\nHost: other\r\n\r\n"
        said = await answered(
            request.encode(), hosts=[f"a.test:{port}"], addresses=["127.0.0.2", "127.0.0.1"]
        )

    assert said.endswith("hello")
    assert [head.split(b"\r\n")[:2] for head in asked] == [
        [b"GET /x HTTP/1.1", f"Host: a.test:{port}".encode()]
    ]


@pytest.mark.parametrize(
    ("host", "found"), [("127.0.0.1", ["127.0.0.1"]), ("a..b", []), ("a." + "b" * 64, [])]
)
async def test_a_name_that_nobody_can_look_up_has_no_addresses(host: str, found: list[str]) -> None:
    assert list(await system_lookup(host, 80)) == found


async def test_nothing_of_a_proxy_is_at_work_once_it_is_closed() -> None:
    """Nor a connection that stands open: its tool has ended."""
    proxy = EgressProxy(lookup=system_lookup, admits=lambda _: True)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    before = asyncio.all_tasks()
    async with asyncio.timeout(WAIT_S), proxy.open(listening, Permits("desk", [])):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET http://a.test/ HTTP/1.1\r\n")
        while asyncio.all_tasks() == before:  # noqa: ASYNC110 - nobody tells of a task
            await asyncio.sleep(0)
    left = asyncio.all_tasks() - before
    writer.close()

    assert left == set()
