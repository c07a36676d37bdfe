"""Reads a request's parameters from its query, form, multipart or JSON body."""

import json
from typing import Any

from aiohttp import BodyPartReader, hdrs, web

from aouo.emulator.description import Upload
from aouo.emulator.jsons import JsonObject, as_object
from aouo.emulator.refusal import Refusal, bad_request

MAX_UPLOAD_BYTES = 50_000_000
MAX_LOCAL_UPLOAD_BYTES = 2_000_000_000
_CHUNK_BYTES = 1 << 20


async def read_parameters(request: web.Request, *, local: bool = False) -> JsonObject:
    """Return raw values by name; files are `Upload`s, texts of a form are not decoded yet.

    `local`: it is a local server, which takes larger files.
    """
    values: JsonObject = dict(request.query)
    kind = request.content_type
    if request.method != hdrs.METH_POST:
        return values
    if kind == "application/json":
        return values | await _json_body(request)
    if kind == "multipart/form-data":
        return values | await _multipart(
            request, MAX_LOCAL_UPLOAD_BYTES if local else MAX_UPLOAD_BYTES
        )
    if kind == "application/x-www-form-urlencoded":
        form = await request.post()
        return values | {name: value for name, value in form.items() if isinstance(value, str)}
    return values


async def _json_body(request: web.Request) -> JsonObject:
    body = await request.read()
    if not body:
        return {}
    try:
        found = as_object(json.loads(body))
    except (ValueError, RecursionError):
        found = None
    if found is None:
        raise bad_request("can't parse request body: Object expected")
    return found


async def _multipart(request: web.Request, limit: int) -> JsonObject:
    values: dict[str, Any] = {}
    size = 0
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            continue
        chunks: list[bytes] = []
        while chunk := await part.read_chunk(_CHUNK_BYTES):
            size += len(chunk)
            if size <= limit:  # the rest is read too, or the client might not read the answer
                chunks.append(bytes(chunk))
        if size > limit:
            continue
        content = bytes(part.decode(b"".join(chunks)))
        if part.filename is None:
            values[part.name] = content.decode("utf-8", "replace")
        else:
            mime = part.headers.get(hdrs.CONTENT_TYPE, "application/octet-stream")
            values[part.name] = Upload(part.filename, mime, content)
    if size > limit:
        raise Refusal(413, "Request Entity Too Large")
    return values
