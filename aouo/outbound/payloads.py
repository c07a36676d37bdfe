"""Makes the messages of payloads and answers, albums and buttons, as a platform takes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, pairwise
from pathlib import PurePosixPath
from typing import TypeAlias
from urllib.parse import urlsplit

from aouo.facts.attachments import safe_name
from aouo.facts.ports import ButtonSpec, Media, MediaKind, Payload, PayloadType, Rendered
from aouo.facts.taps import decode, encode, fits
from aouo.words import sentences
from aouo.words.catalogue import say
from aouo.words.catalogue import text as sentence
from aouo.words.markdown.render import first_heading, render, stable_prefix
from aouo.words.markdown.tables import LIMIT, Part, utf16_len

_MAX_ITEMS = 10
"""Source, also for which kinds go together: core.telegram.org/bots/api#sendmediagroup."""
_KINDS: dict[str, MediaKind] = {
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".webp"), "photo"),
    **dict.fromkeys((".mp4", ".m4v", ".mov"), "video"),
    **dict.fromkeys((".mp3", ".m4a"), "audio"),
}


def _media_of(source: str) -> Media:
    """Return a file of an album, its kind by its ending; an address without one is a picture."""
    is_address = "://" in source
    path = urlsplit(source).path if is_address else source
    ending = PurePosixPath(path).suffix.lower()
    if is_address and not ending:
        return Media("photo", source)
    return Media(_KINDS.get(ending, "document"), source)


def _grouped(files: Sequence[Media]) -> list[tuple[Media, ...]]:
    """Return the files in groups of up to ten; each is an album, a group of one is a message.

    Pictures and videos go together, audio and documents only with their own kind; groups are
    in the order of their first files, and a large one is cut into nearly equal ones.
    """
    kinds: dict[str, list[Media]] = {}
    for item in files:
        kinds.setdefault("photo" if item.kind == "video" else item.kind, []).append(item)
    return [group for items in kinds.values() for group in _cut(items)]


def _cut(items: Sequence[Media]) -> list[tuple[Media, ...]]:
    count = -(-len(items) // _MAX_ITEMS)
    ends = [len(items) * number // count for number in range(count + 1)]
    return [tuple(items[start:end]) for start, end in pairwise(ends)]


Capabilities: TypeAlias = frozenset[PayloadType]
"""What a platform can show beyond text, keyboards and activities."""


def degraded(payload: Payload, can: Capabilities) -> tuple[tuple[Payload, ...], str]:
    """Return the payloads to show instead, and a note for the model, "" = unchanged."""
    if payload.type != "album" or "album" in can:
        shown, note = _degraded(payload, can)
        return (shown,), note
    items = [_degraded(item, can) for item in _one_by_one(payload)]
    notes = dict.fromkeys(note for _, note in items if note)
    return tuple(item for item, _ in items), "; ".join(("album not supported", *notes))


def _degraded(payload: Payload, can: Capabilities) -> tuple[Payload, str]:
    match payload.type:
        case "voice" if "voice" not in can and "audio" in can:
            return replace(payload, type="audio"), "voice rendered as audio"
        case "photo" | "voice" | "audio" | "document" if payload.type not in can:
            return _as_text(payload), f"{payload.type} not supported"
        case _:
            return payload, ""


def _one_by_one(album: Payload) -> list[Payload]:
    """Return one payload per item of an album: the words on the first, buttons on the last."""
    items: list[Payload] = []
    for source in album.album:
        kind = _media_of(source).kind
        kind = "document" if kind == "video" else kind
        items.append(Payload(kind, url=source))
    items[0] = replace(items[0], text=album.text, reply_to=album.reply_to)
    items[-1] = replace(items[-1], buttons=album.buttons)
    return items


def _as_text(payload: Payload) -> Payload:
    """Return a text payload with the caption and the address; a local file has no address."""
    address = payload.url if "://" in payload.url else ""
    text = "\n".join(filter(None, (payload.text, address)))
    return replace(payload, type="text", text=text or "(something this chat cannot show)", url="")


_MAX_CAPTION = 1024
"""UTF-16 units. Source: core.telegram.org/bots/api#sendphoto."""


def messages_of(payload: Payload, reply_to: int) -> list[Rendered]:
    """Return the messages that show a payload, in order; the last one has the buttons.

    A caption that is too long for its file follows it as text. An album cannot have buttons: then
    its caption follows as a text message with the buttons.
    """
    match payload.type:
        case "photo" | "audio" | "voice" | "document" as kind:
            messages = _with_caption([Rendered("", media=Media(kind, payload.url))], payload.text)
        case "album":
            messages = [
                Rendered("", album=(first, *others)) if others else Rendered("", media=first)
                for first, *others in _grouped([_media_of(source) for source in payload.album])
            ]
            if payload.buttons and messages[-1].album:
                messages += _texts(payload.text) or [Rendered(sentences.BUTTONS_OF_ALBUM)]
            else:
                messages = _with_caption(messages, payload.text)
        case _:
            messages = _texts(payload.text) or [Rendered("…")]
    buttons = tuple(
        tuple(replace(button, by_model=True) for button in row) for row in payload.buttons
    )
    messages[0] = replace(messages[0], reply_to=reply_to)
    messages[-1] = replace(messages[-1], buttons=buttons)
    return messages


def _with_caption(messages: list[Rendered], text: str) -> list[Rendered]:
    captions = render(text, limit=_MAX_CAPTION)
    if len(captions) > 1:
        return [*messages, *_texts(text)]
    for caption in captions:
        messages[0] = replace(messages[0], text=caption.text, entities=caption.entities)
    return messages


def _texts(text: str) -> list[Rendered]:
    return [Rendered(part.text, part.entities) for part in render(text)]


def chosen(message: Rendered, label: str) -> Rendered:
    """Return the message without buttons, with as much of `→ label` below its text as fits."""
    done = replace(message, buttons=(), reply_to=0)
    limit = _MAX_CAPTION if message.media else LIMIT
    above = f"{message.text}\n→ ".lstrip("\n")
    label = _shortened(label, limit - utf16_len(above))
    return replace(done, text=above + label) if label else done


def _shortened(label: str, room: int) -> str:
    """Return the part of `label` that fits into `room` UTF-16 units, "" = nothing."""
    if utf16_len(label) <= room:
        return label
    units = label.encode("utf-16-le", "surrogatepass")[: 2 * max(0, room - 1)]
    kept = units.decode("utf-16-le", "ignore")
    return f"{kept}…" if kept else ""


def sendable(message: Rendered, delivery_id: int) -> Rendered:
    """Return the message with 1 to 64 bytes of data on every button.

    Other data is replaced by a reference to the delivery's row, which holds it, so that a tap
    finds it as long as the row is kept, also in another process.
    """
    if not message.buttons:
        return message
    numbers = count()
    rows = tuple(
        tuple(_sendable(button, delivery_id, next(numbers)) for button in row)
        for row in message.buttons
    )
    return replace(message, buttons=rows)


def _sendable(button: ButtonSpec, delivery_id: int, number: int) -> ButtonSpec:
    forged = button.by_model and decode(button.data).name != "text"
    if fits(button.data) and not forged:
        return button
    return replace(button, data=encode("kept", delivery_id, number))


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
    file = Rendered(caption, media=Media("document", "", _file_name(text), text))
    return (*map(_message, before), file)


def with_tail(messages: Sequence[Rendered], tail: str) -> list[Rendered]:
    """Return messages, of which the last one ends with `tail`; where it has no room for that, one
    more follows."""
    if not messages:
        return []
    *before, last = messages
    text = f"{last.text}{tail}" if last.text else tail.lstrip("\n")
    limit = _MAX_CAPTION if last.media or last.album else LIMIT
    if utf16_len(text) <= limit:
        return [*before, replace(last, text=text)]
    return [*messages, Rendered(tail.lstrip("\n"))]


def _file_name(markdown: str) -> str:
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
