"""Marks text from strangers as untrusted, so that a model can tell it from its instructions."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence

# Possessive, so that "<" with a page of spaces takes no quadratic time.
_LOOKALIKE = re.compile(r"<(?=\s*+(?:/\s*+)?untrusted)", re.IGNORECASE)
_OPENED = re.compile(r'<untrusted source="([^"\n]*)" id="[0-9a-f]{12}">')
_CLOSED = re.compile(r"\n?</untrusted [0-9a-f]{12}>")
_MARK = "<untrusted "
_MARKED = re.compile(
    r'<untrusted source="[^"\n]*" id="([0-9a-f]{12})">.*?(?:</untrusted \1>|\Z)', re.DOTALL
)
_ABOUT = re.compile(r"\[(?!the person edited their message: ).*\]$|\[(?:tap|callback)\] ")
_NOT_IN_A_NAME = re.compile(r"[^\w.:/@+~ -]")


def untrusted(text: str, source: str) -> str:
    """Return `text` between two marks with a random id, which it cannot forge.

    What looks like such a mark inside is escaped. `source` says where the text came from.
    """
    return _marked(text, source, secrets.token_hex(6))


def _marked(text: str, source: str, nonce: str) -> str:
    name = _NOT_IN_A_NAME.sub("", source)[:120]
    inside = _LOOKALIKE.sub("&lt;", text)
    return f'<untrusted source="{name}" id="{nonce}">\n{inside}\n</untrusted {nonce}>'


def of_others(text: str, sources: Sequence[str]) -> str:
    """Return a text that is kept by who has read the words of `sources`: each line between marks of
    its own, so that lines can be moved and removed, the same for the same line; () = as it is."""
    if not sources:
        return text
    lines = unmarked(text).split("\n")
    return "\n".join(_line(line, ", ".join(sources)) if line.strip() else line for line in lines)


def _line(text: str, source: str) -> str:
    text = " ".join(text.splitlines())  # no line of a reader's ends within the marks
    nonce = hashlib.sha256(f"{source}\n{text}".encode("utf-8", "replace")).hexdigest()[:12]
    return _marked(text, source, nonce).replace("\n", "")


def parted(text: str) -> tuple[str, str]:
    """Return the lines of a kept text that are its owner's, and those that hold marks."""
    if _MARK not in text:
        return text, ""
    lines = text.split("\n")
    theirs = [line for line in lines if _MARK in line]
    return "\n".join(line for line in lines if _MARK not in line), "\n".join(theirs)


def told_from(text: str) -> str:
    """Return a kept text for people to read: behind each line of others whose it is."""
    if _MARK not in text:
        return text
    return "\n".join(
        f"{unmarked(line)} ({source})" if (source := source_in(line)) else line
        for line in text.split("\n")
    )


def said_by(source: str, text: str) -> str:
    """Return a message's words, between marks if they are `source`'s and not its sender's."""
    return untrusted(text, source) if source and text else text


def sources_in(text: str) -> tuple[str, ...]:
    """Return the sources of all marked text in a result, each once."""
    if _MARK not in text:
        return ()
    return tuple(dict.fromkeys(opened or "somebody" for opened in _OPENED.findall(text)))


def others_in(text: str) -> dict[str, str]:
    """Return source → its words, of all marked text."""
    found: dict[str, str] = {}
    for match in _MARKED.finditer(text) if _MARK in text else ():
        source = source_in(match[0])
        found[source] = f"{found.get(source, '')}\n{unmarked(match[0])}"
    return found


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
