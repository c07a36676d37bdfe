"""Whatever is sent to the page's port gets a sentence, tells no secret, and harms nobody."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import pytest
from aiohttp import ClientSession

from aouo.dashboard.serving import _CONNECTIONS, _REQUEST_S
from tests.fakes.clock import FastClock
from tests.path.dashboard.looking import Dashboard, dashboard
from tests.path.world import WAIT_S, World

HOST = "Host: 127.0.0.1"
TOKEN = "X-Aouo-Token: TOKEN"
LONG = "x" * 20_000


async def sent(shown: Dashboard, raw: bytes) -> bytes:
    """Send bytes; return all that comes back until they close."""
    reader, writer = await asyncio.open_connection("127.0.0.1", shown.link.port)
    writer.write(raw)
    async with asyncio.timeout(WAIT_S):
        told = b""
        with suppress(ConnectionError):
            told = await reader.read()
    writer.close()
    return told


def request(shown: Dashboard, line: str, *headers: str, body: bytes = b"") -> bytes:
    head = "\r\n".join([f"{line} HTTP/1.1", *headers, "Connection: close", "", ""])
    return head.replace("TOKEN", shown.token).encode("utf-8", "surrogateescape") + body


def read(told: bytes) -> tuple[int, dict[str, str], bytes]:
    head, _, body = told.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(status.split()[1]), headers, body


ODD = [
    (403, "GET /api/status", "Host: 127.0.0.1.", TOKEN),
    (403, "GET /api/status", "Host: me@127.0.0.1", TOKEN),
    (403, "GET /api/status", "Host: 127.0.0.1/x", TOKEN),
    (403, "GET /api/status", "Host: 127.0.0.1:x", TOKEN),
    (403, "GET /api/status", "Host: 2130706433", TOKEN),
    (403, "GET /api/status", "Host:", TOKEN),
    (400, "GET /api/status", TOKEN),
    (200, "GET /api/status", "Host: LOCALHOST:9", TOKEN),
    (200, "GET /api/status", "Host: [::1]:9800", TOKEN),
    (400, "GET /api/status", HOST, "Host: evil.example", TOKEN),
    (400, "GET /api/status", HOST, TOKEN, "X-Aouo-Token: no"),
    (400, "GET /api/status", HOST, TOKEN, "Origin: http://127.0.0.1", "Origin: null"),
    (403, "GET http://evil.example/api/status", HOST, TOKEN),
    (403, "GET http://127.0.0.1/api/status", HOST, TOKEN),
    (403, "OPTIONS *", HOST, TOKEN),
    (403, "CONNECT evil.example:443", HOST, TOKEN),
    (403, "HEAD /", HOST, "Origin: http://evil.example", TOKEN),
    (403, "PROPFIND /", HOST, "Sec-Fetch-Site: same-site", TOKEN),
    (401, "PROPFIND /", HOST),
    (400, "BREW /", HOST),
    (405, "PROPFIND /", HOST, TOKEN),
    (405, "DELETE /api/status", HOST, TOKEN),
    (401, "POST /api/status?token=TOKEN", HOST),
    (303, "GET //evil.example/?token=TOKEN", HOST),
    (303, "GET /\\evil.example/?token=TOKEN", HOST),
    (303, "GET /\\/evil.example/?token=TOKEN", HOST),
    (303, "GET /x%0d%0aSet-Cookie:a=b?token=TOKEN", HOST),
    (404, "GET /page/../site.py", HOST, TOKEN),
    (404, "GET /page/%2e%2e/site.py", HOST, TOKEN),
    (404, "GET /page/..%2fsite.py", HOST, TOKEN),
    (404, "GET /page/%00", HOST, TOKEN),
    (403, "GET /page/", HOST, TOKEN),
    (404, "GET /api/packs/%ff", HOST, TOKEN),
    (404, "GET /api/packs/%00", HOST, TOKEN),
    (404, "GET /api/packs/..%2f..", HOST, TOKEN),
    (404, f"GET /api/packs/{LONG[:9000]}", HOST, TOKEN),
    (400, "GET /api/usage?days=%ff", HOST, TOKEN),
    (400, "GET /api/usage?days=\udcff", HOST, TOKEN),
    (401, "GET /api/usage", HOST, "Cookie: aouo_\udcff=\udcff; ;;=;"),
    (401, "GET /api/usage", HOST, "X-Aouo-Token: \udcff"),
    (401, "GET /api/usage", HOST, "Authorization: Bearer"),
    (400, "GET /api/usage", HOST, f"X-Aouo-Token: {LONG}"),
    (400, f"GET /{LONG}?token=TOKEN", HOST),
    (400, "GET /api/status", HOST, TOKEN, "Transfer-Encoding: chunked", "Content-Length: 3"),
    (400, "GET /?token=TOKEN", HOST, "No colon"),
    (400, "\x16\x03\x01 /?token=TOKEN", HOST),
    (417, "GET /?token=TOKEN", HOST, "Expect: a-surprise"),
]


async def test_an_odd_request_gets_a_sentence(world: World) -> None:
    found = dict[str, int]()
    async with dashboard(world) as shown:
        for _, line, *headers in ODD:
            told = await sent(shown, request(shown, line, *headers))
            status, said, body = read(told)
            found[f"{line} {headers}"] = status
            _is_well_kept(shown.token, said, body)
            if status >= 400 and not line.startswith("HEAD") and status != 417:
                assert json.loads(body)["error"].endswith("."), line

    assert found == {f"{line} {headers}": status for status, line, *headers in ODD}


def _is_well_kept(token: str, headers: dict[str, str], body: bytes) -> None:
    assert (headers["x-frame-options"], headers["referrer-policy"]) == ("deny", "no-referrer")
    assert token not in f"{headers}{body!r}"
    assert headers.get("location", "/x")[:2] not in ("//", "/\\", "ht")


async def test_a_person_without_the_token_reads_what_to_do(world: World) -> None:
    async with dashboard(world) as shown, ClientSession() as stranger:
        as_browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        address = shown.link.with_query({})
        async with stranger.get(address, headers=as_browser) as answer:
            kind, html = answer.content_type, await answer.text()

    assert (answer.status, kind) == (401, "text/html")
    assert "Open the link that `aouo dashboard` prints." in html


async def test_a_head_says_what_a_get_would_but_not_what_is_in_it(world: World) -> None:
    async with dashboard(world) as shown:
        raw = await sent(shown, request(shown, "HEAD /api/usage", HOST, TOKEN))
        status, headers, body = read(raw)

    assert (status, headers["content-type"], body) == (
        200,
        "application/json; charset=utf-8",
        b"",
    )


async def test_a_page_that_is_known_is_not_sent_again(world: World) -> None:
    async with dashboard(world) as shown:
        address, known = shown.link.with_path("/page/main.js"), {"X-Aouo-Token": shown.token}
        async with shown.client.get(address, headers=known) as first:
            tag, kept = first.headers["ETag"], first.headers["Cache-Control"]
        async with shown.client.get(address, headers={**known, "If-None-Match": tag}) as again:
            status = again.status

    assert (kept, status) == ("no-cache", 304)


@pytest.mark.parametrize("begun", ["", "GET / HTTP/1.1\r\nX-"])
async def test_a_request_that_only_takes_its_time_is_cut_off(world: World, begun: str) -> None:
    world.clock = clock = FastClock()
    async with dashboard(world) as shown:
        await shown.get("/healthz")
        reader, writer = await asyncio.open_connection("127.0.0.1", shown.link.port)
        writer.write(begun.encode())
        await writer.drain()
        await shown.get("/healthz")
        clock.jump(_REQUEST_S + 1)
        async with ClientSession() as other:  # a new connection
            (await other.get(shown.link.with_path("/healthz"))).close()
        async with asyncio.timeout(WAIT_S):
            with suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()


async def test_of_more_connections_than_anybody_needs_the_oldest_goes(world: World) -> None:
    """Whoever holds them all without asking anything keeps nobody out."""
    async with dashboard(world) as shown:
        port = shown.link.port
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(_CONNECTIONS + 1)]
        async with asyncio.timeout(WAIT_S):
            with suppress(ConnectionError):
                assert await held[0][0].read() == b""
        answer = await shown.bot.ask("hello")
        status, _ = await shown.get("/healthz")
        for _, writer in held:
            writer.close()

    assert (bool(answer.text), status) == (True, 200)
