"""A client for the local services that speaks plain HTTP."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeAlias

import aiohttp
import pytest

from tests.fakes.models import KEY, ModelService

Ask: TypeAlias = Callable[..., Coroutine[Any, Any, tuple[int, Any]]]
"""(service, path, body) -> status, and JSON, events of a stream, or text."""


@pytest.fixture
async def ask() -> AsyncIterator[Ask]:
    async with aiohttp.ClientSession() as session:

        async def send(service: ModelService, path: str, body: Any = None) -> tuple[int, Any]:
            headers = {"Authorization": f"Bearer {KEY}", "x-goog-api-key": KEY}
            method = "GET" if body is None else "POST"
            data = None if body is None else io.BytesIO(json.dumps(body).encode())
            async with session.request(
                method, service.url + path, data=data, headers=headers
            ) as answer:
                text = await answer.text(errors="replace")
            if answer.content_type == "application/json":
                return answer.status, json.loads(text)
            if answer.content_type == "text/event-stream":
                lines = [line for line in text.splitlines() if line.startswith("data: {")]
                return answer.status, [json.loads(line[6:]) for line in lines]
            return answer.status, text

        yield send
