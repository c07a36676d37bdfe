"""Tells whether an answer says that something was done: held against what was."""

from __future__ import annotations

import re

_LOOKED_AT_CHARS = 300
_BEFORE = (
    r"^\W*(?:(?:ok|okay|alright|all right|sure|great|perfect|yes|of course|gut|klar|alles klar|"
    r"gern|super|ja|in ordnung)\b[\s,.!:–—-]*)*"
)
_EN = (
    "saved|added|noted|sent|deleted|removed|updated|scheduled|booked|paid|created|cancelled|"
    "canceled|moved|renamed|recorded|logged|stored|remembered|written|mailed|emailed|ordered|"
    "transferred|changed|cleared|forwarded|replied|posted|uploaded|reserved"
)
_DE = (
    "gespeichert|hinzugefügt|eingetragen|notiert|gesendet|geschickt|verschickt|gelöscht|entfernt|"
    "aktualisiert|geplant|gebucht|bezahlt|überwiesen|erstellt|angelegt|abgesagt|verschoben|"
    "umbenannt|vermerkt|gemerkt|geschrieben|bestellt|geändert|weitergeleitet|hochgeladen|reserviert"
)
_END = r"(?=\s*(?:[.!,;✓✅👍]|$)|\s+(?:it|that|this|the|your|for you)\b)"
_DONE = re.compile(rf"{_BEFORE}(?:all done|done|erledigt|fertig|gemacht){_END}", re.IGNORECASE)
_EFFECT = re.compile(
    rf"{_BEFORE}(?:(?!noted|notiert|gemerkt)(?:{_EN}|{_DE}){_END}"
    rf"|(?:i|we)(?:['’]ve| have)\s+(?:\w+ly\s+|just\s+|now\s+|already\s+)?(?:{_EN})\b"
    rf"|(?:it|that)(?:['’]s| is| has been)\s+(?:now\s+|been\s+)?(?:{_EN})\b"
    rf"|(?:ich habe?|hab|das habe ich)\b(?:(?!\bnicht|\bkein|\bnie)[^.!?\n]){{0,120}}?\b(?:{_DE})\b"
    rf"|(?:es|das) (?:ist|wurde)\s+(?:jetzt\s+|nun\s+)?(?:{_DE})\b)",
    re.IGNORECASE,
)
_OUR_LINE = re.compile(r"^\s*✓ ", re.MULTILINE)
"""What only the runtime says, below an answer."""
_ASKS_BACK = re.compile(
    r"^\W*(?:did|have|has|had|was|were|is|are|when|what|which|who|why|how|hast|habt|hat|wurde|ist|"
    r"sind|war|wann|was|welche\w*|wer|warum|wie)\b.*\?\s*$",
    re.IGNORECASE | re.DOTALL,
)


def says_done(answer: str, asked: str, *, looked: bool) -> bool:
    """Whether an answer to the words `asked` begins by saying that something was changed or sent.

    A mere "noted" says that it was heard, a question about what is or was may be answered so, and
    a mere "done" may be about a look, where the turn had `looked`.
    """
    if _ASKS_BACK.match(asked):
        return False
    begins = answer[:_LOOKED_AT_CHARS]
    if _EFFECT.match(begins) or _OUR_LINE.search(answer):
        return True
    return not looked and bool(_DONE.match(begins))
