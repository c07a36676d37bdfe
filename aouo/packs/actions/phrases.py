"""Finds the phrase that a message is, among those of all packs, without a model.

A pattern is words with slots: `remind me {when} to {text}`. `[in brackets]` may be left out,
`(a|b)` are alternatives, `[a|b]` both. A slot has the kind of the action's argument of its name;
`{text+}` may be long. Letters' case, spacing, typographic signs and the marks at an end do not
matter.

A message is read once: phrases are looked up by a word that they need, and each takes steps in the
length of the message for each of its few places where a slot may end.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise, product
from typing import TypeAlias

from aouo.packs.actions import slots
from aouo.packs.actions.slots import Here, Misread, Value

_TEXT_MAX, _LONG_MAX = 200, 4_000
_VARIANTS_MAX, _SLOTS_MAX, _PATTERN_MAX, _ENDS_MAX = 200, 6, 300, 12
_OPEN = ("text", "row", "person", "file", "choice")
"""Kinds that take any words."""
_SPELT_MIN, _ALIKE = 5, 0.84
_READ_MAX = 10_000
_MARKS = frozenset(":;,.=!?)")
_TOLD = frozenset({"slots.past", "slots.no-such-day", "slots.slashed", "slots.skipped"})
_FOLDED = str.maketrans({"“": '"', "”": '"', "„": '"', "’": "'", "‘": "'", "–": "-", "—": "-"})
_UMLAUTS = {"ae": "ä", "oe": "ö", "ue": "ü", "ss": "ß"}
_AMOUNT = re.compile(r"(?i)\d[.,]\d\d\b|[€$£]|\b(?:eur|euros?|dollars?|usd|chf|bucks|pounds?)\b")
_JOINED = {
    **{f"{word}'s": (word, "is") for word in ("what", "who", "where", "how", "that", "it")},
    **{f"{word}'s": (word, "es") for word in ("gibt", "geht", "gehts")},
    "i've": ("i", "have"),
    "i'm": ("i", "am"),
    "you're": ("you", "are"),
    "whats": ("what", "is"),
    "gibts": ("gibt", "es"),
    "wieviel": ("wie", "viel"),
    "wieviele": ("wie", "viele"),
    "ans": ("an", "das"),
}
"""Two words that are written as one."""
_SHORT = {
    "hab": "habe",
    "zeig": "zeige",
    "such": "suche",
    "find": "finde",
    "lösch": "lösche",
    "erinner": "erinnere",
    "notier": "notiere",
    "merk": "merke",
    "schick": "schicke",
    "streich": "streiche",
    "abonnier": "abonniere",
    "setz": "setze",
    "änder": "ändere",
    "practise": "practice",
    "okay": "ok",
    "favourite": "favorite",
}
"""Words that are said in two ways."""
_PIECE = re.compile(r"\{(\w+)(\+?)\}|\[([^\]\[]*)\]|\(([^()]*)\)|([^\[\](){}]+)|(.)", re.DOTALL)
_WORD = re.compile(r"\d{1,2}:\d\d\b|[^\W_]+(?:['-][^\W_]+)*|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Phrase:
    """One way to say an action; `given` are arguments that it fixes, `kinds` those of its slots."""

    pack: str
    action: str
    pattern: str
    language: str
    given: Mapping[str, str | int | float] = field(default_factory=dict[str, str | int | float])
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase that a message is: the words in its slots, and what they mean."""

    phrase: Phrase
    texts: Mapping[str, str]
    values: Mapping[str, Value]
    rank: tuple[int, ...]
    misread: Misread | None = None
    """Why it is none after all: a day that is over, or is not there."""


@dataclass(frozen=True, slots=True)
class _Variant:
    """One reading of a pattern: words (folded) and slots by turns; `long` are slots without end."""

    phrase: Phrase
    pieces: tuple[tuple[str, ...] | str, ...]
    long: frozenset[str]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for piece in self.pieces if isinstance(piece, tuple) for word in piece)

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, str))


_Reading: TypeAlias = tuple[tuple[tuple[str, ...] | str, ...], frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Token:
    folded: str
    start: int
    end: int


def ways(patterns: Iterable[str]) -> int:
    """Return in how many ways these sound patterns can be read, all together."""
    return sum(len(_readings(pattern)) for pattern in patterns)


def check(pattern: str, arguments: Mapping[str, str]) -> list[str]:
    """Return what is wrong with a pattern of an action with these arguments (name → kind)."""
    if len(pattern) > _PATTERN_MAX:
        return [f"is longer than {_PATTERN_MAX} characters"]
    try:
        variants = [_Variant(Phrase("", "", pattern, ""), *one) for one in _readings(pattern)]
    except ValueError as error:
        return [str(error)]
    found: list[str] = []
    for variant in variants:
        strange = (name for name in variant.slots if name not in arguments)
        found += (f"{{{name}}} is no argument of the action" for name in strange)
        if not variant.words and "money" not in map(arguments.get, variant.slots):
            found.append("needs a word besides its slots")
        for one, two in zip(variant.pieces, variant.pieces[1:], strict=False):
            both = [piece for piece in (one, two) if isinstance(piece, str)]
            if len(both) == 2 and all(_is_open(arguments, piece) for piece in both):
                found.append(f"needs a word between {{{one}}} and {{{two}}}")
    return list(dict.fromkeys(found))


def _is_open(kinds: Mapping[str, str], slot: str) -> bool:
    return kinds.get(slot, "text") in _OPEN


_ASKING = """
what who whose which when where why how is are am was were do does did can could will would should
shall may wer wen wem wessen wo wohin woher warum wieso weshalb wie welche welcher welches ist sind
bin hat habe hast haben kann kannst können könnte wird darf soll wann
"""
"""Words with which a question begins, also without its mark."""
_COMMON = """
a an the on at to of in for about and my me that with der die das den dem ein eine einen meine mein
über auf zu und an mit dass von für
"""
_POINTING = "this that it these those them one das dies diese dieses es sie ihn"
_POINTS = frozenset(_POINTING.split())
"""What points at something that was said before, which no phrase knows."""
_ASKS, COMMON = frozenset(_ASKING.split()), frozenset(_COMMON.split())
"""`COMMON`: words that tell no two things apart."""


_BEFORE = re.compile(
    r"\s*(?:(?:please|pls|plz|bitte|ok(?:ay)?|hey|hi|hello|hallo|bot|aouo|so|also|and|und|then|"
    r"(?:can|could|would|will) you|(?:can|may|could) i (?:see|have|get)|"
    r"i (?:want|need) (?:you )?to|i(?:'d| would) like (?:you )?to|let me|just|quickly|"
    r"(?:kannst|könntest|würdest|kanst) du|(?:kann|könnte) ich|"
    r"ich (?:will|möchte|muss|würde gern)|mal|schnell)\b[\s,:]*)+",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?:[\s,]+(?:please|pls|plz|bitte|thanks|thank you|danke|for me|für mich|mal|right now|"
    r"sehen|anzeigen|ok))+\b[\s.!?]*$",
    re.IGNORECASE,
)


class Phrases:
    """All phrases, compiled once."""

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        self.phrases = tuple(phrases)
        self._by_word: dict[str, list[_Variant]] = defaultdict(list)
        variants = [variant for phrase in phrases for variant in _sound_variants(phrase)]
        common: dict[str, int] = defaultdict(int)
        for variant in variants:
            for word in set(variant.words):
                common[word] += 1
        for variant in variants:
            rarest = min(variant.words, key=lambda word: common[word], default="")
            self._by_word[rarest].append(variant)
        self._words = frozenset(word for word in common if len(word) >= _SPELT_MIN)

    def match(
        self, text: str, here: Here, packs: Collection[str], *, loosely: bool = False
    ) -> list[Match]:
        """Return the phrases of these packs that the text is, the most specific first; several of
        one rank are a tie. Polite words around a phrase are not part of it; if it is none, it may
        be one whose words are misspelt. `loosely`: an amount needs no currency."""
        found: dict[tuple[str, str], Match] = {}
        for spelt in (False, True)[: 1 + (len(text) <= _TEXT_MAX)]:
            for words in dict.fromkeys((_plain(text), text)):
                for match in self._matches(words, here, packs, spelt=spelt, loosely=loosely):
                    known = found.setdefault((match.phrase.pack, match.phrase.action), match)
                    if known.rank < match.rank:
                        found[match.phrase.pack, match.phrase.action] = match
            if found:
                break
        return sorted(found.values(), key=lambda match: match.rank, reverse=True)

    def _matches(
        self, text: str, here: Here, packs: Collection[str], *, spelt: bool, loosely: bool
    ) -> Iterator[Match]:
        tokens = _tokens(text)
        if not tokens or len(text) > _LONG_MAX or text.count("\n") > 200:
            return
        if spelt:
            before, tokens = tokens, [self._spelt(token) for token in tokens]
            if tokens == before:
                return
        there = {token.folded for token in tokens}
        for word in {"", *there} & self._by_word.keys():
            for variant in self._by_word[word]:
                if variant.phrase.pack not in packs or not there.issuperset(variant.words):
                    continue
                if match := _matched(variant, text, tokens, here, loosely=loosely):
                    yield match

    def _spelt(self, token: _Token) -> _Token:
        """Return a token as the word of a pattern that it misspells."""
        word = token.folded
        if len(word) < _SPELT_MIN or word in self._words:
            return token
        near = get_close_matches(word, self._words, 1, _ALIKE)
        return replace(token, folded=near[0]) if near else token

    def nearest(
        self,
        text: str,
        here: Here,
        packs: Sequence[str],
        *,
        fits: Callable[[Phrase], bool] = lambda phrase: True,
        limit: int = 3,
    ) -> list[tuple[Phrase, str]]:
        """Return phrases into whose one open slot these very words fit, as they would be said:
        those that share a word with them first, then those of the first of `packs`, of each pack
        one; none for words that are long or a question."""
        words = " ".join(text.split())
        if (
            " " not in words
            or len(words) > _TEXT_MAX
            or words.endswith("?")
            or "\n" in text.strip()
        ):
            return []
        if words.split()[0].casefold().partition("'")[0].partition("’")[0] in _ASKS:
            return []
        own = {token.folded for token in _tokens(words)} - COMMON
        order = {pack: number for number, pack in enumerate(packs)}
        scored: list[tuple[int, int, int, Phrase, str]] = []
        for number, phrase in enumerate(self.phrases):
            if phrase.pack not in order or not _speaks(phrase, here) or not fits(phrase):
                continue
            variant = next(_sound_variants(phrase), None)
            if variant is None or len(variant.slots) != 1 or phrase.pattern.endswith("?"):
                continue
            slot = variant.slots[0]
            if phrase.kinds.get(slot, "text") != "text":
                continue
            said = _filled(phrase.pattern, slot, words)
            shared = len(own & set(variant.words))
            scored.append((-shared, order[phrase.pack], number, phrase, said))
        chosen: dict[str, tuple[Phrase, str]] = {}
        for *_, phrase, _ in sorted(scored, key=lambda one: one[:3]):
            same = (one for one in scored if one[3].pack == phrase.pack)
            plainest = next(one for one in same if one[3].action == phrase.action)
            chosen.setdefault(phrase.pack, (plainest[3], plainest[4]))
        return list(chosen.values())[:limit]


def _speaks(phrase: Phrase, here: Here) -> bool:
    return phrase.language.partition("-")[0] == here.language.casefold().partition("-")[0]


def _filled(pattern: str, slot: str, words: str) -> str:
    simple = re.sub(r"\[[^\]]*\]\s*", "", pattern)
    simple = re.sub(r"\(([^|()]*)[^()]*\)", r"\1", simple)
    return re.sub(rf"\{{{slot}\+?\}}", lambda _: words, simple).strip()


def _sound_variants(phrase: Phrase) -> Iterator[_Variant]:
    try:
        found = _readings(phrase.pattern)
    except ValueError:
        return
    yield from (
        _Variant(phrase, *one)
        for one in found
        if any(isinstance(p, tuple) for p in one[0]) or "money" in phrase.kinds.values()
    )


@lru_cache(maxsize=_READ_MAX)
def _readings(pattern: str) -> tuple[_Reading, ...]:
    """Return each reading of a pattern, kept from when its pack was loaded, in a thread.

    Raises:
        ValueError: it is no pattern; says why.
    """
    choices: list[tuple[str, ...]] = []
    names: list[str] = []
    for slot, plus, maybe, either, words, other in _PIECE.findall(pattern):
        if other:
            raise ValueError(f"has a {other!r} that belongs to nothing")
        if slot:
            names.append(slot)
            choices.append((f"{{{slot}{plus}}}",))
        elif maybe or (not words and not either):
            choices.append((*maybe.split("|"), ""))
        else:
            choices.append(tuple(either.split("|")) if either else (words,))
    if len(set(names)) != len(names) or len(names) > _SLOTS_MAX:
        raise ValueError(f"has a slot twice, or more than {_SLOTS_MAX}")
    total = 1
    for options in choices:
        total *= len(options)
    if total > _VARIANTS_MAX:
        raise ValueError(f"can be read in more than {_VARIANTS_MAX} ways")
    return tuple(_reading("".join(chosen)) for chosen in product(*choices))


def _reading(text: str) -> _Reading:
    pieces: list[tuple[str, ...] | str] = []
    long: set[str] = set()
    for part in re.split(r"(\{\w+\+?\})", text):
        if part.startswith("{"):
            name = part.strip("{}").rstrip("+")
            pieces.append(name)
            if part.endswith("+}"):
                long.add(name)
        elif words := tuple(token.folded for token in _tokens(part)):
            pieces.append(words)
    return tuple(pieces), frozenset(long)


def _tokens(text: str) -> list[_Token]:
    """Return words and signs, without the marks at the end."""
    found: list[_Token] = []
    for match in _WORD.finditer(text.translate(_FOLDED)):
        word = _folded(match.group())
        parts = _JOINED.get(word, (_SHORT.get(word, word),))
        found += (_Token(part, match.start(), match.end()) for part in parts)
    while found and found[-1].folded in (".", "!", "…", "?"):
        found.pop()
    return found


def _plain(text: str) -> str:
    """Return the text without the polite words around it; a wish that is put as a question is
    none."""
    head = _BEFORE.match(text)
    plain = _AFTER.sub("", text[head.end() :] if head else text)
    return plain.rstrip().rstrip("?") if head and plain else plain or text


def _folded(word: str) -> str:
    folded = word.casefold()
    for two, one in _UMLAUTS.items():
        folded = folded.replace(one.casefold(), two)
    return folded


def _matched(
    variant: _Variant, text: str, tokens: Sequence[_Token], here: Here, *, loosely: bool
) -> Match | None:
    """Return how a text is read as a variant: of several ways, that with the least free words."""
    best: Match | None = None
    refused: Match | None = None
    last = variant.pieces[-1]
    whole = isinstance(last, str) and last in variant.long
    asks = text.rstrip().endswith("?") and not variant.phrase.pattern.rstrip().endswith("?")
    if asks and isinstance(last, str) and not whole and _is_open(variant.phrase.kinds, last):
        return None
    for spans in _placed(variant.pieces, 0, tokens, 0):
        texts = {
            name: text[tokens[first].start : tokens[last - 1].end].strip(" ,;")
            for name, (first, last) in spans.items()
        }
        if whole and isinstance(last, str):
            texts[last] = text[tokens[spans[last][0]].start :].strip()
        if any(not _takes(variant, name, value, loosely) for name, value in texts.items()):
            continue
        if _repeats(variant, spans, tokens) or any(
            slots.is_bare(texts[name]) for name in _beside_words(variant)
        ):
            continue
        try:
            values = {
                name: slots.read(variant.phrase.kinds.get(name, "text"), value, here)
                for name, value in texts.items()
            }
        except Misread as error:
            told = error.why in _TOLD and any(word[0].isalnum() for word in variant.words)
            if told and refused is None:
                refused = Match(variant.phrase, texts, {}, (0, len(variant.words), 0, 0), error)
            continue
        opened = [name for name in texts if _is_open(variant.phrase.kinds, name)]
        free = sum(len(texts[name]) for name in opened)
        own = _speaks(variant.phrase, here)
        rank = (1, len(variant.words), -len(opened), -free, own)
        if best is None or best.rank < rank:
            best = Match(variant.phrase, texts, values, rank)
    return best or refused


def _beside_words(variant: _Variant) -> Iterator[str]:
    """Yield the slots for a time that nothing parts from a slot for any words."""
    kinds = variant.phrase.kinds
    for one, two in pairwise(variant.pieces):
        if isinstance(one, str) and isinstance(two, str):
            yield from (name for name in (one, two) if kinds.get(name) in ("datetime", "when"))


def _repeats(
    variant: _Variant, spans: Mapping[str, tuple[int, int]], tokens: Sequence[_Token]
) -> bool:
    """Whether a slot holds a sign that parts the pattern ("a = b, c = d"): several at once."""
    signs = {word for word in variant.words if not word[0].isalnum()}
    inside = (
        token.folded
        for name, (first, last) in spans.items()
        if name not in variant.long
        for token in tokens[first:last]
    )
    return any(sign in signs for sign in inside)


def _takes(variant: _Variant, name: str, value: str, loosely: bool) -> bool:
    """Whether a slot takes so many words, which neither begin with a mark nor announce others. An
    amount that no word announces has a currency, or cents."""
    if value[:1] in _MARKS or value[-1:] == ":":
        return False
    if variant.phrase.kinds.get(name) == "row" and (
        value.casefold() in _POINTS or value.isdecimal()
    ):
        return False  # it names none: a key is no name that people know
    if variant.phrase.kinds.get(name) == "money" and COMMON.issuperset(variant.words):
        return len(value) <= _TEXT_MAX and (loosely or bool(_AMOUNT.search(value)))
    if not _is_open(variant.phrase.kinds, name):
        return len(value) <= _TEXT_MAX
    if name in variant.long:
        return len(value) <= _LONG_MAX
    return len(value) <= _TEXT_MAX and "\n" not in value


def _placed(
    pieces: Sequence[tuple[str, ...] | str], at: int, tokens: Sequence[_Token], begin: int
) -> Iterator[dict[str, tuple[int, int]]]:
    """Yield where the slots may be: token numbers, the first and that after the last.

    Each slot ends at one of a few next places of the words after it, so the steps are bounded.
    """
    if at == len(pieces):
        if begin == len(tokens):
            yield {}
        return
    piece = pieces[at]
    if isinstance(piece, tuple):
        end = begin + len(piece)
        if tuple(token.folded for token in tokens[begin:end]) == piece:
            yield from _placed(pieces, at + 1, tokens, end)
        return
    if at + 1 == len(pieces):
        if begin < len(tokens):
            yield {piece: (begin, len(tokens))}
        return
    following = pieces[at + 1]
    if isinstance(following, str):  # one of them is typed: what it is, parts them
        first, last = begin + 1, len(tokens)
        near, far = range(first, min(first + _ENDS_MAX, last)), range(last - _ENDS_MAX, last)
        for end in dict.fromkeys((*near, *(at for at in far if at >= first))):
            for rest in _placed(pieces, at + 1, tokens, end):
                yield {piece: (begin, end), **rest}
        return
    ends = 0
    for end in range(begin + 1, len(tokens) - len(following) + 1):
        if tokens[end].folded != following[0]:
            continue
        if tuple(token.folded for token in tokens[end : end + len(following)]) != following:
            continue
        ends += 1
        if ends > _ENDS_MAX:
            return
        for rest in _placed(pieces, at + 1, tokens, end):
            yield {piece: (begin, end), **rest}
