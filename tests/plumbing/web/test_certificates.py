"""Certificates that are not trusted: what is wrong is named, with what mends it.

Source: issue 12, 10; Finding 39.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from aouo.facts.errors import SetupError
from aouo.plumbing.web.certificates import asks_password, cure_of
from aouo.plumbing.web.session import session_through
from aouo.telegram.api import ApiUnreachable, TelegramApi
from aouo.telegram.http import AiohttpRequest, NotWritten
from tests.fakes.tls_server import Made, make, serving

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def company() -> Made:
    """The authority of a company, which this machine does not know."""
    return make("Example Corp CA")


async def get(made: Made, folder: Path, environ: Mapping[str, str]) -> str:
    """What a server with this certificate says, or what is wrong with it."""
    async with serving(made, folder) as port, session_through(environ=environ) as session:
        try:
            return await (await session.get(f"https://localhost:{port}/")).text()
        except aiohttp.ClientConnectorCertificateError as error:
            return cure_of(error)


async def test_an_authority_in_requests_ca_bundle_is_trusted(tmp_path: Path, company: Made) -> None:
    bundle = company.write(tmp_path / "company.pem")

    assert await get(make("localhost", company), tmp_path, {}) == (
        "the certificate of localhost comes from an authority that this machine does not know, as "
        "that of a company's proxy: save the certificate of its authority in a file and set "
        "SSL_CERT_FILE or REQUESTS_CA_BUNDLE to it"
    )
    assert (
        await get(make("localhost", company), tmp_path, {"REQUESTS_CA_BUNDLE": str(bundle)}) == "ok"
    )


@pytest.mark.parametrize(
    ("begins", "ends", "name", "wrong"),
    [
        (-10 * DAY, -DAY, "localhost", "has ended: its operator has to renew it"),
        (DAY, 10 * DAY, "localhost", "is not valid yet: check the date of this machine"),
        (-DAY, DAY, "elsewhere.test", "is for another host"),
    ],
    ids=["ended yesterday", "begins tomorrow", "another host"],
)
async def test_what_is_wrong_with_a_certificate_is_named(
    tmp_path: Path, company: Made, begins: timedelta, ends: timedelta, name: str, wrong: str
) -> None:
    environ = {"REQUESTS_CA_BUNDLE": str(company.write(tmp_path / "company.pem"))}
    made = make(name, company, begins=begins, ends=ends)

    assert f"the certificate of localhost {wrong}" in await get(made, tmp_path, environ)


async def test_a_certificate_of_ones_own_making_is_named(tmp_path: Path) -> None:
    assert "the certificate of localhost is signed by itself: if it is yours" in await get(
        make("localhost"), tmp_path, {}
    )


def test_a_bundle_that_cannot_be_read_is_told_at_start(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").touch()
    for name in ("nowhere.pem", "empty.pem"):
        with pytest.raises(SetupError, match=name):
            session_through(environ={"REQUESTS_CA_BUNDLE": str(tmp_path / name)})


async def test_telegrams_road_says_it_in_the_log_the_status_and_for_the_next_try(
    tmp_path: Path,
) -> None:
    """Nothing was written over a connection that was not trusted."""
    expired = make("localhost", ends=-DAY)
    async with serving(expired, tmp_path) as port, session_through() as session:
        base = f"https://localhost:{port}"
        with pytest.raises(ApiUnreachable, match="the certificate of localhost"):
            await TelegramApi(session=session, base_url=base, token="1:a").call("getMe", 5.0)
        with pytest.raises(NotWritten, match="the certificate of localhost"):
            await AiohttpRequest(session).do_request(f"{base}/bot1:a/getMe", "POST")


ASKS = """
import asyncio, sys
from aouo.plumbing.web.session import session_through
from aouo.plumbing.web.certificates import asks_password, cure_of

async def main():
    async with session_through() as session:
        try:
            await session.get(sys.argv[1])
        except Exception as error:
            print(cure_of(error))

asyncio.run(main())
"""


@pytest.mark.parametrize("missing", ["a file that is not there", "no authorities at all"])
async def test_a_machine_without_authorities_is_told_what_to_install(
    tmp_path: Path, company: Made, missing: str
) -> None:
    """A slim image without ca-certificates; OpenSSL reads its variables once, so in a process."""
    empty = tmp_path / "certs"
    empty.mkdir()
    named = str(tmp_path / "gone.pem")
    environ = {"SSL_CERT_DIR": str(empty), "SSL_CERT_FILE": named}
    if missing == "no authorities at all":
        environ["SSL_CERT_FILE"] = ""
    async with serving(make("localhost", company), tmp_path) as port:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", ASKS, f"https://localhost:{port}/"),
            stdout=subprocess.PIPE,
            env={**environ, "PATH": "", "PYTHONPATH": str(Path(__file__).parents[3])},
        )
        async with asyncio.timeout(60):
            said, _ = await process.communicate()

    wanted = "ca-certificates" if missing == "no authorities at all" else f"names {named}"
    assert wanted in said.decode()


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        ("Username and password authentication failure", True),
        ("No acceptable authentication methods were offered", True),
        ("Host unreachable", False),
    ],
)
def test_what_a_socks_proxy_says_of_a_password_is_known(said: str, *, asks: bool) -> None:
    """python-socks has no class for it."""
    key = ConnectionKey("proxy.test", 1080, False, True, None, None, None)

    assert asks_password(aiohttp.ClientProxyConnectionError(key, OSError(said))) is asks
