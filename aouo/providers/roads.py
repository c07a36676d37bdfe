"""Translates a transport's failure, when no answer or only a part came, into our error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import aiohttp

from aouo.facts.errors import (
    CertificateRefused,
    NoModelService,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    ProxyRefused,
)
from aouo.web.certificates import asks_password, cure_of

if TYPE_CHECKING:
    import httpx2

MAX_QUOTE_CHARS = 300


def broken(
    provider: str, error: httpx2.HTTPError | httpx2.InvalidURL, *, mask: Callable[[str], str] = str
) -> ProviderError:
    """Return the error to raise when a transport of `http` gave no answer, or only a part."""
    import httpx2

    text = f"{provider}: {type(error).__name__}: {mask(str(error))[:MAX_QUOTE_CHARS]}"
    if found := in_the_way(text, error):
        return found
    match error:
        case httpx2.ConnectTimeout():
            return ProviderBusy(text)  # the request was not sent
        case httpx2.TimeoutException() | httpx2.ReadError():
            return ProviderTimeout(text)
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError():
            return ProviderRejected(text)
        case _:
            return ProviderBusy(text)


def in_the_way(text: str, error: BaseException) -> ProviderError | None:
    """Return the error of a proxy or certificate on the way, by the cause of `error`; None = no."""
    match error.__cause__:
        case aiohttp.ClientConnectorCertificateError() as cause:
            return CertificateRefused(text, cure=cure_of(cause))
        case aiohttp.ClientHttpProxyError(status=status) as cause if status < 500:
            return ProxyRefused(text, cure=cure_of(cause))
        case aiohttp.ClientProxyConnectionError() as cause if asks_password(cause):
            return ProxyRefused(text, cure=cure_of(cause))
        case aiohttp.ClientSSLError():
            return NoModelService(text)  # the server speaks no TLS, or none that we know
        case _:
            return None
