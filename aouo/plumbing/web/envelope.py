"""Marks text from strangers as untrusted, so that a model can tell it from its instructions."""

from __future__ import annotations

import re
import secrets

# Possessive, so that "<" with a page of spaces takes no quadratic time.
_LOOKALIKE = re.compile(r"<(?=\s*+(?:/\s*+)?untrusted)", re.IGNORECASE)
_OPENED = re.compile(r'<untrusted source="([^"\n]*)" id="[0-9a-f]{12}">')
_CLOSED = re.compile(r"\n</untrusted [0-9a-f]{12}>")
_MARK = "<untrusted "
_MARKED = re.compile(
    r'<untrusted source="[^"\n]*" id="([0-9a-f]{12})">\n.*?(?:\n</untrusted \1>|\Z)', re.DOTALL
)
_ABOUT = re.compile(r"\[(?!the person edited their message: ).*\]$|\[(?:tap|callback)\] ")
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


def sources_in(text: str) -> tuple[str, ...]:
    """Return the sources of all marked text in a result, each once."""
    if _MARK not in text:
        return ()
    return tuple(dict.fromkeys(opened or "somebody" for opened in _OPENED.findall(text)))


def own_words(text: str) -> str:
    """Return what the writer of a message said in it: no text between marks, none of the runtime's
    lines about it, no tap on a button."""
    if _MARK in text:
        text = _MARKED.sub("\n", text)
    lines = (line for line in text.split("\n") if not _ABOUT.match(line))
    return "\n".join(lines)


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
