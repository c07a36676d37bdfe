"""Says how installing a pack in a chat goes, with its card as one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.markdown.entities import LIMIT
from aouo.markdown.render import render
from aouo.words.catalogue import message, say, text

_NAMED_MAX = 6


def usage(bundled: Sequence[str]) -> Rendered:
    """Return the answer to `/install` alone; `bundled` come with aouo and are not installed."""
    if not bundled:
        return say("install.usage")
    names = text("install.bundled", commands=", ".join(f"/install {name}" for name in bundled))
    buttons = [ButtonSpec(name, encode("install_offer", name)) for name in bundled[:_NAMED_MAX]]
    return message(f"{text('install.usage')}\n{names}", buttons)


def offered(change_id: str, card: str, yes: Literal["install", "upgrade", "older"]) -> Rendered:
    """Return the question whether to change a pack; `card` is Markdown that says what it may do.

    A card that is cut gets no buttons: a person must not agree to one that is not shown whole.
    """
    parts = render(card)
    buttons = (
        ButtonSpec(text(f"install.yes-{yes}"), encode("install_yes", change_id)),
        ButtonSpec(text("install.decline"), encode("install_no", change_id)),
    )
    if len(parts) == 1:
        return Rendered(parts[0].text, parts[0].entities, (buttons,), 0, False)
    cut = text("install.cut")
    opening = render(card, limit=LIMIT - len(cut) - 2)[0]
    return Rendered(f"{opening.text}\n\n{cut}", opening.entities, (), 0, False)


def installed(pack: str, version: str, *, here: bool) -> Rendered:
    """Return that a pack was installed; `here`: it has no topic and can answer in this chat."""
    said = text("install.installed", pack=pack, version=version)
    if not here:
        return message(f"{said} {text('install.has-topic')}")
    return message(said, [ButtonSpec(text("install.talk"), encode("pack", pack))])
