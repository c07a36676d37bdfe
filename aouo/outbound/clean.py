"""Removes secrets from messages right before they leave, also those that markup hides."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import ButtonSpec, Media, Messenger, Rendered
from aouo.guard.paths import looks_local
from aouo.plumbing.redact import REDACTED, Redactor, replaced
from aouo.plumbing.secret_shapes import Span, bared, shape_spans
from aouo.words.markdown.render import render
from aouo.words.markdown.tables import Entity, Part, utf16_len

_SHORTER = "[…]"
"""Replaces a short secret, so that a message of the greatest length does not grow."""


_LINK = re.compile(r"\]\([^()]{0,2000}\)|[\[\]]")


class AsShown(Redactor):
    """A redactor of Markdown: it also finds secrets that only show after rendering.

    A link or an entity may stand inside such a secret; the text then loses its marks.
    """

    def __init__(self, secrets: Iterable[str] = (), *, shapes: bool = True) -> None:
        secrets = tuple(secrets)
        super().__init__(secrets, shapes=shapes)
        forms = [form for secret in secrets for form in _as_shown(secret)]
        self._roughly = Redactor(forms, shapes=shapes)

    def text(self, text: str) -> str:
        clean = super().text(text)
        # Rendering is slow, so it follows only where a rough rendering shows a secret.
        if all(self._roughly.text(words) == words for words in _as_shown(clean)):
            return clean
        shown = "\n\n".join(part.text for part in render(clean))
        without = super().text(shown)
        return clean if without == shown else without


def _as_shown(text: str) -> tuple[str, str]:
    """Return two rough renderings of `text`: an underscore may be a mark, or not."""
    words = _LINK.sub("", html.unescape(bared(text)))
    return words, words.replace("_", "")


class CleanMessenger:
    """Wraps a `Messenger`, and redacts all that is sent by it."""

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


def without_secrets(message: Rendered, redactor: Redactor, *, previews: bool = True) -> Rendered:
    """Return `message` without secrets in its words, buttons, addresses and file.

    Without `previews` nobody fetches an address in it before a person taps it.
    """
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
        preview=message.preview and previews,
    )


def without_end(message: Rendered, redactor: Redactor) -> Rendered:
    """Return a growing message without the end that may be the beginning of a secret."""
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
    """Return `part` with the spans masked; marks stay over the same words."""
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
    """Return the new offset of a mark's edge; an edge within a secret goes `inside` units into
    its replacement."""
    by = 0
    for start, stop in units:
        if at <= start:
            break
        if at < stop:
            return start + by + inside
        by += size - (stop - start)
    return at + by
