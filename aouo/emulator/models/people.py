"""Answers people without a model: repeats their words, or does what they ask for."""

from __future__ import annotations

import re

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


class SaysBack:
    """The script of a service that people write to."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._trouble = ""

    def __call__(self, asked: Asked) -> Reply:
        name, self._trouble = self._trouble, ""
        if name:
            return Meets(name)
        last = asked.entries[-1]
        if last.role == "tool":
            return Says(f"The tool answered: {_result(asked)}")
        words = _CONTEXT.sub("", asked.words)
        if found := _CALL.search(words):
            return self._call(asked, found[1], found[2] or "{}")
        if found := _TROUBLE.search(words):
            return Says(self._promised(found[1] or ""))
        return Says(f"(No model is here.) You said: {words[-_QUOTED_CHARS:]}")

    def _call(self, asked: Asked, tool: str, arguments: str) -> Says:
        if tool not in asked.tools:
            shown = ", ".join(asked.tools) or "none"
            return Says(f"There is no tool {tool} here; there are: {shown}.")
        return Says(calls=(CallPart(tool, arguments),))

    def _promised(self, name: str) -> str:
        if name not in self._profile.troubles:
            known = ", ".join(sorted(self._profile.troubles))
            return f"{self._profile.title} knows these troubles: {known}."
        self._trouble = name
        return f"The next request meets the trouble {name}."


def _result(asked: Asked) -> str:
    last = asked.entries[-1]
    said = last.text or str(last.raw.get("output") or last.raw.get("parts") or "")
    return said[:_QUOTED_CHARS]
