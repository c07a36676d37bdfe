"""Reads from a turn's transcript what its last `msg` call has shown already. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from aouo.facts.transcript import AssistantSaid, Message, ToolReturned


def last_words(said: Sequence[Message]) -> str:
    """Return the words of a turn's very last call if it was a `msg` that arrived, else "".

    Words that were followed by another call are no answer: "let me look" is said before looking.
    """
    if not said or not isinstance(result := said[-1], ToolReturned):
        return ""
    if result.name != "msg" or result.failed or not _object(_told(result)).get("sent_content"):
        return ""
    calls = (call for entry in said if isinstance(entry, AssistantSaid) for call in entry.calls)
    wish = next((call for call in calls if call.id == result.call_id), None)
    words = _object(wish.arguments).get("text") if wish else ""
    return words.strip() if isinstance(words, str) else ""


def _told(result: ToolReturned) -> str:
    """Return the tool's own line; a remark of the runtime may follow it."""
    return result.text.partition("\n")[0]


def _object(text: str) -> dict[str, Any]:
    """Parse a JSON object; {} = the text is none."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
