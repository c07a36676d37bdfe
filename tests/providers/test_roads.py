"""What stands between us and a model service: certificates, proxies, silence."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from aouo.facts.errors import (
    CertificateRefused,
    ProviderError,
    ProviderTimeout,
    ProxyRefused,
    StillComputing,
)
from aouo.facts.transcript import ModelRequest, UserSaid
from aouo.providers.endpoint import ChatEndpoint, line_to
from aouo.providers.service import CompatibleModel

HELLO = ModelRequest("", (UserSaid("Hello"),), ())
WAIT_S = 30.0


async def failure(model: CompatibleModel) -> ProviderError:
    async with asyncio.timeout(WAIT_S):
        with pytest.raises(ProviderError) as caught:
            async for _ in model.stream(HELLO):
                pass
    return caught.value


def model_at(url: str, session: aiohttp.ClientSession, wait_s: float = WAIT_S) -> CompatibleModel:
    return CompatibleModel(
        provider="some",
        model="m",
        base_url=url,
        api_key="",
        context_window=8_000,
        session=session,
        request_timeout_s=wait_s,
    )


def certificate(folder: Path, name: str, *, valid_days: int) -> ssl.SSLContext:
    """A self-made certificate that ends, or ended, so many days from now; trusted by nobody."""
    key = ec.generate_private_key(ec.SECP256R1())
    named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    ends = datetime.fromtimestamp(0, UTC) + timedelta(seconds=_now_s()) + timedelta(days=valid_days)
    made = (
        x509.CertificateBuilder()
        .subject_name(named)
        .issuer_name(named)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(ends - timedelta(days=30))
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def _now_s() -> float:
    import time

    return time.time()  # what OpenSSL compares with


@pytest.mark.parametrize(
    ("name", "valid_days", "trusted", "wrong"),
    [
        ("localhost", -1, True, "has ended"),
        ("localhost", 90, True, "is not valid yet"),
        ("localhost", 10, False, "is signed by itself"),
        ("elsewhere.example", 10, True, "is for another host"),
    ],
)
async def test_a_certificate_that_cannot_be_trusted_is_told_with_what_is_wrong(
    tmp_path: Path, name: str, valid_days: int, trusted: bool, wrong: str
) -> None:
    def closes(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    shown = certificate(tmp_path, name, valid_days=valid_days)
    trusting = ssl.create_default_context()
    if trusted:
        trusting.load_verify_locations(tmp_path / "server.pem")
    async with await asyncio.start_server(closes, "localhost", 0, ssl=shown) as listening:
        port = listening.sockets[0].getsockname()[1]
        connector = aiohttp.TCPConnector(ssl=trusting)
        async with aiohttp.ClientSession(connector=connector) as session:
            error = await failure(model_at(f"https://localhost:{port}/v1", session))

    assert isinstance(error, CertificateRefused)
    assert error.cure.startswith(f"the certificate of localhost {wrong}")


@pytest.fixture
async def silent() -> AsyncIterator[int]:
    """The port of a server that takes requests and says nothing."""
    over = asyncio.Event()

    async def waits(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    async with await asyncio.start_server(waits, "127.0.0.1", 0) as listening:
        yield listening.sockets[0].getsockname()[1]
        over.set()


async def test_a_server_nearby_that_says_nothing_may_still_be_computing(silent: int) -> None:
    async with aiohttp.ClientSession() as session:
        error = await failure(model_at(f"http://127.0.0.1:{silent}/v1", session, 0.05))

    assert type(error) is StillComputing
    assert error.silent


async def test_a_service_elsewhere_that_says_nothing_timed_out_before_a_byte(silent: int) -> None:
    async with aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{silent}/v1"
        endpoint = ChatEndpoint(
            provider="some",
            line=line_to(base_url=url, api_key="", session=session),
            api_key="",
            request_timeout_s=0.05,
            stream_idle_timeout_s=0.05,
        )
        with pytest.raises(ProviderTimeout) as caught:
            async for _ in endpoint.stream(b"{}"):
                pass

    assert type(caught.value) is ProviderTimeout
    assert caught.value.silent


@pytest.mark.parametrize(
    ("status", "why"), [(407, "asks for a password"), (403, "refuses to lead there")]
)
async def test_a_proxy_that_refuses_is_told_by_its_name_and_without_a_secret(
    monkeypatch: pytest.MonkeyPatch, status: int, why: str
) -> None:
    async def refuses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % status)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuses, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@127.0.0.1:{port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        async with aiohttp.ClientSession(trust_env=True) as session:
            error = await failure(model_at("https://models.example/v1", session))

    assert isinstance(error, ProxyRefused)
    assert error.cure.startswith(f"the proxy 127.0.0.1:{port} {why}")
    assert "secret" not in f"{error} {error.cure}"
