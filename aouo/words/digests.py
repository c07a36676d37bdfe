"""Words a digest: what came unasked and had to wait, as one message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aouo.facts.ports import ButtonSpec, Entity, Rendered
from aouo.facts.taps import encode
from aouo.markdown.entities import LIMIT, MAX_ENTITIES, utf16_len
from aouo.markdown.render import render
from aouo.words.catalogue import text

_SHARES = (1500, 800, 400, 200, 100, 60)
"""What each may take, in UTF-16 units: the most that lets all of them stand there."""
_MOST = 30


def digest(waited: Sequence[tuple[str, str]], digest_id: int, *, more: bool) -> Rendered:
    """Return one message about all that waited: where each is from, and its Markdown.

    A button shows what it leaves out; `more`: one of them is more than words.
    """
    made, cut = _folded(waited[:_MOST], len(waited), _SHARES[-1])
    for share in _SHARES:
        fits, leaves_out = _folded(waited[:_MOST], len(waited), share)
        if utf16_len(fits.text) <= LIMIT and len(fits.entities) <= MAX_ENTITIES:
            made, cut = fits, leaves_out
            break
    made = replace(made, entities=made.entities[:MAX_ENTITIES])
    if cut or len(waited) > _MOST or more:
        button = ButtonSpec(text("digest.button-all"), encode("digest", digest_id))
        made = replace(made, buttons=((button,),))
    return made


def _folded(waited: Sequence[tuple[str, str]], count: int, share: int) -> tuple[Rendered, bool]:
    """Return the message where each takes at most `share`, and whether one was cut."""
    shown, cut = text("digest.head", waited=count), False
    entities = [Entity("bold", 0, utf16_len(shown))]
    for whence, words in waited:
        name = f"• {whence}"
        shown += "\n\n"
        entities.append(Entity("bold", utf16_len(shown), utf16_len(name)))
        shown += f"{name}\n"
        parts = render(words, limit=share)
        if parts:
            start = utf16_len(shown)
            entities += [replace(each, offset=start + each.offset) for each in parts[0].entities]
            shown += parts[0].text
        if len(parts) > 1 or not parts:
            shown, cut = f"{shown}…", cut or len(parts) > 1
    if count > len(waited):
        shown += "\n\n" + text("digest.more", more=count - len(waited))
    return Rendered(shown, tuple(entities), preview=False), cut
