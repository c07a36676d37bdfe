"""Reads requests of all formats, to speak and to transcribe too, into one value."""

from __future__ import annotations

import hashlib
import io
import json
import wave
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, cast

from aiohttp import BodyPartReader, web

from tests.fakes.models.profile import Body, Profile, Sound, Wire

BYTES_A_TOKEN = 4
_BARE = "bare"
_encoded = json.JSONEncoder(ensure_ascii=False).encode
_LEFT_OUT = ('"data:', '"mimeType"', '"cache_control"')
"""A piece without these goes into the prompt unchanged, which saves time for most."""
_IMAGE_TOKENS = 765
"""Roughly what services charge for a picture, whatever its bytes."""


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call in the history: its id, its name, and its JSON object."""

    id: str
    name: str
    raw: Body


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the conversation; `answers` are the ids of the calls whose results it holds."""

    role: str
    raw: Body
    text: str = ""
    calls: tuple[AskedCall, ...] = ()
    answers: tuple[str, ...] = ()
    images: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: `prompt` are its pieces as text, tools first; `marked` are those to cache."""

    wire: Wire | Sound
    model: str
    body: Body
    entries: tuple[Entry, ...]
    prompt: tuple[str, ...]
    marked: tuple[int, ...]
    prompt_tokens: int
    max_tokens: int

    @property
    def words(self) -> str:
        """The text of the person's newest entry."""
        said = (entry.text for entry in reversed(self.entries) if entry.role == "user")
        return next((text for text in said if text), "")

    @property
    def tools(self) -> list[str]:
        found = cast("list[Body]", self.body.get("tools") or [])
        if self.wire == "gemini":
            return [tool["name"] for one in found for tool in one.get("functionDeclarations", ())]
        return [str(tool.get("name") or tool.get("function", {}).get("name")) for tool in found]


def read(wire: Wire, body: Body, model: str = "") -> Asked:
    """Read a request's body.

    Raises `KeyError`, `TypeError` or `AttributeError` if the body has another shape.
    """
    entries = tuple(_READERS[wire](body))
    tools: list[Any] = list(body.get("tools") or ())
    pieces = [_plain(value) for value in (*tools, *(entry.raw for entry in entries))]
    images = sum(entry.images for entry in entries)
    chars = sum(len(piece.encode("utf-8", "replace")) for piece, _ in pieces)
    return Asked(
        wire=wire,
        model=model or str(body.get("model") or ""),
        body=body,
        entries=entries,
        prompt=tuple(piece for piece, _ in pieces),
        marked=tuple(at for at, (_, marked) in enumerate(pieces) if marked),
        prompt_tokens=chars // BYTES_A_TOKEN + images * _IMAGE_TOKENS + 1,
        max_tokens=_max_tokens(body),
    )


def at(value: Any, path: str) -> Any:
    """Return the value at a dotted path, `...` if there is none."""
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return ...
        value = cast("Body", value)[name]
    return value


def _max_tokens(body: Body) -> int:
    for path in (
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "generationConfig.maxOutputTokens",
    ):
        if isinstance(found := at(body, path), int):
            return found
    return 0


def _plain(value: Any) -> tuple[str, bool]:
    """Return a piece as text without pictures and marks, and whether it had a mark."""
    text = _encoded(value)
    if not any(word in text for word in _LEFT_OUT):
        return text, False
    marked = False

    def walk(value: Any) -> Any:
        nonlocal marked
        if isinstance(value, dict):
            known = cast("Body", value)
            marked = marked or "cache_control" in known
            if "mimeType" in known:
                return {"image": _short(str(known.get("data")))}
            return {key: walk(one) for key, one in known.items() if key != "cache_control"}
        if isinstance(value, list):
            return [walk(one) for one in cast("list[Any]", value)]
        if isinstance(value, str) and value.startswith("data:"):
            return _short(value)
        return value

    return _encoded(walk(value)), marked


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = cast("list[Body]", content if isinstance(content, list) else [])
    return "".join(str(part.get("text") or "") for part in parts)


def _images(content: Any) -> int:
    parts = cast("list[Body]", content if isinstance(content, list) else [])
    return sum(1 for part in parts if part.get("type") in ("image_url", "input_image"))


def _of_chat(body: Body) -> Iterator[Entry]:
    for said in cast("list[Body]", body["messages"]):
        content = said.get("content")
        calls = tuple(
            AskedCall(str(call.get("id") or ""), str(call["function"]["name"]), call)
            for call in cast("list[Body]", said.get("tool_calls") or [])
        )
        answers = (str(said.get("tool_call_id") or ""),) if said["role"] == "tool" else ()
        yield Entry(said["role"], said, _text(content), calls, answers, _images(content))


def _of_responses(body: Body) -> Iterator[Entry]:
    if body.get("instructions"):
        yield Entry("system", {"instructions": body["instructions"]}, body["instructions"])
    given = body["input"]
    if isinstance(given, str):
        yield Entry("user", {"content": given}, given)
        return
    thought = ""
    for item in cast("list[Body]", given):
        match item.get("type", "message"):
            case "message":
                content = item.get("content")
                yield Entry(item["role"], item, _text(content), images=_images(content))
            case "function_call":
                # An item without an id of its own asks for no item of thoughts before it.
                told = item | {"reasoning": thought if item.get("id") else _BARE}
                call = AskedCall(str(item.get("call_id") or ""), str(item["name"]), told)
                yield Entry("assistant", item, calls=(call,))
            case "reasoning":
                thought = f"{item.get('id')} {item.get('encrypted_content')}"
                yield Entry("reasoning", item)
            case "function_call_output":
                yield Entry("tool", item, answers=(str(item.get("call_id") or ""),))
            case kind:
                yield Entry(str(kind), item)


def _of_gemini(body: Body) -> Iterator[Entry]:
    told = body.get("systemInstruction") or body.get("system_instruction")
    if told:
        yield Entry("system", told, _text(told["parts"]))
    for content in cast("list[Body]", body["contents"]):
        parts = cast("list[Body]", content["parts"])
        calls = tuple(
            AskedCall(str(part["functionCall"].get("id") or ""), part["functionCall"]["name"], part)
            for part in parts
            if "functionCall" in part
        )
        answers = tuple(
            str(part["functionResponse"].get("id") or part["functionResponse"]["name"])
            for part in parts
            if "functionResponse" in part
        )
        images = sum(1 for part in parts if "inlineData" in part)
        given = "assistant" if content["role"] == "model" else str(content["role"])
        role = "tool" if answers else given
        yield Entry(role, content, _text(parts), calls, answers, images)


_READERS = {"chat": _of_chat, "responses": _of_responses, "gemini": _of_gemini}


_MS_A_CHARACTER = 10
_RATE_HZ = 24_000
_NOTE = b"OggS" + bytes(24) + b"OpusHead" + b"and so on"
"""The beginning of a voice note, enough to be recognised."""


@dataclass(frozen=True, slots=True)
class File:
    """One uploaded file, with the form's other fields."""

    name: str
    data: bytes
    fields: dict[str, str]


def sound_of(request: web.Request, profile: Profile) -> Sound | None:
    """Return what a request wants of sound; None = it is about something else."""
    for sound, path in profile.sounds.items():
        if (request.method, request.path) == ("POST", path):
            return sound
    return None


async def file_of(request: web.Request) -> File:
    """Read the form of an upload. Raises `ValueError`: it is none."""
    name, data, fields = "", b"", dict[str, str]()
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            raise ValueError("a form in a form")
        if part.filename is None:
            fields[str(part.name)] = await part.text()
        else:
            name, data = part.filename, bytes(await part.read())
    return File(name, data, fields)


def to_speak(wish: Body) -> Asked:
    """Read a request to speak. Raises `KeyError` or `TypeError`: the body has another shape."""
    characters = len(wish["input"])
    return _asked("speech", wish | {"characters": characters}, characters)


def to_write_down(file: File) -> Asked:
    """Read a request to transcribe. Raises `KeyError`: the form has another shape."""
    ending = PurePath(file.name).suffix.lstrip(".").lower()
    return _asked("transcription", {**file.fields, "bytes": len(file.data), "ending": ending}, 0)


def _asked(kind: Sound, body: Body, tokens: int) -> Asked:
    """Return a request for sound; each character of a text counts as a token, as at Groq."""
    return Asked(kind, body["model"], body, (), (), (), tokens, 0)


def spoken(asked: Asked) -> tuple[bytes, str]:
    """Return sound whose length follows the text's, and its media type."""
    how: Any = asked.body.get("response_format") or "mp3"
    return (_tone(asked.prompt_tokens) if how == "wav" else _NOTE), f"audio/{how}"


def written_down(asked: Asked) -> Body:
    """Return a transcript in place of the words of a file, which is not heard."""
    return {"text": f"(a recording of {asked.body['bytes']} bytes, which nobody listened to)"}


def _tone(characters: int) -> bytes:
    """Return so much sound as WAV, with the header of a service that does not know its length."""
    frames = _RATE_HZ * _MS_A_CHARACTER * characters // 1000
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(_RATE_HZ)
        file.writeframes(array("h", [8000 if at // 50 % 2 else -8000 for at in range(frames)]))
    sound = bytearray(made.getvalue())
    sound[4:8] = sound[40:44] = b"\xff\xff\xff\xff"
    return bytes(sound)
