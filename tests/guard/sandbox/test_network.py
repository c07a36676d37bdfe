"""The network of a tool: the hosts that its pack names, as `fetch` may reach them, and no other.

Source: issue 5 "Pack tools"; contract "Packs": loopback and private ranges never.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from socket import socket

import pytest

from aouo.guard.sandbox.levels import Landlock
from aouo.guard.sandbox.run import NotConfined, _Egress
from aouo.plumbing.web.addresses import Address, Permits, is_public
from aouo.plumbing.web.egress import _IDLE_S, EgressProxy
from tests.guard.sandbox.places import HERE, Place

pytestmark = pytest.mark.skipif(not HERE, reason="nothing on this machine confines a process")
ONLINE = [
    name
    for name, level in HERE.items()
    if not (isinstance(level, Landlock) and not level.namespaces)
]


class Site:
    """A server on loopback that tells what it was asked; names lead to it by `lookup`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.left = asyncio.Event()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            (int(x[16:]) for x in head.splitlines() if x.startswith("Content-Length: ")), 0
        )
        body = await reader.readexactly(length)
        self.asked.append(head)
        if head.startswith("GET /silent "):
            writer.write(b"HTTP/1.1 200 OK\r\n")
            await reader.read()
            self.left.set()
            return writer.close()
        said = b"hello " + body
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(said) + said)
        await writer.drain()
        return writer.close()

    def egress(
        self,
        *hosts: str,
        addresses: Sequence[str] = ("127.0.0.1",),
        admits: Callable[[Address], bool] = lambda _: True,
    ) -> _Egress:
        async def lookup(name: str, port: int) -> Sequence[str]:
            del name, port
            return addresses

        proxy = EgressProxy(lookup=lookup, admits=admits)
        named = [host.format(port=self.port) for host in hosts]

        def egress(listening: socket) -> AbstractAsyncContextManager[None]:
            return proxy.open(listening, Permits("desk", named))

        return egress


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    async with server:
        site.port = server.sockets[0].getsockname()[1]
        yield site


@pytest.fixture(params=ONLINE)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path, HERE[request.param])


ASK = """
import urllib.request, urllib.error
try:
    content = more.get("content", "").encode() or None
    with urllib.request.urlopen(more["url"], content, 10) as answer:
        return answer.read().decode()
except urllib.error.HTTPError as error:
    return f"{error.code} {error.read().decode()}"
except OSError as error:
    return f"refused: {error}"
"""
TUNNEL = """
import http.client
through = http.client.HTTPConnection(os.environ["HTTPS_PROXY"].removeprefix("http://"), timeout=10)
try:
    through.set_tunnel(more["host"], more["port"])
    through.request("GET", "/x")
    return through.getresponse().read().decode()
except OSError as error:
    return f"refused: {error}"
"""


async def test_a_host_that_the_pack_names_is_reached(place: Place, site: Site) -> None:
    url = f"http://api.example.com:{site.port}/words?q=1"
    egress = site.egress("api.example.com:{port}")
    got = await place.said(ASK, egress=egress, url=url)
    posted = await place.said(ASK, egress=egress, url=url, content="there")

    assert (got, posted) == ("hello ", "hello there")
    assert site.asked[0].startswith("GET /words?q=1 HTTP/1.1\r\n")
    assert f"Host: api.example.com:{site.port}" in site.asked[0]


async def test_a_tunnel_for_tls_leads_to_a_named_host_and_to_no_other(
    place: Place, site: Site
) -> None:
    egress = site.egress("api.example.com:{port}")
    named = await place.said(TUNNEL, egress=egress, host="api.example.com", port=site.port)
    other = await place.said(TUNNEL, egress=egress, host="evil.example.net", port=site.port)

    assert named == "hello "
    assert other.startswith("refused: Tunnel connection failed: 403")


@pytest.mark.parametrize(
    ("hosts", "url", "why"),
    [
        (["api.example.com:{port}"], "http://evil.example.net:{port}/", "is not among the hosts"),
        (["api.example.com"], "http://api.example.com:{port}/", "Port"),
        (["*"], "http://127.0.0.1/", "is not on the internet"),
        (["*:{port}", "127.0.0.1:{port}"], "http://127.0.0.1:{port}/", "is not on the internet"),
        (["*:{port}"], "http://inside.example.com:{port}/", "is not on the internet"),
        (["*:{port}"], "http://0x7f000001:{port}/", "is not a plain address"),
        (["*:{port}"], "http://a:b@api.example.com:{port}/", "user name or password"),
        (["*:{port}"], "ftp://api.example.com:{port}/", "https:// or http://"),
    ],
)
async def test_what_is_not_named_or_lies_nearer_is_refused_with_the_reason(
    place: Place, site: Site, hosts: list[str], url: str, why: str
) -> None:
    """Every name leads to loopback here, and only public addresses are admitted."""
    said = await place.said(
        RAW, egress=site.egress(*hosts, admits=is_public), url=url.format(port=site.port)
    )

    assert "403 " in said
    assert why in said
    assert site.asked == []


@pytest.mark.parametrize("addresses", [("127.0.0.1", "127.0.0.9"), ("127.0.0.9", "127.0.0.1")])
async def test_a_host_with_an_address_that_is_nearer_is_refused_whatever_else_it_has(
    place: Place, site: Site, addresses: Sequence[str]
) -> None:
    """Whoever owns a name may lead it to the owner's own network beside a public address. Here
    127.0.0.1, where the site is, stands for the internet."""
    egress = site.egress(
        "*:{port}", addresses=addresses, admits=lambda one: str(one) == "127.0.0.1"
    )
    url = f"http://api.example.com:{site.port}/"
    said = await place.said(RAW, egress=egress, url=url)
    tunnel = await place.said(TUNNEL, egress=egress, host="api.example.com", port=site.port)

    assert "api.example.com is not on the internet, so it is closed to tools." in said
    assert tunnel.startswith("refused: Tunnel connection failed: 403")
    assert site.asked == []


RAW = """
import socket
host, port = os.environ["HTTP_PROXY"].removeprefix("http://").split(":")
with socket.create_connection((host, int(port)), 10) as proxy:
    head = f"GET {more['url']} HTTP/1.1\\r\\nHost: elsewhere.example.com\\r\\n\\r\\n"
    proxy.sendall(head.encode())
    said = b""
    while piece := proxy.recv(65536):
        said += piece
    return said.decode()
"""


async def test_the_server_hears_the_name_that_was_checked(place: Place, site: Site) -> None:
    url = f"http://api.example.com:{site.port}/"
    said = await place.said(RAW, egress=site.egress("api.example.com:{port}"), url=url)

    assert said.endswith("hello ")
    assert "elsewhere" not in site.asked[0]


async def test_around_the_proxy_there_is_nothing(place: Place, site: Site) -> None:
    said = await place.said(
        """
import socket
found = {}
for where in (("127.0.0.1", more["port"]), ("1.1.1.1", 80)):
    try:
        socket.create_connection(where, 3)
        found[str(where)] = "in"
    except OSError:
        pass
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    found["datagrams"] = "in"
except OSError:
    pass
try:
    socket.socket(socket.AF_UNIX)
    found["unix"] = "in"
except OSError:
    pass
return found
""",
        egress=site.egress("*:{port}"),
        port=site.port,
    )

    assert said == {}


async def test_a_tool_that_ends_early_leaves_no_door_open(place: Place, site: Site) -> None:
    assert await place.said("return 1", egress=site.egress("*")) == 1


ASK_AND_LEAVE = """
import socket
host, port = os.environ["HTTP_PROXY"].removeprefix("http://").split(":")
proxy = socket.create_connection((host, int(port)), 10)
if more["tunnel"]:
    proxy.sendall(f"CONNECT {more['host']} HTTP/1.1\\r\\n\\r\\n".encode())
    assert b" 200 " in proxy.recv(65536)
    proxy.sendall(b"GET /silent HTTP/1.1\\r\\n\\r\\n")
else:
    proxy.sendall(f"GET http://{more['host']}/silent HTTP/1.1\\r\\n\\r\\n".encode())
return proxy.recv(65536).decode()
"""


@pytest.mark.parametrize("tunnel", [True, False], ids=["tunnel", "request"])
async def test_a_connection_is_cut_when_the_tool_that_opened_it_has_ended(
    place: Place, site: Site, tunnel: bool
) -> None:
    """A server that says no more would hold it, and the tool's result, for as long as `IDLE_S`."""
    egress = site.egress("*:{port}")
    host = f"api.example.com:{site.port}"
    async with asyncio.timeout(_IDLE_S / 2):
        said = await place.said(ASK_AND_LEAVE, egress=egress, host=host, tunnel=tunnel)
        await site.left.wait()

    assert said == "HTTP/1.1 200 OK\r\n"


async def test_without_a_network_of_its_own_a_tool_with_hosts_is_refused(
    tmp_path: Path, site: Site
) -> None:
    if "landlock" not in HERE:
        pytest.skip("no Landlock here")
    with pytest.raises(NotConfined, match="without bubblewrap"):
        await Place(tmp_path, HERE["landlock"]).attack("return 1", egress=site.egress("*"))
