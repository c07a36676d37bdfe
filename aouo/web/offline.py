"""Stands for the network of an offline runtime: no name resolves, and no address is open."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.web.addresses import Address


async def nobody_looks_up(host: str, port: int) -> Sequence[str]:
    """Refuse every name. Raises: OSError: always."""
    raise OSError(f"there is no network here, so {host}:{port} is not looked up")


def nowhere(address: Address) -> bool:
    del address
    return False
