"""Whether a page has changed: by its server's word where it gives one, else by its content."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from aouo.facts.errors import ToolFailed
from aouo.plumbing.web.addresses import Permits
from aouo.plumbing.web.client import probe
from tests.fakes.web_server import Answer, Names, WebServer, web_of


@pytest.fixture
async def site() -> AsyncGenerator[WebServer]:
    async with WebServer() as server:
        yield server


async def probed(
    site: WebServer, validator: str = "", host: str = "example.com"
) -> tuple[str, str] | None:
    web = web_of(Names(example_com=["127.0.0.1"], inside_example=["10.0.0.1"]))
    permits = Permits("lab", (f"example.com:{site.port}", f"inside.example:{site.port}"))
    return await probe(web, f"http://{host}:{site.port}/feed", permits, validator)


async def seen(site: WebServer, validator: str = "") -> tuple[str, str]:
    found = await probed(site, validator)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("header", "value", "condition"),
    [
        ("ETag", '"one"', "If-None-Match"),
        ("Last-Modified", "Mon, 02 Mar 2026 12:00:00 GMT", "If-Modified-Since"),
    ],
)
async def test_a_server_is_asked_whether_it_is_still_the_same(
    site: WebServer, header: str, value: str, condition: str
) -> None:
    site.pages["/feed"] = Answer(b"one", headers={header: value})
    first = await seen(site)
    site.pages["/feed"] = Answer(status=304)

    assert await probed(site, first[1]) is None
    assert site.requests[-1][2][condition] == value


async def test_a_server_that_knows_no_conditions_is_compared_by_what_it_says(
    site: WebServer,
) -> None:
    site.pages["/feed"] = Answer(b"one", headers={"ETag": '"one"'})
    first = await seen(site)

    assert await probed(site, first[1]) is None


async def test_another_etag_of_the_same_content_is_no_change(site: WebServer) -> None:
    site.pages["/feed"] = Answer(b"one", headers={"ETag": '"one"'})
    first = await seen(site)
    site.pages["/feed"] = Answer(b"one", headers={"ETag": '"of another machine"'})

    assert (await seen(site, first[1]))[0] == first[0]


async def test_without_a_servers_word_the_content_counts(site: WebServer) -> None:
    site.pages["/feed"] = Answer(b"one")
    first = await seen(site)
    assert first[1] == ""
    assert await probed(site) == first
    site.pages["/feed"] = Answer(b"two")

    assert (await seen(site))[0] != first[0]


async def test_a_page_without_an_end_is_read_to_a_megabyte(site: WebServer) -> None:
    site.pages["/feed"] = Answer(b"x" * 3_000_000)
    first = await seen(site)
    site.pages["/feed"] = Answer(b"x" * 3_000_001)

    assert (await seen(site))[0] == first[0]


@pytest.mark.parametrize(
    ("host", "why"), [("inside.example", "not a public host"), ("example.org", "permissions")]
)
async def test_what_the_pack_may_not_reach_is_not_asked(
    site: WebServer, host: str, why: str
) -> None:
    with pytest.raises(ToolFailed, match=why):
        await probed(site, host=host)
    assert site.requests == []


async def test_a_redirect_leads_only_to_where_the_pack_may_go(site: WebServer) -> None:
    for where, why in (
        ("http://example.org/x", "permissions"),
        (f"http://inside.example:{site.port}/x", "not a public host"),
        ("file:///etc/passwd", "http"),
    ):
        site.pages["/feed"] = Answer(status=302, headers={"Location": where})
        with pytest.raises(ToolFailed, match=why):
            await probed(site)
    assert [path for _, path, _ in site.requests] == ["/feed"] * 3


async def test_a_server_that_never_comes_to_an_end_is_given_up(site: WebServer) -> None:
    site.pages["/feed"] = Answer(b"one", headers={"ETag": '"one"'}, stalls=True)
    web = web_of(Names(example_com=["127.0.0.1"]), limit_s=0.05)
    permits = Permits("lab", (f"example.com:{site.port}",))

    with pytest.raises(ToolFailed, match=r"example.com did not answer in 0.05 s"):
        await probe(web, f"http://example.com:{site.port}/feed", permits, "")


async def test_a_304_that_nobody_asked_for_is_a_failure(site: WebServer) -> None:
    site.pages["/feed"] = Answer(status=304)

    with pytest.raises(ToolFailed, match="304"):
        await probed(site)
