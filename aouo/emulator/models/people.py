"""Answers people without a model: repeats their words, or does what they ask for."""

from __future__ import annotations

import re
from collections.abc import Callable

from aouo.emulator.models.asked import Asked
from aouo.emulator.models.profile import Profile
from aouo.emulator.models.replies import CallPart, Meets, Reply, Says

_CALL = re.compile(r"^call\s+(\S+)\s*(\{.*\})?\s*\Z", re.MULTILINE | re.DOTALL)
_TROUBLE = re.compile(r"^trouble(?:\s+(\S+))?\s*\Z", re.MULTILINE)
_CONTEXT = re.compile(r"\A\[.*?\]\s*", re.DOTALL)
"""The runtime's context before a person's words, in brackets: time, chat and the like."""
_QUOTED_CHARS = 600


def note(profile: Profile) -> str:
    """Return the note for people at the start."""
    return (
        f"No model answers here: the rules are those of {profile.title}, what you write is said "
        "back. `call NAME {…}` calls a tool, `trouble NAME` makes the next request fail."
    )


def says_back(profile: Profile) -> Callable[[Asked], Reply]:
    """Return the script of a service that people write to."""
    trouble = ""  # that the next request meets

    def reply(asked: Asked) -> Reply:
        nonlocal trouble
        name, trouble = trouble, ""
        if name:
            return Meets(name)
        if asked.entries[-1].role == "tool":
            return Says(f"The tool answered: {_result(asked)}")
        words = _CONTEXT.sub("", asked.words)
        if found := _CALL.search(words):
            return _call(asked, found[1], found[2] or "{}")
        if not (found := _TROUBLE.search(words)):
            return Says(f"(No model is here.) You said: {words[-_QUOTED_CHARS:]}")
        if (name := found[1] or "") not in profile.troubles:
            known = ", ".join(sorted(profile.troubles))
            return Says(f"{profile.title} knows these troubles: {known}.")
        trouble = name
        return Says(f"The next request meets the trouble {name}.")

    return reply


def _call(asked: Asked, tool: str, arguments: str) -> Says:
    if tool not in asked.tools:
        shown = ", ".join(asked.tools) or "none"
        return Says(f"There is no tool {tool} here; there are: {shown}.")
    return Says(calls=(CallPart(tool, arguments),))


def _result(asked: Asked) -> str:
    last = asked.entries[-1]
    said = last.text or str(last.raw.get("output") or last.raw.get("parts") or "")
    return said[:_QUOTED_CHARS]
