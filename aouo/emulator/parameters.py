"""Reads the parameters of one call by name and type, wherever they are in its request."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from aiohttp import BodyPartReader, hdrs, web

from aouo.emulator.description import Upload
from aouo.emulator.jsons import JsonObject, as_array, as_object
from aouo.emulator.refusal import Refusal, bad_request

MAX_UPLOAD_BYTES = 50_000_000
MAX_LOCAL_UPLOAD_BYTES = 2_000_000_000
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Parameters:
    """Values checked against the description; a getter returns an empty value for a missing one.

    `uploads` are the multipart parts that `attach://name` refers to.
    """

    values: Mapping[str, Any]
    uploads: Mapping[str, Upload]

    def text(self, name: str) -> str:
        value = self.values.get(name, "")
        return value if isinstance(value, str) else str(value)

    def integer(self, name: str, default: int = 0) -> int:
        value = self.values.get(name, default)
        return value if isinstance(value, int) else default

    def flag(self, name: str) -> bool:
        return self.values.get(name) is True

    def object(self, name: str) -> JsonObject | None:
        return as_object(self.values.get(name))

    def objects(self, name: str) -> list[JsonObject]:
        return cast(list[JsonObject], as_array(self.values.get(name)) or [])

    def integers(self, name: str) -> list[int]:
        return cast(list[int], as_array(self.values.get(name)) or [])

    def has(self, name: str) -> bool:
        return name in self.values

    def file(self, name: str) -> Upload | str:
        """Return the uploaded part, or the file id or address given as text."""
        value = self.values.get(name, "")
        if isinstance(value, Upload):
            return value
        return self.reference(str(value))

    def reference(self, value: str) -> Upload | str:
        """Return the part that `attach://name` names, or the text itself."""
        return self.uploads.get(value.removeprefix("attach://"), value)


async def read_parameters(request: web.Request, *, local: bool = False) -> JsonObject:
    """Raw values by name; files are `Upload`s, texts of a form are not decoded yet.

    `local`: the server is the bot's own.
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
            if size <= limit:  # the rest is read too, or the answer might not be
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
