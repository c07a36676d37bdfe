"""What is brought and what is sent: bodies of any kind, files and streams to whoever reads."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import ClientPayloadError
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given
from hypothesis import strategies as st

from aouo.dashboard import streaming
from aouo.dashboard.access import Access
from aouo.dashboard.endpoints import Answered, Download, Endpoint, Frame
from aouo.dashboard.site import Site
from aouo.dashboard.streaming import without_secrets
from aouo.dashboard.tables import SHOWN_CHARS, excerpt
from aouo.plumbing.redact import Redactor

WAIT_S = 30.0
TOKEN = {"X-Aouo-Token": "right"}
DEEP = "[" * 100_000
ODD = {
    b"": "The body has to be JSON in UTF-8.",
    b"{": "The body has to be JSON in UTF-8.",
    b"\xff\xfe": "The body has to be JSON in UTF-8.",
    DEEP.encode(): "The body has to be JSON in UTF-8.",
    b'{"text": "\\ud800"}': "The body has to be JSON in UTF-8.",
    b'{"text": "a", "more": NaN}': "The body has to be JSON in UTF-8.",
    b'{"text": "a", "more": ' + b"9" * 5000 + b"}": "The body has to be JSON in UTF-8.",
    b"[]": "The body has to be a JSON object.",
    b"{}": "The request lacks 'text'.",
    b'{"text": null}': "'text' has to be a text.",
    b'{"text": {"__proto__": 1}}': "'text' has to be a text.",
}


class Endless:
    """What is sent to whoever reads, and whether it has been closed."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def chunks(self) -> AsyncGenerator[bytes]:
        try:
            while True:
                yield b"x" * 100_000
        finally:
            self.closed.set()

    async def frames(self) -> AsyncGenerator[Frame]:
        try:
            while True:
                yield Frame("changed", {"text": "x" * 100_000})
        finally:
            self.closed.set()


async def _breaks() -> AsyncIterable[bytes]:
    yield b"the first half"
    raise ValueError("the disk is gone")


@asynccontextmanager
async def site(endless: Endless) -> AsyncGenerator[TestClient[Any, Any]]:
    async def echo(text: str) -> Answered:
        return {"text": text}

    async def file() -> Answered:
        return Download('a "name"\r\n\u202e.csv', "text/csv", endless.chunks())

    async def broken() -> Answered:
        return Download("a.csv", "text/csv", _breaks())

    async def stream() -> Answered:
        return endless.frames()

    endpoints = (
        Endpoint("POST", "/echo", echo, body=True),
        Endpoint("GET", "/file", file, gives="file"),
        Endpoint("GET", "/broken", broken, gives="file"),
        Endpoint("GET", "/stream", stream, gives="frames"),
    )
    made = Site(endpoints, Access("right", "127.0.0.1"), "cookie", lambda _: None, Redactor)
    async with TestClient(TestServer(made.application()), headers=TOKEN) as client:
        yield client


async def test_any_body_gets_a_sentence() -> None:
    async with site(Endless()) as client:
        told = dict[bytes, str]()
        for body in ODD:
            async with client.post("/echo", data=body) as answer:
                assert answer.status == 400
                told[body] = (await answer.json())["error"]
        async with client.post("/echo", data=io.BytesIO(b"x" * 3_000_000)) as answer:
            long = answer.status, await answer.json()
        async with client.post("/echo", data=json.dumps({"text": "\u202e", "more": 1})) as answer:
            good = await answer.json()

    assert told == ODD
    assert long == (413, {"error": "The body is too long."})
    assert good == {"text": "\u202e"}


async def test_a_name_of_a_file_cannot_add_headers() -> None:
    endless = Endless()
    async with site(endless) as client, client.get("/file") as answer:
        name = answer.headers["Content-Disposition"]

    assert name == (
        'attachment; filename="a__name____.csv"; '
        "filename*=UTF-8''a%20%22name%22%0D%0A%E2%80%AE.csv"
    )


async def test_half_of_a_file_does_not_look_like_all_of_it() -> None:
    async with site(Endless()) as client, client.get("/broken") as answer:
        with pytest.raises(ClientPayloadError):
            await answer.read()


@pytest.mark.parametrize("path", ["/file", "/stream"])
async def test_who_never_reads_is_cut_off(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(streaming, "_PATIENCE_S", 0.05)
    endless = Endless()
    async with site(endless) as client:
        _, writer = await asyncio.open_connection("127.0.0.1", client.port, limit=1)
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Aouo-Token: right\r\n\r\n"
        writer.write(head.encode())
        try:
            async with asyncio.timeout(WAIT_S):
                await endless.closed.wait()
        finally:
            writer.transport.abort()

    assert endless.closed.is_set()


# What the page shows of long texts of others: a part, and no secret or piece of one


SECRET = "correct-horse-battery"


@given(before=st.integers(SHOWN_CHARS - 60, SHOWN_CHARS), after=st.integers(0, 60))
def test_a_secret_at_the_cut_is_not_shown_in_part(before: int, after: int) -> None:
    text = "é" * before + SECRET + "." * after
    shown = excerpt(Redactor([SECRET]), text)

    clean = text.replace(SECRET, "[redacted]")
    assert shown == {
        "text": clean[:SHOWN_CHARS],
        "bytes": len(text.encode()),
        "cut": len(clean) > SHOWN_CHARS,
    }


def test_the_size_of_the_whole_is_told_where_only_its_beginning_was_read() -> None:
    assert excerpt(Redactor(), "beginning", 2_000_000) == {
        "text": "beginning",
        "bytes": 2_000_000,
        "cut": True,
    }


# What leaves the page as JSON


SECRETS = ("hippopotamus", 'pass"word\\n', "pass\nwort", "schlüsselbund", "sk-" + "a1B2c3D4" * 6)
REDACTOR = Redactor(SECRETS)
texts = st.lists(
    st.one_of(st.sampled_from((*SECRETS, "123456789:AA", "\u200b", "\ud800")), st.text(max_size=5))
).map("".join)
facts = st.recursive(
    st.one_of(texts, st.integers(), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)


@dataclass(frozen=True, slots=True)
class Beast:
    name: str
    kin: tuple[Beast, ...] = ()


@given(facts)
def test_every_text_leaves_as_the_redactor_returns_it(found: Any) -> None:
    assert json.loads(without_secrets({"found": found}, REDACTOR)) == {
        "found": REDACTOR.value(found)
    }


def test_a_dataclass_leaves_as_an_object() -> None:
    told = without_secrets({"one": Beast("otter", (Beast("hippopotamus"),))}, REDACTOR)

    kin = [{"name": "[redacted]", "kin": []}]
    assert json.loads(told) == {"one": {"name": "otter", "kin": kin}}
