"""Chooses the trusted TLS authorities, and explains failed connections in one sentence.

OpenSSL reads `SSL_CERT_FILE` and `SSL_CERT_DIR` itself, instead of the system's authorities.
`REQUESTS_CA_BUNDLE`, a file or a folder, is trusted too: companies set it for their proxies.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import aiohttp

from aouo.facts.errors import SetupError

_BUNDLE = "REQUESTS_CA_BUNDLE"
_NOT_YET, _EXPIRED, _ITSELF, _OTHER_HOST, _OTHER_ADDRESS = 9, 10, 18, 62, 64
"""X509_V_ERR_*. Source: OpenSSL, x509_vfy.h."""
_ITS_AUTHORITY = (
    "save the certificate of its authority in a file and set SSL_CERT_FILE or REQUESTS_CA_BUNDLE "
    "to it"
)


def trusted(environ: Mapping[str, str]) -> ssl.SSLContext | bool:
    """Return the `ssl` argument of a connector; True = OpenSSL's own store, which aiohttp loads.

    Raises:
        SetupError: `REQUESTS_CA_BUNDLE` cannot be read.
    """
    named = environ.get(_BUNDLE, "")
    if not named or named in (environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")):
        return True
    return _besides(named)


@lru_cache(maxsize=1)
def _besides(named: str) -> ssl.SSLContext:
    """Read the bundle, once: it takes as long as a small model answer."""
    bundle = Path(named)
    context = ssl.create_default_context()
    try:
        if bundle.is_dir():
            context.load_verify_locations(capath=bundle)
        else:
            context.load_verify_locations(cafile=bundle)
    except OSError as error:  # ssl.SSLError is one: no certificate in it
        raise SetupError(
            f"The environment's {_BUNDLE} names {named}, which holds no certificates that can be "
            "read.",
            fix=f"Set {_BUNDLE} to a file of certificates in PEM, or unset it.",
        ) from error
    context.set_alpn_protocols(("http/1.1",))
    return context


def cure_of(error: BaseException) -> str:
    """Return what is wrong with the connection to a service and how to mend it, "" = unknown.

    It looks through the causes of `error`, and names hosts, never credentials.
    """
    found = list(_causes(error))
    for one in found:
        if isinstance(one, aiohttp.ClientHttpProxyError):
            return _proxy_refuses(one)
        if isinstance(one, aiohttp.ClientProxyConnectionError):
            return _proxy_fails(one)
    for one in found:
        # aiohttp's own certificate error is one too, but has no code.
        if isinstance(one, ssl.SSLCertVerificationError) and not isinstance(
            one, aiohttp.ClientError
        ):
            host = next((str(e.host) for e in found if isinstance(e, aiohttp.ClientSSLError)), "")
            return _certificate(one, f"of {host}" if host else "that was shown")
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inner = getattr(one, "certificate_error", None) or getattr(one, "os_error", None)
        context = None if one.__suppress_context__ else one.__context__
        waiting += [
            cause for cause in (inner, one.__cause__, context) if isinstance(cause, BaseException)
        ]


def _proxy_refuses(error: aiohttp.ClientHttpProxyError) -> str:
    proxy = error.request_info.real_url  # `url` is the address behind the proxy
    where = f"{proxy.host}:{proxy.port}"
    if error.status == 407:
        return wants_password(where)
    return f"the proxy {where} refuses to lead there ({error.status}): it may not, or cannot"


def _proxy_fails(error: aiohttp.ClientProxyConnectionError) -> str:
    where = f"{error.host}:{error.port}"
    if asks_password(error):
        return wants_password(where)
    return f"the proxy {where} cannot be used: check that it runs and may lead there"


def asks_password(error: aiohttp.ClientProxyConnectionError) -> bool:
    """Whether a SOCKS proxy asks for a password; python-socks has no class for that."""
    said = str(error.os_error).lower()
    return "authentication" in said or "auth methods" in said


def wants_password(where: str = "on the way") -> str:
    return (
        f"the proxy {where} asks for a password, or refuses the one it was told: write "
        "user:password@ before its host, in telegram.proxy or the environment's variable"
    )


def _certificate(error: ssl.SSLCertVerificationError, whose: str) -> str:
    match error.verify_code:
        case code if code == _EXPIRED:
            return (
                f"the certificate {whose} has ended: its operator has to renew it, unless the "
                "date of this machine is wrong"
            )
        case code if code == _NOT_YET:
            return f"the certificate {whose} is not valid yet: check the date of this machine"
        case code if code in (_OTHER_HOST, _OTHER_ADDRESS):
            return f"the certificate {whose} is for another host: check the address that is set"
        case code if code == _ITSELF:
            return f"the certificate {whose} is signed by itself: if it is yours, {_ITS_AUTHORITY}"
        case _:
            return _no_store() or (
                f"the certificate {whose} comes from an authority that this machine does not know, "
                f"as that of a company's proxy: {_ITS_AUTHORITY}"
            )


def _no_store() -> str:
    """Return why this machine can check no certificate at all, "" = it has authorities."""
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        named = os.environ.get(name, "")
        if named and not Path(named).exists():
            return f"{name} names {named}, which is not there: correct or unset it"
    paths = ssl.get_default_verify_paths()
    folder = Path(paths.capath) if paths.capath else None
    if paths.cafile or (folder and any(folder.iterdir())):
        return ""
    return (
        "this machine has no certificates of authorities: install the package ca-certificates, or, "
        "on macOS with Python from python.org, run its “Install Certificates.command”"
    )
