"""Puts text from strangers into an envelope, so that a model can tell it from its instructions."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence

from aouo.facts.events import FORWARDED

# Possessive, since "<" and a page of spaces must not be tried in every split.
_LOOKALIKE = re.compile(r"<(?=\s*+(?:/\s*+)?untrusted)", re.IGNORECASE)
_OPENED = re.compile(r'<untrusted source="([^"\n]*)" id="[0-9a-f]{12}">')
_NOT_IN_A_NAME = re.compile(r"[^\w.:/@+~ -]")


def untrusted(text: str, source: str) -> str:
    """`text` between two marks that it cannot have known: the id is random each time.

    What looks like such a mark inside is made harmless. `source` says where it came from.
    """
    nonce = secrets.token_hex(6)
    name = _NOT_IN_A_NAME.sub("", source)[:120]
    inside = _LOOKALIKE.sub("&lt;", text)
    return f'<untrusted source="{name}" id="{nonce}">\n{inside}\n</untrusted {nonce}>'


def forwarded(text: str, about: Sequence[str]) -> str:
    """A message's words, between marks if a line `about` it says that they are another's."""
    origin = next((line for line in about if line.startswith(FORWARDED)), "")
    return untrusted(text, origin.strip("[]")) if origin and text else text


def source_in(text: str) -> str:
    """Where the strangers' text in a result came from, "" = nothing in it is between marks."""
    opened = _OPENED.search(text)
    return (opened[1] or "somebody") if opened else ""


def still_untrusted(part: str, whole: str) -> str:
    """A piece of a result, between marks of its own if strangers' text is in the `whole`."""
    source = source_in(whole)
    return untrusted(part, source) if source else part
