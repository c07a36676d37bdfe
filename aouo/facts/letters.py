"""Folds letters, so that what people take for the same word is one."""

from __future__ import annotations

import re
import unicodedata

_MARKED = ("LATIN", "GREEK", "CYRILLIC")
"""Scripts whose accents tell no words apart; in others a mark is a letter of its own."""

UNSPACED = "\u3040-\u30ff\u3400-\u9fff"
"""Letters of scripts that part no words by spaces, as a range of an expression."""
_APART = re.compile(rf"(?<=[{UNSPACED}])|(?=[{UNSPACED}])")


def words_of(text: str) -> list[str]:
    """Return what blanks part in a text; a letter of a script without blanks is a word."""
    return _APART.sub(" ", text).split()


def folded(text: str) -> str:
    """Return a text without case, accents and composed forms: "Straße", "STRASSE", "strasse"."""
    if text.isascii():
        return text.lower()
    letters: list[str] = []
    bare = False
    for letter in unicodedata.normalize("NFKD", text.casefold()):
        if unicodedata.combining(letter):
            if not bare:
                letters.append(letter)
            continue
        bare = letter.isascii() or unicodedata.name(letter, "").startswith(_MARKED)
        letters.append(letter)
    return unicodedata.normalize("NFKC", "".join(letters).casefold())


def expression(words: str) -> str:
    """Return what matches words in text as it is typed: with or without accents, any apostrophe,
    and any space between them."""
    bare = ((letter, folded(letter)) for letter in " ".join(words.split()))
    others = {" ": r"\s+", "'": "['’]"}
    return "".join(
        others.get(letter)
        or (f"[{letter}{other}]" if len(other) == 1 and other.isalpha() else re.escape(letter))
        for letter, other in bare
    )
