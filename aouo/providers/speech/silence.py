"""Knows what speech services invent for silence: the ends of the films that they learnt from.

Sources: github.com/openai/whisper/discussions/679 and 928; woheller69/whisperIME#57 (2025-03-10),
amicalhq/amical#71 (2026-01-25), zachlatta/freeflow#281 (2026-07-25), EdF2021/ithaka#96.
"""

from __future__ import annotations

import re
import unicodedata

from aouo.facts.languages import bundled

_CREDIT_CHARS = 80
_ASIDE = re.compile(r"[\[(*♪♫<][^\])*♪♫>]*[\])*♪♫>]")
"""What a service says of noises: [music], (laughs), *sighs*."""
_SENTENCE = re.compile(r"[.!?。！？…\n]+")
_MAKERS = re.compile(r"amara\.? ?org|ai-media|dimatorzok|^字幕|^자막")
_TITLED = re.compile(
    r"(?:the )?(?:closed )?(?:caption|subtit|sous-titr|sottotitol|legenda|untertitel|undertekst|"
    r"undertext|ondertitel|tekstet|napisy|titulky|altyazi|felirat|субтитр|редактор субтитр)"
)
_BY = {
    *("by", "von", "vom", "des", "der", "im", "par", "por", "de", "da", "dalla", "di", "av", "af"),
    *("door", "pro", "сделал", "сделала", "создавал", "подготовил", "подготовлены", "субтитров"),
}
_PHRASES = re.compile("|".join(bundled("aouo.providers.speech", "silence.yml")))


def is_invented(heard: str) -> bool:
    """Whether a transcript holds nothing that somebody said: signs, noises, credits of films.

    Only a transcript that is nothing else counts: who mentions subtitles is heard.
    """
    plain = _folded(_ASIDE.sub(" ", heard))
    if len(plain) <= _CREDIT_CHARS and (_MAKERS.search(plain) or _names_a_maker(plain)):
        return True
    sentences = [part.strip(" ,-–—\"'") for part in _SENTENCE.split(plain)]
    return not any(map(_says_something, sentences))


def _names_a_maker(plain: str) -> bool:
    """Whether it begins as a line about subtitles does, and says whose they are."""
    words = re.findall(r"\w+", plain)
    return bool(_TITLED.match(plain)) and (not _BY.isdisjoint(words[1:3]))


def _says_something(sentence: str) -> bool:
    letters = sum(sign.isalnum() for sign in sentence)
    if letters == 0 or (letters == 1 and not sentence.isdigit() and sentence.isascii()):
        return False
    return not _PHRASES.fullmatch(sentence)


def _folded(text: str) -> str:
    """Return small letters without accents; Cyrillic, Korean and Japanese as they are."""
    parts = unicodedata.normalize("NFD", text.casefold().replace("ß", "ss").replace("ı", "i"))
    bare = "".join(one for one in parts if not "\u0300" <= one <= "\u036f")
    return " ".join(unicodedata.normalize("NFC", bare).split()).replace("’", "'")
