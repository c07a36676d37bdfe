"""Finds out whether what is at an address has changed, with little traffic if that goes."""

from __future__ import annotations

import hashlib
import json
from http import HTTPStatus

import aiohttp
from yarl import URL

from aouo.web.client import Web, body_of
from aouo.web.targets import Permits

MAX_BYTES = 1_000_000
"""What is compared of a page; more of it may change unnoticed."""
_VALIDATOR_CHARS = 500


async def probe(web: Web, text: str, permits: Permits, validator: str) -> tuple[str, str] | None:
    """Look at a URL; return a hash of what is there, and the validator by which its server knows
    it; None = its server says that it is as it was at `validator` ("" = never seen).

    Raises:
        ToolFailed: it may not or could not be fetched; says why.
    """
    etag, modified = json.loads(validator) if validator else ("", "")
    asked = {"If-None-Match": etag, "If-Modified-Since": modified}

    async def take(answer: aiohttp.ClientResponse, url: URL) -> tuple[str, str] | None:
        del url
        if answer.status == HTTPStatus.NOT_MODIFIED:
            return None
        found = tuple(
            answer.headers.get(name, "")[:_VALIDATOR_CHARS] for name in ("ETag", "Last-Modified")
        )
        if any(found) and found == (etag, modified):  # the server knows no conditions
            return None
        body, _ = await body_of(answer, MAX_BYTES)
        return hashlib.sha256(body).hexdigest(), json.dumps(found) if any(found) else ""

    headers = {name: value for name, value in asked.items() if value}
    return await web.ask(text, permits, take, headers)
