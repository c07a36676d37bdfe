"""Says what became of summaries, with the buttons that show and undo one."""

from __future__ import annotations

from aouo.facts.errors import AouoError
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.words import sentences
from aouo.words.catalogue import message, say, text


def compacted(messages: int, summary: int) -> Rendered:
    """Say that `/compact` replaced so many messages by a summary."""
    return _with_both(text("summaries.compacted", count=messages), summary)


def made_room(messages: int, summary: int) -> Rendered:
    """Say that a turn replaced older messages, because the window was nearly full."""
    return _with_both(text("summaries.made-room", count=messages), summary)


def renewed(messages: int, summary: int) -> Rendered:
    """Say that a session near its limit goes on in a fresh one."""
    return _with_both(text("summaries.renewed", count=messages), summary)


def nothing_new(summary: int) -> Rendered:
    """Say that there is nothing to summarise; `summary` stands for what was before, 0 = none."""
    if not summary:
        return say("summaries.nothing")
    return _with_both(text("summaries.nothing-new"), summary)


def shown(summary: int, messages: int, words: str, *, undone: bool) -> Rendered:
    """Return a summary's words."""
    said = text("summaries.shown", count=messages, words=words)
    return message(said, *(() if undone else ([_undo(summary)],)))


def undone(messages: int, before: int) -> Rendered:
    """Say that a summary was undone; `before` is an earlier one in force again, 0 = none."""
    said = text("summaries.undone", count=messages)
    return _with_both(f"{said} {text('summaries.one-before')}", before) if before else message(said)


def not_compacted(why: object, reference: str) -> Rendered:
    """Say that `/compact` failed."""
    said = text("turns.timed-out")
    if isinstance(why, AouoError):
        said = sentences.failure(why, reference)
    return say("summaries.failed", why=said)


def _with_both(said: str, summary: int) -> Rendered:
    show = ButtonSpec(
        text("summaries.button-show"), encode("command", f"sessions summary {summary}")
    )
    return message(said, [show, _undo(summary)])


def _undo(summary: int) -> ButtonSpec:
    return ButtonSpec(
        text("summaries.button-undo"), encode("command", f"sessions unsummary {summary}")
    )
