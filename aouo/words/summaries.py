"""Words the notices about summaries, with the buttons that show and undo one."""

from __future__ import annotations

from aouo.facts import notices
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.words.saying import say


def worded(notice: notices.SummaryNotice) -> Rendered:
    """Return the message for a notice."""
    shown, undone = "Show summary", "Undo"
    match notice:
        case notices.Compacted(messages, summary):
            text = (
                f"{messages:,} messages are a summary now, in a fresh session. The messages are "
                "kept: /sessions"
            )
        case notices.MadeRoom(messages, summary):
            text = f"To make room I summarised {messages:,} older messages; they are kept."
        case notices.Renewed(messages, summary):
            text = (
                "This session was near its limit of tokens, so it goes on in a fresh one. I "
                f"summarised {messages:,} older messages; they are kept: /sessions"
            )
        case notices.SummaryUndone(messages, summary):
            text = f"Undone: from now on I read those {messages:,} messages themselves again."
            if not summary:
                return say(text)
            text += " A summary stands for what was before them."
        case notices.NothingToCompact(0):
            return say("There is nothing to summarise here yet.")
        case notices.NothingToCompact(summary):
            text = "There is nothing new to summarise; a summary stands for what was before."
        case notices.SummaryShown(summary, messages, words, done):
            shown = ""
            undone = "" if done else undone
            text = f"What I keep of {messages:,} messages:\n\n{words}"
    buttons = ((shown, f"sessions summary {summary}"), (undone, f"sessions unsummary {summary}"))
    row = [ButtonSpec(label, encode("command", line)) for label, line in buttons if label]
    return say(text, *([row] if row else []))
