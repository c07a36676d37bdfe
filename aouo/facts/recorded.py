"""Rows of what a turn records of itself: sections of its prompt, failed tries, live edits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

MOST_BYTES = 1_000
"""Of one turn's record as JSON."""
_NAME_CHARS = 40
_SECTIONS, _TRIES = 20, 12
_LEAST_SECTIONS, _LEAST_TRIES = 6, 2


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a prompt; `tokens` are estimated."""

    name: str
    bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class FailedTry:
    """A model, as `provider/model`, gave no answer because of an error of the class `error`, so
    `asked` was tried next, "" = none; so many `times`."""

    failed: str
    asked: str
    error: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Recorded:
    """One turn; `sections` are those of its first request, in order.

    `prompts` are digests of its texts. `edits` counts how often a message was edited, or a draft
    shown, while the answer grew. `stale_route`: its route pointed to a wrong session. `taken_up_at`
    is when the newest process took the turn up, "" = none had to; what an earlier one saw of it is
    not counted. `left_out` counts sections and tries for which there was no room.
    """

    sections: tuple[Section, ...] = ()
    prompts: tuple[str, ...] = ()
    tries: tuple[FailedTry, ...] = ()
    edits: int = 0
    stale_route: bool = False
    taken_up_at: str = ""
    left_out: int = 0

    def dump(self) -> str:
        """Return it as JSON of at most `MOST_BYTES`.

        The smallest sections and the latest tries are left out where there is no room, and counted.
        """
        shown = _bounded(self)
        while len((text := _dumped(shown)).encode()) > MOST_BYTES:
            shown = _shorter(shown)
        return text

    @classmethod
    def load(cls, text: str) -> Recorded:
        """Read what `dump` wrote; "" = nothing was recorded."""
        if not text:
            return cls()
        found = json.loads(text)
        return cls(
            tuple(Section(*row) for row in found.get("sections", ())),
            tuple(found.get("prompts", ())),
            tuple(FailedTry(*row) for row in found.get("tries", ())),
            found.get("edits", 0),
            bool(found.get("stale_route")),
            found.get("taken_up_at", ""),
            found.get("left_out", 0),
        )


def _dumped(shown: Recorded) -> str:
    facts: Mapping[str, Any] = {
        "sections": [[one.name, one.bytes, one.tokens] for one in shown.sections],
        "prompts": shown.prompts,
        "tries": [[one.failed, one.asked, one.error, one.times] for one in shown.tries],
        "edits": shown.edits,
        "stale_route": int(shown.stale_route),
        "taken_up_at": shown.taken_up_at,
        "left_out": shown.left_out,
    }
    present = {name: value for name, value in facts.items() if value}
    return json.dumps(present, ensure_ascii=False, separators=(",", ":")) if present else ""


def _bounded(whole: Recorded) -> Recorded:
    """Cut names, and lists that are long beyond use."""
    sections = [replace(one, name=_short(one.name)) for one in whole.sections[:_SECTIONS]]
    tries = [
        FailedTry(_short(one.failed), _short(one.asked), _short(one.error), one.times)
        for one in whole.tries[:_TRIES]
    ]
    gone = len(whole.sections) + len(whole.tries) - len(sections) - len(tries)
    return replace(
        whole,
        sections=tuple(sections),
        prompts=tuple(_short(digest) for digest in whole.prompts[:2]),
        tries=tuple(tries),
        taken_up_at=_short(whole.taken_up_at),
        left_out=whole.left_out + gone,
    )


def _shorter(shown: Recorded) -> Recorded:
    """Leave out what matters least: the latest tries, then the smallest sections."""
    tries, sections = shown.tries, shown.sections
    if len(tries) > _LEAST_TRIES or (tries and len(sections) <= _LEAST_SECTIONS):
        tries = tries[:-1]
    else:
        smallest = min(sections, key=lambda one: one.bytes)
        sections = tuple(one for one in sections if one is not smallest)
    return replace(shown, tries=tries, sections=sections, left_out=shown.left_out + 1)


def _short(text: str) -> str:
    """Return a name as UTF-8 can hold it, without what JSON would have to escape."""
    if len(text) > _NAME_CHARS:
        text = f"{text[: _NAME_CHARS - 1]}…"
    legible = text.encode("utf-8", "replace").decode()
    return "".join(char if char.isprintable() and char not in '"\\' else "?" for char in legible)
