"""Words the pages of a pack's menu: the pack's own text, with our sentences around it."""

from __future__ import annotations

from aouo.facts.notices import MenuPage
from aouo.facts.ports import ButtonSpec, Entity, Rendered
from aouo.markdown.entities import LIMIT, utf16_len

_GONE = "That page is not there any more; this is the first one."
_UNREADABLE = "What belongs here could not be read. The owner finds out why in the log."


def page(notice: MenuPage) -> Rendered:
    """Return a page as one message; only its title is formatted, never the text of a row."""
    before = f"{_GONE}\n\n" if notice.instead_of_gone else ""
    title = " ".join(notice.title.split())
    rows = "\n".join(notice.lines)
    body = "\n\n".join(filter(None, (notice.text, rows, _UNREADABLE * notice.unreadable)))
    text = before + ("\n\n".join(filter(None, (title, body))) or notice.name)
    text = text.encode("utf-16-le", "replace")[: 2 * LIMIT].decode("utf-16-le", "ignore")
    marks = (Entity("bold", utf16_len(before), utf16_len(title)),) if title else ()
    buttons = tuple(
        tuple(ButtonSpec(label, callback) for label, callback in row) for row in notice.buttons
    )
    return Rendered(text, marks, buttons, preview=False)
