"""Plays a model for `aouo try --show`: each message of a person gets the next scene."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from aouo.emulator.models.asked import Asked
from aouo.emulator.models.telling import CallPart, Reply, Says

_Scene: TypeAlias = tuple[CallPart | None, str]
_FILE = "artifacts/show.md"
_SCENES: tuple[_Scene, ...] = (
    (
        None,
        "I am a **scripted model**, not a real one: I only play what happens between you and a "
        "model, through the real program. What you read now comes in pieces, as a model writes "
        "it.\n\nWrite anything: then I use a tool.",
    ),
    (
        CallPart("persist", {"action": "save", "data": {"text": "what you wrote"}}),
        "That was a tool call, as a real model makes it: it passed the guard, and a row is in the "
        "database of this app. `/why` tells it.\n\nWrite anything: then I ask you something.",
    ),
    (
        CallPart("clarify", {"message": "Tea or coffee?", "options": ["Tea", "Coffee"]}),
        "I have read your answer; a question like this waits for days, and outlives a restart."
        "\n\nWrite anything: then I want something that you have to allow.",
    ),
    (
        CallPart("read_file", {"path": "/etc/hostname"}),
        "You decided, and I have read what came of it. What was allowed and refused stands in the "
        "audit.\n\nWrite anything: then I make a file.",
    ),
    (
        CallPart("write_file", {"path": _FILE, "content": "# The show\n\nThis file is real.\n"}),
        "",
    ),
)
_SENT = (
    CallPart("msg", {"type": "document", "url": _FILE, "text": "A file from the app's folder."}),
    "That was all. To go on with a real model, start again with a key: "
    "`OPENAI_API_KEY=… scripts/try`.",
)


def shows() -> Callable[[Asked], Reply]:
    """Return the script; scenes begin anew after the last."""
    number = -1

    def reply(asked: Asked) -> Reply:
        nonlocal number
        if not asked.tools:  # the runtime asks for a title, a summary
            return Says("The show")
        if asked.entries[-1].role != "tool":
            number = (number + 1) % len(_SCENES)
            call, said = _SCENES[number]
            return Says(calls=(call,)) if call else Says(said, chunks=24)
        said = _SCENES[number][1]
        if said:
            return Says(said, chunks=12)
        wrote = any(part.name == "msg" for entry in asked.entries[-3:] for part in entry.calls)
        return Says(_SENT[1], chunks=12) if wrote else Says(calls=(_SENT[0],))

    return reply
