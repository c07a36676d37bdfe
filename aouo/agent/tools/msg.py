"""`msg` and `tts`: send a message or a voice note while a turn is still running."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import Field, field_validator

from aouo.agent.tools.registry import Arguments, Tool, ToolContext, tool
from aouo.facts import errors
from aouo.facts.attachments import VOICE_INSTALL, Lack
from aouo.facts.ids import ulid
from aouo.facts.ports import ButtonSpec, Payload, PayloadType
from aouo.guard.paths import listed, looks_local, write_new
from aouo.plumbing.logs import log
from aouo.providers.speech.audio import Audio
from aouo.providers.speech.services import SpeechCall, TermsAsked, Voice

_MAX_DATA_CHARS = 1_000
_MAX_BUTTONS = 100
"""Of one message. Source: reference, "Outbound"."""
_MAX_FILES = 30
_ACTIONS = (
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
)
"""Source: core.telegram.org/bots/api#sendchataction."""


class Msg(Arguments):
    type: PayloadType
    text: str = ""
    url: str = Field(default="", description="album: one a line")
    buttons: list[list[str]] = Field(
        default_factory=list[list[str]], description="rows of Label|data"
    )
    reply_to: str = ""
    tag: str = ""
    action: str = "typing"

    @field_validator("buttons", mode="before")
    @classmethod
    def _from_json(cls, value: Any) -> Any:
        """Accept a list or its JSON text; a row of one button may lack its brackets."""
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except RecursionError:
                raise ValueError("nested too deep") from None
        if isinstance(value, list):
            rows = cast("list[Any]", value)
            return [[row] if isinstance(row, str) else row for row in rows]
        return value

    @field_validator("url", mode="before")
    @classmethod
    def _as_json(cls, value: Any) -> Any:
        """Turn a list of addresses into JSON text, the form that the guard gives it, too."""
        return json.dumps(value) if isinstance(value, list) else value

    @field_validator("reply_to", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) else value


async def _say(wish: Msg, context: ToolContext, call_id: str) -> str:
    if wish.type in ("text", "keyboard") and not wish.text.strip():
        raise errors.ToolFailed(f"msg of type {wish.type} needs a text.")
    if wish.type not in ("text", "keyboard", "action") and not wish.url.strip():
        raise errors.ToolFailed(f"msg of type {wish.type} needs a url.")
    album = listed(wish.url) if wish.type == "album" else ()
    if wish.type == "album" and not album:
        raise errors.ToolFailed("msg of type album needs addresses or paths in url, one a line.")
    if len(album) > _MAX_FILES:
        raise errors.ToolFailed(
            f"An album has at most {_MAX_FILES} files; show the rest with another."
        )
    if wish.type == "action" and wish.action not in _ACTIONS:
        raise errors.ToolFailed(
            f"There is no action {wish.action[:80]!r}. It is {_any_of(_ACTIONS)}."
        )
    if sum(map(len, wish.buttons)) > _MAX_BUTTONS:
        raise errors.ToolFailed(f"A message takes at most {_MAX_BUTTONS} buttons.")
    payload = Payload(
        type=wish.type,
        text=wish.text.replace("\\n", "\n"),
        url="" if album else wish.url.strip(),
        album=album,
        buttons=tuple(tuple(map(_button, row)) for row in wish.buttons),
        reply_to=wish.reply_to,
        tag=wish.tag,
        action=wish.action,
    )
    sent = await context.adapter.dispatch_message(payload, call_id)
    if sent.unknown:
        raise errors.may_have_arrived()
    answer: dict[str, Any] = {
        "ok": sent.ok,
        "message_id": sent.message_id,
        "sent_content": sent.ok and wish.type != "action",
    }
    if sent.note:
        answer["note"] = sent.note
    return json.dumps(answer, ensure_ascii=False)


def _any_of(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _button(cell: str) -> ButtonSpec:
    label, bar, data = cell.rpartition("|")
    label, data = (label, data) if bar else (cell, cell)
    if not label.strip() or not 0 < len(data) <= _MAX_DATA_CHARS:
        raise errors.ToolFailed(
            f'Button {cell[:200]!r}: write "Label|data" with data of 1 to {_MAX_DATA_CHARS:,} '
            "characters."
        )
    return ButtonSpec(label, data)


def _visits(wish: Msg) -> list[str]:
    """Return the addresses that Telegram fetches, and those that a tap opens."""
    given = listed(wish.url) if wish.type == "album" else (wish.url.strip(),)
    found = [one for one in given if one and not looks_local(one)]
    data = (cell.rpartition("|")[2].strip() for row in wish.buttons for cell in row)
    return [*found, *(one for one in data if "://" in one)]


def msg() -> Tool:
    return tool(
        "msg",
        "Show a message or buttons now. Your final text is sent too; after a msg it may be empty.",
        Msg,
        _say,
        sink="look",  # nobody but who reads the answer sees it
        visits=_visits,
        mutates=True,
        timeout_s=120.0,
    )


_MAX_CHARS = 4096
"""Of one voice note: some five minutes; a service may be asked for it in pieces."""
_SPEAKING_S = 120.0
"""How long speaking may take; the rest of the tool's time is for sending."""


class Tts(Arguments):
    text: str
    """what to say"""
    voice: str = ""
    """the service's name for it; leave out for the usual one"""


_LACKS: dict[Lack, str] = {
    "unset": "There is no voice: tts.backend in config.json has to be openai or groq, with a key "
    "of that service, or local. Write your words instead.",
    "not_installed": "The voice is not installed; the owner does that with "
    f"`{VOICE_INSTALL}`. Write your words instead.",
    "no_model": "There is no voice: tts.model in config.json names a file that is not there. Write "
    "your words instead.",
}


def tts(
    speaker: Voice | Lack,
    folder_of: Callable[[str, str], Path],
    check_room: Callable[[Path, int], None],
    *,
    patience_s: float = _SPEAKING_S,
) -> Tool:
    """Make the tool; `speaker` is a voice, or why there is none.

    `folder_of(pack, tenant)` is the pack's data folder; `check_room` raises ToolFailed if it is
    full.
    """

    async def _speak(wish: Tts, context: ToolContext, call_id: str) -> str:
        text = wish.text.strip()
        if not text:
            raise errors.ToolFailed("tts needs a text.")
        if len(text) > _MAX_CHARS:
            raise errors.ToolFailed(
                f"tts takes {_MAX_CHARS:,} characters; these are {len(text):,}."
            )
        if isinstance(speaker, str):
            raise errors.ToolFailed(_LACKS[speaker])
        own = folder_of(context.facts.pack, context.facts.tenant)
        await asyncio.to_thread(check_room, own, 0)  # before it costs anything

        spoken = False

        def spend(by: SpeechCall) -> None:
            nonlocal spoken
            spoken = True
            context.spend(by.scope, by.provider, by.model, by.duration_ms, by.usd)

        try:
            async with asyncio.timeout(patience_s):
                audio = await speaker.speak(text, wish.voice, spend=spend)
        except TimeoutError as error:
            log.warning("provider_error", scope="tts", kind="TimeoutError", error="too slow")
            raise errors.ToolFailed(
                f"Nothing was said: this takes the voice longer than {patience_s:g} s. A shorter "
                "text may be spoken, or write your words instead."
            ) from error
        except errors.ProviderError as error:
            log.warning("provider_error", scope="tts", kind=type(error).__name__, error=str(error))
            raise errors.ToolFailed(
                f"Nothing was said: {_because(error, in_part=spoken)}"
            ) from error
        file = await asyncio.to_thread(_keep, audio, own)
        kind = "voice" if audio.is_voice else "audio"
        sent = await context.adapter.dispatch_message(Payload(kind, url=str(file)), call_id)
        if sent.unknown:
            raise errors.may_have_arrived(f"It is kept as artifacts/{file.name}.")
        answer = {"ok": sent.ok, "message_id": sent.message_id, "file": f"artifacts/{file.name}"}
        return json.dumps(answer | ({"note": sent.note} if sent.note else {}), ensure_ascii=False)

    return tool(
        "tts",
        "Say something as a voice note.",
        Tts,
        _speak,
        sink="look",
        group="voice",
        idempotent=False,
        mutates=True,
        timeout_s=150.0,
    )


def _because(error: errors.ProviderError, *, in_part: bool) -> str:
    """Say why there is no voice note and what to do now; `in_part`: some of it was spoken."""
    match error:
        case TermsAsked():
            why = "the voice service wants the owner to accept its model's terms first; "
        case errors.ModelGone():
            why = "the voice service does not have the model in tts.model, or not any more; "
        case errors.ProviderAuth():
            why = "the voice service refuses the owner's key; "
        case errors.ProviderBilling():
            why = "the owner's account at the voice service has no money left. "
        case errors.ContentFiltered():
            why = "the voice service declined to say this. "
        case (
            errors.RegionRefused()
            | errors.NoModelService()
            | errors.ProxyRefused()
            | errors.CertificateRefused()
        ):
            why = "the voice service cannot be used as it is set up; "
        case errors.QuotaUsedUp():
            why = "the voice service has used up its quota for today. "
        case errors.ProviderBusy() | errors.ProviderTimeout() if in_part:
            why = "the voice service gave sound for a part of this text, and for now no more. "
        case errors.ProviderBusy() | errors.ProviderTimeout():
            why = "the voice service gave no sound for now, it is busy or cannot be reached. "
        case _:
            return (
                "the voice service gave no sound; a shorter text or no voice name may help, or "
                "write your words instead."
            )
    if why.endswith("; "):
        why += "`aouo doctor` tells the owner more. "
    return f"{why}Write your words instead."


def _keep(audio: Audio, own: Path) -> Path:
    """Write a file that only the owner of this machine reads."""
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = own.resolve()
    file = own / "artifacts" / f"{ulid()}{audio.suffix}"
    write_new(file, audio.data, own=own)
    return file
