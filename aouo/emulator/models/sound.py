"""Reads requests to speak or to transcribe, and makes their default answers."""

from __future__ import annotations

import io
import wave
from array import array
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from aiohttp import BodyPartReader, web

from aouo.emulator.models.asked import Asked
from aouo.emulator.models.profile import Body, Profile, Sound

MS_A_CHARACTER = 10
RATE_HZ = 24_000
NOTE = b"OggS" + bytes(24) + b"OpusHead" + b"and so on"
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
    return (tone(asked.prompt_tokens) if how == "wav" else NOTE), f"audio/{how}"


def written_down(asked: Asked) -> Body:
    """Return a transcript in place of the words of a file, which is not heard."""
    return {"text": f"(a recording of {asked.body['bytes']} bytes, which nobody listened to)"}


def tone(characters: int) -> bytes:
    """Return so much sound as WAV, with the header of a service that does not know its length."""
    frames = RATE_HZ * MS_A_CHARACTER * characters // 1000
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(array("h", [8000 if at // 50 % 2 else -8000 for at in range(frames)]))
    sound = bytearray(made.getvalue())
    sound[4:8] = sound[40:44] = b"\xff\xff\xff\xff"
    return bytes(sound)
