"""Which of our errors it is when no answer came, or not all of one: what a transport says."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

import aiohttp

from aouo.errors import (
    CertificateFault,
    CertificateRefused,
    NoModelService,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    ProxyRefused,
)

if TYPE_CHECKING:
    import httpx2

MAX_QUOTE_CHARS = 300


def broken(
    provider: str, error: httpx2.HTTPError | httpx2.InvalidURL, *, mask: Callable[[str], str] = str
) -> ProviderError:
    """The error to raise when a transport of `http` gave no answer, or not all of it."""
    import httpx2

    text = f"{provider}: {type(error).__name__}: {mask(str(error))[:MAX_QUOTE_CHARS]}"
    match error.__cause__:
        case aiohttp.ClientConnectorCertificateError() as cause:
            why = _fault(cause.certificate_error)
            return CertificateRefused(text, host=cause.host, fault=why)
        case aiohttp.ClientHttpProxyError(status=status) as cause if status < 500:
            at = cause.request_info.real_url  # of the proxy; `url` is where it was to lead
            proxy = f"{at.host}:{at.port}"
            return ProxyRefused(text, proxy=proxy, wants_password=status == 407)
        case aiohttp.ClientProxyConnectionError() as cause if _wants_password(cause):
            return ProxyRefused(text, proxy=f"{cause.host}:{cause.port}", wants_password=True)
        case aiohttp.ClientSSLError():
            return NoModelService(text)  # no TLS is spoken there, or none that we know
        case _:
            pass
    match error:
        case httpx2.ConnectTimeout():
            return ProviderBusy(text)  # nobody has read what we asked
        case httpx2.TimeoutException() | httpx2.ReadError():
            return ProviderTimeout(text)
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError():
            return ProviderRejected(text)
        case _:
            return ProviderBusy(text)


def _wants_password(error: aiohttp.ClientProxyConnectionError) -> bool:
    """Of a SOCKS proxy: python-socks has no class for it."""
    said = str(error.os_error).lower()
    return "authentication" in said or "auth methods" in said


def _fault(error: Exception) -> CertificateFault:
    """Source: docs.openssl.org/master/man3/X509_STORE_CTX_get_error, the error codes."""
    code = error.verify_code if isinstance(error, ssl.SSLCertVerificationError) else 0
    faults: dict[int, CertificateFault] = {
        9: "not yet valid",
        10: "expired",
        62: "another name",
        64: "another name",  # another address
    }
    unknown = (2, 18, 19, 20, 21, 27)  # no chain of it ends with somebody whom this machine trusts
    return "unknown" if code in unknown else faults.get(code, "bad")
