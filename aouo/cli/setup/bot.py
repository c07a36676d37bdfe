"""Asks Telegram for `aouo setup`: whose the token is, who else reads its messages, and who tapped
the link of the pairing."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from aouo.cli.doctoring import parts
from aouo.config.settings import Settings
from aouo.plumbing.home import Home, write_atomically

_VALID_S: Final = 24 * 3600
_WAIT_S: Final = 20
_PAUSE_S: Final = 1.0
_LEFT: Final = "setup.json"
_FULL: Final = 100
"""The most updates that Telegram shows at once."""


@dataclass(frozen=True, slots=True)
class Tapped:
    """Who opened the bot by the link; `name` is theirs at Telegram."""

    person: int
    name: str


def reader(settings: Settings) -> str:
    """Return who else reads this bot's messages, as a sentence; "" = nobody was seen.

    Source: core.telegram.org/bots/api#getupdates: it does not work while a webhook is set, and of
    two that poll the older one is refused, so that a poll of a few seconds meets the other.
    """
    status, answer = parts.bot_api(settings, "getUpdates", within_s=15, timeout=3, limit=1)
    return _conflict(answer) if status == 409 else ""


def _conflict(answer: Mapping[str, Any]) -> str:
    if "webhook" in str(answer.get("description", "")):
        return "Telegram hands this bot's messages to a webhook of somebody else."
    return "Another program reads this bot's messages: two cannot. End that one first."


def link(home: Home, name: str) -> tuple[str, float]:
    """Return the link whose tap tells who the owner is, and when it was made; it is valid for a day
    and outlives this process."""
    kept, now = remembered(home), time.time()
    code, at = str(kept.get("code", "")), float(kept.get("at", 0))
    if not code or not 0 <= now - at < _VALID_S:
        code, at = secrets.token_urlsafe(12), now
        remember(home, code=code, at=at)
    return f"https://t.me/{name}?start={code}", at


def remembered(home: Home) -> Mapping[str, Any]:
    """Return what an earlier run of the set-up has left: `code` and `at` of the link, and a true
    value for each part that was answered with no."""
    try:
        return cast("Mapping[str, Any]", json.loads((home.run / _LEFT).read_text()))
    except (OSError, ValueError):
        return {}


def remember(home: Home, **changes: object) -> None:
    """Leave something for the next run."""
    write_atomically(home.run / _LEFT, json.dumps({**remembered(home), **changes}))


def tapped(settings: Settings, url: str, made_at: float) -> Tapped | str:
    """Wait until somebody taps the link, in a chat of their own; return who, or why it cannot be
    seen here.

    What came in is not confirmed, so that the bot answers it when it starts.
    """
    code = url.rpartition("=")[2]
    while True:
        asks = {"timeout": _WAIT_S, "limit": _FULL}
        status, answer = parts.bot_api(settings, "getUpdates", within_s=_WAIT_S + 10, **asks)
        if status == 409:
            return _conflict(answer)
        if status in (401, 404):
            return "Telegram refuses the token by now."
        updates = cast("list[Mapping[str, Any]]", answer.get("result") or [])
        for message in [cast("Mapping[str, Any]", one.get("message") or {}) for one in updates]:
            if _is_tap(message, code, made_at):
                sender = message["from"]
                return Tapped(int(sender["id"]), str(sender.get("first_name", "")))
        if len(updates) >= _FULL:
            return f"{_FULL} messages wait at Telegram already, which hide the tap."
        if updates or status != 200:
            time.sleep(_PAUSE_S)


def _is_tap(message: Mapping[str, Any], code: str, made_at: float) -> bool:
    private = message.get("chat", {}).get("type") == "private"
    in_time = int(made_at) <= int(message.get("date", 0)) < made_at + _VALID_S
    return private and in_time and message.get("text") == f"/start {code}"


def greet(settings: Settings, person: int) -> None:
    """Let the new owner see in the chat that the tap has arrived."""
    words = "You are the owner of this bot now. Its set-up goes on where you began it."
    parts.bot_api(settings, "sendMessage", chat_id=person, text=words)
