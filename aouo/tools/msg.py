"""`msg`: send a message to the conversation while a turn is still running."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from pydantic import Field, field_validator

from aouo.facts.errors import ToolFailed, may_have_arrived
from aouo.facts.ports import ButtonSpec, Payload, PayloadType
from aouo.guard.paths import listed
from aouo.tools.registry import Arguments, Tool, ToolContext, tool

MAX_DATA_CHARS = 1_000
MAX_BUTTONS = 100
"""Of one message. Source: reference, "Outbound"."""
MAX_FILES = 30
ACTIONS = (
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
        raise ToolFailed(f"msg of type {wish.type} needs a text.")
    if wish.type not in ("text", "keyboard", "action") and not wish.url.strip():
        raise ToolFailed(f"msg of type {wish.type} needs a url.")
    album = listed(wish.url) if wish.type == "album" else ()
    if wish.type == "album" and not album:
        raise ToolFailed("msg of type album needs addresses or paths in url, one a line.")
    if len(album) > MAX_FILES:
        raise ToolFailed(f"An album has at most {MAX_FILES} files; show the rest with another.")
    if wish.type == "action" and wish.action not in ACTIONS:
        raise ToolFailed(f"There is no action {wish.action[:80]!r}. It is {_any_of(ACTIONS)}.")
    if sum(map(len, wish.buttons)) > MAX_BUTTONS:
        raise ToolFailed(f"A message takes at most {MAX_BUTTONS} buttons.")
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
        raise may_have_arrived()
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
    if not label.strip() or not 0 < len(data) <= MAX_DATA_CHARS:
        raise ToolFailed(
            f'Button {cell[:200]!r}: write "Label|data" with data of 1 to {MAX_DATA_CHARS:,} '
            "characters."
        )
    return ButtonSpec(label, data)


def msg() -> Tool:
    return tool(
        "msg",
        "Show a message or buttons now. Your final text is sent too; after a msg it may be empty.",
        Msg,
        _say,
        mutates=True,
        timeout_s=120.0,
    )
