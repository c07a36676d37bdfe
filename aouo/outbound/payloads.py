"""What the messages of one payload are: pure."""

from __future__ import annotations

from dataclasses import replace

from aouo.outbound.render import render
from aouo.ports import Media, Payload, Rendered

MAX_CAPTION = 1024
"""UTF-16 units. Source: core.telegram.org/bots/api#sendphoto."""


def messages_of(payload: Payload, reply_to: int) -> list[Rendered]:
    """The messages that show a payload, in order; the buttons are below the last one.

    A caption that is too long for its file follows it as text.
    """
    match payload.type:
        case "photo" | "audio" | "voice" | "document" as kind:
            media = Media(kind, payload.url)
            captions = render(payload.text, limit=MAX_CAPTION)
            if len(captions) <= 1:
                caption = captions[0] if captions else None
                entities = caption.entities if caption else ()
                text = caption.text if caption else ""
                messages = [Rendered(text, entities, reply_to=reply_to, media=media)]
            else:
                messages = [Rendered("", reply_to=reply_to, media=media)]
                messages += [Rendered(part.text, part.entities) for part in render(payload.text)]
        case _:
            messages = [
                Rendered(part.text, part.entities, reply_to=reply_to)
                for part in render(payload.text)
            ] or [Rendered("…")]
    buttons = tuple(
        tuple(replace(button, by_model=True) for button in row) for row in payload.buttons
    )
    messages[-1] = replace(messages[-1], buttons=buttons)
    return messages
