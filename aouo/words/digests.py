"""Words a digest: what came unasked and had to wait, as one message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aouo.facts.ports import ButtonSpec, Entity, Rendered
from aouo.facts.taps import encode
from aouo.markdown.entities import LIMIT, MAX_ENTITIES, utf16_len
from aouo.markdown.render import render

_SHARES = (1500, 800, 400, 200, 100, 60)
"""What each may take, in UTF-16 units: the most that lets all of them stand there."""
_MOST = 30


@dataclass(frozen=True, slots=True)
class Waited:
    """One that waited: where it is from, its Markdown, and whether there is more than words."""

    name: str
    text: str
    more: bool = False


def digest(waited: Sequence[Waited], digest_id: int) -> Rendered:
    """Return one message about all of them, with a button for what it leaves out."""
    made, cut = _folded(waited[:_MOST], len(waited), _SHARES[-1])
    for share in _SHARES:
        fits, leaves_out = _folded(waited[:_MOST], len(waited), share)
        if utf16_len(fits.text) <= LIMIT and len(fits.entities) <= MAX_ENTITIES:
            made, cut = fits, leaves_out
            break
    made = replace(made, entities=made.entities[:MAX_ENTITIES])
    if cut or len(waited) > _MOST or any(one.more for one in waited):
        button = ButtonSpec("Show all of it", encode("digest", digest_id))
        made = replace(made, buttons=((button,),))
    return made


def _folded(waited: Sequence[Waited], count: int, share: int) -> tuple[Rendered, bool]:
    """Return the message where each takes at most `share`, and whether one was cut."""
    text, cut = f"{count} messages waited for you:", False
    entities = [Entity("bold", 0, utf16_len(text))]
    for one in waited:
        name = f"• {one.name}"
        text += "\n\n"
        entities.append(Entity("bold", utf16_len(text), utf16_len(name)))
        text += f"{name}\n"
        parts = render(one.text, limit=share)
        if parts:
            start = utf16_len(text)
            entities += [replace(each, offset=start + each.offset) for each in parts[0].entities]
            text += parts[0].text
        if len(parts) > 1 or not parts:
            text, cut = f"{text}…", cut or len(parts) > 1
    if count > len(waited):
        text += f"\n\nand {count - len(waited)} more"
    return Rendered(text, tuple(entities), preview=False), cut
