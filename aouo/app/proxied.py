"""HTTP sessions of our own: the runtime's, and one through the proxy that is set for Telegram."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import aiohttp

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace


def own_session() -> aiohttp.ClientSession:
    """The session that models are asked over, through the environment's proxies if it names any."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        # With it aiohttp looks for a proxy in another thread, for every request.
        trust_env=any(name.lower().endswith("s_proxy") for name in os.environ),
    )


def session_through(proxy: str) -> aiohttp.ClientSession:
    """A session through `proxy`, "" = none: http and https ones tunnel, socks5 ones resolve names.

    A proxy that cannot be reached or says no is an `aiohttp.ClientConnectorError`, or a
    `ClientHttpProxyError`: the request was never written.
    """
    kind, _, rest = proxy.partition("://")
    if kind.lower() in ("socks5", "socks5h"):
        return aiohttp.ClientSession(connector=_socks(f"socks5://{rest}"))
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), proxy=proxy or None)


def _socks(url: str) -> aiohttp.TCPConnector:
    import aiohttp_socks  # only for those who need it

    class Socks(aiohttp_socks.ProxyConnector):
        async def connect(
            self,
            req: ClientRequest,
            traces: list[Trace],
            timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - as in the class above
        ) -> Connection:
            try:
                return await super().connect(req, traces, timeout)
            except (
                aiohttp_socks.ProxyError,
                aiohttp_socks.ProxyConnectionError,
                aiohttp_socks.ProxyTimeoutError,
            ) as error:
                key: Any = req.connection_key
                raise aiohttp.ClientProxyConnectionError(key, OSError(0, str(error))) from error

    return Socks.from_url(url, rdns=True, limit=0)
