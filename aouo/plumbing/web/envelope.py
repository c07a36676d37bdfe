"""Marks text from strangers as untrusted, so that a model can tell it from its instructions."""

from __future__ import annotations

import re
import secrets

# Possessive, so that "<" with a page of spaces takes no quadratic time.
_LOOKALIKE = re.compile(r"<(?=\s*+(?:/\s*+)?untrusted)", re.IGNORECASE)
_OPENED = re.compile(r'<untrusted source="([^"\n]*)" id="[0-9a-f]{12}">')
_CLOSED = re.compile(r"\n</untrusted [0-9a-f]{12}>")
_NOT_IN_A_NAME = re.compile(r"[^\w.:/@+~ -]")


def untrusted(text: str, source: str) -> str:
    """Return `text` between two marks with a random id, which it cannot forge.

    What looks like such a mark inside is escaped. `source` says where the text came from.
    """
    nonce = secrets.token_hex(6)
    name = _NOT_IN_A_NAME.sub("", source)[:120]
    inside = _LOOKALIKE.sub("&lt;", text)
    return f'<untrusted source="{name}" id="{nonce}">\n{inside}\n</untrusted {nonce}>'


def said_by(source: str, text: str) -> str:
    """Return a message's words, between marks if they are `source`'s and not its sender's."""
    return untrusted(text, source) if source and text else text


def source_in(text: str) -> str:
    """Return the source of marked text in a result, "" = nothing in it is marked."""
    opened = _OPENED.search(text)
    return (opened[1] or "somebody") if opened else ""


def unmarked(text: str) -> str:
    """Return a text for people to read, without the marks."""
    return _CLOSED.sub("", _OPENED.sub("", text)).strip("\n") if _OPENED.search(text) else text


def still_untrusted(part: str, whole: str) -> str:
    """Return a piece of a result, between marks of its own if the `whole` has marked text."""
    source = source_in(whole)
    return untrusted(part, source) if source else part
