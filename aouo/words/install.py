"""Words the notices about installing packs, with the card as one message."""

from __future__ import annotations

from typing import assert_never

from aouo.facts.notices_install import (
    InstalledAlready,
    InstallNotice,
    InstallUsage,
    NotInstalled,
    PackDeclined,
    PackInstalled,
    PackOffered,
)
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import encode
from aouo.markdown.entities import LIMIT
from aouo.markdown.render import render
from aouo.words.saying import say

_CUT = "… The card is too long for one message: read all of it with `aouo pack info`."
_NAMED_MAX = 6


def worded(notice: InstallNotice) -> Rendered:
    """Return the message for a notice, with its buttons."""
    match notice:
        case InstallUsage(bundled):
            return _usage(bundled)
        case PackOffered():
            return _card(notice)
        case PackInstalled(pack, version, upgraded=True):
            return say(f"“{pack}” is version {version} now.")
        case PackInstalled(pack, version, open_here=open_here):
            text = f"“{pack}” is installed, version {version}."
            if not open_here:
                return say(f"{text} It answers in a topic of its own here.")
            talk = [ButtonSpec("Talk to it here", encode("pack", pack))]
            return say(text, talk)
        case InstalledAlready(pack, version):
            return say(f"“{pack}” {version} is installed already; there is nothing to do.")
        case PackDeclined(pack):
            return say(f"“{pack}” was not installed; nothing has changed.")
        case NotInstalled(why):
            return say(why)
        case _:
            assert_never(notice)


def _usage(bundled: tuple[str, ...]) -> Rendered:
    text = (
        "Send me an .aouo file with /install under it, or write /install and an https address. "
        "I show what the pack may do, and ask, before anything is installed."
    )
    if not bundled:
        return say(text)
    names = ", ".join(f"/install {name}" for name in bundled)
    buttons = [ButtonSpec(name, encode("install_offer", name)) for name in bundled[:_NAMED_MAX]]
    return say(f"{text}\nThese come with me: {names}", buttons)


def _card(notice: PackOffered) -> Rendered:
    parts = render(notice.card)
    yes = "Take back" if notice.older else "Upgrade" if notice.upgrade else "Install"
    buttons = (
        (
            ButtonSpec(yes, encode("install_yes", notice.change)),
            ButtonSpec("No", encode("install_no", notice.change)),
        ),
    )
    if len(parts) == 1:
        return Rendered(parts[0].text, parts[0].entities, buttons, 0, False)
    # No buttons: a person must not agree to a card that is not shown whole.
    opening = render(notice.card, limit=LIMIT - len(_CUT) - 2)[0]
    return Rendered(f"{opening.text}\n\n{_CUT}", opening.entities, (), 0, False)
