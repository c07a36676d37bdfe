"""Makes the pages of a pack's menu: the pack's own text, with our sentences around it."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.facts.ports import ButtonSpec, Entity, Rendered
from aouo.facts.taps import encode
from aouo.markdown.entities import LIMIT, utf16_len
from aouo.words.catalogue import say, text


def page(
    name: str,
    title: str,
    shown: str,
    lines: Sequence[str] | None,
    buttons: Sequence[Sequence[ButtonSpec]],
    *,
    instead_of_gone: bool,
) -> Rendered:
    """Return a page as one message; only its title is formatted, never the text of a row.

    `name` is what the pack is called; `lines` the rows of its database, None = they could not be
    read. `instead_of_gone`: the wanted page is gone, and this is the first one.
    """
    before = f"{text('menus.page-gone')}\n\n" if instead_of_gone else ""
    title = " ".join(title.split())
    unreadable = text("menus.page-unreadable") if lines is None else ""
    body = "\n\n".join(filter(None, (shown, "\n".join(lines or ()), unreadable)))
    whole = before + ("\n\n".join(filter(None, (title, body))) or name)
    whole = whole.encode("utf-16-le", "replace")[: 2 * LIMIT].decode("utf-16-le", "ignore")
    marks = (Entity("bold", utf16_len(before), utf16_len(title)),) if title else ()
    return Rendered(whole, marks, tuple(tuple(row) for row in buttons), preview=False)


def none(pack: str) -> Rendered:
    """Say that a pack has no menu, "" = that there is no pack."""
    return say("menus.none-of-pack", pack=pack) if pack else say("menus.none")


def skip_introduction() -> tuple[tuple[ButtonSpec, ...], ...]:
    """Return the button under the first answer of a pack's first conversation."""
    return ((ButtonSpec(text("menus.skip-introduction"), encode("onboarding_skip")),),)
