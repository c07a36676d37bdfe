"""A secret goes to its hosts and nowhere else, and the tool never sees it. Source: issue 27."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from aouo.agent.tools.asks import _SECRET_REFUSED, Asking
from aouo.agent.tools.registry import ToolContext
from aouo.facts.errors import ToolFailed
from aouo.packs.actions.slots import Here
from aouo.packs.format.manifest import Manifest, Permissions, Secret
from aouo.packs.load import Pack
from aouo.packs.settings import Kept
from aouo.plumbing.web.certificates import _besides
from aouo.plumbing.web.client import MAX_BYTES
from tests.fakes.clock import FastClock
from tests.fakes.tls_server import context_of, make
from tests.fakes.web_server import Answer, Names, WebServer, web_of

KEY = "4711-very-secret"


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ssl.SSLContext]:
    made = make("news.test")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(made.write(tmp_path / "ca.pem")))
    _besides.cache_clear()
    yield context_of(made, tmp_path)
    _besides.cache_clear()


async def asked(tmp_path: Path, site: WebServer, url: str, *hosts: str, **more: Any) -> Any:
    """What a tool gets that asks for a page with its secret; the pack reaches news.test only."""
    open_host = f"news.test:{site.port}"
    manifest = Manifest(
        "desk",
        "1.0.0",
        "Desk",
        permissions=Permissions(network=(open_host,)),
        secrets={"token": Secret(hosts=hosts or (open_host,))},
    )
    kept = Kept(tmp_path)
    kept.put(manifest, "token", KEY, Here(datetime(2026, 3, 2, tzinfo=UTC), UTC))
    names = Names(news_test=["127.0.0.1"], evil_test=["127.0.0.1"])
    none = cast("Any", None)
    asking = Asking(FastClock(), lambda person: UTC, none, none, web_of(names), kept)
    pack = Pack(manifest, tmp_path, {}, "", "", {}, "")
    call = asking.of(pack, cast("ToolContext", none), "c", secrets=("token",), reads=True)
    return await call("fetch", {"url": url, "secret": "token", "headers": {}, **more})


async def test_it_is_sent_as_a_token_and_what_echoes_it_is_cleaned(
    tmp_path: Path, tls: ssl.SSLContext
) -> None:
    async with WebServer(tls) as site:
        site.pages["/"] = Answer(f"you sent {KEY}".encode(), "text/plain")
        page = await asked(tmp_path, site, f"https://news.test:{site.port}/")
        await asked(tmp_path, site, f"https://news.test:{site.port}/?key={{secret}}")

    assert page == [200, "you sent [redacted]"]
    assert site.requests[0][2]["Authorization"] == f"Bearer {KEY}"
    assert site.requests[1][1] == f"/?key={KEY}"
    assert "Authorization" not in site.requests[1][2]


@pytest.mark.parametrize("hosts", [(), ("evil.test",)])
async def test_it_leaves_for_no_other_host(
    tmp_path: Path, tls: ssl.SSLContext, hosts: tuple[str, ...]
) -> None:
    """Neither asked for nor by a redirect, nor where the card names no such host."""
    async with WebServer(tls) as site:
        own = [f"{host}:{site.port}" for host in hosts]
        away = f"https://evil.test:{site.port}/{{secret}}"
        site.pages["/"] = Answer(status=302, headers={"Location": away.replace("{secret}", "")})
        for url in (away, f"https://news.test:{site.port}/") if not hosts else (away,):
            with pytest.raises(ToolFailed) as failed:
                await asked(tmp_path, site, url, *own)
            assert KEY not in str(failed.value)

    assert all(headers["Host"].startswith("news.test") for _, _, headers in site.requests)


@pytest.mark.parametrize(
    "url",
    [
        "http://news.test:{port}/",
        "https://{{secret}}/",
        "https://{{secret}}.news.test:{port}/",
        "https://news.test:{port}/%{{secret}}",
        "https://news.test:{port}/#{{secret}}",
        "https://news.test:{port}/missing/{{secret}}",
    ],
)
async def test_a_refusal_with_a_secret_names_nothing(
    tmp_path: Path, tls: ssl.SSLContext, url: str
) -> None:
    async with WebServer(tls) as site:
        with pytest.raises(ToolFailed) as failed:
            await asked(tmp_path, site, url.format(port=site.port))

    assert str(failed.value) == _SECRET_REFUSED


async def test_what_a_host_says_back_is_cleaned_in_every_spelling(
    tmp_path: Path, tls: ssl.SSLContext
) -> None:
    spelt = (
        KEY.upper(),
        KEY.title(),
        "".join(f"%{ord(c):02x}" for c in KEY),
        "".join(f"%25{ord(c):02X}" for c in KEY),
        "".join(f"&#{ord(c)};" for c in KEY),
        "".join(f"\\u{ord(c):04X}" for c in KEY),
    )
    async with WebServer(tls) as site:
        site.pages["/"] = Answer(" ".join(spelt).encode(), "text/plain")
        page = await asked(tmp_path, site, f"https://news.test:{site.port}/")

    assert page == [200, " ".join(["[redacted]"] * 6)]


async def test_a_header_of_two_lines_is_refused(tmp_path: Path, tls: ssl.SSLContext) -> None:
    async with WebServer(tls) as site:
        for text in ("a\r\nX: b", "a\nb", "\ud800"):
            url = f"https://news.test:{site.port}/"
            with pytest.raises(ToolFailed, match="fetch with a secret"):
                await asked(tmp_path, site, url, headers={"X": text})

    assert not site.requests


@pytest.mark.parametrize("written", [KEY, "".join(f"&#x{ord(sign):06x};" for sign in KEY)])
@pytest.mark.parametrize("shown", [3, 8, 12])
async def test_a_body_that_is_cut_within_a_secret_ends_before_it(
    tmp_path: Path, tls: ssl.SSLContext, written: str, shown: int
) -> None:
    """A part of it is no secret that could be found. Source: issue 44, 14."""
    part = written[: len(written) * shown // len(KEY)]
    async with WebServer(tls) as site:
        body = "x" * (MAX_BYTES - len(part)) + written
        site.pages["/"] = Answer(body.encode(), "text/plain")
        status, text = await asked(tmp_path, site, f"https://news.test:{site.port}/")

    assert status == 200
    assert set(text) == {"x"}
    assert len(text) > MAX_BYTES - 1_000
