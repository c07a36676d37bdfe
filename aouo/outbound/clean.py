"""The last look at what leaves: no secret is in it, in whatever markup it was hidden."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import ButtonSpec, Media, Messenger, Rendered
from aouo.guard.paths import looks_local
from aouo.outbound.markdown.entities import Entity, Part, utf16_len
from aouo.outbound.markdown.render import render
from aouo.plumbing.redact import REDACTED, Redactor, replaced
from aouo.plumbing.secret_shapes import Span, bared, shape_spans

_SHORTER = "[…]"
"""So that a message that is as long as it may be never grows."""


_LINK = re.compile(r"\]\([^()]{0,2000}\)|[\[\]]")


class AsShown(Redactor):
    """A redactor of Markdown: a secret that only rendering brings out, since a link or an entity
    stands in it, is taken out too; of such a text the words stay, without their marks."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        secrets = tuple(secrets)
        super().__init__(secrets)
        self._roughly = Redactor(form for secret in secrets for form in _as_shown(secret))

    def text(self, text: str) -> str:
        clean = super().text(text)
        # Rendering takes long: it is done where a first, rough look makes it worth it.
        if all(self._roughly.text(words) == words for words in _as_shown(clean)):
            return clean
        shown = "\n\n".join(part.text for part in render(clean))
        without = super().text(shown)
        return clean if without == shown else without


def _as_shown(text: str) -> tuple[str, str]:
    """Roughly what is shown of `text`; an underscore may be a mark, or not."""
    words = _LINK.sub("", html.unescape(bared(text)))
    return words, words.replace("_", "")


class CleanMessenger:
    """A `Messenger` that gives another one nothing with a secret in it."""

    def __init__(self, messenger: Messenger, redactor: Callable[[], Redactor]) -> None:
        self._messenger = messenger
        self._redactor = redactor

    async def ready(self) -> None:
        await self._messenger.ready()

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        return await self._messenger.send(to, without_secrets(message, self._redactor()))

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        await self._messenger.edit(to, message_id, without_secrets(message, self._redactor()))

    async def draft(self, to: ConversationAddress, draft_id: int, message: Rendered) -> None:
        await self._messenger.draft(to, draft_id, without_secrets(message, self._redactor()))

    async def delete(self, to: ConversationAddress, message_id: int) -> None:
        await self._messenger.delete(to, message_id)

    async def action(self, to: ConversationAddress, action: str) -> None:
        await self._messenger.action(to, action)

    async def answer_tap(self, answer_id: str, text: str, *, alert: bool = False) -> None:
        await self._messenger.answer_tap(answer_id, self._redactor().text(text), alert=alert)


def without_secrets(message: Rendered, redactor: Redactor) -> Rendered:
    """`message` with each secret taken out of its words, buttons, addresses and file."""
    part = Part(message.text, message.entities)
    if redactor.suspects(part.text):
        for spans_of in (redactor.known_spans, shape_spans):
            part = _taken_out(part, spans_of(part.text))
    return replace(
        message,
        text=part.text,
        entities=tuple(mark for mark in part.entities if redactor.text(mark.url) == mark.url),
        buttons=tuple(
            tuple(_button(button, redactor) for button in row) for row in message.buttons
        ),
        media=message.media and _media(message.media, redactor),
        album=tuple(_media(media, redactor) for media in message.album),
    )


def without_end(message: Rendered, redactor: Redactor) -> Rendered:
    """A message that still grows, without an end that may be the beginning of a secret."""
    sure = redactor.settled(message.text)
    if sure == len(message.text):
        return message
    text = message.text[:sure].rstrip()
    end = utf16_len(text)
    kept = (replace(mark, length=min(mark.length, end - mark.offset)) for mark in message.entities)
    return replace(message, text=text, entities=tuple(mark for mark in kept if mark.length > 0))


def _button(button: ButtonSpec, redactor: Redactor) -> ButtonSpec:
    return replace(button, label=redactor.text(button.label), data=redactor.text(button.data))


def _media(media: Media, redactor: Redactor) -> Media:
    source, name = media.source, redactor.text(media.name)
    if not looks_local(source):
        source = redactor.text(source)
    elif redactor.text(shown := PurePath(source).name) != shown:
        name = redactor.text(shown)
    text = redactor.text(media.text)
    if text and text == media.text:
        shown = "\n\n".join(part.text for part in render(text))
        text = text if redactor.text(shown) == shown else redactor.text(shown)
    return replace(media, source=source, name=name, text=text)


def _taken_out(part: Part, spans: Sequence[Span]) -> Part:
    """`part` without the spans; marks keep to the words that they were over."""
    if not spans:
        return part
    text = part.text
    mask = REDACTED if all(stop - at >= len(REDACTED) for at, stop in spans) else _SHORTER
    units = [(utf16_len(text[:start]), utf16_len(text[:stop])) for start, stop in spans]
    marks: list[Entity] = []
    for mark in part.entities:
        start = _moved(mark.offset, units, len(mask), inside=len(mask))
        stop = _moved(mark.offset + mark.length, units, len(mask), inside=0)
        if start < stop:
            marks.append(replace(mark, offset=start, length=stop - start))
    return Part(replaced(text, spans, mask), tuple(marks))


def _moved(at: int, units: Sequence[Span], size: int, *, inside: int) -> int:
    """Where a mark's edge is afterwards; one that was `inside` a secret goes so far into its
    replacement."""
    by = 0
    for start, stop in units:
        if at <= start:
            break
        if at < stop:
            return start + by + inside
        by += size - (stop - start)
    return at + by
