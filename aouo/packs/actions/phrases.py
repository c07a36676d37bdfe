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
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import product

from aouo.packs.actions import dated, spoken
from aouo.packs.actions.matching import (
    AT_HOUR,
    LONG_MAX,
    TEXT_MAX,
    Match,
    Message,
    Phrase,
    Variant,
    is_withheld,
    read,
    speaks,
    variants,
)
from aouo.packs.actions.patterns import needs, vocabulary
from aouo.packs.actions.slots import Here
from aouo.packs.actions.tokens import ASKING, Token, common, tokens, typed

_SPELT_MIN, _ALIKE, _LINES_MAX, _RUN = 5, 0.84, 200, 4
_PRICED_MAX = 14
"""Of more words a message does not name a thing beside its price, unless that shows by itself."""
_Form = tuple[str, tuple[tuple[str, str], ...], frozenset[str]]


class Phrases:
    """All phrases by the words that they need; one is read in each of its ways when a message has
    these words, and those that are written alike are read as one."""

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        self.phrases = tuple(phrases)
        alike: dict[_Form, list[Phrase]] = defaultdict(list)
        for phrase in phrases:
            alike[phrase.pattern, tuple(sorted(phrase.kinds.items())), phrase.only].append(phrase)
        self._alike = tuple(map(tuple, alike.values()))
        self._needs = [needs(pattern) for pattern, *_ in alike]
        used = Counter(word for needed in self._needs for need in needed for word in need)
        self._by_words: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, needed in enumerate(self._needs):
            rarest = sorted(needed, key=lambda need: _weight(need, used))[:2]
            for first, second in product(*rarest, *[{""}] * (2 - len(rarest))):
                self._by_words[first][second].append(number)
        self._typed = dict(pair for phrase in phrases for pair in typed(phrase.pattern).items())
        self._grams: dict[str, dict[tuple[str, str], set[str]]] = {}
        self._read: dict[int, tuple[Variant, ...]] = {}
        unpriced = spoken.glue().unpriced
        self._things = {
            thing.removesuffix(AT_HOUR)
            for number, those in enumerate(self._alike)
            if those[0].only and any(unpriced >= way.words for way in self._variants(number))
            for thing in those[0].only
        }
        self._words = frozenset[str]().union(*(vocabulary(pattern) for pattern, *_ in alike))
        self._shortened: dict[str, list[str]] = defaultdict(list)
        for word in self._words:
            for less in _shortened(word) if len(word) >= _SPELT_MIN else ():
                self._shortened[less].append(word)

    def _variants(self, number: int) -> tuple[Variant, ...]:
        """Return each way in which phrases that are written alike can be said."""
        if number not in self._read:
            self._read[number] = tuple(variants(self._alike[number]))
        return self._read[number]

    def match(
        self, text: str, here: Here, packs: Collection[str], *, loosely: bool = False
    ) -> list[Match]:
        """Return the phrases of these packs that the text is, the most specific first; several of
        one rank are a tie. Polite words around a phrase are not part of it; if it is none, it may
        be one whose words are misspelt. `loosely`: an amount needs no currency."""
        matches = self._all(text, here, packs, loosely=loosely)
        return [match for match in matches if match.rank[0] >= 0]

    def nearly(self, text: str, here: Here, packs: Collection[str]) -> list[Match]:
        """Return the phrases that the text would be, did its words not hold more of a time."""
        return [match for match in self._all(text, here, packs) if match.rank[0] < 0]

    def _all(
        self, text: str, here: Here, packs: Collection[str], *, loosely: bool = False
    ) -> list[Match]:
        best: dict[tuple[str, str], Match] = {}
        for spelt in (False, True)[: 1 + (len(text) <= TEXT_MAX)]:
            for words in dict.fromkeys((spoken.plain(text), text)):
                for match in self._matches(words, here, spelt=spelt, loosely=loosely):
                    if match.phrase.pack not in packs or is_withheld(match, text):
                        continue
                    known = best.setdefault((match.phrase.pack, match.phrase.action), match)
                    if known.rank < match.rank:
                        best[match.phrase.pack, match.phrase.action] = match
            if any(match.rank[0] >= 0 for match in best.values()):
                break
        return sorted(best.values(), key=lambda match: match.rank, reverse=True)

    def _matches(
        self, text: str, here: Here, *, spelt: bool, loosely: bool, whole: bool = False
    ) -> Iterator[Match]:
        """Yield what a text is as it is and, unless that is `whole`, without the day in it."""
        if not text.strip() or len(text) > LONG_MAX or text.count("\n") > _LINES_MAX:
            return
        words = [self._known(token) for token in tokens(text)]
        if spelt:
            before, words = words, [self._spelt(token) for token in words]
            if words == before:
                return
        message, takes_day = Message(text, words, here, loosely), False
        for variant in self._candidates(message):
            takes_day = takes_day or variant.takes_day
            yield from read(variant, message)
        for rest, day in dated.parted(text, here) if takes_day and not whole else ():
            for match in self._matches(rest, here, spelt=spelt, loosely=loosely, whole=True):
                if with_day := dated.dated(match, day, text, here):
                    yield with_day

    def _candidates(self, message: Message) -> Iterator[Variant]:
        there = {token.folded for token in message.words}
        few = len(message.words) <= _PRICED_MAX
        bare = message.is_amount or (few and self.name_thing(message.text))
        said = {"", *there}
        near = (
            number
            for first in self._by_words.keys() & said
            for second in self._by_words[first].keys() & said
            for number in self._by_words[first][second]
        )
        for number in sorted(set(near)):
            if all(not there.isdisjoint(need) for need in self._needs[number]):
                for variant in self._variants(number):
                    if there.issuperset(variant.words) and (variant.words or bare):
                        yield variant

    def name_thing(self, text: str) -> bool:
        """Whether a text names a thing beside which a number is what it costs."""
        words = [token.folded for token in tokens(text[:TEXT_MAX])]
        return any({word, word.removesuffix("s")} & self._things for word in words)

    def _known(self, token: Token) -> Token:
        """Return a token as the word of a pattern that it is, as a keyboard without its letters
        types it."""
        meant = self._typed.get(token.folded)
        return replace(token, folded=meant) if meant and token.folded not in self._words else token

    def _spelt(self, token: Token) -> Token:
        """Return a token as the word of a pattern that it misspells."""
        word = token.folded
        if len(word) < _SPELT_MIN or word in self._words:
            return token
        near = {known for less in _shortened(word) for known in self._shortened.get(less, ())}
        likeness = ((SequenceMatcher(None, word, known).ratio(), known) for known in near)
        ratio, known = max(likeness, default=(0.0, ""))
        return replace(token, folded=known) if ratio >= _ALIKE else token

    def nearest(
        self,
        text: str,
        here: Here,
        packs: Sequence[str],
        active_pack: str = "",
        *,
        fits: Callable[[Phrase], bool] = lambda phrase: True,
    ) -> list[Match]:
        """Return phrases into whose one open slot these very words fit, of each pack one: the most
        alike first, of the like that of the active pack; none for words that are long or ask."""
        words = " ".join(text.split())
        asks = words.endswith(ASKING) or spoken.asks(words)
        if asks or len(tokens(words)) < 2 or len(words) > TEXT_MAX or "\n" in text.strip():
            return []
        likeness = self.likeness(words, here)
        chosen: dict[str, tuple[float, Match]] = {}
        for phrase in self.phrases:
            if phrase.pack not in packs or not speaks(phrase, here) or not fits(phrase):
                continue
            slots = [name for name in phrase.kinds if f"{{{name}" in phrase.pattern]
            if slots != [*phrase.kinds] or [*phrase.kinds.values()] != ["text"]:
                continue
            texts = {slots[0]: words}
            score = likeness.get((phrase.pack, phrase.action), 0.0)
            known = chosen.get(phrase.pack)
            if known is None or known[0] < score:
                chosen[phrase.pack] = score, Match(phrase, texts, texts, (0,))
        ordered = sorted(
            chosen.values(), key=lambda one: (one[0], one[1].phrase.pack == active_pack)
        )
        return [match for _, match in reversed(ordered)]

    def likeness(self, text: str, here: Here) -> dict[tuple[str, str], float]:
        """Return how much a text is like each action's phrases in the language that is spoken, from
        0 to 1, by runs of letters; nonsense may be as like, so that it only orders."""
        language, own = here.language.casefold()[:2], _grams(text)
        if language not in self._grams:
            runs: dict[tuple[str, str], set[str]] = defaultdict(set)
            for phrase in self.phrases:
                if speaks(phrase, here):
                    runs[phrase.pack, phrase.action] |= _grams(
                        re.sub(r"\{\w+\+?\}", " ", phrase.pattern)
                    )
            self._grams[language] = runs
        actions = self._grams[language]
        times = Counter(run for runs in actions.values() for run in runs & own)
        whole = sum(1 / (times[run] or 1) for run in own) or 1.0
        return {
            key: sum(1 / times[run] for run in runs & own) / whole for key, runs in actions.items()
        }


def _weight(words: Collection[str], used: Mapping[str, int]) -> tuple[bool, int, list[str]]:
    """Order words by how few phrases are found by them, common ones last."""
    common = spoken.glue().common
    return not common.isdisjoint(words), sum(used[word] for word in words), sorted(words)


def _grams(text: str) -> set[str]:
    """Return the runs of four letters in the words of a text."""
    words = (f" {token.folded} " for token in tokens(text) if token.folded not in common())
    return {word[at : at + _RUN] for word in words for at in range(max(1, len(word) - _RUN + 1))}


def _shortened(word: str) -> set[str]:
    """Return a word, and it without one of its letters: by these a misspelt one is found."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}
