"""Words what is told of messages that were refused, or that may not have arrived."""

from __future__ import annotations

from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.words.saying import cut, say

_QUOTED_CHARS = 40


def may_not_have_arrived(delivery_id: int, message: Rendered) -> Rendered:
    """Return the message that another one, named by its first words, may not have arrived."""
    return say(
        f"The connection broke while I was sending: {_named(message)} may not have arrived.",
        [ButtonSpec("Show again", encode("again", delivery_id))],
    )


def may_not_write(chat_id: str) -> Rendered:
    """Return the note to the owner about a chat where the bot is muted."""
    return say(
        f"I am in the chat {chat_id} and not allowed to write there. An administrator of it can "
        "change that; until somebody writes to me there again I leave it alone."
    )


def _named(message: Rendered) -> str:
    """Return the name of a message of ours: its first words, else its kind."""
    if words := cut(message.text, _QUOTED_CHARS):
        return f"my message “{words}”"
    if message.album:
        return "an album of mine"
    what = {"voice": "voice note", "document": "file"}.get(kind := _kind(message), kind)
    return f"{'an' if what == 'audio' else 'a'} {what} of mine"


def _kind(message: Rendered) -> str:
    return message.media.kind if message.media else "message"
