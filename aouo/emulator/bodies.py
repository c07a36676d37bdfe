"""A request's parameters, wherever they are: query, form, multipart or JSON."""

import json
from typing import Any

from aiohttp import BodyPartReader, hdrs, web

from aouo.emulator.description import Upload
from aouo.emulator.jsons import JsonObject, as_object
from aouo.emulator.refusal import Refusal, bad_request

MAX_UPLOAD_BYTES = 50_000_000


async def read_parameters(request: web.Request) -> JsonObject:
    """Raw values by name; files are `Upload`s, texts of a form are not decoded yet."""
    values: JsonObject = dict(request.query)
    kind = request.content_type
    if request.method != hdrs.METH_POST:
        return values
    if kind == "application/json":
        return values | await _json_body(request)
    if kind == "multipart/form-data":
        return values | await _multipart(request)
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


async def _multipart(request: web.Request) -> JsonObject:
    values: dict[str, Any] = {}
    size = 0
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            continue
        content = bytes(await part.read(decode=True))
        size += len(content)
        if size > MAX_UPLOAD_BYTES:
            raise Refusal(413, "Request Entity Too Large")
        if part.filename is None:
            values[part.name] = content.decode("utf-8", "replace")
        else:
            mime = part.headers.get(hdrs.CONTENT_TYPE, "application/octet-stream")
            values[part.name] = Upload(part.filename, mime, content)
    return values
