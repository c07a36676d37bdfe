"""A server that speaks TLS on loopback, with a certificate of any kind, and says `ok` to all."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from aouo.plumbing.clock import SystemClock

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Made:
    """A key with its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def write(self, to: Path) -> Path:
        """The certificate alone, as one hands it around."""
        to.write_bytes(self.certificate.public_bytes(Encoding.PEM))
        return to


def make(
    name: str, by: Made | None = None, *, begins: timedelta = -10 * _DAY, ends: timedelta = _DAY
) -> Made:
    """A certificate for `name`, signed `by` another or by itself; times are from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = SystemClock().now()  # OpenSSL looks at the certificate, and knows no other time
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    try:
        where: x509.GeneralName = x509.IPAddress(ip_address(name))
    except ValueError:
        where = x509.DNSName(name.replace(" ", "-").lower())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins)
        .not_valid_after(now + ends)
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([where]), critical=False)
        .sign(by.key if by else key, hashes.SHA256())
    )
    return Made(key, certificate)


def context_of(made: Made, folder: Path) -> ssl.SSLContext:
    """What a server with this certificate listens with."""
    chain = folder / "chain.pem"
    key = made.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain.write_bytes(key + made.certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return context


@asynccontextmanager
async def serving(made: Made, folder: Path) -> AsyncGenerator[int]:
    """The port where it listens."""
    context = context_of(made, folder)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
