"""`aouo doctor` on a network that is not as it should be: what is wrong, and what mends it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.plumbing.home import Home
from tests.fakes.proxy_server import ProxyServer
from tests.fakes.tls_server import make, serving

Checks = dict[str, dict[str, str]]
PASSWORD = "s3cretword"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def doctor(runner: CliRunner, home: Home, url: str) -> Checks:
    """What doctor says where both Telegram and the model are at `url`."""
    home.create()
    config = {
        "telegram": {"bot_token": f"{123456789}:{'a' * 35}", "api_base_url": url},
        "provider": {"backend": "mine", "model": "any"},
        "providers": {"mine": {"base_url": f"{url}/v1", "api_key": "key"}},
        "mcp": {"servers": {"hub": {"url": f"{url}/mcp"}}},
    }
    home.config.write_text(json.dumps(config))
    result = runner.invoke(aouo, ["doctor", "--json"])
    assert PASSWORD not in result.output
    return {check["name"]: check for check in json.loads(result.stdout)["checks"]}


@contextmanager
def running(serve: AbstractAsyncContextManager[int | ProxyServer]) -> Generator[int]:
    """The port of a server that runs beside, in a loop of its own."""
    ports: list[int] = []
    begun, end = Event(), Event()

    async def run() -> None:
        async with serve as it:
            ports.append(it.port if isinstance(it, ProxyServer) else it)
            begun.set()
            await asyncio.to_thread(end.wait)

    thread = Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert begun.wait(30)
    try:
        yield ports[0]
    finally:
        end.set()
        thread.join()


def test_a_certificate_that_ended_yesterday_is_named(
    runner: CliRunner, home: Home, tmp_path: Path
) -> None:
    with running(serving(make("localhost", ends=-timedelta(days=1)), tmp_path)) as port:
        found = doctor(runner, home, f"https://localhost:{port}")

    for name in ("telegram", "model mine", "mcp:hub"):
        assert found[name]["status"] in ("fail", "warn")
        assert "the certificate of localhost" in found[name]["detail"]


def test_a_proxy_that_asks_for_a_password_is_named(
    runner: CliRunner, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = ProxyServer()
    proxy.refuses = True
    with running(proxy.running()) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://ada:{PASSWORD}@127.0.0.1:{port}")
        found = doctor(runner, home, "https://service.test")
        (listed,) = json.loads(runner.invoke(aouo, ["models", "--json"]).stdout)

    assert f"the proxy 127.0.0.1:{port} asks for a password" in listed["problem"]
    assert found["network"]["detail"] == f"the environment's proxy 127.0.0.1:{port} is used"
    for name in ("telegram", "model mine", "mcp:hub"):
        assert f"the proxy 127.0.0.1:{port} asks for a password" in found[name]["detail"]


def test_a_variable_that_names_no_proxy_is_told_and_nothing_is_asked(
    runner: CliRunner, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://proxy.test")
    found = doctor(runner, home, "https://service.test")

    assert found["network"]["status"] == "fail"
    assert "ALL_PROXY" in found["network"]["fix"]
    assert {found["telegram"]["status"], found["model mine"]["status"]} == {"skip"}
