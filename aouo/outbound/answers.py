"""Makes the messages of an answer: its parts, or if very long an opening and a document. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from aouo.facts.attachments import safe_name
from aouo.facts.ports import Media, Rendered
from aouo.markdown.entities import LIMIT, utf16_len
from aouo.markdown.marks import first_heading
from aouo.markdown.render import Part, render, stable_prefix
from aouo.outbound.payloads import MAX_CAPTION
from aouo.words.catalogue import say
from aouo.words.catalogue import text as sentence

_OPENING_UNITS = 1024
_MORE = "\n\n…"
_TITLE_CHARS = 60


def messages_of_answer(
    text: str, *, tail: str, max_parts: int = 0, shown: int = 0
) -> tuple[Rendered, ...]:
    """Return the messages of an answer; `tail` ends the last one.

    With more than `max_parts` of them (0 = no limit) the whole Markdown is sent as a file. Above
    it stands the opening, or as many parts as have been `shown` already: text that a person reads
    is not removed.
    """
    parts = render(text, tail=tail)
    if not max_parts or len(parts) <= max_parts:
        return tuple(map(_message, parts or (Part(say("turns.nothing-to-show").text, ()),)))
    if shown:
        before = parts[: min(shown, max_parts)]
    else:
        opening, _ = stable_prefix(text[: 8 * _OPENING_UNITS], limit=_OPENING_UNITS)
        before = render(opening, tail=_MORE)
    caption = sentence("turns.whole-answer", count=len(text.split())) + tail
    file = Rendered(caption, media=Media("document", "", file_name(text), text))
    return (*map(_message, before), file)


def with_tail(messages: Sequence[Rendered], tail: str) -> list[Rendered]:
    """Return messages, of which the last one ends with `tail`; where it has no room for that, one
    more follows."""
    if not messages:
        return []
    *before, last = messages
    text = f"{last.text}{tail}" if last.text else tail.lstrip("\n")
    limit = MAX_CAPTION if last.media or last.album else LIMIT
    if utf16_len(text) <= limit:
        return [*before, replace(last, text=text)]
    return [*messages, Rendered(tail.lstrip("\n"))]


def file_name(markdown: str) -> str:
    """Return a file name for a document: its first heading, else its first words."""
    title = first_heading(markdown) or render(markdown)[0].text.split("\n")[0]
    if len(title) > _TITLE_CHARS:
        title = title[:_TITLE_CHARS].rpartition(" ")[0] or title[:_TITLE_CHARS]
    plain = " ".join(re.sub(r"[^\w .()+,=@-]", " ", title).split())
    return f"{safe_name(plain) or 'answer'}.md"


def is_among(text: str, said: Sequence[str]) -> bool:
    """Whether one of these texts is the very text, but for space and case, that an answer shows."""
    wanted = _normal(" ".join(part.text for part in render(text)))
    return any(_normal(one) == wanted for one in said)


def _normal(text: str) -> str:
    return " ".join(text.split()).casefold()


def _message(part: Part) -> Rendered:
    return Rendered(part.text, part.entities)
