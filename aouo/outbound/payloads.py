"""Makes the messages of one payload. Pure."""

from __future__ import annotations

from dataclasses import replace

from aouo.facts.ports import Media, Payload, Rendered
from aouo.markdown.render import render
from aouo.outbound.albums import grouped, media_of
from aouo.words import sentences

MAX_CAPTION = 1024
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
                for first, *others in grouped([media_of(source) for source in payload.album])
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
    captions = render(text, limit=MAX_CAPTION)
    if len(captions) > 1:
        return [*messages, *_texts(text)]
    for caption in captions:
        messages[0] = replace(messages[0], text=caption.text, entities=caption.entities)
    return messages


def _texts(text: str) -> list[Rendered]:
    return [Rendered(part.text, part.entities) for part in render(text)]
