"""Addresses of IPv6: in settings, on the way, and beside an IPv4 that works.

Source: issue 12, 10.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import aiohttp
import pytest

from aouo.cli.doctoring import models as doctor_models
from aouo.config.file import load_settings
from aouo.plumbing.home import Home
from aouo.plumbing.web.session import session_through
from tests.fakes.model_server import ModelServer
from tests.fakes.road import Road
from tests.path.world import WAIT_S, World


def _is_there() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as tried:
            tried.bind(("::1", 0))
    except OSError:
        return False
    return True


pytestmark = pytest.mark.skipif(not _is_there(), reason="this machine has no ::1")


async def test_a_model_and_a_telegram_at_a_bare_ipv6_address_work(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a proxy is set: ::1 is this machine."""
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    telegram = int(world.emulator.base_url.rpartition(":")[2])
    async with (
        Road(world.model.port, host="::1").running() as model,
        Road(telegram, host="::1").running() as telegrams,
    ):
        world.config = {
            "telegram": {"api_base_url": telegrams.base_url},
            "providers": {"fake": {"base_url": f"{model.base_url}/v1", "api_key": "key"}},
        }
        async with world.running() as bot:
            assert (await bot.ask("Hello")).text == "Hello"


@contextmanager
def deaf(port: int) -> Generator[None]:
    """::1 at this port answers nothing, as a route that leads nowhere."""
    with socket.socket(socket.AF_INET6) as door:
        door.bind(("::1", port))
        door.listen(0)
        waiting: list[socket.socket] = []
        try:
            for _ in range(4):  # more than wait in its queue; what comes after gets no word
                one = socket.socket(socket.AF_INET6)
                one.setblocking(False)
                one.connect_ex(("::1", port))
                waiting.append(one)
            yield
        finally:
            for one in waiting:
                one.close()


async def test_an_ipv6_that_leads_nowhere_does_not_keep_from_the_ipv4_that_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RFC 8305: the other is tried after a quarter of a second, not after the first gave up."""
    async with ModelServer() as server:
        port = server.port

        def lookup(host: str, *_: Any, **__: Any) -> list[Any]:
            assert host == "model.test"
            both = ((socket.AF_INET6, ("::1", port, 0, 0)), (socket.AF_INET, ("127.0.0.1", port)))
            return [(family, socket.SOCK_STREAM, 6, "", where) for family, where in both]

        with deaf(port):
            monkeypatch.setattr(socket, "getaddrinfo", lookup)
            limit = aiohttp.ClientTimeout(total=WAIT_S, sock_connect=5.0)
            async with session_through(environ={}) as session:
                answer = await session.get(f"http://model.test:{port}/v1/models", timeout=limit)

    assert answer.status == 404  # it serves chats only


def test_doctor_reaches_a_bare_ipv6_address(tmp_path: Any) -> None:
    home = Home(tmp_path / "home")
    home.create()
    url = "http://[::1]:9/v1"
    config = {
        "provider": {"backend": "mine", "model": "any"},
        "providers": {"mine": {"base_url": url}},
    }
    home.config.write_text(json.dumps(config))

    (check,) = doctor_models.models(load_settings(home.path, {}).settings, fast=False)[0]

    assert check.status == "fail"
    assert "Cannot connect to host ::1:9" in check.detail
