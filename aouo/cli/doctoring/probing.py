"""Asks the configured models something small, as the runtime would ask them: `aouo doctor` and
`aouo models`."""

from __future__ import annotations

import asyncio
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import aiohttp

from aouo.app.services import configured, model_of, with_model
from aouo.cli.doctoring.check import fix_of
from aouo.config.settings import Settings
from aouo.facts.errors import AouoError, SetupError
from aouo.facts.ports import ChatModel, Clock
from aouo.facts.transcript import Finished, Image, ModelRequest, ToolSpec, UserSaid
from aouo.plumbing.redact import Redactor
from aouo.plumbing.resources import Holder
from aouo.plumbing.web.certificates import cure_of
from aouo.plumbing.web.session import secrets_of, session_through
from aouo.providers.fallback import models_in
from aouo.providers.known.concerns import Concern, concerns, key_of, unsent
from aouo.providers.known.knowing import Facts, Inquiry, KnownModel, learn, look_up

_WITHIN_S = 60.0
_ROOM_TOKENS = 4_096
"""For a model that thinks before it calls a tool; a few hundred are usual."""
_TOOL = ToolSpec(
    "note_word",
    "Writes down one word.",
    {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
)
_SYSTEM = "You are being tested. Do exactly what is asked, with as little thought as it needs."
_CALL = "Call the tool note_word with the word pong."
_LOOK = "Which colour is this picture? Answer with one word."


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one question; `refusal` "" = an answer, `fix` what may mend a refusal."""

    refusal: str = ""
    fix: str = ""
    said: str = ""
    called: bool = False
    thought: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Seen:
    """One configured model: what it is for, and the key that names it; then, once it was looked
    at, what is known of it, what its server says, and what it answered."""

    role: str
    backend: str
    model: str
    key: str
    window_tokens: int = 0
    facts: Facts | None = None
    inquiry: Inquiry | None = None
    concerns: tuple[Concern, ...] = ()
    tool: Reply | None = None
    picture: Reply | None = None
    problem: str = ""
    fix: str = ""


def wanted_models(settings: Settings) -> tuple[Seen, ...]:
    """The primary, those that step in for it, and the one that describes pictures."""
    found = [
        Seen("fallback" if at else "primary", backend, model, key_of(at))
        for at, (backend, model) in enumerate(configured(settings))
    ]
    if settings.gemini.vision_model:
        key = "gemini.vision_model"
        found.append(Seen("pictures", "gemini", settings.gemini.vision_model, key))
    return tuple(found)


async def look(
    settings: Settings,
    wanted: Sequence[Seen],
    clock: Clock,
    *,
    online: bool = True,
    asks: bool = False,
    shows: bool = False,
) -> tuple[Seen, ...]:
    """Look at models beside each other: their servers' lists, if `asks` one small question with a
    tool, if `shows` a small picture too. Each question has `_WITHIN_S` seconds."""
    async with session_through() as session, asyncio.TaskGroup() as group:
        looks = [
            _looked(_alone(settings, one), session, clock, one, online, asks, shows)
            for one in wanted
        ]
        tasks = [group.create_task(one) for one in looks]
    return tuple(task.result() for task in tasks)


async def _looked(
    alone: Settings,
    session: aiohttp.ClientSession,
    clock: Clock,
    seen: Seen,
    online: bool,
    asks: bool,
    shows: bool,
) -> Seen:
    async with Holder() as held:
        try:
            model = await model_of(alone, session, held, clock)
        except SetupError as error:
            return replace(seen, problem=error.problem, fix=error.fix)
        known = models_in(model)[0]
        seen = replace(seen, window_tokens=known.context_window)
        if isinstance(known, KnownModel):
            if online:
                seen = await _learned(alone, clock, seen, known)
            else:
                await look_up(known)
        if asks:
            seen = replace(seen, tool=await _ask(alone, model, seen))
            seeing = seen.tool and not seen.tool.refusal and known.sees
            if shows and seeing:
                seen = replace(seen, picture=await _ask(alone, model, seen, shows=True))
        if isinstance(known, KnownModel):
            told = seen.inquiry and seen.inquiry.told
            if asks and told and not told.loaded:  # now it is
                seen = await _learned(alone, clock, seen, known)
            wish = alone.provider
            left_out = unsent(known, temperature=wish.temperature, effort=wish.effort)
            concerned = (*seen.concerns, *left_out)
            window = known.context_window
            seen = replace(seen, window_tokens=window, facts=known.facts, concerns=concerned)
        return seen


async def _learned(alone: Settings, clock: Clock, seen: Seen, model: KnownModel) -> Seen:
    said = await learn(model)
    window_set = bool(alone.advanced.context_window)
    found = concerns(model, said, seen.key, clock.now().date(), window_set=window_set)
    return replace(seen, inquiry=said, concerns=tuple(found))


async def _ask(alone: Settings, model: ChatModel, seen: Seen, *, shows: bool = False) -> Reply:
    """One question, as the runtime asks; a refusal is quoted without secrets."""
    begun_s = time.perf_counter()
    request = ModelRequest(
        system=_SYSTEM,
        messages=(UserSaid(_LOOK, (Image("image/png", _red()),)) if shows else UserSaid(_CALL),),
        tools=() if shows else (_TOOL,),
        context="This is a test.",
        max_tokens=min(_ROOM_TOKENS, alone.provider.max_tokens),
        temperature=alone.provider.temperature,
        effort=alone.provider.effort,
    )
    try:
        async with asyncio.timeout(_WITHIN_S), aclosing(model.stream(request)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    return _reply(event, time.perf_counter() - begun_s)
    except TimeoutError:
        return Reply(f"no answer within {_WITHIN_S:g} s", "Is it still loading? Try again.")
    except AouoError as error:
        cure = getattr(error, "cure", "") or cure_of(error)
        said = f"{seen.backend}: {cure}" if cure else " ".join(str(error).split())
        clean = Redactor(secrets_of(alone.secrets())).text(said)
        if cure:
            return Reply(clean)
        reached = seen.inquiry is None or bool(seen.inquiry.status)
        return Reply(clean, fix_of(error, alone, seen.key, reached=reached))
    return Reply("the answer had no end", "Try again.")


def _alone(settings: Settings, wanted: Seen) -> Settings:
    """This model by itself, asked once."""
    alone = with_model(settings, wanted.backend, wanted.model)
    more: dict[str, object] = {"max_retries": 0}
    if wanted.role == "pictures":
        more["vision"] = "on"
    return alone.model_copy(update={"provider": alone.provider.model_copy(update=more)})


def _reply(finished: Finished, seconds: float) -> Reply:
    said = finished.said
    if not said.text.strip() and not said.calls:
        return _silent(cut_off=finished.reason == "length")
    return Reply(
        said=said.text.strip(),
        called=any(call.name == _TOOL.name for call in said.calls),
        thought=finished.usage.reasoning_tokens > 0,
        seconds=round(seconds, 1),
    )


def _silent(*, cut_off: bool) -> Reply:
    """An answer without a word: Ollama and LM Studio, where the prompt does not fit the window."""
    if cut_off:
        fix = "Its thoughts filled provider.max_tokens, or its window is too small where it runs."
        return Reply("the answer was cut off before its first word", fix)
    return Reply("the answer was empty", "Ask again; is its window too small where it runs?")


def _red() -> bytes:
    """A PNG of 64 by 64 red pixels. Source: the PNG specification, W3C, third edition."""
    rows = b"".join(b"\x00" + b"\xff\x00\x00" * 64 for _ in range(64))
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunks(parts))


def _chunks(parts: Sequence[tuple[bytes, bytes]]) -> Iterator[bytes]:
    for kind, data in parts:
        yield (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )
